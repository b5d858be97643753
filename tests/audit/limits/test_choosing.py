"""No mechanism chooses better than the packing bounds say: the optimum of tiny histograms is above."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.audit.limits import choosing, reached
from discreet.audit.limits.choosing import (
    least_disorder,
    least_farthest_count,
    least_gap,
    least_miss,
)
from discreet.audit.limits.optimum import best_mechanism, histograms, replaced_once
from discreet.errors import ArgumentError
from discreet.schema import FloatArray

SETS = [
    (rows, cells, gap, k, epsilon, delta)
    for rows, cells, gap, k in [(3, 3, 3, 1), (2, 4, 2, 1), (4, 4, 2, 2), (2, 4, 1, 2)]
    for epsilon in (0.3, 1.0, 2.0)
    for delta in (0.0, 0.01)
]


def best_sets(rows: int, cells: int, gap: int, k: int, epsilon: float, delta: float) -> float:
    """Return the least chance to miss the k greatest cells wherever they are ``gap`` ahead."""
    tables, answers = histograms(rows, cells), list(itertools.combinations(range(cells), k))
    losses = np.zeros((len(tables), len(answers)))
    for row, table in zip(losses, tables, strict=True):
        order = sorted(range(cells), key=lambda cell: -table[cell])
        if table[order[k - 1]] - table[order[k]] >= gap:
            row[:] = [set(answer) != set(order[:k]) for answer in answers]
    return best_mechanism(losses, replaced_once(tables), epsilon, delta).loss


@pytest.mark.parametrize(("rows", "cells", "gap", "k", "epsilon", "delta"), SETS)
def test_no_mechanism_finds_the_best_more_often(
    rows: int, cells: int, gap: int, k: int, epsilon: float, delta: float
) -> None:
    best = best_sets(rows, cells, gap, k, epsilon, delta)
    assert 0 < least_miss(cells, gap, epsilon, delta, k) <= best + 1e-9


@pytest.mark.parametrize(("rows", "cells", "gap", "k"), [(3, 3, 3, 1), (4, 4, 2, 2)])
def test_a_bound_that_is_too_high_is_noticed(rows: int, cells: int, gap: int, k: int) -> None:
    """Planted fault: worlds taken to be half as far apart as they are."""
    best = best_sets(rows, cells, gap, k, 1.0, 0.0)
    assert least_miss(cells, gap, 0.5, 0.0, k) > best + 1e-3


def best_order(cells: int, gap: int, k: int, epsilon: float) -> float:
    """Return the least chance to miss the order, in the worlds whose cells hold k g, ..., g, 0, ..."""
    rows = gap * k * (k + 1) // 2
    tables, answers = histograms(rows, cells), list(itertools.permutations(range(cells), k))
    losses = np.zeros((len(tables), len(answers)))
    for row, table in zip(losses, tables, strict=True):
        order = sorted(range(cells), key=lambda cell: -table[cell])
        if [table[cell] for cell in order[:k]] == [gap * score for score in range(k, 0, -1)]:
            row[:] = [answer != tuple(order[:k]) for answer in answers]
    return best_mechanism(losses, replaced_once(tables), epsilon).loss


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(("cells", "gap", "k"), [(3, 1, 2), (4, 1, 2), (3, 2, 2)])
def test_no_mechanism_finds_an_order_more_often(cells: int, gap: int, k: int, epsilon: float) -> None:
    best = best_order(cells, gap, k, epsilon)
    assert 0 < least_disorder(cells, gap, epsilon, k) <= best + 1e-9
    assert least_disorder(cells, gap, epsilon / 3, k) > best  # planted: too near


@pytest.mark.parametrize(("cells", "k"), [(3, 1), (4, 2), (5, 3), (5, 4)])
def test_all_orders_are_summed(cells: int, k: int) -> None:
    """Against the plain sum over all worlds of e^(-epsilon times half their L1 distance)."""
    scores = np.array([*range(k, 0, -1), *[0] * (cells - k)])
    worlds = {tuple(scores[list(order)]) for order in itertools.permutations(range(cells))}
    total = sum(math.exp(-0.35 * 2 * np.abs(scores - np.array(world)).sum() / 2) for world in worlds)
    assert least_disorder(cells, 2, 0.35, k) == pytest.approx((total - 1) / total)


def best_histogram(rows: int, cells: int, epsilon: float) -> float:
    tables = histograms(rows, cells)
    losses = np.array([[np.abs(np.subtract(a, b)).max() for b in tables] for a in tables], dtype=float)
    return best_mechanism(losses, replaced_once(tables), epsilon).loss


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(("rows", "cells"), [(3, 3), (4, 3), (2, 4)])
def test_no_histogram_is_nearer_everywhere(rows: int, cells: int, epsilon: float) -> None:
    """Planted fault: a bound that takes epsilon for a third of it."""
    best, bound = best_histogram(rows, cells, epsilon), least_farthest_count(cells, rows, epsilon)
    assert 0 < bound <= best + 1e-9
    assert least_farthest_count(cells, 100, epsilon / 3) > best


@pytest.mark.parametrize("law", [reached.peeled_chance, reached.sorted_chance])
def test_our_laws_of_sets_are_those_of_enumerated_noise(law: FloatArray) -> None:
    """Three cells, one ahead: every noise vector, or every order of permute-and-flip."""
    from tests.oracles.selection import permute_and_flip

    if law is reached.peeled_chance:
        truth = permute_and_flip((4, 0, 0), 2.0 / 0.8)[0]
    else:
        noise = np.arange(-60, 61)
        weights = np.exp(-np.abs(noise) * 0.4) * math.tanh(0.2)
        first, second, third = np.meshgrid(noise + 4, noise, noise, indexing="ij", sparse=True)
        won = (first > second) & (first > third)
        truth = float(np.einsum("i,j,k,ijk->", weights, weights, weights, won))
    assert law(3, 4, 0.8) == pytest.approx(truth, abs=1e-9)


def test_our_law_of_orders_is_that_of_enumerated_noise() -> None:
    noise = np.arange(-50, 51)
    weights = np.exp(-np.abs(noise) * 0.5) * math.tanh(0.25)
    first, second, third = np.meshgrid(noise + 6, noise + 3, noise, indexing="ij", sparse=True)
    ordered = (first > second) & (second > third)
    truth = float(np.einsum("i,j,k,ijk->", weights, weights, weights, ordered))
    assert reached.sorted_order_chance(3, 3, 1.0, 2) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("candidates", [2, 10, 200])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_no_law_of_ours_beats_a_bound(candidates: int, epsilon: float) -> None:
    for gap in (1, round(5 / epsilon), round(12 / epsilon)):
        chance = max(
            reached.peeled_chance(candidates, gap, epsilon),
            reached.sorted_chance(candidates, gap, epsilon),
        )
        assert 1 - chance >= least_miss(candidates, gap, epsilon) - 1e-12
    assert least_gap(candidates, epsilon) <= reached.needed_gap(candidates, epsilon)


def test_a_gap_is_the_first_that_is_not_excluded() -> None:
    gap = least_gap(10, 1.0, level=0.9)
    assert least_miss(10, gap, 1.0) <= 0.1 < least_miss(10, gap - 1, 1.0)
    assert choosing.first_gap(lambda gap: True) == 0
    assert [choosing.first_gap(lambda gap, least=least: gap >= least) for least in (1, 2, 7)] == [
        1,
        2,
        7,
    ]
    with pytest.raises(ArgumentError, match="k must be at most 12"):
        least_disorder(30, 1, 1.0, 13)
