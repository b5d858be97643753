"""One suite over every mechanism: its exact law, its promise, its bill.

A case names a mechanism, the promise it makes, and pairs of exact output laws of neighbours. A new
mechanism joins by adding a case.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from discreet.errors import UnsupportedEvent
from discreet.mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    Noise,
    NoisyMax,
    PermuteAndFlip,
    TopK,
    count_noise,
)
from discreet.privacy.accounting import (
    ACCOUNTANTS,
    AccountantName,
    ApproximateEvent,
    Event,
    event_cost,
    event_from_json,
    event_to_json,
)
from discreet.privacy.certificate import certify_cells
from tests.laws.selection_cases import selection_cases
from tests.oracles.laws import neighbours, small_vectors

FloatArray = np.ndarray
EPSILON, DELTA = 1.0, 1e-3


@dataclass(frozen=True)
class Case:
    name: str
    epsilon: float
    delta: float
    events: tuple[Event, ...]
    pairs: Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
    tight: float = 2.0
    """The promise divided by this is caught; greater for mechanisms whose bounds are loose."""


def of_scores(
    law: Callable[[np.ndarray], FloatArray], candidates: int = 3, spread: int = 2
) -> Callable:
    known = cache(lambda scores: law(np.array(scores)))

    def pairs() -> Iterator[tuple[FloatArray, FloatArray]]:
        for scores in small_vectors(candidates, spread):
            for other in neighbours(scores, 1):
                yield known(scores), known(other)

    return pairs


def of_counts(noise: Noise, moves: tuple[int, ...]) -> Callable:
    """Yield the joint law of two noisy counts, for counts that stay and counts that move."""

    def pairs() -> Iterator[tuple[FloatArray, FloatArray]]:
        window = np.arange(-60, 61)
        stays = noise.probabilities(window)
        for signs in itertools.product((1, -1), repeat=len(moves)):
            moved = [
                noise.probabilities(window - sign * m) for sign, m in zip(signs, moves, strict=True)
            ]
            yield np.multiply.outer(stays, stays).ravel(), np.multiply.outer(*moved).ravel()

    return pairs


def selection(mechanism: ExponentialMechanism | PermuteAndFlip | NoisyMax) -> Case:
    return Case(mechanism.name, EPSILON, 0.0, (mechanism.event,), of_scores(mechanism.probabilities))


def top_k(law: str, k: int) -> Case:
    mechanism = TopK(1, EPSILON, k, law)  # type: ignore[arg-type]

    def ordered(scores: np.ndarray) -> FloatArray:
        orders = itertools.permutations(range(len(scores)), k)
        return np.array([mechanism.probability(scores, order) for order in orders])

    return Case(f"top {k} {law}", EPSILON, 0.0, mechanism.events, of_scores(ordered))


def counts(name: str, relation: str, moves: tuple[int, ...]) -> Case:
    noise = count_noise(
        certify_cells(2),
        relation=relation,  # type: ignore[arg-type]
        epsilon=EPSILON,
        delta=DELTA,
        mechanism=name,  # type: ignore[arg-type]
    )
    return Case(f"{name} {relation}", EPSILON, noise.delta, (noise.event,), of_counts(noise, moves))


def threshold() -> Case:
    mechanism = AboveThreshold(1, EPSILON)
    law = of_scores(lambda scores: mechanism.probabilities(scores, 1))
    return Case(mechanism.name, EPSILON, 0.0, (mechanism.event,), law)


CASES = [
    selection(ExponentialMechanism(1, EPSILON)),
    selection(PermuteAndFlip(1, EPSILON)),
    selection(NoisyMax(1, EPSILON)),
    top_k("exponential", 2),
    top_k("permute-and-flip", 2),
    threshold(),
    counts("laplace", "replace-one", (1, -1)),
    counts("laplace", "add-remove", (1, 0)),
    counts("gaussian", "replace-one", (1, -1)),
    counts("gaussian", "add-remove", (1, 0)),
    *(Case(*fields) for fields in selection_cases(EPSILON, DELTA)),
]
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def least_delta(first: FloatArray, second: FloatArray, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def keeps(case: Case, epsilon: float) -> bool:
    """Say whether no pair of neighbours needs more delta than was promised (floats: 1e-12)."""
    return all(
        max(least_delta(p, q, epsilon), least_delta(q, p, epsilon)) <= case.delta + 1e-12
        for p, q in case.pairs()
    )


@ALL
def test_a_law_is_a_law(case: Case) -> None:
    for p, q in itertools.islice(case.pairs(), 50):
        for law in (p, q):
            assert (law >= 0).all()
            assert law.sum() == pytest.approx(1.0, abs=1e-6 if case.delta or len(law) > 100 else 1e-9)


@ALL
def test_the_promise_is_kept_by_every_neighbour(case: Case) -> None:
    assert keeps(case, case.epsilon)


@ALL
def test_a_smaller_promise_is_caught(case: Case) -> None:
    """The same check refuses an epsilon that the mechanism does not keep."""
    assert not keeps(case, case.epsilon / case.tight)


@ALL
def test_no_outcome_is_impossible_for_a_neighbour(case: Case) -> None:
    for p, q in case.pairs():
        assert ((p > 0) == (q > 0)).all() or max(
            p[q == 0].max(initial=0), q[p == 0].max(initial=0)
        ) <= max(case.delta, 1e-300)


@ALL
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_every_event_is_billed_and_together_they_cost_no_more_than_promised(
    case: Case, accountant: AccountantName
) -> None:
    share = case.epsilon / len(case.events)
    for event in case.events:
        if accountant == "zcdp" and isinstance(event, ApproximateEvent):
            with pytest.raises(UnsupportedEvent, match="has no zCDP cost"):
                event_cost(accountant, event, share, case.delta)
            continue
        cost = event_cost(accountant, event, share, case.delta / len(case.events))
        assert cost.loss > 0
        assert event_from_json(event_to_json(event)) == event
