"""How far one record moves a sum: certificates against all vectors, of any length."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import z3
from flint import arb

from discreet.data.contributions import certify_tables
from discreet.explain.shap.dependence import certify_one_cell
from discreet.plans.stages.aggregate import certify_vectors
from discreet.privacy.certificate import Ball, Bounds, Box, certify_cells
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.proofs.machine.cases import code_agrees, small_floats
from tests.proofs.machine.reading import Symbols, Told, floats_cover, is_covered, read_over_balls
from tests.proofs.machine.solver import Vector, counterexample, exact, proved, size_of

REPLACE, ADD = REPLACE_ONE, ADD_REMOVE


def read_box(symbols: Symbols, low: Any, high: Any, size: Any) -> dict[Any, Told]:
    """Return what the code certifies for a box whose ends are symbols."""
    magnitude = symbols.read(Box.magnitude)(SimpleNamespace(low=low, high=high))
    box = SimpleNamespace(low=low, high=high, magnitude=magnitude)
    return symbols.read(Box.certify)(box, size).bounds


def told_floats(bounds: Any) -> Told:
    """Return the bounds of a certificate as the rational numbers they are."""
    return Told(*(exact(x) for x in (bounds.l1, bounds.l2, bounds.linf)))


@pytest.mark.checks("norms")
def test_norms_of_a_longer_vector_keep_their_order_and_so_do_tightened_bounds() -> None:
    vector, coordinate, symbols = Vector.any("v"), z3.Real("x"), Symbols()
    for claim in Vector.of(coordinate).norms.values():
        proved(claim)
    for claim in vector.longer(coordinate).norms.values():
        proved(claim, *vector.facts)
    given = Told(*z3.Reals("l1 l2 linf"))
    told = symbols.read(Bounds.tightened)(given, vector.size)
    known = (*symbols.facts, *vector.facts, vector.within(given), given.l2 >= 0)
    for claim in vector.each_within(told):
        proved(claim, *known)


@pytest.mark.refutes("norms")
def test_a_norm_that_forgets_the_number_of_coordinates_is_refuted() -> None:
    a, b = z3.Reals("a b")
    vector = Vector.of(a, b)
    counterexample(vector.l1 <= vector.linf)
    counterexample(vector.l1 * vector.l1 <= vector.square)


def moved_within(low: Any, high: Any, most: Any, size: Any) -> tuple[Vector, list[Any]]:
    """Return a vector whose greatest coordinate is the move of one number inside a box."""
    moved, (before, after) = Vector.any("moved"), z3.Reals("before after")
    inside = [low <= before, before <= high, low <= after, after <= high]
    return moved, [*moved.facts, *inside, moved.linf == size_of(before - after), moved.size == size]


@pytest.mark.checks("mean-replace")
def test_replacing_a_record_moves_a_sum_within_box_and_ball() -> None:
    symbols, (low, high, size) = Symbols(), z3.Reals("low high size")
    told = read_box(symbols, low, high, size)[REPLACE]
    moved, facts = moved_within(low, high, told.linf, size)
    for claim in moved.each_within(told):
        proved(claim, *facts, *symbols.facts, low < high)
    # The triangle inequality: coordinate by coordinate in L1 and Linf, by Cauchy and Schwarz in L2.
    a, b, squares, other, product, radius = z3.Reals("a b squares other product radius")
    proved(size_of(a - b) <= size_of(a) + size_of(b))
    balls = [squares <= radius**2, other <= radius**2, product**2 <= squares * other, radius > 0]
    proved(squares + other - 2 * product <= (2 * radius) ** 2, *balls)
    for norm in ("l1", "l2", "linf"):
        roots, apart = Symbols(), Vector.any("apart")
        told = roots.read(Ball.certify)(SimpleNamespace(radius=radius, norm=norm), apart.size)
        length = {"l1": apart.l1, "l2": apart.square, "linf": apart.linf}[norm]
        most = (2 * radius) ** 2 if norm == "l2" else 2 * radius
        for claim in apart.each_within(told.bounds[REPLACE]):
            proved(claim, *apart.facts, *roots.facts, radius > 0, length <= most)
    boxes = itertools.product(FLOATS, FLOATS, (1, 7))
    code_agrees(boxes, lambda case: box_is_covered(-case[0], *case[1:]))
    balls = itertools.product(FLOATS, ("l1", "l2", "linf"), (1, 7))
    code_agrees(balls, lambda case: ball_is_covered(*case))


FLOATS = small_floats(-1, 1, 1)


def box_is_covered(low: float, high: float, size: int) -> bool:
    ends = SimpleNamespace(low=arb(low), high=arb(high))
    ends.magnitude = read_over_balls(Box.magnitude)(ends)
    return is_covered(read_over_balls(Box.certify)(ends, size), Box(low, high).certify(size))


def ball_is_covered(radius: float, norm: Any, size: int) -> bool:
    told = read_over_balls(Ball.certify)(SimpleNamespace(radius=arb(radius), norm=norm), size)
    return is_covered(told, Ball(radius, norm).certify(size))


@pytest.mark.refutes("mean-replace")
def test_the_bound_of_one_record_is_too_small_for_a_replaced_one() -> None:
    symbols, (low, high, size) = Symbols(), z3.Reals("low high size")
    told = read_box(symbols, low, high, size)[ADD]
    moved, facts = moved_within(low, high, told.linf, size)
    counterexample(moved.linf <= told.linf, *facts, *symbols.facts, low < 0, high > 0)


@pytest.mark.checks("sum-addremove")
def test_a_record_that_comes_or_goes_moves_a_sum_by_its_own_vector() -> None:
    symbols, (low, high, size, added) = Symbols(), z3.Reals("low high size added")
    told = read_box(symbols, low, high, size)[ADD]
    moved = Vector.any("moved")
    facts = [
        *moved.facts,
        moved.linf == size_of(added),
        moved.size == size,
        low <= added,
        added <= high,
    ]
    for claim in moved.each_within(told):
        proved(claim, *facts, *symbols.facts)
    radius = z3.Real("radius")
    for norm in ("l1", "l2", "linf"):
        roots, one = Symbols(), Vector.any("one")
        told = roots.read(Ball.certify)(SimpleNamespace(radius=radius, norm=norm), one.size).bounds[ADD]
        length = {"l1": one.l1 <= radius, "l2": one.square <= radius**2, "linf": one.linf <= radius}
        for claim in one.each_within(told):
            proved(claim, *one.facts, *roots.facts, radius > 0, length[norm])


@pytest.mark.refutes("sum-addremove")
def test_half_the_width_is_too_small_unless_the_box_is_centred() -> None:
    symbols, (low, high, added) = Symbols(), z3.Reals("low high added")
    told = read_box(symbols, low, high, z3.RealVal(1))[REPLACE]
    given = (low <= added, added <= high, *symbols.facts)
    counterexample(size_of(added) <= told.linf / 2, *given)
    proved(size_of(added) <= told.linf / 2, *given, low == -high)


def count_moves(size: int) -> tuple[Any, list[Any]]:
    """Return how a record that leaves one cell for another moves counts, and where it may be."""
    counts = z3.Array("counts", z3.IntSort(), z3.IntSort())
    source, target = z3.Ints("source target")
    left = z3.Store(counts, source, counts[source] - 1)
    after = z3.Store(left, target, left[target] + 1)
    inside = z3.And(*(z3.And(c >= 0, c < size) for c in (source, target)))
    return inside, [after[c] - counts[c] for c in range(size)]


@pytest.mark.checks("histogram")
def test_a_replaced_record_moves_two_counts_by_one() -> None:
    for size in (1, 2, 3, 4):
        inside, moves = count_moves(size)
        told = told_floats(certify_cells(size).bounds[REPLACE])
        total = sum(size_of(move) for move in moves)
        # Moves are -1, 0 or 1, so that their squares are their sizes.
        proved(z3.And(*(z3.And(move >= -1, move <= 1) for move in moves)), inside)
        proved(
            z3.And(z3.ToReal(total) <= told.l1, z3.ToReal(total) <= told.l2**2, told.linf >= 1), inside
        )
        proved(Vector.of(z3.RealVal(1)).within(told_floats(certify_cells(size).bounds[ADD])))
    # Cells that a record neither leaves nor enters do not move, so more of them change nothing.
    inside, moves = count_moves(5)
    proved(moves[4] == 0, inside, z3.Int("source") != 4, z3.Int("target") != 4)
    many = certify_cells(10**6).bounds
    assert (many[REPLACE].l1, many[REPLACE].linf, many[ADD].l1) == (2.0, 1.0, 1.0)


@pytest.mark.refutes("histogram")
def test_one_count_under_replacement_is_refuted() -> None:
    inside, moves = count_moves(3)
    one = exact(certify_cells(3).bounds[ADD].l1)
    found = counterexample(z3.ToReal(sum(size_of(move) for move in moves)) <= one, inside)
    source, target = (found.eval(z3.Int(name)).as_long() for name in ("source", "target"))
    assert source != target


@pytest.mark.checks("pdp")
def test_curves_from_the_middle_move_by_the_range_and_by_half_of_it() -> None:
    symbols, (lo, hi, size, before, after) = Symbols(), z3.Reals("lo hi size before after")
    half, middle = (hi - lo) / 2, (hi + lo) / 2
    told = read_box(symbols, -half, half, size)
    given = [lo < hi, lo <= before, before <= hi, lo <= after, after <= hi, *symbols.facts]
    curve, moved = Vector.any("curve"), Vector.any("moved")
    curve_is = [*curve.facts, curve.size == size, curve.linf == size_of(before - middle)]
    moved_is = [*moved.facts, moved.size == size, moved.linf == size_of(before - after)]
    for claim in curve.each_within(told[ADD]):
        proved(claim, *given, *curve_is)
    for claim in moved.each_within(told[REPLACE]):
        proved(claim, *given, *moved_is)


@pytest.mark.refutes("pdp")
def test_curves_that_are_not_measured_from_the_middle_move_further() -> None:
    symbols, (lo, hi, answer) = Symbols(), z3.Reals("lo hi answer")
    half = (hi - lo) / 2
    told = read_box(symbols, -half, half, z3.RealVal(1))
    counterexample(
        size_of(answer) <= told[ADD].linf, lo <= answer, answer <= hi, lo < hi, *symbols.facts
    )


@pytest.mark.checks("generic-plots")
def test_one_subset_moves_through_the_whole_box_under_both_relations() -> None:
    symbols, (low, high, size) = Symbols(), z3.Reals("low high size")

    class ReadBox:
        def certify(self, count: Any) -> Any:
            return SimpleNamespace(bounds=read_box(symbols, low, high, count))

    told = symbols.read(certify_vectors)(size, ReadBox()).bounds
    for relation in (REPLACE, ADD):
        moved, facts = moved_within(low, high, told[relation].linf, size)
        for claim in moved.each_within(told[relation]):
            proved(claim, *facts, *symbols.facts, low < high)


@pytest.mark.refutes("generic-plots")
def test_half_the_width_for_a_subset_that_a_record_joins_is_refuted() -> None:
    symbols, (low, high) = Symbols(), z3.Reals("low high")
    told = read_box(symbols, low, high, z3.RealVal(1))[REPLACE]
    moved, facts = moved_within(low, high, told.linf, z3.RealVal(1))
    counterexample(moved.linf <= told.linf / 2, *facts, *symbols.facts, low < high)


@pytest.mark.checks("marginals")
def test_tables_with_one_cell_of_each_record_add_up() -> None:
    """By induction: one more table adds two moved cells to a replacement, one to an addition."""
    for cells, relation in ((2, REPLACE), (1, ADD)):
        for tables in (1, 2, 3, 10, 1000):
            told = told_floats(certify_tables(tables, 10 * tables).bounds[relation])
            moved = Vector(tables * 10, Fraction(tables * cells), Fraction(tables * cells), Fraction(1))
            proved(
                z3.And(exact(moved.l1) <= told.l1, exact(moved.square) <= told.l2**2, told.linf >= 1)
            )
    vector, (source, target) = Vector.any("tables"), z3.Ints("source target")
    change = z3.If(source == target, z3.RealVal(0), z3.RealVal(1))
    longer, count = vector.longer(change).longer(-change), z3.Real("tables")
    before = [vector.l1 <= 2 * count, vector.square <= 2 * count, vector.linf <= 1]
    after = [longer.l1 <= 2 * (count + 1), longer.square <= 2 * (count + 1), longer.linf <= 1]
    for claim in after:
        proved(claim, *vector.facts, *before)


@pytest.mark.refutes("marginals")
def test_one_table_fewer_than_there_are_is_refuted() -> None:
    told = told_floats(certify_tables(3, 30).bounds[REPLACE])
    ones = [z3.Real(f"x{i}") for i in range(8)]
    each = [z3.Or(x == 1, x == -1) for x in ones]
    counterexample(Vector.of(*ones).l1 <= told.l1, *each)


@pytest.mark.checks("shap-dependence")
def test_a_number_in_one_cell_moves_twice_its_bound_in_every_norm() -> None:
    symbols, (bound, before, after, size) = Symbols(), z3.Reals("bound before after size")
    told = symbols.read(certify_one_cell)(size, bound).bounds
    inside = [size_of(before) <= bound, size_of(after) <= bound]
    for vector in (Vector.of(after - before), Vector.of(-before, after)):
        for claim in vector.each_within(told[REPLACE]):
            proved(claim, *inside)
    for claim in Vector.of(after).each_within(told[ADD]):
        proved(claim, *inside)
    code_agrees(itertools.product((1, 9), FLOATS), lambda case: floats_cover(certify_one_cell, *case))


@pytest.mark.refutes("shap-dependence")
def test_two_cells_priced_in_l2_forget_a_record_that_stays_in_its_cell() -> None:
    symbols, (bound, before, after) = Symbols(), z3.Reals("bound before after")
    told = symbols.read(certify_one_cell)(z3.RealVal(1), bound).bounds[ADD]
    stays, inside = Vector.of(after - before), [size_of(before) <= bound, size_of(after) <= bound]
    counterexample(stays.square <= 2 * told.l2**2, *inside)
