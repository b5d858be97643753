"""Propose-test-release: the exact law over all neighbours of small sums, and planted faults."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.audit.laws.of_records import support_law
from discreet.errors import ArgumentError, UnsupportedEvent
from discreet.mechanisms import SupportTest
from discreet.privacy.accounting import ApproximateEvent, batch_epsilon, event_cost
from discreet.privacy.certificate import Bounds, Certificate
from discreet.randomness import SimulatedNoise

Scores = tuple[int, ...]
DELTA = 1e-3


def support_test(
    sensitivity: int = 1, epsilon: float = 1.0, threshold: int = 2, delta: float = DELTA
) -> SupportTest:
    bound = Bounds(2.0 * sensitivity, 2.0 * sensitivity, float(sensitivity))
    certificate = Certificate(("mean-replace",), 2, {"replace-one": bound})
    return SupportTest(certificate, "replace-one", epsilon, delta, 1.0, threshold)


def least_delta(first: dict[object, float], second: dict[object, float], epsilon: float) -> float:
    return sum(max(0.0, p - math.exp(epsilon) * second.get(k, 0.0)) for k, p in first.items())


def worst_delta(test: SupportTest, moves: int) -> float:
    """Return the greatest delta over all neighbours among sums between -8 and 8."""
    worst = 0.0
    for scores in itertools.product(range(-8, 9), repeat=2):
        for step in itertools.product(range(-moves, moves + 1), repeat=2):
            other = tuple(s + m for s, m in zip(scores, step, strict=True))
            worst = max(
                worst, least_delta(support_law(test, scores), support_law(test, other), test.epsilon)
            )
    return worst


@pytest.mark.proves("ptr")
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_no_pair_of_neighbours_exceeds_delta(sensitivity: int, epsilon: float) -> None:
    test = support_test(sensitivity, epsilon)
    assert worst_delta(test, sensitivity) <= DELTA * (1 + 1e-9)


@pytest.mark.refutes("ptr")
def test_a_support_that_moves_further_than_certified_is_caught() -> None:
    assert worst_delta(support_test(sensitivity=1, epsilon=0.5), 3) > 1.5 * DELTA


@pytest.mark.refutes("ptr")
def test_a_lower_limit_is_caught() -> None:
    class Eager(SupportTest):
        @property
        def limit(self) -> int:
            return super().limit - 2

    test = support_test()
    eager = Eager(test.certificate, test.relation, test.epsilon, test.delta, test.step, test.threshold)
    assert worst_delta(eager, 1) > 1.5 * DELTA


def test_the_distance_is_how_many_records_must_change() -> None:
    test = support_test(sensitivity=2, threshold=5)
    for score in range(0, 30):
        records, reachable = 0, {score}
        while len({s > 5 for s in reachable}) == 1:
            reachable = {s + m for s in reachable for m in range(-2, 3)}
            records += 1
        assert test.distance(np.array([score])) == records - 1


def test_sampling_follows_the_law() -> None:
    test, source = support_test(epsilon=0.7), SimulatedNoise(5)
    raw = np.array([20, -14])
    passed = np.mean([not np.isnan(test.release(raw, source)).any() for _ in range(4000)])
    assert abs(passed - test.pass_probability(raw)) < 4 * math.sqrt(0.25 / 4000)
    assert 0.05 < test.pass_probability(raw) < 0.95
    far = support_test(threshold=200)
    assert far.release(np.array([400, 0]), source).tolist() == [1.0, 0.0]


def test_it_is_billed_by_its_pair_alone() -> None:
    (event,) = support_test().events
    assert event_cost("basic", event, 1.0, DELTA).loss == 10**12
    with pytest.raises(UnsupportedEvent, match="accountant='basic'"):
        event_cost("zcdp", event, 1.0, DELTA)
    assert batch_epsilon([event, event], 2 * DELTA + 1e-12) == pytest.approx(2.0)
    assert batch_epsilon([event], DELTA / 2) == math.inf
    assert ApproximateEvent(1.0, DELTA, "x").delta(0.99) == 1.0


def test_it_needs_a_delta() -> None:
    with pytest.raises(ArgumentError, match="delta must be a positive"):
        support_test(delta=0.0)
