"""What is on trial: every registered noise and selection of the product, each with two neighbours.

Neighbours are those at which the loss comes near its bound, so that a fault shows with few runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.sampling.drawing import Mechanism
from discreet.audit.sampling.drawn_ahead import DrawnAhead
from discreet.audit.sampling.scores import EventName
from discreet.mechanisms import (
    NOISES,
    AboveThreshold,
    Noise,
    SmoothNoisyMax,
    SupportTest,
    TopK,
    count_noise,
    sum_noise,
)
from discreet.mechanisms.additive.noise import LawName
from discreet.mechanisms.selection.deniability import PlausibleDeniability, plan_attempts
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.privacy.certificate import Box, certify_cells
from discreet.privacy.relation import Relation
from discreet.randomness import NoiseSource

EPSILON = 1.0
DELTA = 0.01
"""Large, because a loss that has so small a chance as deltas in use is seen in no sample."""

_CANDIDATES = 8


@dataclass(frozen=True)
class RunSubject:
    """A mechanism with its promise and two neighbours.

    Args:
      name: of the mechanism.
      pair: the neighbours in words.
      mechanism: as ``sample`` takes it.
      first: one table, as the mechanism takes it.
      second: its neighbour.
      epsilon: the promise.
      delta: of the promise.
      batched: as ``sample`` takes it.
      event: as ``sample`` takes it.
      quick: whether the audit of a minute has it too.
    """

    name: str
    pair: str
    mechanism: Mechanism
    first: Any
    second: Any
    epsilon: float = EPSILON
    delta: float = 0.0
    batched: bool = False
    event: EventName = "cells"
    quick: bool = True


def noises(source: NoiseSource | None = None) -> Iterator[RunSubject]:
    """Yield every registered noise, on counts of two cells and on a sum.

    Args:
      source: of noise; None for the product's own, drawn ahead.
    """
    for name, law in NOISES.items():
        delta = DELTA if law.needs_delta else 0.0
        yield on_counts(f"{name} noise on counts", count_noise_of(name, delta), source)
        noise = sum_noise(
            Box(0.0, 1.0).certify(1),
            relation=Relation.REPLACE_ONE,
            epsilon=EPSILON,
            delta=delta,
            mechanism=name,
            largest_sum=1000.0,
        )
        one = int(1.0 / noise.step)
        yield RunSubject(
            f"{name} noise on a sum",
            "a record's number is 0, and 1",
            releases_of(noise, source),
            np.array([0]),
            np.array([one]),
            delta=delta,
            batched=True,
            event="threshold",
        )


def count_noise_of(
    name: LawName, delta: float, *, relation: Relation = Relation.REPLACE_ONE, epsilon: float = EPSILON
) -> Noise:
    """Return noise for the counts of two cells."""
    return count_noise(
        certify_cells(2), relation=relation, epsilon=epsilon, delta=delta, mechanism=name
    )


def on_counts(name: str, noise: Noise, source: NoiseSource | None = None) -> RunSubject:
    """Return counts of two cells, between which a record is moved, with noise."""
    return RunSubject(
        name,
        "counts 10 and 5, and a record moved from the first cell to the second",
        releases_of(noise, source),
        np.array([10, 5]),
        np.array([9, 6]),
        delta=noise.delta,
        batched=True,
    )


def releases_of(noise: Noise, source: NoiseSource | None = None) -> Mechanism:
    """Return a mechanism of many releases of a query in whole steps."""
    source = DrawnAhead() if source is None else source

    def releases(steps: Any, size: int) -> Any:
        if noise.independent:  # all releases at once: noises have nothing to do with each other
            return noise.release(np.tile(steps, size), source).reshape(size, len(steps))
        return np.array([noise.release(steps, source) for _ in range(size)])

    return releases


def selections(source: NoiseSource | None = None) -> Iterator[RunSubject]:
    """Yield every registered selection, and those that plans use besides.

    Args:
      source: of noise; None for the product's own, drawn ahead.
    """
    source = DrawnAhead() if source is None else source
    for name, law in ON_SCORES.items():
        yield _of_scores(name, law(1, EPSILON), source)
    best = TopK(1, EPSILON, 2)
    yield RunSubject(
        "top-k",
        "two scores one above six others, and one below them",
        lambda scores: best.release(scores, source),
        *_scores_apart(2),
    )
    first = AboveThreshold(1, EPSILON)
    below, above = np.array([0, 0, 1]), np.array([1, 1, 0])
    yield RunSubject(
        "above threshold",
        "two scores move up and the third down",
        lambda scores: first.release(scores, 0, source),
        below,
        above,
    )
    for name, table in ON_STABILITY.items():
        yield _of_stability(name, SmoothNoisyMax(4, EPSILON, 0.0, table), source)
    yield _propose_test_release(source)
    yield _deniability(source)


_PAIR = "the first score one above seven others, and one below them"


def _scores_apart(best: int = 1) -> tuple[Any, Any]:
    first = (np.arange(_CANDIDATES) < best).astype(np.int64)
    return first, 1 - first


def _of_scores(name: str, pick: Pick, source: NoiseSource) -> RunSubject:
    return RunSubject(
        f"{name} selection", _PAIR, lambda scores: pick.choose(scores, source), *_scores_apart()
    )


def _of_stability(name: str, mechanism: SmoothNoisyMax, source: NoiseSource) -> RunSubject:
    return RunSubject(
        f"{name} selection",
        "another winner, at no stability",
        lambda standing: mechanism.release(standing[0], standing[1], source),
        (0, 0),
        (1, 0),
        quick=mechanism.noise in ("stability", "laplace"),  # tables of the others take seconds
    )


def _propose_test_release(source: NoiseSource) -> RunSubject:
    test = SupportTest(Box(-1.0, 1.0).certify(2), Relation.ADD_REMOVE, EPSILON, DELTA, 1.0, 5)
    pairs = (np.array([score, 99]) for score in range(6, 99))
    first = next(pair for pair in pairs if test.distance(pair) == test.limit)
    return RunSubject(
        "propose-test-release",
        "a score at the distance that passes one time in four, and one nearer",
        lambda steps: test.release(steps, source),
        first,
        first - np.array([1, 0]),
        delta=DELTA,
    )


@dataclass(frozen=True)
class _Copy:
    """A proposal that is the seed itself."""

    gamma: float = 1.0

    def draw(self, seed: Any, source: NoiseSource) -> Any:
        return seed

    def plausible(self, codes: Any, seed: Any, record: Any) -> int:
        return int(np.count_nonzero((codes == record).all(axis=1)))


def _deniability(source: NoiseSource) -> RunSubject:
    first = np.repeat([0, 1], [6, 2])
    test = plan_attempts(1, epsilon=EPSILON, delta=DELTA, gamma=1.0, rows=len(first))
    mechanism = PlausibleDeniability(certify_cells(2), test, 1, EPSILON, DELTA, _Copy())
    second = first.copy()
    second[0] = 1
    return RunSubject(
        "plausible deniability",
        "six records of eight are alike, and five",
        lambda codes: mechanism.release(codes, source),
        first,
        second,
        delta=DELTA,
    )
