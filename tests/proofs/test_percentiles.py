"""Distances to another percentile, and cuts by rank: for all tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3

from discreet.mechanisms.selection.inverse_sensitivity import InverseSensitivity, signed_distances
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.select.quantiles.cuts import QuantileCuts
from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities
from discreet.select.quantiles.runs import deal
from tests.proofs.machine.cases import (
    additions,
    code_agrees,
    every_case,
    failing_case,
    replacements,
    small_floats,
    tables,
)
from tests.proofs.machine.reading import SYMBOL_ARRAYS, Row, Symbols
from tests.proofs.machine.solver import counterexample, proved, size_of

PERCENTS = [Fraction(text) for text in ("0.1", "25", "50", "62.5", "99.9", "100")]

Counts = tuple[Any, Any, Any]
"""Records below a candidate, at it, and above it."""


def read_distance(percent: Fraction, relation: Relation, counts: Counts) -> Any:
    """Return the code's distance of the middle candidate, from symbolic counts."""
    by_edits = Symbols().read(PercentileDistances._by_adding_and_removing, **SYMBOL_ARRAYS)
    measure = SimpleNamespace(p=percent, can_empty=relation == ADD_REMOVE)
    measure._by_adding_and_removing = lambda *terms: by_edits(measure, *terms)
    return Symbols().read(PercentileDistances.distances, **SYMBOL_ARRAYS)(measure, Row(*counts))[1]


def edits(relation: Relation, counts: Counts) -> list[tuple[Any, Counts]]:
    """Return, for every edit, when it is possible and the counts after it."""
    places = range(3)
    if relation == ADD_REMOVE:
        steps = [(None, target) for target in places] + [(source, None) for source in places]
    else:
        steps = list(itertools.permutations(places, 2))
    found = []
    for source, target in steps:
        after = [c - (i == source) + (i == target) for i, c in enumerate(counts)]
        found.append((z3.BoolVal(True) if source is None else counts[source] >= 1, tuple(after)))
    return found


def table(relation: Relation) -> tuple[Counts, list[Any]]:
    counts = z3.Ints("below at above")
    rows = [sum(counts) >= (0 if relation == ADD_REMOVE else 1)]
    return tuple(counts), [*(c >= 0 for c in counts), *rows]


def is_answer(percent: Fraction, counts: Counts) -> Any:
    below, at, above = counts
    wanted, whole = percent.numerator * (below + at + above), 100 * percent.denominator
    return z3.And(whole * below < wanted, wanted <= whole * (below + at))


@pytest.mark.checks("percentile-distance")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_a_distance_is_zero_at_the_answer_and_falls_by_one_an_edit(relation: Relation) -> None:
    """Zero at the answer alone, moved by one at most, lowered by some edit: that is the distance."""
    counts, given = table(relation)
    for percent in PERCENTS:
        here = read_distance(percent, relation, counts)
        some = sum(counts) >= 1
        proved((here == 0) == is_answer(percent, counts), *given, some)
        proved(here >= 0, *given)
        nearer = []
        for possible, after in edits(relation, counts):
            there = read_distance(percent, relation, after)
            proved(size_of(here - there) <= 1, *given, possible)
            nearer.append(z3.And(possible, there == here - 1))
        proved(z3.Or(*nearer), *given, here > 0)


@pytest.mark.refutes("percentile-distance")
def test_distances_of_one_relation_are_not_those_of_the_other() -> None:
    counts, given = table(ADD_REMOVE)
    here = read_distance(Fraction(25), REPLACE_ONE, counts)
    moves = [
        z3.Implies(p, size_of(here - read_distance(Fraction(25), REPLACE_ONE, c)) <= 1)
        for p, c in edits(ADD_REMOVE, counts)
    ]
    nearer = [
        z3.And(p, read_distance(Fraction(25), REPLACE_ONE, c) == here - 1)
        for p, c in edits(ADD_REMOVE, counts)
    ]
    proved(z3.And(*moves), *given, sum(counts) >= 2)
    counterexample(z3.Or(*nearer), *given, here > 0, sum(counts) >= 2)


def scores(distances: Any, leave: Any) -> Any:
    read = Symbols().read(signed_distances, **SYMBOL_ARRAYS, _distances=lambda d: d)
    return read(Row(distances), leave)[0]


def neighbours() -> tuple[list[Any], list[Any]]:
    """Return distances and edits to leave the answer of one candidate, for two neighbours."""
    distance, other, leave, other_leave = z3.Ints("distance other leave other_leave")
    graph = [distance >= 0, other >= 0, leave >= 1, other_leave >= 1, size_of(distance - other) <= 1]
    both = z3.Implies(z3.And(distance == 0, other == 0), size_of(leave - other_leave) <= 1)
    left = z3.Implies(z3.And(distance == 0, other > 0), leave == 1)
    entered = z3.Implies(z3.And(distance > 0, other == 0), other_leave == 1)
    return [distance, other, leave, other_leave], [*graph, both, left, entered]


@pytest.mark.checks("signed-distance")
def test_signed_distances_move_by_one_an_edit() -> None:
    (distance, other, leave, other_leave), given = neighbours()
    proved(size_of(scores(distance, leave) - scores(other, other_leave)) <= 1, *given)
    proved(scores(distance, leave) >= -distance, *given)


@pytest.mark.refutes("signed-distance")
def test_an_answer_that_forgets_it_may_be_lost_is_refuted() -> None:
    (distance, other, leave, other_leave), given = neighbours()
    forgotten = [fact for fact in given[:-2]]
    counterexample(size_of(scores(distance, leave) - scores(other, other_leave)) <= 1, *forgotten)


@pytest.mark.checks("inverse-sensitivity")
def test_a_distance_in_any_graph_moves_by_one_and_costs_half_of_epsilon() -> None:
    here, there, way = z3.Ints("here there way")
    # A way from the neighbour, and the edit to it before, is a way from here; and the other way round.
    shortest = [here <= 1 + there, there <= 1 + here, way >= there]
    proved(size_of(here - there) <= 1, *shortest)
    # Two candidates may move apart by two, which the scale of the exponential mechanism covers.
    first, second = z3.Ints("first second")
    proved(size_of(first - second) <= 2, size_of(first) <= 1, size_of(second) <= 1)
    code_agrees(
        small_floats(-8, 4), lambda e: 2 / Fraction(InverseSensitivity(e).step.scale) <= Fraction(e)
    )


@pytest.mark.refutes("inverse-sensitivity")
def test_candidates_whose_distances_move_apart_need_the_factor_two() -> None:
    first, second = z3.Ints("first second")
    counterexample(size_of(first - second) <= 1, size_of(first) <= 1, size_of(second) <= 1)


def read_cut(
    split: tuple[int, int, int], moves: int, left: Any, parts: Any, groups: bool = False
) -> tuple[Any, Any]:
    """Return how far a score moves by the code, and which share of a round its choice has."""
    read = Symbols().read(QuantileCuts._pick, Chooser=lambda *terms: (terms[4], terms[2]))
    told = SimpleNamespace(kind="exponential", share=z3.Real("share"), moves=moves, marks=(0, 1, 2, 3))
    told.step, told._between_groups = 1.0, groups
    told._parts = lambda _: (left, parts)
    return read(told, split, 10)


@pytest.mark.checks("several-quantiles")
def test_a_record_moves_the_score_of_a_cut_by_what_is_priced() -> None:
    left, parts, distance = z3.Ints("left parts distance")
    given, share = [left >= 1, left < parts], z3.Real("share")

    def moved(step: Any) -> Any:
        return size_of(size_of(distance + step) - size_of(distance))

    for moves in (1, 2):
        priced, own = read_cut((0, 1, 2), moves, left, parts)
        for step in (parts - left, -left, left - parts, left):
            proved(moved(step) <= priced, *given)
        proved(moves * own == share)
    # The only side there is at first: a replaced record moves the rank alone, for the whole share.
    priced, own = read_cut((0, 1, 3), 2, left, parts)
    for step in (parts, -parts, z3.IntVal(0)):
        proved(moved(step) <= priced, *given)
    proved(own == share)
    # Of groups it may leave one and come into another: each moves by one record, for half of it.
    priced, own = read_cut((0, 1, 3), 2, left, parts, groups=True)
    for step in (parts - left, -left, left - parts, left):
        proved(moved(step) <= priced, *given)
    proved(2 * own == share)
    cases = ((slots, count) for slots in (1, 3, 8, 64) for count in range(200))
    every_case(cases, lambda case: one_slot_more(*case))


def one_slot_more(slots: int, count: int) -> bool:
    """Say whether one record more of a value is one more in one of its slots."""
    filled = []
    for records in (count, count + 1):
        held = np.zeros(slots, dtype=np.int64)
        _, places, numbers = deal(np.array([records]), slots)
        held[places] = numbers
        filled.append(held)
    return sorted((filled[1] - filled[0]).tolist()) == [0] * (slots - 1) + [1]


@pytest.mark.refutes("several-quantiles")
def test_the_price_of_the_first_round_is_wrong_in_later_ones() -> None:
    left, parts, distance = z3.Ints("left parts distance")
    given = [left >= 1, left < parts]
    priced, own = read_cut((0, 1, 2), 1, left, parts)
    # Under replacement the record may leave one side and join another: rank and size move at once.
    counterexample(size_of(size_of(distance + parts) - size_of(distance)) <= priced, *given)
    counterexample(2 * own <= z3.Real("share"), z3.Real("share") > 0)


def sensitivity_cases() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], PercentileDistances]]:
    for percent, relation in itertools.product(
        (Fraction(25), Fraction(50), Fraction(90)), (ADD_REMOVE, REPLACE_ONE)
    ):
        measure = PercentileDistances(percent, relation)
        for rows in range(1, 5):
            for counts in tables(4, rows):
                others = replacements(counts) if relation == REPLACE_ONE else additions(counts)
                for other in others:
                    yield counts, other, measure
                    yield other, counts, measure


def is_admissible(
    counts: tuple[int, ...], other: tuple[int, ...], measure: PercentileDistances, later: int = 1
) -> bool:
    """Say whether sensitivities bound the answer's move and, one distance on, the neighbour's."""
    here, there = (known_sensitivities(c, measure) for c in (counts, other))
    answers = [measure.standing(np.array(c)).winner for c in (counts, other)]
    known = min(len(here) - later, len(there))
    return abs(answers[0] - answers[1]) <= here[0] and bool(
        np.all(here[later:][:known] >= there[:known])
    )


SENSITIVITIES: dict[Any, Any] = {}


def known_sensitivities(counts: tuple[int, ...], measure: PercentileDistances) -> Any:
    key = (counts, measure)
    if key not in SENSITIVITIES:
        SENSITIVITIES[key] = value_sensitivities(np.array(counts), measure, 12)
    return SENSITIVITIES[key]


@pytest.mark.checks("value-sensitivity")
def test_sensitivities_of_values_are_admissible_on_every_small_table() -> None:
    every_case(sensitivity_cases(), lambda case: is_admissible(*case))


@pytest.mark.refutes("value-sensitivity")
def test_sensitivities_at_the_same_distance_are_not_enough() -> None:
    failing_case(sensitivity_cases(), lambda case: is_admissible(*case, later=0))
