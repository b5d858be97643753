from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from discreet.audit.laws.of_trees import RECORDS, Rows, counts_of, neighbouring_rows, two_nodes
from discreet.errors import ArgumentError
from discreet.randomness import SimulatedNoise
from discreet.trees.forest_growth import CandidateNodes
from discreet.trees.nodes import TreeNodes
from discreet.trees.scores import Criterion
from discreet.trees.splits import MECHANISMS, SplitNoise, TreeLevel, level_stage, split_noise
from tests.oracles.goodness import fits
from tests.trees.tables import grid_and_splits

EXACT = [kind for kind in MECHANISMS[1:] if kind != "laplace"]
"""Noisy max has its own exhaustive tests; its law is a sum over noise, too slow for many tables."""


@cache
def laws(noise: SplitNoise, rows: Rows) -> list[np.ndarray]:
    stage = level_stage("level", noise, two_nodes(), "class")
    return stage.noise.laws(counts_of(stage, np.array(rows)))


def loss(noise: SplitNoise, first: Rows, second: Rows) -> tuple[float, float]:
    """Return the least and the greatest log-ratio of the joint law of both nodes' choices."""
    least = most = 0.0
    for one, other in zip(laws(noise, first), laws(noise, second), strict=True):
        possible = (one > 0) | (other > 0)
        with np.errstate(divide="ignore"):
            ratios = np.log(one[possible]) - np.log(other[possible])
        least, most = least + ratios.min(), most + ratios.max()
    return least, most


def noise_of(kind: str, relation: str, criterion: str = "norm", epsilon: float = 1.0) -> SplitNoise:
    _, splits = grid_and_splits()
    name = "gain" if kind == "dampening" else criterion
    return split_noise(
        Criterion(name, 50), kind, relation=relation, epsilon=epsilon, candidates=len(splits)
    )


@pytest.mark.proves("tree-splits")
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", EXACT)
def test_all_nodes_of_a_level_keep_epsilon_together(kind: str, relation: str) -> None:
    noise = noise_of(kind, relation)
    for first, second in neighbouring_rows(relation):
        least, most = loss(noise, first, second)
        assert max(most, -least) <= 1.0 + 1e-9
        if kind in ("exponential", "dampening"):
            assert most - least <= 1.0 + 1e-9


@pytest.mark.proves("tree-splits")
@pytest.mark.parametrize("criterion", ["norm", "max", "gini", "gain"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_every_criterion_keeps_epsilon(criterion: str, relation: str) -> None:
    noise = noise_of("permute-and-flip", relation, criterion, epsilon=3.0)
    losses = [loss(noise, *pair) for pair in neighbouring_rows(relation)]
    assert max(max(most, -least) for least, most in losses) <= 3.0 + 1e-9


@pytest.mark.refutes("tree-splits")
@pytest.mark.parametrize("kind", ["permute-and-flip", "exponential", "stability"])
def test_a_replacement_priced_as_one_is_caught(kind: str) -> None:
    noise = replace(noise_of(kind, "replace-one"), relation="add-remove")
    losses = [loss(noise, *pair) for pair in neighbouring_rows("replace-one")]
    assert max(max(most, -least) for least, most in losses) > 1.5


@pytest.mark.once_per()
@pytest.mark.parametrize("kind", MECHANISMS[1:])
def test_choices_follow_the_exact_law(kind: str) -> None:
    noise = noise_of(kind, "add-remove", epsilon=2.0)
    stage = level_stage("level", noise, two_nodes(), "class")
    raw = counts_of(stage, np.array(RECORDS[:6]))
    source = SimulatedNoise(5)
    drawn = np.array([stage.noise.release(raw, source) for _ in range(1500)]).astype(int)
    for node, law in enumerate(stage.noise.laws(raw)):
        expected = {place: share for place, share in enumerate(law[:-1]) if share > 0} | {-1: law[-1]}
        seen = drawn[:, node].tolist()
        assert fits(seen, expected)
        assert not fits([max(expected)] * len(seen), expected)


def test_auto_takes_the_least_expected_error() -> None:
    taken = noise_of("auto", "replace-one")
    assert taken.kind == "permute-and-flip"
    assert (
        taken.std < noise_of("exponential", "replace-one").std < noise_of("laplace", "replace-one").std
    )


def test_events_are_priced_for_both_accountants() -> None:
    assert noise_of("permute-and-flip", "add-remove").events[0].rho == pytest.approx(math.tanh(0.5))
    assert noise_of("exponential", "replace-one").events[0].rho == pytest.approx(1 / 8)


def test_splits_without_two_sides_are_never_chosen() -> None:
    level = two_nodes()
    useful = level.nodes.useful(level.splits)
    ages = level.splits.feature == 0
    assert useful[0][ages].tolist() == [True, False, False]
    assert useful[1][ages].tolist() == [False, False, True]
    assert useful[:, ~ages].all()
    for law, allowed in zip(laws(noise_of("exponential", "add-remove"), RECORDS), useful, strict=True):
        assert np.all((law[:-1] > 0) == allowed)


@cache
def offered_level() -> TreeLevel:
    """Return two open nodes of which one is candidate_splits four splits and the other two."""
    whole = two_nodes()
    useful = whole.nodes.useful(whole.splits)
    assert useful.sum(axis=1).tolist() == [4, 4]
    candidate_splits = useful.copy()
    candidate_splits[1, np.flatnonzero(useful[1])[[1, 2]]] = False
    return replace(whole, nodes=CandidateNodes.of(whole.nodes, candidate_splits))


def offered_laws(noise: SplitNoise, rows: Rows) -> list[np.ndarray]:
    stage = level_stage("level", noise, offered_level(), "class")
    return stage.noise.laws(counts_of(stage, np.array(rows)))


@pytest.mark.proves("tree-splits")
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", ["stability", "smooth-student-t", "smooth-laplace"])
def test_choices_by_stability_are_among_what_is_offered(kind: str, relation: str) -> None:
    noise, candidate_splits = (
        noise_of(kind, relation),
        offered_level().nodes.useful(offered_level().splits),
    )
    for first, second in list(neighbouring_rows(relation))[::7]:
        least = most = 0.0
        for one, other, allowed in zip(
            offered_laws(noise, first), offered_laws(noise, second), candidate_splits, strict=True
        ):
            assert one[:-1][allowed].sum() == pytest.approx(1.0)
            ratios = np.log(one[:-1][allowed]) - np.log(other[:-1][allowed])
            least, most = least + ratios.min(), most + ratios.max()
        assert max(most, -least) <= 1.0 + 1e-9


def test_draws_by_stability_follow_the_law_of_what_is_offered() -> None:
    noise = noise_of("stability", "add-remove", epsilon=2.0)
    stage = level_stage("level", noise, offered_level(), "class")
    raw, source = counts_of(stage, np.array(RECORDS)), SimulatedNoise(8)
    drawn = np.array([stage.noise.release(raw, source) for _ in range(1500)]).astype(int)
    for node, law in enumerate(stage.noise.laws(raw)):
        assert fits(drawn[:, node].tolist(), {p: s for p, s in enumerate(law[:-1]) if s > 0})


def test_dampening_is_for_gain_alone() -> None:
    with pytest.raises(ArgumentError, match="mechanism must be another than dampening"):
        split_noise(Criterion("gini", 9), "dampening", relation="add-remove", epsilon=1.0, candidates=5)


def test_choosing_between_nothing_needs_no_noise() -> None:
    grid, splits = grid_and_splits()
    nodes = TreeNodes.start(grid)
    nodes.region[:] = False
    nodes.region[0, [0, 4]] = True  # one age, one home: nothing to split by
    noise = noise_of("permute-and-flip", "add-remove")
    stage = level_stage("level", noise, TreeLevel(nodes, grid, splits, 2), "class")
    assert stage.noise.release(counts_of(stage, np.array(RECORDS)), SimulatedNoise(0)).tolist() == [-1]
