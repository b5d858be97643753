"""How far one record moves an entropy: the code's function over whole ranges, and every small table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from discreet.tables.entropy.bounds import (
    bernoulli_entropy,
    bound_entropy,
    bound_entropy_above,
    bound_information,
    bound_information_above,
)
from discreet.tables.entropy.noise import MeasureNoise, Narrowed
from discreet.tables.entropy.values import renyi_entropy
from tests.proofs.machine.balls import curvature, holds_everywhere, slope
from tests.proofs.machine.cases import (
    additions,
    code_agrees,
    every_case,
    failing_case,
    replacements,
    tables,
)
from tests.proofs.machine.reading import read_over_balls

Table = tuple[int, ...]
Pair = tuple[Table, Table, float]

ball_bernoulli = read_over_balls(bernoulli_entropy)
ORDERS = (0.5, 1.0, 2.0, 5.0, math.inf)
ROWS_TO = 2.0**40


def step(x: Any) -> Any:
    """Return h(x) = x ln x - (x - 1) ln(x - 1), by the code's entropy of a Bernoulli variable."""
    return x * ball_bernoulli(x, 1.0)


@cache
def entropy(counts: Table, order: float) -> Any:
    """Return the entropy of a table, as a ball."""
    shares = [arb(c) / sum(counts) for c in counts if c]
    if not shares:
        return arb(0)
    if order == 1:
        return -sum((p * p.log() for p in shares), arb(0))
    if math.isinf(order):
        return -(arb(max(counts)) / sum(counts)).log()
    return sum((p ** arb(order) for p in shares), arb(0)).log() / (1 - arb(order))


def moved(pair: Pair) -> Any:
    before, after, order = pair
    return abs(entropy(before, order) - entropy(after, order))


def pairs(cells: int, most: int, orders: tuple[float, ...] = ORDERS) -> Iterator[Pair]:
    """Return every pair of tables that differ by a replaced record."""
    for rows, order in itertools.product(range(2, most + 1), orders):
        for counts in tables(cells, rows):
            for other in replacements(counts):
                yield counts, other, order


def within_bound(pair: Pair) -> bool:
    return bool(moved(pair) <= arb(bound_entropy(sum(pair[0]), len(pair[0]), pair[2])))


@pytest.mark.checks("entropy-shannon")
def test_the_step_of_a_count_rises_so_its_last_one_is_the_bound() -> None:
    """A replaced record changes n H by h(u) - h(w + 1), so by h(n) at most if h rises from h(1) = 0."""
    holds_everywhere(lambda x: slope(step, x), (2.0, ROWS_TO))
    assert step(arb(2)) > 0
    code_agrees(range(2, 3000), lambda n: arb(bound_entropy(n, 2, 1.0)) * n >= step(arb(n)))
    code_agrees(
        [2**k for k in range(1, 41)], lambda n: arb(bound_entropy(n, 9, 1.0)) * n >= step(arb(n))
    )
    every_case(pairs(3, 7, (1.0,)), within_bound)


@pytest.mark.refutes("entropy-shannon")
def test_a_bound_without_its_second_term_is_refuted() -> None:
    def short(pair: Pair) -> bool:
        return bool(moved(pair) <= arb(sum(pair[0])).log() / sum(pair[0]))

    assert set(failing_case(pairs(2, 4, (1.0,)), short)[0]) == {0, 2}


@pytest.mark.checks("entropy-renyi")
def test_bounds_of_every_order_hold_on_every_small_table_and_are_attained() -> None:
    cases = itertools.product((2, 3, 4), range(2, 8), ORDERS)
    every_case(cases, lambda case: is_the_greatest(*case))


def is_the_greatest(cells: int, rows: int, order: float) -> bool:
    """Say whether the bound holds for every table of this size, and for one of them barely."""
    most = max(
        (moved((c, o, order)) for c in tables(cells, rows) for o in replacements(c)),
        key=lambda ball: float(ball.mid()),
    )
    bound = arb(bound_entropy(rows, cells, order))
    return bool(most <= bound) and bool(bound <= most * arb(1 + 3e-6))


@pytest.mark.refutes("entropy-renyi")
def test_the_published_bound_is_too_small_where_cells_are_many() -> None:
    def published(pair: Pair) -> bool:
        rows, order = sum(pair[0]), arb(pair[2])
        return bool(moved(pair) <= 2 * order / (abs(1 - order) * rows))

    counts = failing_case(pairs(6, 6, (5.0,)), published)[0]
    assert max(counts) <= 3


def joint_values(counts: Table) -> tuple[Any, Any]:
    """Return the mutual information of two columns of three values, and an entropy given the first."""
    rows = [counts[3 * i : 3 * i + 3] for i in range(3)]
    columns = tuple(sum(column) for column in zip(*rows, strict=True))
    firsts = tuple(sum(row) for row in rows)
    whole, first = entropy(counts, 1.0), entropy(firsts, 1.0)
    return first + entropy(columns, 1.0) - whole, whole - first


known_joint = cache(joint_values)


def joint_pairs() -> Iterator[tuple[Table, Table]]:
    for rows in (2, 3, 4):
        for counts in tables(9, rows):
            for other in replacements(counts):
                if counts < other:
                    yield counts, other


@pytest.mark.checks("entropy-joint")
def test_steps_bend_down_so_that_two_even_halves_bound_the_information() -> None:
    """h((n + k) / 2) twice less h(k) falls in k if h is concave, which makes k = 1 the worst."""
    holds_everywhere(lambda x: -curvature(step, x), (2.0, 2.0**20))
    every_case(joint_pairs(), lambda pair: joint_within(*pair))
    every_case(joint_additions(), lambda case: joint_within_above(*case))
    code_agrees(
        range(3, 500), lambda n: arb(bound_information(2 * n + 1)) * (2 * n + 1) >= 2 * step(arb(n + 1))
    )


def joint_within(counts: Table, other: Table) -> bool:
    """Say whether information and conditional entropy stay within their bounds."""
    rows = sum(counts)
    (first, given), (second, other_given) = known_joint(counts), known_joint(other)
    information = abs(first - second) <= arb(bound_information(rows))
    return bool(information) and bool(abs(given - other_given) <= arb(bound_entropy(rows, 9, 1.0)))


def joint_additions() -> Iterator[tuple[Table, Table, int]]:
    for floor, rows in itertools.product((1, 2, 3), range(3)):
        for counts in tables(9, rows):
            for other in additions(counts):
                yield filled(counts, floor), filled(other, floor), floor


def joint_within_above(counts: Table, other: Table, floor: int) -> bool:
    (first, _), (second, _) = known_joint(counts), known_joint(other)
    return bool(abs(first - second) <= arb(bound_information_above(floor)))


def filled(counts: Table, floor: int) -> Table:
    """Return the table as the code fills it up."""
    whole = MeasureNoise.filled(SimpleNamespace(floor=floor), np.array(counts))  # type: ignore[arg-type]
    return tuple(int(c) for c in whole)


@pytest.mark.refutes("entropy-joint")
def test_the_bound_of_one_entropy_is_too_small_for_the_information() -> None:
    def short(pair: tuple[Table, Table]) -> bool:
        first, second = (known_joint(c)[0] for c in pair)
        return bool(abs(first - second) <= arb(bound_entropy(sum(pair[0]), 9, 1.0)))

    failing_case(joint_pairs(), short)


def narrowed_cases() -> Iterator[tuple[Table, Table, Narrowed]]:
    for low, high in itertools.combinations(range(1, 7), 2):
        for counts in tables(3, 6):
            for other in replacements(counts):
                yield counts, other, Narrowed(6, low, high)


@pytest.mark.checks("entropy-narrowed")
def test_terms_continued_by_lines_move_by_the_spread_of_their_slopes() -> None:
    holds_everywhere(lambda x: slope(step, x), (2.0, ROWS_TO))
    every_case(narrowed_cases(), lambda case: narrowed_moves(*case) <= case[2].bound)
    inside = (
        case for case in narrowed_cases() if set(case[0]) <= set(range(case[2].low, case[2].high + 1))
    )
    every_case(
        inside,
        lambda case: abs(float(case[2](np.array(case[0]))) - float(entropy(case[0], 1.0))) < 1e-12,
    )


def narrowed_moves(counts: Table, other: Table, measure: Narrowed) -> float:
    return abs(float(measure(np.array(counts)) - measure(np.array(other))))


@pytest.mark.refutes("entropy-narrowed")
def test_an_entropy_without_lines_moves_further_than_its_range_says() -> None:
    failing_case(narrowed_cases(), lambda case: bool(moved((*case[:2], 1.0)) <= arb(case[2].bound)))


def growing_cases() -> Iterator[tuple[Table, Table, int, float]]:
    for floor, rows, order in itertools.product(range(1, 5), range(6), ORDERS):
        for counts in tables(3, rows):
            for other in additions(counts):
                yield counts, other, floor, order


def moves_above(counts: Table, other: Table, floor: int, order: float) -> bool:
    return bool(moved((counts, other, order)) <= arb(bound_entropy_above(floor, len(counts), order)))


@pytest.mark.checks("entropy-add-remove")
def test_tables_filled_up_to_a_floor_move_within_its_bound() -> None:
    every_case(
        growing_cases(), lambda c: moves_above(filled(c[0], c[2]), filled(c[1], c[2]), c[2], c[3])
    )
    holds_everywhere(lambda x: -slope(lambda n: ball_bernoulli(n, 1.0), x), (3.0, ROWS_TO))
    assert ball_bernoulli(arb(2), 1.0) > ball_bernoulli(arb(3), 1.0)
    code_agrees(itertools.product(tables(3, 5), ORDERS), lambda c: entropies_agree(*c))


def entropies_agree(counts: Table, order: float) -> bool:
    return (
        abs(float(renyi_entropy(np.array(counts, dtype=float), order)) - float(entropy(counts, order)))
        < 1e-12
    )


@pytest.mark.refutes("entropy-add-remove")
def test_tables_that_are_not_filled_up_move_by_a_whole_bit() -> None:
    found = failing_case(growing_cases(), lambda c: moves_above(*c))
    assert sum(found[0]) < found[2]
