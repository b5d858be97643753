"""No mechanism beats the bounds on one number: neither the optimum of tiny cases nor our laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.limits.groups import (
    group_delta,
    least_count_error,
    least_mean_error,
    two_point_error,
)
from discreet.audit.limits.optimum import best_mechanism
from discreet.audit.limits.reached import count_error
from discreet.errors import ArgumentError

CASES = [
    (rows, epsilon, delta)
    for rows in (1, 2, 5, 9)
    for epsilon in (0.2, 1.0, 3.0)
    for delta in (0.0, 1e-6, 0.01, 0.2)
]


def best_count(rows: int, epsilon: float, delta: float) -> float:
    """Return the least worst error of a count; half steps may be answered too."""
    counts, outputs = np.arange(rows + 1), np.arange(0, rows + 0.1, 0.5)
    losses = np.abs(counts[:, None] - outputs[None, :])
    return best_mechanism(losses, [(i, i + 1) for i in range(rows)], epsilon, delta).loss


@pytest.mark.parametrize(("rows", "epsilon", "delta"), CASES)
def test_no_mechanism_counts_better(rows: int, epsilon: float, delta: float) -> None:
    assert least_count_error(rows, epsilon, delta) <= best_count(rows, epsilon, delta) + 1e-9


@pytest.mark.parametrize(("rows", "epsilon"), [(2, 0.2), (9, 1.0), (9, 3.0)])
def test_a_bound_that_is_too_high_is_noticed(rows: int, epsilon: float) -> None:
    """Planted faults: the error on all integers for few records, and neighbours that cost half."""
    best = best_count(rows, epsilon, 0.0)
    everywhere = 2 * math.exp(-epsilon) / (1 - math.exp(-2 * epsilon))
    assert max(everywhere, least_count_error(rows, epsilon / 2)) > best + 1e-3


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_with_many_records_our_count_is_the_best_there_is(epsilon: float) -> None:
    assert count_error(epsilon) == pytest.approx(
        2 * math.exp(-epsilon) / (1 - math.exp(-2 * epsilon)), rel=1e-9
    )
    assert 1.0 <= count_error(epsilon) / least_count_error(10_000, epsilon) < 1.02


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_mean_of_signs_is_a_count(delta: float) -> None:
    assert least_mean_error(50, 1.0, delta) == 2 * least_count_error(50, 1.0, delta) / 50


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_errors_of_two_points_are_those_of_the_best_test(delta: float) -> None:
    """Tables k steps apart: the optimum over a chain is at least the bound, at one step equal."""
    for steps in (1, 2, 3):
        losses = np.zeros((steps + 1, 2))
        losses[0, 1] = losses[-1, 0] = 1.0
        best = best_mechanism(losses, [(i, i + 1) for i in range(steps)], 1.0, delta).loss
        bound = two_point_error(1.0, delta, steps)
        assert bound <= best + 1e-9
        if steps == 1:
            assert bound == pytest.approx(best)


def test_a_far_group_has_no_promise() -> None:
    assert group_delta(1.0, 1e-6, 10_000) == math.inf
    assert two_point_error(1.0, 1e-6, 10_000) == 0.0
    assert two_point_error(1.0, 1e-6, 20) == 0.0  # delta_20 is above one
    with pytest.raises(ArgumentError, match="rows must be"):
        least_count_error(0, 1.0)
