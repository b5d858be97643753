"""One test of two counts holds as often as it says, and proves more than two intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit.sampling.intervals import epsilon_bounds
from discreet.audit.sampling.joint_bound import (
    TwoCounts,
    epsilon_bound,
    joint_epsilon_bound,
    weight_for,
)
from discreet.randomness import public_generator

CASES = [(400, 0.2, 0.0), (750, 0.02, 0.0), (400, 0.2, 0.05), (30_000, 0.1839, 0.0), (200, 0.2, 0.01)]


def bounds(runs: int, q: float, delta: float, error: float, weight: float | None = None) -> np.ndarray:
    p, generator = math.e * q + delta, public_generator(runs)
    if weight is None:
        weight = weight_for(p, q, delta)
    hits, others = generator.binomial(runs, p, 150), generator.binomial(runs, q, 150)
    return np.array(
        [
            joint_epsilon_bound(
                TwoCounts(int(one), runs, int(other), runs), weight=weight, delta=delta, error=error
            )
            for one, other in zip(hits, others, strict=True)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "q", "delta"), CASES)
def test_bounds_are_above_the_truth_as_seldom_as_they_say(runs: int, q: float, delta: float) -> None:
    """Of 150 bounds at 80 % at most 49 are above epsilon one, but for 1 in 10,000."""
    allowed = int(binom.isf(1e-4, 150, 0.2))
    assert np.sum(bounds(runs, q, delta, 0.2) > 1.0) <= allowed
    # The same count catches a test that is allowed to be wrong more often than it says.
    assert np.sum(bounds(runs, q, delta, 0.7) > 1.0) > allowed


@pytest.mark.slow
def test_any_weight_that_is_fixed_before_is_valid() -> None:
    allowed = int(binom.isf(1e-4, 150, 0.2))
    for weight in (0.05, 0.5, 0.9):
        assert np.sum(bounds(400, 0.2, 0.0, 0.2, weight) > 1.0) <= allowed


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.184), (0.05, 0.0184)])
def test_it_proves_more_than_two_intervals(p: float, q: float) -> None:
    for runs in (1_000, 10_000, 100_000):
        counts = TwoCounts(round(p * runs), runs, round(q * runs), runs)
        joint = joint_epsilon_bound(counts, weight=weight_for(p, q, 0.0), delta=0.0, error=0.05)
        alone = float(epsilon_bounds(counts.hits, runs, counts.other_hits, runs, delta=0.0, error=0.05))
        assert alone < joint < math.log(p / q)
        assert epsilon_bound(counts, weight=0.0, delta=0.0, error=0.05) == pytest.approx(max(alone, 0))


def test_nothing_is_proven_by_counts_that_say_nothing() -> None:
    for counts in (TwoCounts(50, 100, 50, 100), TwoCounts(0, 100, 0, 100), TwoCounts(9, 9, 9, 9)):
        assert joint_epsilon_bound(counts, weight=0.3, delta=0.0, error=0.05) == 0.0


def test_bounds_fall_with_delta_and_confidence() -> None:
    counts = TwoCounts(5000, 10_000, 1840, 10_000)
    by_delta = [
        joint_epsilon_bound(counts, weight=0.3, delta=delta, error=0.05) for delta in (0, 0.01, 0.1)
    ]
    by_error = [
        joint_epsilon_bound(counts, weight=0.3, delta=0.0, error=error) for error in (0.2, 0.05, 1e-9)
    ]
    assert by_delta == sorted(by_delta, reverse=True) and by_error == sorted(by_error, reverse=True)
    assert min(*by_delta, *by_error) > 0.5


@pytest.mark.parametrize("share", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("other", [0.0, 1.0, 0.1])
def test_weights_are_weights(share: float, other: float) -> None:
    assert 0.05 <= weight_for(share, other, 0.0) <= 0.9
