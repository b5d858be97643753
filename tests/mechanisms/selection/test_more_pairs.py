"""The choice of more pairs: its exact law keeps the promise, whatever the model is."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.pairs.more_pairs import MoreChoice, more_choice
from discreet.privacy.accounting import event_cost
from discreet.privacy.certificate import Bounds
from discreet.privacy.relation import RELATIONS, Relation
from discreet.randomness import SimulatedNoise
from tests.mechanisms.selection.test_spanning_tree import EDGES, counts, neighbours, tables


def choice(
    relation: Relation, epsilon: float, seed: int, wanted: int = 2, before: tuple[int, ...] = ()
) -> MoreChoice:
    """Return a choice by a model of any tables at all."""
    made = more_choice(EDGES, (4, 4, 4), 0, wanted=wanted, relation=relation, epsilon=epsilon)
    draw = np.random.default_rng(seed)
    model = [draw.uniform(-1, 3, (2, 2)) for _ in EDGES]
    return made.besides(before).given(model, draw.uniform(0, 5, 3).tolist())


def orders(made: MoreChoice) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(3), made.wanted))


def worst_loss(made: MoreChoice, relation: Relation) -> float:
    """Return the greatest log-ratio of an answer's probabilities over all neighbours of two records."""
    every = [table for size in (1, 2) for table in tables(size)]
    laws = {t: [made.probability(counts(t), order) for order in orders(made)] for t in every}
    ratios = (
        abs(math.log(mine / other))
        for table in tables(2)
        for near in neighbours(table, relation)
        for mine, other in zip(laws[table], laws[near], strict=True)
        if mine or other
    )
    return max(ratios)


@pytest.mark.proves("top-k")
@pytest.mark.proves("tree-score")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("wanted", "before"), [(1, ()), (2, ()), (3, ()), (1, (2,)), (2, (0,))])
def test_all_picks_together_keep_epsilon(
    relation: Relation, wanted: int, before: tuple[int, ...]
) -> None:
    for seed in range(3):
        made = choice(relation, 3.0, seed, wanted, before)
        assert worst_loss(made, relation) <= 3.0 * (1 + 1e-9)
        assert event_cost("basic", made.events, 3.0, 0.0).delta == 0 and len(made.events) == wanted


@pytest.mark.refutes("top-k")
@pytest.mark.parametrize("relation", RELATIONS)
def test_two_picks_for_the_price_of_one_are_caught(relation: Relation) -> None:
    planted = [replace(choice(relation, 3.0, seed), share=3.0) for seed in range(6)]
    assert max(worst_loss(made, relation) for made in planted) > 3.0 * 1.02


@pytest.mark.refutes("tree-score")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_score_at_half_its_sensitivity_is_caught(relation: Relation) -> None:
    def halved(made: MoreChoice) -> MoreChoice:
        own = made.certificate.bounds[relation]
        half = Bounds(own.l1 / 2, own.l2 / 2, own.linf / 2)
        return replace(made, certificate=replace(made.certificate, bounds={relation: half}))

    planted = [halved(choice(relation, 3.0, seed)) for seed in range(6)]
    assert max(worst_loss(made, relation) for made in planted) > 3.0 * 1.02


def test_a_release_has_the_stated_law_and_none_that_was_measured() -> None:
    made = choice(Relation("replace-one"), 2.0, 1)
    raw, source, draws = counts((0, 0, 3, 7, 7)), SimulatedNoise(5), 20_000
    expected = {order: made.probability(raw, order) for order in orders(made)}
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-12)
    seen = dict.fromkeys(orders(made), 0)
    for _ in range(draws):
        seen[tuple(made.release(raw, source).astype(int))] += 1
    for order, share in expected.items():  # six standard deviations
        assert abs(seen[order] / draws - share) < 6 * math.sqrt(share * (1 - share) / draws)
    rest = made.besides((0,))
    assert {0} & {int(p) for _ in range(50) for p in rest.release(raw, source)} == set()


def test_the_pair_that_a_model_errs_on_is_found() -> None:
    made = more_choice(
        EDGES, (4, 4, 4), 0, wanted=1, relation=Relation("replace-one"), epsilon=5.0
    ).given([np.full((2, 2), 500.0)] * 3, [0.0] * 3)
    same_first_two = counts(tuple(number for number in (0, 1, 6, 7) for _ in range(500)))
    assert made.release(same_first_two, SimulatedNoise(0)).tolist() == [0.0]


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ArgumentError, match="wanted must be"):
        more_choice(EDGES, (4, 4, 4), 0, wanted=4, relation=Relation("replace-one"), epsilon=1.0)
