"""Shapley values: exact ones of few players, and of any number leave-one-out and from random orders.

All 2^n coalitions are covered by the fewest chains there can be (de Bruijn, Tengbergen and Kruyswijk
1951), so that games which can go on from a smaller coalition do.

From random orders every record has its marginal when it joins, averaged over orders. With ``truncate``
an order is cut once more than five prefixes in a row have the utility of the whole up to a tolerance
(truncated Monte Carlo); whoever joins later gets nothing from it. That is fast and biased. Antithetic
orders come in pairs, one the reverse of the other.

Reference: Ghorbani, Zou (2019), "Data Shapley", Algorithm 1, and its authors' code for the prefixes.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains, Game
from discreet.value.engines.running import Estimates, Progress, resumed, run_chains, showing

MOST_PLAYERS = 20
_CALM = 5
_PIECES = 16
"""An order that may be cut is valued in so many pieces."""


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


def permutation_shapley(
    game: Game,
    *,
    permutations: int,
    seed: int = 0,
    antithetic: bool = False,
    truncate: float | None = None,
    n_jobs: int | None = None,
    progress: Progress = None,
    continue_from: Estimates | None = None,
) -> Estimates:
    """Estimate all Shapley values from random orders.

    Args:
      game: the utility of coalitions.
      permutations: how many orders, both of a pair counted; with ``continue_from`` the earlier ones
        count among them.
      seed: of the orders.
      antithetic: whether every second order is the reverse of the one before.
      truncate: distance from the value of all at which an order is cut; None never cuts.
      n_jobs: see ``run_chains``.
      progress: see ``run_chains``.
      continue_from: estimates with the same seed and settings, finished or not, and as many orders
        or fewer.
    """
    check_whole("permutations", permutations, 1)
    check_whole("seed", seed, 0)
    if antithetic and permutations % 2:
        raise ArgumentError(f"permutations must be even with antithetic, got {permutations!r}.")
    if truncate is not None:
        check_positive("truncate", truncate, "It is a distance between scores.")
    key = ("permutation", game.players, seed, antithetic, truncate)
    n, earlier = game.players, resumed(continue_from, key)
    permutations = max(permutations, 0 if earlier is None else len(earlier))
    orders = np.array([random_order(n, seed, place, antithetic) for place in range(permutations)])
    values = np.full((permutations, n + 1), np.nan)
    if earlier is not None:
        values[: len(earlier)] = earlier
    missing = int(np.isnan(values).sum())
    with showing("permutation Shapley", missing, progress) as advance:
        finished = all(
            _value_piece(game, orders, values, sizes, truncate, n_jobs, advance)
            for sizes in _pieces(n, truncate)
        )
    evaluations = int(np.sum(~np.isnan(values)))
    draws = 2 if antithetic else 1
    means, errors = _averages(_marginals(orders, _filled(values, truncate), draws), draws)
    method = "permutation" if truncate is None else "truncated permutation"
    return Estimates(np.arange(n), means, errors, evaluations, method, finished, None, (key, values))


def random_order(players: int, seed: int, place: int, antithetic: bool) -> IntArray:
    """Return one of the orders of a seed: always the same for the same place."""
    if antithetic and place % 2:
        return random_order(players, seed, place - 1, antithetic)[::-1]
    return np.asarray(public_generator((seed << 32) + place).permutation(players), dtype=np.int64)


def _pieces(players: int, truncate: float | None) -> list[IntArray]:
    """Return the sizes valued together: all, or first the ends and then piece by piece."""
    sizes = np.arange(players + 1)
    if truncate is None:
        return [sizes]
    inner = np.array_split(sizes[1:-1], min(_PIECES, max(1, players - 1)))
    return [sizes[[0, -1]], *(piece for piece in inner if len(piece))]


def _value_piece(
    game: Game,
    orders: IntArray,
    values: FloatArray,
    sizes: IntArray,
    truncate: float | None,
    n_jobs: int | None,
    advance: Progress,
) -> bool:
    """Write the values at some sizes of every order that is not cut; return whether all are there."""
    cut = (
        np.zeros(len(orders), dtype=bool)
        if truncate is None
        else _cut_before(values, sizes[0], truncate)
    )
    (open_,) = np.nonzero(np.isnan(values[:, sizes]).any(axis=1) & ~cut)
    chains = Chains.of([orders[o][: sizes[-1]] for o in open_], [sizes] * len(open_))
    done = values[np.ix_(open_, sizes)].ravel()
    work = run_chains(game, chains, n_jobs=n_jobs, progress=advance, done=done)
    values[np.ix_(open_, sizes)] = work.values.reshape(len(open_), len(sizes))
    return work.finished


def _calm_at(values: FloatArray, truncate: float) -> IntArray:
    """Return, for every order, the size at which it is cut, or one beyond the last."""
    players = values.shape[1] - 1
    close = np.abs(values - values[:, -1:]) <= truncate  # NaN is not close
    run = np.zeros(len(values), dtype=np.int64)
    found = np.full(len(values), players + 1)
    for size in range(1, players + 1):
        run = np.where(close[:, size], run + 1, 0)
        found = np.where((run > _CALM) & (found > players), size, found)
    return found


def _cut_before(values: FloatArray, size: int, truncate: float) -> IntArray:
    return np.asarray((size > 0) & (_calm_at(values, truncate) < size))


def _filled(values: FloatArray, truncate: float | None) -> FloatArray:
    """Return the values with whatever follows a cut set to the value there."""
    if truncate is None:
        return values
    sizes = np.arange(values.shape[1])
    last = np.minimum(sizes, _calm_at(values, truncate)[:, None])
    return np.asarray(np.take_along_axis(values, np.minimum(last, len(sizes) - 1), axis=1))


def _marginals(orders: IntArray, values: FloatArray, together: int) -> FloatArray:
    """Return every record's marginal in every order that is complete, its pair included."""
    complete = ~np.isnan(values).any(axis=1)
    complete = np.repeat(complete.reshape(-1, together).all(axis=1), together)
    found = np.empty((int(complete.sum()), orders.shape[1]))
    np.put_along_axis(found, orders[complete], np.diff(values[complete], axis=1), axis=1)
    return found


def _averages(marginals: FloatArray, together: int) -> tuple[FloatArray, FloatArray]:
    """Return means and standard errors; both orders of an antithetic pair are one draw."""
    players = marginals.shape[1]
    draws = marginals.reshape(-1, together, players).mean(axis=1)
    nothing = np.full(players, np.nan)
    means = draws.mean(axis=0) if len(draws) else nothing
    errors = draws.std(axis=0, ddof=1) / np.sqrt(len(draws)) if len(draws) > 1 else nothing
    return means, errors
