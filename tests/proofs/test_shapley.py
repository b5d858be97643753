"""Constants of Shapley values, against all coalitions in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import z3
from flint import fmpq, fmpq_mat

from discreet.engines.shapley.coalitions import all_masks, kernel_weights
from discreet.explain.shap.bounds.records import (
    bound_exact,
    bound_rows_exact,
    exact_l2,
    sign_widths,
)
from discreet.explain.shap.bounds.zonotopes import zonotope_bounds
from discreet.privacy.certificate import Bounds, Box
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.proofs.machine.cases import coalitions, every_case, failing_case, shapley_row, shapley_weight
from tests.proofs.machine.reading import Symbols
from tests.proofs.machine.solver import counterexample, proved, size_of

ONE = Box(-0.5, 0.5)


def generators(players: int, fixed: frozenset[int]) -> tuple[np.ndarray[Any, Any], int]:
    """Return the whole columns of Shapley's operator without one coalition, and what they are over."""
    rows = [shapley_row(j, players) for j in range(players)]
    whole = math.lcm(*(weight.denominator for row in rows for weight in row.values()))
    kept = [c for c in coalitions(players) if c != fixed]
    columns = [[int(row[c] * whole) for c in kept] for row in rows]
    return np.array(columns, dtype=np.int64), whole


def corners(columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return every sum of the columns with signs: a norm is greatest at one of them."""
    count = columns.shape[1]
    signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    return np.asarray(signs @ columns.T)


def least_bounds(points: np.ndarray[Any, Any], over: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the greatest L1 norm, square of the L2 norm and Linf norm of whole points."""
    sizes = np.abs(points)
    found = sizes.sum(axis=1).max(), (points**2).sum(axis=1).max(), sizes.max()
    l1, square, linf = (int(x) for x in found)
    return Fraction(l1, over), Fraction(square, over**2), Fraction(linf, over)


def covered(truth: tuple[Fraction, Fraction, Fraction], bounds: Bounds) -> bool:
    l1, square, linf = truth
    return (
        l1 <= Fraction(bounds.l1)
        and square <= Fraction(bounds.l2) ** 2
        and linf <= Fraction(bounds.linf)
    )


def coordinate_width(players: int) -> Fraction:
    """Return the sum of absolute coefficients of a value without the full coalition, by sizes."""
    inside = [math.comb(players - 1, k) * shapley_weight(k, players) for k in range(players)]
    return sum(inside[:-1], Fraction(0)) + sum(inside, Fraction(0))


@pytest.mark.checks("shap-contribution")
def test_a_coordinate_has_the_width_two_less_one_over_d() -> None:
    every_case(range(1, 80), lambda d: coordinate_width(d) == 2 - Fraction(1, d))
    every_case(range(1, 80), lambda d: 0 <= certified(d).linf - float(coordinate_width(d)) <= 1e-8)
    small = ((d, j) for d in range(1, 7) for j in range(d))
    every_case(small, lambda case: row_width(*case) == coordinate_width(case[0]))


def row_width(players: int, player: int) -> Fraction:
    full, row = frozenset(range(players)), shapley_row(player, players)
    assert row[full] == Fraction(1, players)
    return sum((abs(w) for c, w in row.items() if c != full), Fraction(0))


def certified(players: int, relation: Any = REPLACE_ONE, **terms: Any) -> Bounds:
    return bound_exact(players, ONE, **terms).bounds[relation]


@pytest.mark.refutes("shap-contribution")
def test_the_range_of_one_prediction_is_too_narrow() -> None:
    assert failing_case(range(1, 80), lambda d: coordinate_width(d) <= 1) == 2


def sign_width(players: int, pluses: int) -> Fraction:
    """Return the sum over coalitions of |s . column| for so many pluses, by pluses and minuses."""
    d, total = players, Fraction(0)
    for a, b in itertools.product(range(pluses + 1), range(d - pluses + 1)):
        k = a + b
        if k < d:
            first = (a - b) * shapley_weight(k - 1, d) if k else Fraction(0)
            size = abs(first - (2 * pluses - d - a + b) * shapley_weight(k, d))
            total += math.comb(pluses, a) * math.comb(d - pluses, b) * size
    return total


SIGNS = [(d, p) for d in (*range(1, 15), 20) for p in range(d + 1)]


@pytest.mark.checks("shap-l1")
def test_the_l1_constant_is_the_greatest_over_sign_vectors() -> None:
    every_case(
        SIGNS, lambda case: abs(sign_widths(case[0])[case[1]] / float(sign_width(*case)) - 1) < 1e-12
    )
    sizes = sorted({d for d, _ in SIGNS})
    every_case(
        sizes, lambda d: max(sign_width(d, p) for p in range(d + 1)) <= Fraction(certified(d).l1)
    )
    every_case(
        range(1, 5), lambda d: corner_bounds(d)[0] == max(sign_width(d, p) for p in range(d + 1))
    )


def corner_bounds(players: int) -> tuple[Fraction, Fraction, Fraction]:
    return least_bounds(*at_corners(players, frozenset(range(players))))


def at_corners(players: int, fixed: frozenset[int]) -> tuple[np.ndarray[Any, Any], int]:
    columns, over = generators(players, fixed)
    return corners(columns), over


@pytest.mark.refutes("shap-l1")
def test_the_l1_constant_without_the_empty_coalition_is_refuted() -> None:
    def without_empty(d: int) -> Fraction:
        return max(sign_width(d, p) - Fraction(abs(2 * p - d), d) for p in range(d + 1))

    assert failing_case(range(2, 5), lambda d: corner_bounds(d)[0] <= without_empty(d)) == 3


@pytest.mark.checks("shap-l2")
def test_the_l2_constant_holds_at_every_corner_and_in_every_direction() -> None:
    every_case(range(1, 5), lambda d: corner_bounds(d)[1] <= Fraction(certified(d).l2) ** 2)
    assert abs(float(corner_bounds(2)[1]) - exact_l2(2) ** 2) < 1e-12
    # Any d: Cauchy and Schwarz along and across the direction of ones, with the code's formula.
    symbols, (across, d, along, rest, root) = Symbols(), z3.Reals("across d along rest root")
    constant = symbols.read(exact_l2, _across=lambda _: across)(d)
    unit = [along**2 + rest**2 == 1, root**2 == d, root > 0, across >= 0, along >= 0, rest >= 0]
    proved(along / root + across * rest <= constant, *unit, *symbols.facts)
    # The spread of a sum over a random coalition of given size, which is what the terms of A are.
    layers = ((d, k) for d in range(2, 60) for k in range(1, d))
    every_case(layers, lambda case: math.comb(case[0] - 2, case[1] - 1) == layer_spread(*case))


def layer_spread(players: int, size: int) -> Fraction:
    share = Fraction(size * (players - size), players * (players - 1))
    return math.comb(players, size) * share


@pytest.mark.refutes("shap-l2")
def test_the_l2_constant_without_its_layers_is_refuted() -> None:
    assert failing_case(range(1, 5), lambda d: corner_bounds(d)[1] <= 1 + Fraction(1, d)) == 2


def extents(players: int, quarter: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the greatest norms of value vectors: v(N) is quarter / 4, all others are +-1/2."""
    points, over = at_corners(players, frozenset(range(players)))
    centre = over * quarter
    assert centre % players == 0 or over % players == 0
    return least_bounds(2 * points + centre // players, 4 * over)


EXTENTS = [(d, quarter) for d in range(1, 5) for quarter in (-2, -1, 0, 1, 2)]


@pytest.mark.checks("shap-addremove")
def test_a_record_that_comes_moves_attributions_by_their_extent() -> None:
    every_case(
        EXTENTS, lambda c: covered(extents(*c), certified(c[0], ADD_REMOVE, query_value=c[1] / 4))
    )
    centred = ((d, 0) for d in range(1, 5))
    every_case(centred, lambda c: covered(extents(*c), certified(c[0], ADD_REMOVE, centred=True)))


@pytest.mark.refutes("shap-addremove")
def test_half_the_diameter_without_the_centre_is_refuted() -> None:
    def without_centre(case: tuple[int, int]) -> bool:
        return covered(extents(*case), certified(case[0], ADD_REMOVE, centred=True))

    assert failing_case(EXTENTS, without_centre) == (1, -2)


@pytest.mark.checks("shap-importance")
def test_a_game_and_its_dual_have_the_same_values() -> None:
    """So a fixed value of nobody bounds values as a fixed value of everybody does."""
    cases = ((d, j, c) for d in range(1, 7) for j in range(d) for c in coalitions(d))
    every_case(cases, lambda case: dual_agrees(*case))
    every_case(range(1, 5), importances_are_held)
    a, b, low, high = z3.Reals("a b low high")
    proved(size_of(size_of(a) - size_of(b)) <= size_of(a - b))
    proved(
        size_of(size_of(a) - size_of(b)) <= high - low,
        size_of(a) <= high - low,
        size_of(b) <= high - low,
    )


def importances_are_held(players: int) -> bool:
    """Say whether bounds hold sizes that move as the values do, and by the range at most."""
    l1, square, _ = least_bounds(*at_corners(players, frozenset()))
    truth = Bounds(float(l1), math.sqrt(square), 1.0).tightened(players)
    bounds = bound_rows_exact(players, ONE, base_value=0.0).bounds[REPLACE_ONE]
    return truth.l1 <= bounds.l1 and truth.l2 <= bounds.l2 and truth.linf <= bounds.linf


def dual_agrees(players: int, player: int, coalition: frozenset[int]) -> bool:
    row = shapley_row(player, players)
    return row[coalition] == -row[frozenset(range(players)) - coalition]


@pytest.mark.refutes("shap-importance")
def test_importances_of_either_sign_would_move_by_more_than_the_range() -> None:
    a, b, width = z3.Reals("a b width")
    counterexample(size_of(a - b) <= width, size_of(a) <= width, size_of(b) <= width)


MATRICES = [np.array(m, dtype=np.int64).reshape(2, 3) for m in itertools.product((-1, 0, 2), repeat=6)][
    ::2
]


@pytest.mark.checks("shap-masks")
def test_zonotopes_of_small_matrices_are_held_by_their_bounds() -> None:
    every_case(MATRICES, lambda m: zonotope_is_held(m, zonotope_bounds(m.astype(np.float64))))
    # Any positive e_k give a bound in L2: Cauchy and Schwarz, one more vector at a time.
    moment, shares, sum_, g, e = z3.Reals("moment shares sum g e")
    before = [sum_**2 <= moment * shares, moment >= 0, shares > 0, e > 0]
    proved((sum_ + g) ** 2 <= (moment + g**2 / e) * (shares + e), *before)


def zonotope_is_held(matrix: np.ndarray[Any, Any], bounds: Bounds) -> bool:
    """Say whether bounds cover every corner, L1 and Linf tightly and L2 within sqrt(pi / 2)."""
    l1, square, linf = truth = least_bounds(corners(matrix), 1)
    tight = float(l1) * (1 + 1e-8) >= bounds.l1 and float(linf) * (1 + 1e-8) >= bounds.linf
    return covered(truth, bounds) and tight and bounds.l2**2 <= float(square) * math.pi / 2 * (1 + 1e-6)


@pytest.mark.refutes("shap-masks")
def test_the_longest_column_alone_does_not_hold_a_zonotope() -> None:
    def columns_alone(matrix: np.ndarray[Any, Any]) -> bool:
        peak = int(np.abs(matrix).max())
        return covered(least_bounds(corners(matrix), 1), Bounds(2.0 * peak, 2.0 * peak, float(peak)))

    assert failing_case(MATRICES, columns_alone).shape == (2, 3)


def kernel_rows(players: int) -> Iterator[tuple[Fraction, float, Fraction]]:
    """Return every entry of the constrained regression, exactly, beside the code's and Shapley's."""
    masks = all_masks(players)
    weights = [
        Fraction(players - 1, math.comb(players, k) * k * (players - k))
        for k in masks.masks.sum(axis=1).tolist()
    ]
    basis = fmpq_mat(
        players,
        players - 1,
        [fmpq(int(i == j) - int(i == players - 1)) for i in range(players) for j in range(players - 1)],
    )
    z = fmpq_mat(len(masks), players, [fmpq(int(x)) for x in masks.masks.ravel()])
    scaled = fmpq_mat(
        players,
        len(masks),
        [
            fmpq(int(m[j])) * fmpq(w.numerator, w.denominator)
            for j in range(players)
            for m, w in zip(masks.masks, weights, strict=True)
        ],
    )
    inner = basis.transpose() * (scaled * z) * basis
    operator = basis * inner.inv() * (basis.transpose() * scaled)
    rows = [shapley_row(j, players) for j in range(players)]
    for j, (place, mask) in itertools.product(range(players), enumerate(masks.masks)):
        entry = operator[j, place]
        shapley = rows[j][frozenset(np.flatnonzero(mask).tolist())]
        yield Fraction(int(entry.p), int(entry.q)), float(masks.response[j, place]), shapley


@pytest.mark.checks("kernel-operator")
def test_the_constrained_regression_on_all_coalitions_is_shapleys_operator() -> None:
    for players in (2, 3, 4, 5):
        every_case(kernel_rows(players), lambda e: e[0] == e[2] and abs(e[1] - float(e[2])) < 1e-12)


@pytest.mark.refutes("kernel-operator")
def test_a_regression_without_its_kernel_is_another_operator() -> None:
    masks = all_masks(4)
    assert len({round(w, 12) for w in kernel_weights(masks.masks).tolist()}) == 2
    flat = np.linalg.lstsq(masks.masks.astype(float), np.eye(len(masks)), rcond=None)[0]
    entries = zip(flat.ravel().tolist(), kernel_rows(4), strict=True)
    assert failing_case(entries, lambda e: abs(e[0] - float(e[1][2])) < 1e-6)
