"""The choice of a tree: how far a record moves a score, and the exact law of the chosen pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from discreet.mechanisms.selection.pairs.pair_scores import (
    STEPS_PER_RECORD,
    certify_scores,
    chance_deviation,
)
from discreet.mechanisms.selection.pairs.spanning_tree import TreeChoice, count_picks, tree_choice
from discreet.numerics import to_units
from discreet.privacy.accounting import BoundedRangeEvent, event_cost, total
from discreet.privacy.relation import RELATIONS, Relation
from discreet.randomness import SimulatedNoise, SystemNoise

EDGES = ((0, 1), (0, 2), (1, 2))
RECORDS = list(itertools.product((0, 1), repeat=3))
ORDERS = list(itertools.permutations(range(3), 2))
Table = tuple[int, ...]


def counts(table: Table) -> np.ndarray:
    """Return the three pairs' counts of a table of three binary columns."""
    cells = np.zeros((3, 2, 2), dtype=np.int64)
    for number, (edge, (a, b)) in itertools.product(table, enumerate(EDGES)):
        cells[edge, RECORDS[number][a], RECORDS[number][b]] += 1
    return cells.ravel()


def tables(records: int) -> list[Table]:
    return list(itertools.combinations_with_replacement(range(8), records))


def neighbours(table: Table, relation: Relation) -> Iterator[Table]:
    for place in range(len(table)):
        rest = table[:place] + table[place + 1 :]
        if relation == "add-remove":
            yield rest
        else:
            yield from (tuple(sorted((*rest, other))) for other in range(8))


def choice(relation: Relation, epsilon: float = 1.0, seed: int | None = None) -> TreeChoice:
    """Return a choice with expected tables from an earlier release: any numbers at all."""
    made = tree_choice(EDGES, (4, 4, 4), 0, relation=relation, epsilon=epsilon)
    if seed is None:
        return made.given([np.full((2, 2), 0.5)] * 3)
    draw = np.random.default_rng(seed)
    return made.given([draw.uniform(-1, 3, (2, 2)) for _ in EDGES])


def worst_move(relation: Relation) -> float:
    worst = 0
    for seed in (None, 0, 1, 2, 3):
        made = choice(relation, seed=seed)
        scores = {table: made.scores(counts(table)) for n in (1, 2) for table in tables(n)}
        for table in tables(2):
            for other in neighbours(table, relation):
                worst = max(worst, int(np.abs(scores[table] - scores[other]).max()))
    return worst / STEPS_PER_RECORD


@pytest.mark.proves("tree-score")
@pytest.mark.parametrize(("relation", "bound"), [("replace-one", 2.0), ("add-remove", 1.0)])
def test_no_neighbour_moves_a_score_further(relation: Relation, bound: float) -> None:
    assert certify_scores(3).sensitivity("linf", relation) == bound == worst_move(relation)
    assert choice(relation).pick.sensitivity == bound * STEPS_PER_RECORD


@pytest.mark.refutes("tree-score")
def test_the_bound_for_add_remove_is_too_small_for_a_replacement() -> None:
    assert worst_move("replace-one") > certify_scores(3).sensitivity("linf", "add-remove")


def worst_loss(made: TreeChoice, relation: Relation, records: int) -> float:
    """Return the greatest log-ratio of an answer's probabilities over all neighbours."""
    sizes = {records, records - (relation == "add-remove")}
    laws = {
        table: np.log([made.probability(counts(table), order) for order in ORDERS])
        for size in sizes
        for table in tables(size)
    }
    return max(
        float(np.abs(laws[table] - laws[other]).max())
        for table in tables(records)
        for other in neighbours(table, relation)
    )


@pytest.mark.proves("spanning-tree")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_whole_tree_keeps_epsilon(relation: Relation, epsilon: float) -> None:
    for seed in (None, 0, 1):
        assert worst_loss(choice(relation, epsilon, seed), relation, 2) <= epsilon * (1 + 1e-9)


@pytest.mark.refutes("spanning-tree")
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_whole_epsilon_for_every_pick_is_caught(relation: Relation) -> None:
    planted = [replace(choice(relation, 3.0, seed), share=3.0) for seed in range(8)]
    assert max(worst_loss(made, relation, 2) for made in planted) > 3.0 * 1.02


@pytest.mark.refutes("spanning-tree")
def test_the_bound_for_add_remove_is_caught_under_replace_one() -> None:
    planted = [choice("add-remove", 3.0, seed) for seed in range(8)]
    assert max(worst_loss(made, "replace-one", 2) for made in planted) > 3.0 * 1.02


@pytest.mark.proves("spanning-tree")
def test_a_release_has_the_stated_law() -> None:
    made = choice("replace-one", 2.0, 1)
    raw, source, draws = counts((0, 0, 3, 7, 7)), SimulatedNoise(5), 20_000
    expected = {order: made.probability(raw, order) for order in ORDERS}
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-12)
    seen = dict.fromkeys(ORDERS, 0)
    for _ in range(draws):
        seen[tuple(made.release(raw, source).astype(int))] += 1  # type: ignore[index]
    for order, share in expected.items():  # six standard deviations
        assert abs(seen[order] / draws - share) < 6 * math.sqrt(share * (1 - share) / draws)


@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(3)], ids=["system", "simulated"])
def test_strong_pairs_are_found_and_no_circle_is_closed(source: SystemNoise | SimulatedNoise) -> None:
    made = choice("replace-one", 5.0).given([np.full((2, 2), 500.0)] * 3)
    same_first_two = counts(tuple(number for number in (0, 1, 6, 7) for _ in range(500)))
    chosen = made.release(same_first_two, source).astype(int).tolist()
    assert chosen[0] == 0 and chosen[1] in (1, 2)


@pytest.mark.proves("spanning-tree")
@pytest.mark.parametrize("picks", [2, 7, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (1.0, 1e-6), (0.3, 1e-9)])
def test_picks_are_billed_at_no_more_than_the_promise(picks: int, epsilon: float, delta: float) -> None:
    edges = list(itertools.combinations(range(picks + 1), 2))
    made = tree_choice(edges, [4] * len(edges), 0, relation="replace-one", epsilon=epsilon, delta=delta)
    assert made.picks == len(made.events) == picks
    assert all(isinstance(event, BoundedRangeEvent) for event in made.events)
    bill = event_cost("basic", made.events, made.epsilon, made.delta)  # raises if it is not kept
    assert bill.loss == to_units(epsilon)
    if made.delta == 0:
        single = [event_cost("basic", event, event.epsilon, 0.0) for event in made.events]
        assert total(single).loss <= to_units(epsilon)


def test_a_delta_pays_with_many_picks() -> None:
    edges = list(itertools.combinations(range(31), 2))
    pure, spent = (
        tree_choice(edges, [4] * len(edges), 0, relation="replace-one", epsilon=1.0, delta=delta)
        for delta in (0.0, 1e-6)
    )
    assert spent.share > 2 * pure.share and spent.std < pure.std / 2


def test_a_forest_leaves_parts_apart() -> None:
    edges = ((0, 1), (1, 2), (0, 2), (3, 4))
    assert count_picks(edges) == 3 and count_picks(()) == 0
    made = tree_choice(edges, [1] * 4, 0, relation="replace-one", epsilon=1.0)
    given = made.given([np.zeros((1, 1))] * 4)
    for seed in range(20):
        chosen = given.release(np.array([5, 5, 5, 5]), SimulatedNoise(seed)).astype(int)
        assert 3 in chosen and len(set(chosen)) == 3


def test_the_chance_deviation_is_that_of_a_poisson_count() -> None:
    means = np.array([0.1, 0.99, 1.0, 3.7, 250.0])
    ks = np.arange(2_000)
    exact = [np.sum(np.abs(ks - mean) * poisson.pmf(ks, mean)) for mean in means]
    assert chance_deviation(means) == pytest.approx(exact, rel=1e-9)
    assert chance_deviation(np.array([0.0, -3.0])).max() < 1e-290


def test_independent_columns_score_about_zero_whatever_their_size() -> None:
    draw = np.random.default_rng(0)
    sizes = [(2, 2), (16, 16), (3, 30)]
    expected = [np.full(shape, 5_000 / math.prod(shape)) for shape in sizes]
    made = tree_choice(
        ((0, 1), (2, 3), (4, 5)),
        [table.size for table in expected],
        0,
        relation="replace-one",
        epsilon=1.0,
    ).given(expected)
    raw = [np.bincount(draw.integers(0, t.size, 5_000), minlength=t.size) for t in expected]
    assert (
        np.abs(made.scores(np.concatenate(raw))).max() < 150 * STEPS_PER_RECORD
    )  # of about 900 by chance
