"""Exact Shapley values of few players, and leave-one-out values of any number.

All 2^n coalitions are covered by the fewest chains there can be (de Bruijn, Tengbergen and Kruyswijk
1951), so that games which can go on from a smaller coalition do.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.errors import ArgumentError
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.estimates import Estimates, resumed
from discreet.value.engines.games import Chains, Game
from discreet.value.engines.running import Progress, run_chains

MOST_PLAYERS = 20


def exact_shapley(
    game: Game,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
    continue_from: Estimates | None = None,
) -> Estimates:
    """Return Shapley values from all coalitions of at most 20 players."""
    n = game.players
    if n > MOST_PLAYERS:
        raise ArgumentError(
            f"game must have at most {MOST_PLAYERS} players to be enumerated, got {n}. "
            "Use permutation_shapley or layered_shapley, or group records with GroupedGame."
        )
    chains, key = all_coalitions(n), ("exact", n)
    work = run_chains(
        game,
        chains,
        n_jobs=n_jobs,
        progress=progress,
        done=resumed(continue_from, key),
        title="exact Shapley",
    )
    utility = np.empty(2**n)
    utility[_masks(chains)] = work.values
    valued = int(np.sum(~np.isnan(work.values)))
    values = shapley_of(utility, n)
    return Estimates(
        np.arange(n), values, np.zeros(n), valued, "exact", work.finished, None, (key, work.values)
    )


def shapley_of(utility: FloatArray, players: int) -> FloatArray:
    """Return the Shapley values of a game given by the utility of every set of bits."""
    masks = np.arange(2**players)
    sizes = np.array([int(mask).bit_count() for mask in range(2**players)])
    weights = np.array([1 / (players * math.comb(players - 1, k)) for k in range(players)])
    values = np.empty(players)
    for player in range(players):
        without = masks[(masks >> player) & 1 == 0]
        gains = utility[without | (1 << player)] - utility[without]
        values[player] = float(np.sum(weights[sizes[without]] * gains))
    return values


def leave_one_out(
    game: Game,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
    continue_from: Estimates | None = None,
) -> Estimates:
    """Return the utility of everybody minus that of everybody but one."""
    n = game.players
    everybody = np.arange(n)
    orders = [everybody, *(np.delete(everybody, player) for player in range(n))]
    chains = Chains.of(orders, [np.array([n]), *[np.array([n - 1])] * n])
    key = ("leave one out", n)
    work = run_chains(
        game,
        chains,
        n_jobs=n_jobs,
        progress=progress,
        done=resumed(continue_from, key),
        title="leave one out",
    )
    values = work.values[0] - work.values[1:]
    valued = int(np.sum(~np.isnan(work.values)))
    return Estimates(
        everybody, values, np.zeros(n), valued, "leave one out", work.finished, None, (key, work.values)
    )


def all_coalitions(players: int) -> Chains:
    """Return symmetric chains that hold every coalition exactly once.

    >>> all_coalitions(4).evaluations, len(all_coalitions(4))
    (16, 6)
    """
    # A chain is the first coalition's members and those who join it.
    chains: list[tuple[list[int], list[int]]] = [([], [])]
    for player in range(players):
        longer = [(first, [*joins, player]) for first, joins in chains]
        # The same chain without its last coalition, the new player being there from the start.
        shorter = [([player, *first], joins[:-1]) for first, joins in chains if joins]
        chains = longer + shorter
    orders = [np.array(first + joins, dtype=np.int64) for first, joins in chains]
    sizes = [np.arange(len(first), len(first) + len(joins) + 1) for first, joins in chains]
    return Chains.of(orders, sizes)


def _masks(chains: Chains) -> IntArray:
    """Return every valued coalition as a set of bits."""
    found = []
    for chain in range(len(chains)):
        bits = np.concatenate([[0], np.cumsum(1 << chains.order(chain))])
        found.append(bits[chains.sizes_of(chain)])
    return np.concatenate(found)
