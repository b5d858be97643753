"""How far one record moves an entropy: closed forms and searches against all small tables."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from discreet.tables.entropy.bounds import (
    TOLERANCE,
    bernoulli_entropy,
    bound_entropy,
    bound_entropy_above,
    bound_information,
    bound_information_above,
    largest_move,
)
from discreet.tables.entropy.noise import Narrowed
from discreet.tables.entropy.values import Measure, renyi_entropy
from tests.tables.count_tables import added, all_tables, replaced

ORDERS = [0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, math.inf]
BITS = math.log(2)


def of_order(order: float):
    return lambda counts: renyi_entropy(counts, order)


@pytest.mark.proves("entropy-shannon")
@pytest.mark.proves("entropy-renyi")
@pytest.mark.parametrize("order", ORDERS)
def test_bounds_are_the_worst_of_all_tables(order: float) -> None:
    for cells in (2, 3, 4, 5):
        for rows in range(1, 15):
            exact = replaced(of_order(order), rows, cells)
            assert bound_entropy(rows, cells, order) == pytest.approx(exact, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("cells", "bits"), [(3, 0.159), (6, 0.254), (10, 0.356), (20, 0.595)])
def test_the_bound_depends_on_the_number_of_cells(cells: int, bits: float) -> None:
    assert bound_entropy(20, cells, 5.0) / BITS == pytest.approx(bits, abs=6e-4)


@pytest.mark.refutes("entropy-shannon")
@pytest.mark.parametrize("rows", [3, 8, 14])
def test_a_bound_without_the_second_term_is_exceeded(rows: int) -> None:
    assert replaced(of_order(1.0), rows, 3) > math.log(rows) / rows


@pytest.mark.refutes("entropy-renyi")
@pytest.mark.parametrize(
    ("order", "times"), [(0.5, 90), (2.0, 25), (3.0, 100), (5.0, 400), (10.0, 400)]
)
def test_the_published_bound_is_exceeded(order: float, times: float) -> None:
    rows = 10_000
    published = 2 * order / (abs(1 - order) * rows)
    assert bound_entropy(rows, rows, order) > times * published
    # And by a pair of tables one can write down: a few records in one cell, all others alone.
    heavy = [3, 5, 10, 30, 100] if order > 1 else [rows - 1]
    pairs = [np.repeat([k, 1], [1, rows - k])[None, :].astype(float) for k in heavy]
    moved = [p + np.eye(1, p.shape[1]) - np.eye(1, p.shape[1], 1) for p in pairs]
    changes = [
        abs(float((renyi_entropy(a, order) - renyi_entropy(b, order))[0]))
        for a, b in zip(pairs, moved, strict=True)
    ]
    assert times / 2 * published < max(changes) <= bound_entropy(rows, rows, order)


def test_larger_tables_agree_with_a_plain_scan() -> None:
    for rows, cells, order in [(400, 3, 3.0), (400, 7, 1.5), (301, 2, 5.0), (500, 50, 10.0)]:
        best = 0.0
        for target in range((rows - 1) // 2 + 1):
            sources = np.arange(target + 1, rows - target + 1)
            if cells == 2:
                sources = np.array([rows - target])
            rest = rows - sources - target
            each, more = np.divmod(rest, max(cells - 2, 1))
            spread = (max(cells - 2, 1) - more) * each**order + more * (each + 1.0) ** order
            before = spread + sources**order + float(target) ** order
            after = spread + (sources - 1) ** order + (target + 1.0) ** order
            best = max(best, float(np.max(np.log(before / after)) / (order - 1)))
        bound = bound_entropy(rows, cells, order)
        assert best * (1 - 1e-12) <= bound <= best * (1 + 2 * TOLERANCE)


def test_ten_million_rows_take_no_time() -> None:
    start = time.process_time()  # what others do to the machine does not count
    for cells in (2, 10, 10_000):
        quotient = largest_move(10**7, cells, 2.5)
        # The one-dimensional bound a G/n of the continuous problem is above it, and not far.
        share = np.linspace(1e-6, 1, 1_000_001)
        even = (cells - 1.0) ** (1 - 2.5) * (1 - share) ** 2.5
        certified = 2.5 * np.max(share**1.5 / (share**2.5 + even)) / 10**7
        assert 0.7 * certified < quotient < certified * (1 + 1e-4)
    assert time.process_time() - start < 20


@pytest.mark.proves("entropy-add-remove")
@pytest.mark.parametrize("order", ORDERS)
def test_bounds_above_a_floor_hold_for_all_tables(order: float) -> None:
    for cells in (2, 3, 4):
        moves = [added(of_order(order), rows, cells) for rows in range(1, 13)]
        for floor in range(1, 12):
            filled = replaced(of_order(order), floor, cells) if floor > 1 else 0.0
            exact = max(filled, *moves[floor - 1 :])
            bound = bound_entropy_above(floor, cells, order)
            assert exact <= bound * (1 + 1e-9)
            if order <= 1 and floor > 1:
                assert bound == pytest.approx(exact, rel=1e-8)


@pytest.mark.refutes("entropy-add-remove")
def test_without_filling_up_small_tables_move_further() -> None:
    assert added(of_order(1.0), 1, 3) == pytest.approx(BITS)  # one record or two: a whole bit
    assert bound_entropy_above(8, 3, 1.0) < BITS


def test_the_bernoulli_entropy_answers_for_low_orders() -> None:
    for order in (0.3, 1.0):
        for rows in (2, 5, 11):
            expected = renyi_entropy(np.array([rows - 1.0, 1.0]), order)
            assert bernoulli_entropy(rows, order) == pytest.approx(float(expected))


JOINT = [((2, 2), 9), ((2, 3), 7), ((3, 3), 6)]


@pytest.mark.proves("entropy-joint")
@pytest.mark.parametrize(("shape", "most"), JOINT)
def test_conditional_entropy_moves_as_far_as_an_entropy(shape: tuple[int, int], most: int) -> None:
    measure = Measure("conditional entropy", shape)
    for rows in range(2, most + 1):
        exact = replaced(measure, rows, measure.cells)
        assert measure.bound(rows) == pytest.approx(exact, rel=1e-8)
        assert added(measure, rows, measure.cells) <= measure.bound_above(rows)


@pytest.mark.proves("entropy-joint")
@pytest.mark.parametrize(("shape", "most"), JOINT)
def test_mutual_information_moves_by_two_halves(shape: tuple[int, int], most: int) -> None:
    measure = Measure("mutual information", shape)
    for rows in range(2, most + 1):
        exact = replaced(measure, rows, measure.cells)
        assert exact <= measure.bound(rows)
        if shape == (3, 3):
            assert bound_information(rows) == pytest.approx(exact, rel=1e-8)
        for floor in range(1, rows + 1):
            assert added(measure, rows, measure.cells) <= bound_information_above(floor)
            assert exact <= bound_information_above(rows)


@pytest.mark.refutes("entropy-joint")
def test_mutual_information_moves_further_than_an_entropy() -> None:
    measure = Measure("mutual information", (3, 3))
    assert replaced(measure, 6, 9) > bound_entropy(6, 9, 1.0)


@pytest.mark.proves("entropy-narrowed")
def test_narrowed_terms_move_by_the_range_of_slopes() -> None:
    for rows in (4, 9):
        for low in range(1, rows):
            for high in range(low + 1, rows + 1):
                measure = Narrowed(rows, low, high)
                assert replaced(measure, rows, 3) <= measure.bound
        whole = Narrowed(rows, 1, rows)
        tables = all_tables(rows, 3).astype(float)
        assert np.allclose(whole(tables), renyi_entropy(tables, 1.0), atol=1e-12)


@pytest.mark.refutes("entropy-narrowed")
def test_without_straight_lines_the_narrow_bound_is_exceeded() -> None:
    assert replaced(of_order(1.0), 9, 3) > Narrowed(9, 2, 5).bound


@pytest.mark.parametrize("order", [0.3, 0.999, 1.0, 1.001, 2.0, 5.0, 50.0, math.inf])
def test_floats_are_within_the_error_that_is_paid_for(order: float) -> None:
    import mpmath

    draw = np.random.default_rng(3)
    for counts in (
        draw.integers(0, 10**6, 50),
        np.array([10**7, 1, 0, 0]),
        draw.integers(0, 3, 3_000),
        np.full(7, 12_345),
    ):
        with mpmath.workdps(40):
            shares = [mpmath.mpf(int(c)) / int(counts.sum()) for c in counts if c]
            if order == 1:
                exact = -mpmath.fsum(p * mpmath.log(p) for p in shares)
            elif math.isinf(order):
                exact = -mpmath.log(max(shares))
            else:
                power = mpmath.fsum(p ** mpmath.mpf(order) for p in shares)
                exact = mpmath.log(power) / (1 - mpmath.mpf(order))
        measure = Measure("entropy", (len(counts),), order)
        assert abs(float(measure(counts.astype(float)) - exact)) < measure.float_error
        narrow = Narrowed(int(counts.sum()), 1, int(counts.sum()))
        if order == 1:
            assert abs(float(narrow(counts.astype(float)) - exact)) < measure.float_error
