"""Borda points: what one ranking can move, and private choices by their sum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import rankdata

from discreet.errors import ArgumentError
from discreet.mechanisms import GaussianNoise, LaplaceNoise, RankingNoise
from discreet.mechanisms.selection.borda import borda_noise, borda_points, certify_points
from discreet.privacy.accounting import event_cost
from discreet.privacy.certificate import (
    NORMS,
    Bounds,
)
from discreet.privacy.relation import RELATIONS
from discreet.randomness import SimulatedNoise

ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


def worst_replacement(items: int) -> Bounds:
    """Return how far points can differ: items may be renamed, so one ranking gives 0, 1, 2, ..."""
    points = np.array(list(itertools.permutations(range(items))), dtype=float)
    moves = points - np.arange(items)
    return Bounds(*(np.linalg.norm(moves, ORDERS[norm], axis=1).max() for norm in NORMS))


def covers(claim: Bounds, items: int) -> bool:
    found = worst_replacement(items)
    return all(getattr(found, norm) <= getattr(claim, norm) for norm in NORMS)


@pytest.mark.proves("borda")
@pytest.mark.parametrize("items", range(2, 9))
def test_bounds_hold_over_all_permutations_and_are_attained(items: int) -> None:
    found = worst_replacement(items)
    for relation in RELATIONS:
        claim = certify_points(items).bounds[relation]
        assert covers(claim, items)
        assert (claim.l1, claim.linf) == (found.l1, found.linf) == (items**2 // 2, items - 1)
        assert claim.l2 == pytest.approx(found.l2, rel=1e-14)


@pytest.mark.refutes("borda")
@pytest.mark.parametrize("items", range(2, 9))
def test_lesser_bounds_are_caught(items: int) -> None:
    true = certify_points(items).bounds["replace-one"]
    assert not covers(Bounds(true.l1 - 1, true.l2, true.linf), items)
    assert not covers(Bounds(true.l1, true.l2 * (1 - 1e-9), true.linf), items)
    assert not covers(Bounds(true.l1, true.l2, true.linf - 1), items)
    if items > 2:  # "one record swaps two neighbours"
        assert not covers(Bounds(2.0, math.sqrt(2), 1.0), items)


def test_published_bounds_are_loose() -> None:
    for items in range(2, 9):
        assert certify_points(items).sensitivity("l1", "replace-one") < math.ceil(items**2 / 2) + items


@pytest.mark.proves("borda")
@pytest.mark.parametrize("items", [2, 3, 4])
def test_ties_move_no_further(items: int) -> None:
    scores = itertools.product([*map(float, range(items)), math.nan], repeat=items)
    points = np.unique([borda_points(np.array(s)) for s in scores], axis=0)
    assert np.allclose(points.sum(axis=1), items * (items - 1) / 2)
    claim = certify_points(items).bounds["add-remove"]
    moves = (points[:, None, :] - points[None, :, :]).reshape(-1, items)
    for norm in NORMS:
        assert np.linalg.norm(moves, ORDERS[norm], axis=1).max() <= getattr(claim, norm)


def test_points_are_ranks() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        scores = draw.integers(-3, 3, 7).astype(float)
        assert np.array_equal(borda_points(scores), rankdata(scores) - 1)
    assert borda_points(np.full(4, np.nan)).tolist() == [1.5] * 4
    assert borda_points(np.array([np.inf, -np.inf, 0.0])).tolist() == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize(
    "mechanism", ["auto", "laplace", "gaussian", "exponential", "permute-and-flip"]
)
def test_every_mechanism_keeps_its_promise_and_finds_the_best(
    mechanism: str, k: int, delta: float
) -> None:
    terms = {"rankings": 200, "k": k, "relation": "add-remove", "delta": delta}
    if mechanism == "gaussian" and delta == 0:
        with pytest.raises(ArgumentError, match="delta must be positive"):
            borda_noise(certify_points(8), epsilon=1.0, mechanism=mechanism, **terms)
        return
    noise = borda_noise(certify_points(8), epsilon=1.0, mechanism=mechanism, **terms)
    assert noise.certificate.sensitivity("linf", "add-remove") >= 7
    cost = event_cost("basic", noise.events, noise.epsilon, noise.delta)
    assert cost.loss <= 10**12 and noise.delta <= delta
    strong = borda_noise(certify_points(8), epsilon=30.0, mechanism=mechanism, **terms)
    counts = 200.0 * np.arange(8)[::-1]
    steps = np.rint(counts / strong.step).astype(np.int64)
    answer = strong.release(steps, SimulatedNoise(0))
    if isinstance(strong, RankingNoise):
        assert answer[0, :, 0].tolist() == list(range(k))
    else:
        assert np.argsort(-answer).tolist() == list(range(8))


def test_auto_picks_for_few_and_measures_for_many() -> None:
    def chosen(k: int, delta: float = 0.0) -> object:
        terms = {"rankings": 200, "relation": "replace-one", "epsilon": 1.0, "delta": delta}
        return borda_noise(certify_points(12), k=k, **terms)

    assert isinstance(chosen(1), RankingNoise) and chosen(1).name == "permute-and-flip"
    assert isinstance(chosen(12), LaplaceNoise)
    assert isinstance(chosen(12, 1e-6), GaussianNoise)


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
def test_laws_of_neighbours_differ_by_at_most_the_promise(kind: str) -> None:
    epsilon = 0.7
    noise = borda_noise(
        certify_points(3), rankings=2, k=1, relation="replace-one", epsilon=epsilon, mechanism=kind
    )
    points = np.array(list(itertools.permutations([0.0, 1.0, 2.0])))
    laws = {
        (i, j): noise.first_law(np.rint((points[i] + points[j]) / noise.step).astype(np.int64))[0]
        for i, j in itertools.product(range(6), repeat=2)
    }
    losses = [
        np.abs(np.log(laws[i, a] / laws[i, b])).max()
        for i in range(6)
        for a, b in itertools.permutations(range(6), 2)
    ]
    assert 0.4 * epsilon < max(losses) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("items", [0, 1, 10_001, 2.0])
def test_a_ranking_needs_items(items: object) -> None:
    with pytest.raises(ArgumentError, match="items must be a whole number"):
        certify_points(items)
