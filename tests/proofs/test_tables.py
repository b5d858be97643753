"""Counts at several widths, trees of columns, rankings: every small one, exactly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from discreet.mechanisms.selection.borda import borda_points, certify_points
from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.mechanisms.selection.pairs.spanning_tree import Forest, count_picks, tree_choice
from discreet.numerics import to_units
from discreet.plans.results.range_histogram import RangeTree
from discreet.privacy.relation import REPLACE_ONE
from tests.proofs.machine.cases import code_agrees, every_case, failing_case

WIDTHS = {4: [(1,), (2, 1)], 5: [(2, 1)], 6: [(2, 1), (3, 1)], 8: [(4, 2, 1)], 9: [(3, 1)]}
TREES = [
    RangeTree(cells, widths, known)
    for cells, found in WIDTHS.items()
    for widths in found
    for known in (False, True)
]


def normal_matrix(tree: RangeTree) -> Any:
    """Return what blocks measure of cells, squared: the sum of outer products of blocks."""
    size = tree.padded
    total = fmpq_mat(size, size)
    for width in tree.widths:
        same = [fmpq(int(i // width == j // width)) for i in range(size) for j in range(size)]
        total += fmpq_mat(size, size, same)
    return total


def exact_variance(tree: RangeTree, start: int, end: int) -> Fraction:
    """Return the variance of a range by least squares; vectors sum to zero if the sum is known."""
    size, inner = tree.padded, normal_matrix(tree)
    wanted = fmpq_mat(size, 1, [fmpq(int(start <= i < end)) for i in range(size)])
    if tree.known_total:
        steps = itertools.product(range(size), range(size - 1))
        basis = fmpq_mat(size, size - 1, [fmpq(int(i == j) - int(i == j + 1)) for i, j in steps])
        inner, wanted = basis.transpose() * inner * basis, basis.transpose() * wanted
    found = (wanted.transpose() * inner.solve(wanted))[0, 0]
    return Fraction(int(found.p), int(found.q))


def ranges() -> Iterator[tuple[RangeTree, int, int]]:
    for tree in TREES:
        for start, end in itertools.combinations(range(tree.cells + 1), 2):
            yield tree, start, end


def told_variance(tree: RangeTree, start: int, end: int) -> float:
    return float(tree.variance(np.array([start]), np.array([end]))[0])


@pytest.mark.checks("range-tree")
def test_the_variance_of_every_range_is_that_of_least_squares() -> None:
    every_case(ranges(), lambda case: abs(told_variance(*case) - float(exact_variance(*case))) < 1e-12)
    code_agrees(TREES, estimates_blocks)


def estimates_blocks(tree: RangeTree) -> bool:
    """Say whether exact blocks give back the cells they were made from."""
    cells = np.arange(tree.cells) ** 2 % 7 + 0.0
    padded = np.concatenate([cells, np.zeros(tree.padded - tree.cells)])
    blocks = [padded.reshape(-1, width).sum(axis=1)[: -(-tree.cells // width)] for width in tree.widths]
    total = cells.sum() if tree.known_total else None
    return bool(np.allclose(tree.estimate(np.concatenate(blocks), total), cells))


@pytest.mark.refutes("range-tree")
def test_sums_of_single_cells_do_not_have_the_stated_variance() -> None:
    tree, _, _ = failing_case(ranges(), lambda case: exact_variance(*case) == case[2] - case[1])
    assert len(tree.widths) > 1 or tree.known_total


PLACES = list(itertools.combinations(range(4), 2))
GRAPHS = [edges for k in range(1, len(PLACES) + 1) for edges in itertools.combinations(PLACES, k)]


def pick_orders(edges: tuple[Edge, ...], chosen: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Return every order in which pairs can be picked until none joins two trees."""
    forest = Forest(edges)
    for place in chosen:
        forest.join(place)
    joining = forest.joining()
    if not len(joining):
        yield chosen
    for place in joining.tolist():
        yield from pick_orders(edges, (*chosen, place))


def rounds_are_public(edges: tuple[Edge, ...]) -> bool:
    return {len(order) for order in pick_orders(edges)} == {count_picks(edges)}


@pytest.mark.checks("spanning-tree")
def test_every_order_of_picks_has_as_many_rounds_as_are_charged() -> None:
    every_case(GRAPHS, rounds_are_public)
    every_case(itertools.product(GRAPHS, (0.1, 1.0, 3.0)), lambda case: charges_within(*case))


def charges_within(edges: tuple[Edge, ...], epsilon: float) -> bool:
    choice = tree_choice(edges, [4] * len(edges), 0, relation=REPLACE_ONE, epsilon=epsilon)
    charged = sum(to_units(event.epsilon) for event in choice.events)
    return len(choice.events) == count_picks(edges) and charged <= to_units(epsilon)


@pytest.mark.refutes("spanning-tree")
def test_as_many_rounds_as_pairs_or_epsilon_in_each_is_refuted() -> None:
    assert len(failing_case(GRAPHS, lambda edges: count_picks(edges) == len(edges))) == 3
    failing_case(GRAPHS, lambda edges: count_picks(edges) * to_units(1.0) <= to_units(1.0))


Points = tuple[float, ...]


def ranking_pairs() -> Iterator[tuple[Points, Points]]:
    """Return rankings without ties of up to six items, and all with ties of up to four."""
    for items in range(2, 7):
        first = tuple(float(i) for i in range(items))
        for second in itertools.permutations(first):
            yield first, second
    for items in (2, 3, 4):
        scored = itertools.product(range(items), repeat=items)
        points = {tuple(borda_points(np.array(s, dtype=float)).tolist()) for s in scored}
        yield from itertools.product(points, repeat=2)


def ranking_move(first: Points, second: Points) -> tuple[Fraction, Fraction, Fraction]:
    moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
    return sum(moves, Fraction(0)), sum((m * m for m in moves), Fraction(0)), max(moves)


def ranking_within(pair: tuple[Points, Points]) -> bool:
    bounds = certify_points(len(pair[0])).bounds[REPLACE_ONE]
    l1, square, linf = ranking_move(*pair)
    return l1 <= bounds.l1 and square <= Fraction(bounds.l2) ** 2 and linf <= bounds.linf


@pytest.mark.checks("borda")
def test_no_pair_of_rankings_moves_points_further_than_the_reverse() -> None:
    every_case(ranking_pairs(), ranking_within)
    every_case(range(2, 60), reverse_attains)


def reverse_attains(items: int) -> bool:
    order = tuple(float(i) for i in range(items))
    l1, square, linf = ranking_move(order, order[::-1])
    told = certify_points(items).bounds[REPLACE_ONE]
    return (l1, linf) == (told.l1, told.linf) and abs(float(square) - told.l2**2) < 1e-6


@pytest.mark.refutes("borda")
def test_a_record_that_transposes_two_neighbours_only_is_refuted() -> None:
    assert len(failing_case(ranking_pairs(), lambda pair: ranking_move(*pair)[0] <= 2)[0]) == 3
