"""No mechanism has a better mean than packing and fingerprinting allow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.audit.limits.optimum import best_mechanism, multisets_alike, pairs_of
from discreet.audit.limits.reached import vector_noise
from discreet.audit.limits.vectors import (
    ErrorNorm,
    least_coordinate_error,
    least_fingerprint_error,
    least_packed_error,
    least_root_mean_square,
)
from discreet.randomness import public_generator

ORDERS: dict[ErrorNorm, float] = {"l1": 1, "l2": 2, "linf": np.inf}


def best_mean(
    values: int, rows: int, columns: int, epsilon: float, norm: ErrorNorm, delta: float = 0.0
) -> float:
    """Return the least worst error of a mean of records on a grid of [-1, 1]^d."""
    grid = list(itertools.product(np.linspace(-1, 1, values), repeat=columns))
    tables = list(itertools.combinations_with_replacement(grid, rows))
    means = np.array([np.mean(table, axis=0) for table in tables])
    outputs = np.unique(means, axis=0)
    losses = np.linalg.norm(means[:, None] - outputs[None], ord=ORDERS[norm], axis=2)
    return best_mechanism(losses, pairs_of(tables, multisets_alike), epsilon, delta).loss


@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize(("values", "rows", "columns"), [(17, 1, 1), (7, 2, 1), (4, 1, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_pure_mean_is_nearer(
    values: int, rows: int, columns: int, epsilon: float, norm: ErrorNorm
) -> None:
    best = best_mean(values, rows, columns, epsilon, norm)
    assert 0 < least_packed_error(rows, columns, epsilon, norm=norm) <= best + 1e-9


@pytest.mark.parametrize(("values", "rows"), [(9, 1), (5, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (2.0, 0.01), (1.0, 0.2)])
def test_no_approximate_mean_beats_the_packing(
    values: int, rows: int, epsilon: float, delta: float
) -> None:
    best = best_mean(values, rows, 1, epsilon, "l1", delta)
    bound = least_packed_error(rows, 1, epsilon, delta)
    assert 0 < bound <= best + 1e-9
    assert bound <= least_packed_error(rows, 1, epsilon)  # a delta allows no less


def test_worlds_that_delta_does_not_keep_apart_are_left_out() -> None:
    """Far worlds are vacuous with a delta: the best radius is far below n, and the bound as well."""
    pure, approximate = (least_packed_error(10_000, 100, 1.0, delta, norm="l2") for delta in (0, 1e-6))
    assert approximate < pure / 2
    assert least_packed_error(10_000, 100, 1.0, 1e-300, norm="l2") == pytest.approx(pure)
    assert least_packed_error(10_000, 100, 1.0, 0.999, norm="l2") < approximate / 5


def test_a_packing_that_is_too_dense_is_noticed() -> None:
    """Planted fault: worlds as wide as if no number were clipped."""
    best = best_mean(17, 1, 1, 1.0, "l1")
    assert 50 * least_packed_error(50, 1, 0.5, norm="l1") > best  # and half the epsilon


def best_signs(rows: int, columns: int, epsilon: float, delta: float) -> float:
    """Return the least worst mean squared error of a coordinate, for records of signs."""
    signs = list(itertools.product((-1.0, 1.0), repeat=columns))
    tables = list(itertools.combinations_with_replacement(signs, rows))
    means = np.array([np.mean(table, axis=0) for table in tables])
    outputs = np.array(list(itertools.product(np.linspace(-1, 1, 9), repeat=columns)))
    losses = ((means[:, None] - outputs[None]) ** 2).mean(axis=2)
    return best_mechanism(losses, pairs_of(tables, multisets_alike), epsilon, delta).loss


@pytest.mark.parametrize("delta", [1e-6, 0.02])
@pytest.mark.parametrize("epsilon", [0.1, 0.4])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
def test_no_approximate_mean_is_nearer(rows: int, columns: int, epsilon: float, delta: float) -> None:
    bound = least_fingerprint_error(rows, columns, epsilon, delta)
    best = math.sqrt(best_signs(rows, columns, epsilon, delta))
    assert 0 < bound <= best + 1e-9
    assert least_root_mean_square(rows, columns, epsilon, delta) <= best + 1e-9


def test_a_fingerprint_that_is_too_high_is_noticed() -> None:
    """Planted fault: a root of d that is a hundred times too great."""
    best = math.sqrt(best_signs(3, 1, 3.0, 1e-6))
    assert (
        least_fingerprint_error(3, 1, 3.0, 1e-6) <= best < least_fingerprint_error(3, 10**4, 3.0, 1e-6)
    )


def test_the_fingerprinting_lemma_holds_for_any_mechanism() -> None:
    """2 E[p g] = E[f sum (x - p)] for arbitrary f, by quadrature over p and all sign vectors."""
    tables = np.array(list(itertools.product((-1, 1), repeat=4)))
    answers = public_generator(3).uniform(-1, 1, len(tables))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    chances = np.prod((1 + nodes[:, None, None] * tables) / 2, axis=2)
    scores = (chances * answers * (tables[None] - nodes[:, None, None]).sum(axis=2)).sum(axis=1)
    assert weights @ scores == pytest.approx(weights @ (2 * nodes * (chances @ answers)))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("columns", [1, 6, 300])
def test_no_noise_of_ours_beats_a_bound(columns: int, epsilon: float) -> None:
    rows = 5_000
    pure, approximate = (vector_noise(rows, columns, epsilon, delta) for delta in (0.0, 1e-6))
    assert pure.std * pure.mean_deviation / rows >= least_coordinate_error(rows, columns, epsilon)
    assert approximate.std / rows >= least_root_mean_square(rows, columns, epsilon, 1e-6)


def test_bounds_grow_as_they_should() -> None:
    """Pure errors with d, approximate ones with its root; both with one over n."""
    packed = [least_coordinate_error(10_000, d, 1.0) for d in (200, 400)]
    marked = [least_fingerprint_error(10**6, d, 0.1, 1e-9) for d in (10_000, 40_000)]
    assert packed[1] / packed[0] == pytest.approx(2, rel=0.02)
    assert marked[1] / marked[0] == pytest.approx(2, rel=0.2)
    assert least_fingerprint_error(100, 1, 1.0, 1e-6) == 0.0  # vacuous for one number
    halved = least_fingerprint_error(20_000, 400, 0.1, 1e-9)
    assert halved / least_fingerprint_error(10_000, 400, 0.1, 1e-9) == pytest.approx(0.5, rel=0.02)
