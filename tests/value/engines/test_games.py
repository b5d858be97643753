"""Chains, groups, memory, enumeration, leave-one-out, random orders: against games of known values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from discreet.errors import ArgumentError, ModelError
from discreet.value.engines.games import CachedGame, Chains, FunctionGame, GroupedGame
from discreet.value.engines.layered import layer_clips, layered_shapley
from discreet.value.engines.shapley import (
    all_coalitions,
    exact_shapley,
    leave_one_out,
    permutation_shapley,
)
from tests.oracles.games import airport, by_definition, gloves, random_game, voting

KNOWN = {"voting": voting(), "airport": airport([1, 2, 2, 5, 7]), "gloves": gloves(2, 3)}


@pytest.mark.parametrize("name", KNOWN)
def test_the_oracles_agree_with_the_definition(name: str) -> None:
    game, values = KNOWN[name]
    np.testing.assert_allclose(by_definition(game.players, game.function), values, atol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_enumeration_gives_the_known_values(name: str) -> None:
    game, values = KNOWN[name]
    found = exact_shapley(game)
    np.testing.assert_allclose(found.values, values, atol=1e-12)
    assert found.evaluations == 2**game.players and found.finished and not found.errors.any()


@pytest.mark.parametrize("players", [1, 2, 5, 8])
def test_chains_hold_every_coalition_once(players: int) -> None:
    chains = all_coalitions(players)
    seen = [
        frozenset(chains.order(c)[:size].tolist())
        for c in range(len(chains))
        for size in chains.sizes_of(c)
    ]
    assert len(seen) == len(set(seen)) == 2**players
    assert all(
        np.diff(chains.sizes_of(c)).tolist() == [1] * (len(chains.sizes_of(c)) - 1)
        for c in range(len(chains))
    )


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("antithetic", [False, True])
def test_all_orders_together_are_exact(name: str, antithetic: bool) -> None:
    game, values = KNOWN[name]
    found = permutation_shapley(game, permutations=4_000, antithetic=antithetic, seed=3)
    # Five standard errors, each at most .5 / sqrt(4000) of the greatest marginal.
    assert (np.abs(found.values - values) <= 5 * found.errors + 1e-12).all()
    assert found.values.sum() == pytest.approx(values.sum())  # every order hands out everything


def test_standard_errors_are_honest() -> None:
    game = random_game(6, 0)
    values = exact_shapley(game).values
    runs = [permutation_shapley(game, permutations=40, seed=seed) for seed in range(120)]
    z = np.array([(run.values - values) / run.errors for run in runs])
    assert 0.9 < z.std() < 1.15 and abs(z.mean()) < 0.1
    inside = np.mean(
        [(low <= values) & (values <= high) for low, high in (run.interval() for run in runs)]
    )
    assert 0.92 < inside < 0.97


def test_a_game_of_one_player() -> None:
    game = FunctionGame(1, lambda c: 3.0 * len(c))
    clips = layer_clips(1, 3.0)
    for found in (
        exact_shapley(game),
        leave_one_out(game),
        permutation_shapley(game, permutations=2),
        layered_shapley(game, clips=clips),
    ):
        assert found.values.tolist() == [3.0]


def test_wrong_numbers_of_orders_are_refused() -> None:
    game, _ = KNOWN["voting"]
    for wrong in ({"permutations": 0}, {"permutations": 3, "antithetic": True}):
        with pytest.raises(ArgumentError, match="permutations must be"):
            permutation_shapley(game, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="seed must be"):
        permutation_shapley(game, permutations=1, seed=-1)
    with pytest.raises(ArgumentError, match="truncate must be"):
        permutation_shapley(game, permutations=1, truncate=0.0)


def test_antithetic_pairs_cancel_what_is_symmetric() -> None:
    # A marginal depends on the place in the order alone, linearly: a pair has no error.
    game = FunctionGame(7, lambda c: float(len(c)) ** 2)
    found = permutation_shapley(game, permutations=4, antithetic=True)
    np.testing.assert_allclose(found.values, 7.0)
    np.testing.assert_allclose(found.errors, 0.0, atol=1e-12)


def test_leave_one_out() -> None:
    game, _ = KNOWN["airport"]
    assert leave_one_out(game).values.tolist() == [0, 0, 0, 0, 2.0]


def test_truncation_cuts_and_is_the_sequential_rule() -> None:
    def utility(members: Any) -> float:
        return 1 - 2.0 ** -len(members) if len(members) < 40 else 1.0

    game = FunctionGame(40, utility)
    full = permutation_shapley(game, permutations=10, seed=1)
    cut = permutation_shapley(game, permutations=10, seed=1, truncate=0.01)
    assert cut.evaluations < full.evaluations / 2 and cut.method == "truncated permutation"
    # Within .01 from size 7 on; six such prefixes in a row end at size 12.
    assert cut.values.sum() == pytest.approx(1 - 2.0**-12)
    untouched = permutation_shapley(game, permutations=10, seed=1, truncate=1e-15)
    np.testing.assert_allclose(untouched.values, full.values, atol=1e-12)


def test_groups_join_together() -> None:
    inner = random_game(6, 4)
    groups = np.array([2, 0, 1, 0, 2, 2])
    grouped = GroupedGame(inner, groups)

    def utility(members: Any) -> float:
        return inner.function(np.flatnonzero(np.isin(groups, members)))

    np.testing.assert_allclose(exact_shapley(grouped).values, by_definition(3, utility), atol=1e-12)


@pytest.mark.parametrize("groups", [[0, 1], [0, 2, 2], [0, -1, 1], [0.0, 1.0, 2.0]])
def test_wrong_groups_are_refused(groups: Any) -> None:
    with pytest.raises(ArgumentError, match="groups must be"):
        GroupedGame(FunctionGame(3, len), groups)  # type: ignore[arg-type]


def test_a_cached_game_asks_each_coalition_once() -> None:
    asked: list[tuple[int, ...]] = []

    def utility(members: Any) -> float:
        asked.append(tuple(members.tolist()))
        return float(members.sum())

    game = CachedGame(FunctionGame(4, utility))
    first = exact_shapley(game)
    assert len(asked) == len(set(asked)) == 16
    second = permutation_shapley(game, permutations=30)
    assert len(asked) == 16
    np.testing.assert_allclose(second.values, first.values, atol=1e-12)


def test_nan_is_loud() -> None:
    with pytest.raises(ModelError, match="NaN"):
        exact_shapley(FunctionGame(3, lambda c: float("nan")))


def test_too_many_players_to_enumerate() -> None:
    with pytest.raises(ArgumentError, match="at most 20 players"):
        exact_shapley(FunctionGame(21, len))


def test_select_gives_the_same_chains() -> None:
    chains = all_coalitions(4)
    orders = [chains.order(c).tolist() for c in range(len(chains))]
    for first, after in itertools.combinations(range(len(chains) + 1), 2):
        part = chains.select(first, after)
        assert [part.order(c).tolist() for c in range(len(part))] == orders[first:after]
    assert Chains.of([], []).evaluations == 0


def test_estimates_are_shown_as_frame_and_ranking() -> None:
    found = exact_shapley(KNOWN["airport"][0])
    assert found.ranking()[0] == 4
    frame = found.to_frame()
    assert frame.index.name == "record" and list(frame.columns) == ["value", "standard_error"]
