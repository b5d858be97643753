"""Layered Shapley values: a fixed number of coalitions of every size, with a stated error.

The Shapley value of record i is (1/n) sum over layers k = 0..n-1 of the mean marginal v(C + i) - v(C)
over coalitions C of k others. A design says which coalitions are drawn, before any record is seen: for
every layer independent *rounds*. In a balanced round they are consecutive blocks, around the circle, of
a random permutation of the others, so that every other record is used equally often up to one; in an
independent round there is one coalition.

Marginals of layer k are clipped to [-c_k, c_k], where c_k is what is known of them: the width of the
score's range, or less by a stability certificate; the clip then changes nothing. A smaller clip makes
the estimate that of the clipped game.

References: Maleki et al. (2013) for layers; we take one Hoeffding bound over all layers instead of one
for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains, Game
from discreet.value.engines.running import Estimates, Progress, resumed, run_chains, showing
from discreet.value.engines.stability import Stability

_MOST_MEMBERS = 2**24
"""Coalitions of more records than have this many members together are drawn later: 128 MB."""


@dataclass(frozen=True)
class LayeredDesign:
    """Coalitions of one record's others, by size.

    Attributes:
      players: n, the record itself included.
      rounds: independent rounds of every layer k = 0..n-1.
      layers: for every k the coalitions (m_k x k) as places 0..n-2 among the others.
    """

    players: int
    rounds: IntArray
    layers: tuple[IntArray, ...]

    @cached_property
    def counts(self) -> IntArray:
        """Coalitions of every layer, m_k."""
        return np.array([len(layer) for layer in self.layers], dtype=np.int64)

    @property
    def total(self) -> int:
        """How many coalitions there are; each is valued with and without the record."""
        return int(self.counts.sum())

    def uses(self) -> FloatArray:
        """Return how often every place is used in every layer, (n - 1) x n."""
        found = np.zeros((self.players - 1, self.players))
        for k, layer in enumerate(self.layers):
            found[:, k] = np.bincount(layer.ravel(), minlength=self.players - 1)
        return found

    def chains(self, record: int) -> Chains:
        """Return the coalitions of a record's others, each valued without and with it."""
        orders, sizes = [], []
        for k, layer in enumerate(self.layers):
            members = others(record, layer)
            ends = np.full((len(layer), 1), record, dtype=np.int64)
            orders += list(np.hstack([members, ends]))
            sizes += [np.array([k, k + 1])] * len(layer)
        return Chains.of(orders, sizes)


def others(record: int, places: IntArray) -> IntArray:
    """Return the players at places among all but ``record``.

    >>> others(1, np.array([0, 1, 2])).tolist()
    [0, 2, 3]
    """
    return np.asarray(places + (places >= record), dtype=np.int64)


def independent_design(players: int, rounds: IntArray, seed: int) -> LayeredDesign:
    """Return a design whose coalitions are all drawn independently."""
    return _design(players, rounds, seed, np.ones(players, dtype=np.int64))


def balanced_design(players: int, rounds: IntArray, seed: int) -> LayeredDesign:
    """Return a design whose rounds use every other record equally often, up to one.

    A round of layer k has ceil((n - 1) / k) blocks; the layers of nobody and of everybody have one
    coalition, which is all there are.
    """
    k = np.maximum(np.arange(players), 1)
    return _design(players, rounds, seed, -(-(players - 1) // k))


def _design(players: int, rounds: IntArray, seed: int, blocks: IntArray) -> LayeredDesign:
    check_whole("players", players, 1)
    rounds = np.asarray(rounds, dtype=np.int64).copy()
    if rounds.shape != (players,) or (rounds < 1).any():
        raise ArgumentError(
            f"rounds must be a whole number of at least 1 for each of {players} layers, got {rounds!r}."
        )
    rounds[[0, -1]] = 1  # there is one such coalition
    generator, layers = public_generator(seed), []
    for k in range(players):
        if k in (0, players - 1):
            layers.append(np.arange(k, dtype=np.int64)[None, :])
            continue
        drawn = [_round(players - 1, k, int(blocks[k]), generator) for _ in range(rounds[k])]
        layers.append(np.concatenate(drawn))
    return LayeredDesign(players, rounds, tuple(layers))


def _round(others_count: int, size: int, blocks: int, generator: np.random.Generator) -> IntArray:
    """Return consecutive blocks of a permutation, around the circle."""
    order = generator.permutation(others_count)
    return np.asarray(np.resize(order, blocks * size).reshape(blocks, size), dtype=np.int64)


def layer_rounds(clips: FloatArray, alpha: float, beta: float) -> IntArray:
    """Return the fewest rounds, in proportion to the clips, with which (alpha, beta) holds.

    Guarantees:
      - With these rounds ``stated_error`` is at most ``alpha``. [hoeffding-weighted]
    """
    check_positive("alpha", alpha)
    low, high = 0.0, 1.0
    clips = np.asarray(clips, dtype=np.float64)
    while stated_error(clips, _in_proportion(clips, high), beta) > alpha:
        high *= 2
        if high * clips.max() > 1e12:
            raise ArgumentError(f"alpha must be reachable with fewer draws, got {alpha!r}. Raise it.")
    for _ in range(60):
        middle = (low + high) / 2
        if stated_error(clips, _in_proportion(clips, middle), beta) > alpha:
            low = middle
        else:
            high = middle
    return _in_proportion(clips, high)


def stated_error(clips: FloatArray, rounds: IntArray, beta: float) -> float:
    """Return the alpha that an estimate exceeds with probability at most ``beta``.

    Args:
      clips: c_k: marginals of layer k lie in [-c_k, c_k].
      rounds: independent rounds of every layer.
      beta: probability of a greater error.

    Guarantees:
      - One Hoeffding bound on the weighted sum of all rounds: alpha = sqrt(2 ln(2 / beta) sum c_k^2 /
        rounds_k) / n over the layers that are sampled. [hoeffding-weighted]
    """
    if not 0 < beta < 1:
        raise ArgumentError(f"beta must be above 0 and below 1, got {beta!r}.")
    inner = slice(1, len(clips) - 1)  # nobody and everybody else are exact
    spread = float(np.sum(np.asarray(clips)[inner] ** 2 / rounds[inner]))
    return math.sqrt(2 * math.log(2 / beta) * spread) / len(clips)


def _in_proportion(clips: FloatArray, scale: float) -> IntArray:
    return np.maximum(1, np.ceil(scale * clips)).astype(np.int64)


def layer_clips(players: int, width: float, stability: Stability | None = None) -> FloatArray:
    """Return what bounds the marginals of layers 0..n-1: the width, or what a certificate says."""
    sizes = np.arange(players, dtype=np.float64)
    whole = np.full(players, float(width))
    return whole if stability is None else np.minimum(whole, stability.removal(sizes))


def layered_shapley(
    game: Game,
    *,
    clips: FloatArray,
    records: Sequence[int] | None = None,
    alpha: float = 0.05,
    beta: float = 0.05,
    rounds: IntArray | None = None,
    balanced: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
    continue_from: Estimates | None = None,
) -> Estimates:
    """Estimate Shapley values from coalitions of every size.

    Args:
      game: the utility of coalitions.
      clips: c_k of every layer, see ``layer_clips``.
      records: whom to value; None for all.
      alpha: the error that is exceeded with probability ``beta`` at most, for one value.
      beta: see ``alpha``.
      rounds: rounds of every layer instead of ``alpha``.
      balanced: whether a round uses every other record equally often.
      seed: of the public choice of coalitions; every record has its own.
      n_jobs: see ``run_chains``.
      progress: see ``run_chains``.
      continue_from: what an interrupted call with the same arguments returned.

    Guarantees:
      - A value is off by more than the stated alpha with probability at most beta. [hoeffding-weighted]
    """
    clips = np.asarray(clips, dtype=np.float64)
    if clips.shape != (game.players,) or not (clips >= 0).all():
        raise ArgumentError(
            f"clips must be a number of at least 0 for each of {game.players} layers, got {clips!r}."
        )
    counts = layer_rounds(clips, alpha, beta) if rounds is None else np.asarray(rounds)
    check_whole("seed", seed, 0)
    chosen = np.arange(game.players) if records is None else np.asarray(records, dtype=np.int64)
    if ((chosen < 0) | (chosen >= game.players)).any():
        raise ArgumentError(f"records must be among 0 to {game.players - 1}, got {records!r}.")
    draw = balanced_design if balanced else independent_design
    key = ("layered", game.players, tuple(chosen.tolist()), tuple(counts.tolist()), balanced, seed)

    def design_of(record: int) -> LayeredDesign:
        return draw(game.players, counts, (seed << 32) + record)

    per_record = 2 * design_of(0).total
    done = resumed(continue_from, key)
    work = np.full((len(chosen), per_record), np.nan) if done is None else done.copy()
    results = np.full((2, len(chosen)), np.nan)
    finished = True
    with showing("layered Shapley", work.size, progress) as advance:
        for part in _batches(len(chosen), design_of(0)):
            designs = [design_of(int(record)) for record in chosen[part]]
            chains = joined([d.chains(int(r)) for d, r in zip(designs, chosen[part], strict=True)])
            run = run_chains(game, chains, n_jobs=n_jobs, progress=advance, done=work[part].ravel())
            work[part] = run.values.reshape(-1, per_record)
            for place, design, values in zip(part, designs, work[part], strict=True):
                found = marginals(design, values)
                results[0, place] = layered_value(design, found, clips)
                results[1, place] = layered_error(design, found, clips)
            if not run.finished:
                finished = False
                break
    return Estimates(
        chosen,
        results[0],
        results[1],
        int(np.sum(~np.isnan(work))),
        "layered",
        finished,
        (stated_error(clips, counts, beta), beta),
        (key, work),
    )


def marginals(design: LayeredDesign, values: FloatArray) -> list[FloatArray]:
    """Return the marginals of every layer from the values of ``design.chains``."""
    differences = values[1::2] - values[0::2]
    return np.split(differences, np.cumsum(design.counts)[:-1])


def layered_value(
    design: LayeredDesign, layer_marginals: Sequence[FloatArray], clips: FloatArray
) -> float:
    """Return the mean over layers of the mean clipped marginal.

    Guarantees:
      - Unbiased for the Shapley value of clipped marginals, every coalition of a layer being uniform.
        [hoeffding-weighted]
    """
    pairs = zip(layer_marginals, clips, strict=True)
    return float(sum(np.clip(found, -c, c).mean() for found, c in pairs) / design.players)


def layered_error(
    design: LayeredDesign, layer_marginals: Sequence[FloatArray], clips: FloatArray
) -> float:
    """Return the standard error from the spread of rounds.

    A layer with a single round shows no spread: it counts with the greatest variance, c_k^2.
    """
    variance = 0.0
    for k in range(1, design.players - 1):
        rounds = int(design.rounds[k])
        if rounds == 1:
            variance += float(clips[k]) ** 2
            continue
        clipped = np.clip(layer_marginals[k], -clips[k], clips[k])
        variance += float(clipped.reshape(rounds, -1).mean(axis=1).var(ddof=1)) / rounds
    return float(np.sqrt(variance)) / design.players


def _batches(records: int, design: LayeredDesign) -> list[IntArray]:
    """Return the places of records whose coalitions are held in memory together."""
    members = int(np.sum(design.counts * (np.arange(design.players) + 1)))
    step = max(1, _MOST_MEMBERS // members)
    return [np.arange(first, min(first + step, records)) for first in range(0, records, step)]


def joined(parts: Sequence[Chains]) -> Chains:
    """Return the chains of all parts, one after another."""
    orders = [part.order(c) for part in parts for c in range(len(part))]
    sizes = [part.sizes_of(c) for part in parts for c in range(len(part))]
    return Chains.of(orders, sizes)
