"""Layered estimates: designs, the stated error over many seeds, and the published error that breaks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.value.engines.games import FunctionGame
from discreet.value.engines.layered import (
    balanced_design,
    independent_design,
    layer_clips,
    layer_rounds,
    layered_shapley,
    others,
    stated_error,
)
from discreet.value.engines.shapley import exact_shapley
from discreet.value.engines.stability import claimed_stability
from tests.oracles.games import random_game


def falling(players: int, c: float = 1.0) -> Any:
    """Return c / k for every layer, c for layer 0."""
    return c / np.maximum(np.arange(players), 1)


def coin_game(players: int) -> FunctionGame:
    """Return a game in which player 0's marginals are +-1/k, heads or tails of the coalition."""

    def sign(members: Any) -> float:
        spread = np.uint64(0x9E3779B97F4A7C15)
        with np.errstate(over="ignore"):
            mixed = np.bitwise_xor.reduce(
                (members.astype(np.uint64) + np.uint64(7)) ** np.uint64(5) * spread
            )
            return 1.0 if (mixed * spread) >> np.uint64(63) else -1.0

    def utility(members: Any) -> float:
        rest = members[members != 0]
        return sign(rest) / len(rest) if 0 in members and len(rest) else 0.0

    return FunctionGame(players, utility)


# Designs.


@pytest.mark.parametrize("players", [2, 3, 7, 20])
@pytest.mark.parametrize("draw", [balanced_design, independent_design])
def test_every_layer_is_there_and_coalitions_are_sets(players: int, draw: Any) -> None:
    design = draw(players, np.full(players, 3), 0)
    assert len(design.layers) == players
    for k, layer in enumerate(design.layers):
        assert layer.shape[1] == k and len(layer) % design.rounds[k] == 0
        assert all(len(set(row.tolist())) == k for row in layer)
    assert design.uses().sum() == sum(layer.size for layer in design.layers)


def test_balanced_rounds_use_everybody_equally_up_to_one() -> None:
    for rounds in (1, 4):
        design = balanced_design(21, np.full(21, rounds), 5)
        uses = design.uses()
        assert (uses.max(axis=0) - uses.min(axis=0) <= rounds).all()
        assert (
            uses[:, [1, 2, 4, 5, 10, 20]].max(axis=0) == uses[:, [1, 2, 4, 5, 10, 20]].min(axis=0)
        ).all()
    # Few coalitions bring the greatest use to the average (.0200 for c_k = 1/k).
    design = balanced_design(100, np.ones(100, dtype=int), 0)
    assert design.total == 567
    share = design.uses()[:, 1:] / design.counts[1:] * 2 * falling(100)[1:]
    assert share.sum(axis=1).max() / 100 < 0.0215


@pytest.mark.parametrize("draw", [balanced_design, independent_design])
def test_coalitions_of_a_layer_are_uniform(draw: Any) -> None:
    rounds = np.full(6, 6_000)
    layer = draw(6, rounds, 1).layers[2]
    codes = np.sum(1 << layer, axis=1)
    _, counts = np.unique(codes, return_counts=True)
    expected = len(layer) / math.comb(5, 2)
    assert len(counts) == 10 and (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()


def test_chains_put_the_record_last() -> None:
    design = balanced_design(5, np.full(5, 2), 0)
    chains = design.chains(2)
    assert chains.evaluations == 2 * design.total == 2 * len(chains)
    for c in range(len(chains)):
        order = chains.order(c)
        assert order[-1] == 2 and 2 not in order[:-1] and len(set(order.tolist())) == len(order)
        assert chains.sizes_of(c).tolist() == [len(order) - 1, len(order)]
    assert others(2, np.arange(4)).tolist() == [0, 1, 3, 4]


# The promise.


def test_the_numbers_of_the_theory() -> None:
    clips = falling(100)
    assert layer_rounds(clips, 0.05, 0.05).tolist() == [1] * 100
    rounds = layer_rounds(clips, 0.01, 0.05)
    assert 200 < rounds.sum() < 300 and stated_error(clips, rounds, 0.05) <= 0.01
    assert stated_error(clips, np.maximum(rounds - 1, 1), 0.05) > 0.01


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.proves("hoeffding-weighted")
def test_estimates_are_unbiased_on_every_game(balanced: bool) -> None:
    game = random_game(5, 2)
    values = exact_shapley(game).values
    clips = layer_clips(5, 1.0)
    found = layered_shapley(game, clips=clips, rounds=np.full(5, 1_000), balanced=balanced)
    assert (np.abs(found.values - values) <= 5 * found.errors).all() and found.errors.max() < 0.02
    assert found.stated is not None and found.stated[0] > 3 * found.errors.max()


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.proves("hoeffding-weighted")
def test_the_stated_error_holds_over_many_seeds(balanced: bool) -> None:
    n, beta, game, runs = 12, 0.2, coin_game(12), 80
    clips = falling(n)
    value = exact_shapley(game).values[0]
    for rounds in (np.ones(n, dtype=int), layer_rounds(clips, 0.06, beta)):
        alpha = stated_error(clips, rounds, beta)
        errors = [
            layered_shapley(
                game, clips=clips, records=[0], rounds=rounds, balanced=balanced, seed=s
            ).values[0]
            - value
            for s in range(runs)
        ]
        assert np.mean(np.abs(errors) > alpha) <= beta


def published_counts(players: int, alpha: float, beta: float) -> Any:
    """Return the m_k of the published estimator for c_k = 1/k: none for layer 0."""
    k = np.maximum(np.arange(players), 1)
    counts = np.ceil(math.log(2 * players / beta) / (2 * alpha**2 * k**2)).astype(int)
    return np.where(np.arange(players) == 0, 0, counts)


@pytest.mark.refutes("hoeffding-weighted")
def test_the_published_number_of_coalitions_breaks_its_promise_for_a_layer() -> None:
    """Marginals of +-c_k have width 2 c_k; the published number is for half of it."""
    alpha, beta, runs = 0.05, 0.05, 100
    # Player 0 gains 1 with player 1, loses 1 with player 2: layer 1 is a coin.
    utility = {(0, 1): 1.0, (0, 2): -1.0}
    game = FunctionGame(3, lambda c: utility.get(tuple(c.tolist()), 0.0))
    assert published_counts(100, alpha, beta)[1] == 1659
    counts = published_counts(3, alpha, beta)
    rounds = np.maximum(counts, 1)
    found = [
        layered_shapley(
            game, clips=np.ones(3), records=[0], rounds=rounds, balanced=False, seed=seed
        ).values[0]
        for seed in range(runs)
    ]
    # Layer 1 is a third of the value, whose exact value is 0.
    assert np.mean(np.abs(found) * 3 > alpha) > 0.05 > 2 * beta / 3
    assert np.mean(np.abs(found) > stated_error(np.ones(3), rounds, beta)) <= beta


@pytest.mark.refutes("hoeffding-weighted")
def test_the_published_estimator_misses_the_layer_of_nobody() -> None:
    game, values = FunctionGame(4, lambda c: float(len(c) > 0)), np.full(4, 0.25)
    full = layered_shapley(game, clips=layer_clips(4, 1.0))
    assert np.abs(full.values - values).max() < 1e-12
    assert published_counts(4, 0.05, 0.05)[0] == 0
    without = layered_shapley(game, clips=np.array([0.0, 1, 1, 1]))
    assert (np.abs(without.values - values) > 0.05).all()  # alpha, with certainty


# Clips, errors, arguments.


def test_clips_come_from_a_certificate() -> None:
    stability = claimed_stability(lambda k: 2 / (np.asarray(k) + 1), lambda k: 2 / np.asarray(k))
    assert layer_clips(4, 1.0, stability).tolist() == [1.0, 1.0, 2 / 3, 0.5]
    with pytest.raises(ArgumentError, match="removal must return"):
        claimed_stability(lambda k: -k, lambda k: k)


def test_one_round_shows_no_spread() -> None:
    found = layered_shapley(random_game(5, 1), clips=layer_clips(5, 1.0), rounds=np.ones(5, dtype=int))
    assert found.errors.tolist() == pytest.approx([np.sqrt(3) / 5] * 5)


def test_standard_errors_are_honest() -> None:
    game = random_game(6, 3)
    values = exact_shapley(game).values
    runs = [
        layered_shapley(game, clips=layer_clips(6, 1.0), rounds=np.full(6, 8), seed=seed)
        for seed in range(30)
    ]
    z = np.array([(run.values - values) / run.errors for run in runs])
    assert 0.85 < z.std() < 1.25


def test_some_records_have_the_values_they_have_among_all() -> None:
    game, clips = random_game(5, 0), layer_clips(5, 1.0)
    every = layered_shapley(game, clips=clips, rounds=np.full(5, 4))
    some = layered_shapley(game, clips=clips, rounds=np.full(5, 4), records=[3, 1])
    assert some.values.tolist() == every.values[[3, 1]].tolist()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clips": np.ones(4)}, "clips must be"),
        ({"clips": -np.ones(5)}, "clips must be"),
        ({"rounds": np.zeros(5, dtype=int)}, "rounds must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"alpha": 1e-9}, "alpha must be reachable"),
        ({"records": [5]}, "records must be"),
        ({"seed": -1}, "seed must be"),
        ({"beta": 1.0}, "beta must be"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        layered_shapley(random_game(5, 0), **({"clips": np.ones(5)} | change))
