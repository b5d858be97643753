"""Designs of layered Shapley estimates: which coalitions are drawn, before any record is seen.

The Shapley value of record i is (1/n) sum over layers k = 0..n-1 of the mean marginal v(C + i) - v(C)
over coalitions C of k others. A design has, for every layer, independent *rounds* of coalitions. In a
balanced round they are consecutive blocks, around the circle, of a random permutation of the others, so
that every other record is used equally often up to one; in an independent round there is one coalition.

References: Maleki et al. (2013) for layers; we take one Hoeffding bound over all layers instead of one
for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains


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
