"""Sums of contributions with a shape of their own: means, permuted losses, centred curves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3

from discreet.explain.ale.contribution import certify_categories, certify_intervals
from discreet.explain.pdp.centred import Shape
from discreet.explain.permutation.contribution import certify
from discreet.explain.permutation.losses import partners
from discreet.explain.permutation.noise import loss_weight
from discreet.plans.stages.means import certify_mean
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.proofs.machine.cases import code_agrees, every_case, failing_case, small_floats
from tests.proofs.machine.reading import Symbols, Told, floats_cover
from tests.proofs.machine.solver import Vector, counterexample, greatest, proved, size_of


def mean_vector(numbers: int, categories: int, cells: int) -> tuple[Told, list[Any], Any]:
    """Return norms of what moves: a difference of shortened rows, and so many cells per category."""
    moved, clip = Vector.any("numbers"), z3.Real("clip")
    l1, square, linf = categories * cells, categories * cells, int(categories > 0)
    if not numbers:
        return Told(l1, square, linf), [clip == 0], clip
    facts = [*moved.facts, moved.size == numbers, clip > 0, clip * clip <= numbers]
    return Told(moved.l1 + l1, moved.square + square, greatest(moved.linf, linf)), facts, clip


SHAPES = [(p, q) for p in (0, 1, 3) for q in (0, 2) if p + q]


@pytest.mark.checks("background-mean")
def test_a_shortened_row_and_its_categories_move_within_their_bounds() -> None:
    for (p, q), (relation, cells) in itertools.product(SHAPES, ((REPLACE_ONE, 2), (ADD_REMOVE, 1))):
        symbols = Symbols()
        found, facts, clip = mean_vector(p, q, cells)
        bounds = symbols.read(certify_mean, float=lambda flag: int(flag))(p, q, clip, p + 2 * q)
        told, given = bounds.bounds[relation], [*facts, *symbols.facts]
        if p:
            moved = Vector.any("numbers")
            # One row has length clip and coordinates within one; a replacement moves by two of them.
            given += [moved.square <= (cells * clip) ** 2, moved.linf <= cells]
        proved(found.l1 <= told.l1, *given)
        proved(found.l2 <= told.l2**2, *given)
        proved(found.linf <= told.linf, *given)
    lengths = [x for x in small_floats(-3, 2, 2) if x * x <= 3]
    code_agrees(lengths, lambda length: floats_cover(certify_mean, 3, 2, length, 9))


@pytest.mark.refutes("background-mean")
def test_a_category_counted_as_one_cell_and_a_clip_left_out_are_refuted() -> None:
    symbols = Symbols()
    found, facts, clip = mean_vector(1, 1, 2)
    bounds = symbols.read(certify_mean, float=lambda flag: int(flag))(1, 1, clip, 3).bounds
    moved = Vector.any("numbers")
    both = [moved.square <= (2 * clip) ** 2, moved.linf <= 2, moved.l1 == moved.linf]
    counterexample(found.l1 <= bounds[ADD_REMOVE].l1 + 1, *facts, *symbols.facts, *both)
    counterexample(found.l2 <= bounds[REPLACE_ONE].l2 ** 2, *facts, *symbols.facts, *both[1:])


def entered(repeats: tuple[tuple[int, ...], ...], record: int) -> Fraction:
    """Return by how many greatest losses a record moves a sum of mean permuted losses."""
    own = Fraction(1)
    others = sum(donors[i] == record for donors in repeats for i in range(len(donors)) if i != record)
    return own + Fraction(others, len(repeats))


def permutations_without_fixed_points(rows: int) -> list[tuple[int, ...]]:
    orders = itertools.permutations(range(rows))
    return [order for order in orders if all(i != donor for i, donor in enumerate(order))]


PERMUTED = [
    (repeats, record)
    for rows in (2, 3, 4)
    for number in (1, 2, 3)
    for repeats in itertools.product(
        permutations_without_fixed_points(rows), repeat=min(number, 5 - rows)
    )
    for record in range(rows)
]


@pytest.mark.checks("pfi")
def test_a_record_enters_two_permuted_losses_whatever_the_permutations() -> None:
    told = certify(2, 3, 1.0, None, repeats=1, own=False).bounds[REPLACE_ONE]
    every_case(PERMUTED, lambda case: entered(*case) <= Fraction(told.linf))
    own = certify(2, 3, 1.0, None, repeats=1, own=True).bounds[REPLACE_ONE]
    every_case(PERMUTED, lambda case: entered(*case) + 1 <= Fraction(own.linf))
    blocks = itertools.product(range(2, 40), (1, 3), (0, 7))
    code_agrees(blocks, lambda case: is_one_to_one(partners(case[2], 0, case[0], case[1])))


def is_one_to_one(index: np.ndarray[Any, Any]) -> bool:
    rows = index.shape[1]
    return all(
        sorted(donors) == list(range(rows)) and all(donors != np.arange(rows)) for donors in index
    )


@pytest.mark.refutes("pfi")
def test_one_loss_as_if_the_partners_row_did_not_move_is_refuted() -> None:
    told = certify(1, 3, 1.0, None, repeats=1, own=False).bounds[REPLACE_ONE]
    failing_case(PERMUTED, lambda case: entered(*case) <= Fraction(told.linf))


@pytest.mark.checks("pfi-loss-once")
def test_the_weight_of_the_loss_is_the_best_and_its_bounds_hold() -> None:
    c, w = z3.Reals("c w")
    # (a m + w)^2 (1 + 1/w^2) with a m = c^3 is least at w = c; (a^2 m + w^2)(1 + 1/w^2), c^4, too.
    proved((c**3 + w) ** 2 * (w**2 + 1) * c**2 >= (c**3 + c) ** 2 * (c**2 + 1) * w**2, c > 0, w > 0)
    proved((c**4 + w**2) * (w**2 + 1) * c**2 >= (c**4 + c**2) * (c**2 + 1) * w**2, c > 0, w > 0)
    code_agrees(itertools.product((1, 2), range(1, 30)), lambda case: is_best_weight(*case))
    for moved in (1, 2):
        symbols, losses, last = Symbols(), Vector.any("losses"), z3.Real("last")
        told = symbols.read(certify)(moved, losses.size, 1, w, repeats=1, own=True).bounds[REPLACE_ONE]
        given = [*losses.facts, *symbols.facts, losses.linf <= moved, size_of(last) <= w, w > 0]
        proved(losses.l1 + size_of(last) <= told.l1, *given)
        proved(losses.square + w**2 <= told.l2**2, *given)
        proved(greatest(losses.linf, size_of(last)) <= told.linf, *given)


def is_best_weight(moved: int, features: int) -> bool:
    l1, l2 = (loss_weight(moved, features, norm) for norm in ("l1", "l2"))
    return math.isclose(l1**3, moved * features) and math.isclose(l2**4, moved**2 * features)


@pytest.mark.refutes("pfi-loss-once")
def test_a_bound_without_the_weight_is_refuted() -> None:
    symbols, losses, (last, w) = Symbols(), Vector.any("losses"), z3.Reals("last w")
    told = symbols.read(certify)(2, losses.size, 1, w, repeats=1, own=True).bounds[REPLACE_ONE]
    given = [
        *losses.facts,
        *symbols.facts,
        losses.linf == 2,
        losses.l1 == 2 * losses.size,
        last == w,
        w > 0,
    ]
    counterexample(losses.l1 + last <= told.l1 - w, *given)
    counterexample(greatest(losses.linf, last) <= 2, *given)


def read_shape(symbols: Symbols, norm: str) -> tuple[dict[Any, Told], list[Any]]:
    """Return what the code certifies of a level w l and a centred curve, and the symbols in it."""
    points, half, weight, radius = z3.Reals("points half weight radius")
    shape = SimpleNamespace(points=points, half=half, weight=weight, radius=radius, norm=norm, clip=0.0)
    written = {"min": lambda *_: 0.0}  # a number in a sentence
    return symbols.read(Shape.certify, **written)(shape).bounds, [points, half, weight, radius]


@pytest.mark.checks("pdp-centred")
def test_a_level_and_a_centred_curve_move_within_their_bounds() -> None:
    for norm, (relation, records) in itertools.product(
        ("l1", "l2"), ((ADD_REMOVE, 1), (REPLACE_ONE, 2))
    ):
        symbols, curve = Symbols(), Vector.any("curve")
        told, (points, half, weight, radius) = read_shape(symbols, norm)
        level = z3.Real("level")
        given = [*curve.facts, *symbols.facts, curve.size == points, half > 0, weight > 0, radius > 0]
        given += [size_of(level) <= records * half]
        if norm == "l1":  # parts above and below zero have one sum, which no coordinate exceeds
            given += [curve.l1 <= records * radius, 2 * curve.linf <= curve.l1]
        else:
            given += [curve.square <= (records * radius) ** 2]
        proved(weight * size_of(level) + curve.l1 <= told[relation].l1, *given)
        proved(greatest(weight * size_of(level), curve.linf) <= told[relation].linf, *given)
        ends = [fact for fact in given if "level" not in str(fact)]
        proved((weight * records * half) ** 2 + curve.square <= told[relation].l2 ** 2, *ends)
    part, other, most = z3.Reals("part other most")
    proved(2 * most <= part + other, part == other, most <= part)


@pytest.mark.refutes("pdp-centred")
def test_a_curve_that_is_not_centred_has_a_greater_coordinate() -> None:
    symbols, curve = Symbols(), Vector.any("curve")
    told, (points, half, weight, radius) = read_shape(symbols, "l1")
    given = [
        *curve.facts,
        *symbols.facts,
        curve.size == points,
        half > 0,
        weight > 0,
        radius > weight * half,
    ]
    counterexample(curve.linf <= told[ADD_REMOVE].linf, *given, curve.l1 <= radius, points == 1)


def ale_moves(count: int | None, before: int, after: int) -> tuple[Vector, list[Any]]:
    """Return how a record that goes from one cell to another moves sums and weighted counts.

    ``count`` is the number of ordered categories; None stands for intervals, where a record has a
    single move.
    """
    r, w = z3.Reals("r w")
    cells = max(before, after) + 1 if count is None else count
    sums: list[Any] = [z3.RealVal(0)] * cells
    counts: list[Any] = [z3.RealVal(0)] * cells
    limits = []
    for sign, cell in ((-1, before), (1, after)):
        touched = (
            [cell] if count is None else [step for step in (cell - 1, cell) if 0 <= step < cells - 1]
        )
        for step in touched:
            move = z3.FreshReal("move")
            limits.append(size_of(move) <= r)
            sums[step] = sums[step] + sign * move
        counts[cell] = counts[cell] + sign * w
    return Vector.of(*sums, *counts), limits


def ale_bounds(symbols: Symbols, count: int | None) -> dict[Any, Told]:
    """Return what the code certifies for a limit r and a weight w."""
    r, w = z3.Reals("r w")
    if count is None:
        return symbols.read(certify_intervals)(2, r, w).bounds
    return symbols.read(certify_categories)(count, r, w).bounds


ALE_CASES = [
    (count, before, after)
    for count in (None, 2, 3, 4)
    for before in range(2 if count is None else count)
    for after in range(before, 2 if count is None else count)
]
"""From four categories on every way in which two records can meet is there."""


@pytest.mark.checks("ale")
def test_accumulated_effects_move_within_their_certificate_wherever_two_records_meet() -> None:
    r, w = z3.Reals("r w")
    for count, before, after in ALE_CASES:
        symbols = Symbols()
        told = ale_bounds(symbols, count)[REPLACE_ONE]
        vector, limits = ale_moves(count, before, after)
        proved(vector.l1 <= told.l1, *limits, r > 0, w >= 0, *symbols.facts)
        proved(vector.linf <= told.linf, *limits, r > 0, w >= 0, *symbols.facts)
        # A sum of squares is greatest where every move is at an end, which one square at a time shows.
        proved(greatest_square(count, before, after) <= told.l2**2, r > 0, w >= 0, *symbols.facts)
    pairs = list(itertools.product(small_floats(-1, 1, 1), repeat=2))
    code_agrees(pairs, lambda pair: floats_cover(certify_intervals, 5, *pair))
    code_agrees(
        itertools.product((2, 3), pairs),
        lambda case: floats_cover(certify_categories, case[0], *case[1]),
    )
    a, b, bound = z3.Reals("a b bound")
    proved((a - b) ** 2 <= 4 * bound**2, size_of(a) <= bound, size_of(b) <= bound)
    proved(a**2 <= bound**2, size_of(a) <= bound)


def greatest_square(count: int | None, before: int, after: int) -> Any:
    """Return the square of the L2 norm with every move at the end of its range."""
    r, w = z3.Reals("r w")

    def steps(cell: int) -> set[int]:
        return {cell} if count is None else {s for s in (cell - 1, cell) if 0 <= s < count - 1}

    both, single = steps(before) & steps(after), steps(before) ^ steps(after)
    moved = 0 if before == after else 2
    return 4 * len(both) * r**2 + len(single) * r**2 + moved * w**2


@pytest.mark.refutes("ale")
def test_forgetting_two_records_of_one_interval_is_refuted() -> None:
    r, w = z3.Reals("r w")
    vector, limits = ale_moves(None, 0, 0)
    counterexample(vector.square <= 2 * r**2 + 2 * w**2, *limits, r > 0, w >= 0)
    symbols = Symbols()
    two = ale_bounds(symbols, 2)[REPLACE_ONE]
    counterexample(greatest_square(3, 1, 1) <= two.l2**2, r > 0, w >= 0, *symbols.facts)
