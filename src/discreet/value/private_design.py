"""How far one record can move data values: computed from the public list of coalitions.

The coalitions are drawn from a seed, without the data. So for every valued record i and every other
record j it is known which of i's coalitions contain j, and only their marginals can move:

    D_ij = (1/n) sum_k (1/m_k) sum over i's coalitions C of size k with j in C of w_k,
    w_k  = min(2 c_k, g_k + g_{k+1}),

with c_k the clip of layer k and g_k how far replacing a record of a coalition of size k moves its
utility (if that is known). Where the valued record itself is replaced all its marginals move:
D_ii = (1/n) sum_k min(2 c_k, g_{k+1}), layer 0 included. Watson et al. (2022) add up (2c/n) H_n over
all layers for every j, and leave j = i out in the proof alone.

Two designs: ``Rotations`` value all records at once (each rotation of a random order is a chain of n
coalitions, and every record meets every layer once per order), ``Pairs`` a few of them, with every
other record used equally often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains
from discreet.value.engines.layered import LayeredDesign, balanced_design, layered_value, marginals
from discreet.value.engines.linear_fits import Stability

Audience = Literal["owner", "public"]

MOST_ROUNDS = 2_000
MOST_PLACES = 10**8
"""Of records in a public list of coalitions, which is drawn as a whole: less than a gigabyte."""

_LOST = 2.0**-30
"""More than float addition of four million clipped marginals can lose of their greatest sum.

A record has at most r n (1 + H_n) of them, fewer than that for r rounds with r n^2 and r as above.
"""

_ROUNDED = 1 + 2.0**-30
"""More than float addition of a column of bounds can lose of it."""


class ValueDesign(Protocol):
    """Public coalitions for some of ``players`` records."""

    @property
    def players(self) -> int:
        """The number of records, valued or not."""

    @property
    def records(self) -> tuple[int, ...]:
        """The valued records."""

    @property
    def evaluations(self) -> int:
        """How many coalitions are valued."""

    def batches(self) -> Iterator[Chains]:
        """Yield the chains to value, some at a time."""

    def values(self, utilities: list[FloatArray], clips: FloatArray) -> FloatArray:
        """Return the records' values from the utilities of all batches, with clipped marginals."""

    def moves(self, widths: FloatArray) -> FloatArray:
        """Return valued records x all records: how far replacing j moves the value of i != j."""

    def sampling_error(self, clips: FloatArray) -> float:
        """Return a bound on the standard deviation a value has over the draw of the coalitions."""


@dataclass(frozen=True)
class Rotations:
    """All rotations of ``rounds`` random orders of the records: every record in every layer."""

    players: int
    records: tuple[int, ...]
    rounds: int
    seed: int

    @cached_property
    def orders(self) -> IntArray:
        """The orders, one row each."""
        draw = public_generator(self.seed)
        return np.stack([draw.permutation(self.players) for _ in range(self.rounds)])

    @property
    def evaluations(self) -> int:
        """How many coalitions are valued."""
        return self.rounds * self.players * (self.players + 1)

    def batches(self) -> Iterator[Chains]:
        """Yield all rotations of one order at a time; each is valued at every size."""
        sizes = [np.arange(self.players + 1)] * self.players
        for order in self.orders:
            yield Chains.of([np.roll(order, -first) for first in range(self.players)], sizes)

    def values(self, utilities: list[FloatArray], clips: FloatArray) -> FloatArray:
        """Return the values; what is added up for a record depends on its own marginals alone."""
        n, layers = self.players, np.arange(self.players)
        totals = np.zeros(n)
        for order, utility in zip(self.orders, utilities, strict=True):
            gains = np.clip(np.diff(utility.reshape(n, n + 1), axis=1), -clips, clips)
            for place, record in enumerate(order):
                totals[record] += gains[(place - layers) % n, layers].sum()
        return np.asarray(totals[list(self.records)] / (n * self.rounds))

    def moves(self, widths: FloatArray) -> FloatArray:
        """Return how far j moves i: a coalition of size k holds the k records before i."""
        n = self.players
        tails = np.append(np.cumsum(widths[::-1])[::-1], 0.0)  # tails[d] = widths of all layers >= d
        moved = np.zeros((len(self.records), n))
        for order in self.orders:
            places = np.argsort(order)
            before = (places[list(self.records)][:, None] - places[None, :]) % n
            moved += np.where(before == 0, 0.0, tails[before])
        return moved / (n * self.rounds)

    def sampling_error(self, clips: FloatArray) -> float:
        """Return a bound: orders are independent, the layers of one order are not."""
        return float(np.sum(clips[1:-1]) / (self.players * np.sqrt(self.rounds)))


@dataclass(frozen=True)
class Pairs:
    """For every valued record its own balanced coalitions, each with and without the record."""

    players: int
    records: tuple[int, ...]
    rounds: int
    seed: int

    @cached_property
    def designs(self) -> tuple[LayeredDesign, ...]:
        """One design per valued record, from seeds of their own."""
        rounds = np.full(self.players, self.rounds, dtype=np.int64)
        seeds = np.random.SeedSequence(self.seed).generate_state(self.players)
        return tuple(
            balanced_design(self.players, rounds, int(seeds[record])) for record in self.records
        )

    @property
    def evaluations(self) -> int:
        """How many coalitions are valued."""
        return sum(2 * design.total for design in self.designs)

    def batches(self) -> Iterator[Chains]:
        """Yield the chains of one record at a time."""
        for record, design in zip(self.records, self.designs, strict=True):
            yield design.chains(record)

    def values(self, utilities: list[FloatArray], clips: FloatArray) -> FloatArray:
        """Return the values: the mean over layers of the mean clipped marginal."""
        found = [
            layered_value(design, marginals(design, utility), clips)
            for design, utility in zip(self.designs, utilities, strict=True)
        ]
        return np.array(found)

    def moves(self, widths: FloatArray) -> FloatArray:
        """Return how far j moves i, from how often j is used in every layer."""
        moved = np.zeros((len(self.records), self.players))
        for row, (record, design) in enumerate(zip(self.records, self.designs, strict=True)):
            each = design.uses() @ (widths / np.asarray(design.counts)) / self.players
            moved[row, np.arange(self.players) != record] = each
        return moved

    def sampling_error(self, clips: FloatArray) -> float:
        """Return a bound: rounds are independent, the blocks of one round are not."""
        return float(np.sqrt(np.sum(clips[1:-1] ** 2) / self.rounds)) / self.players


def choose_design(players: int, records: tuple[int, ...], rounds: int, seed: int) -> ValueDesign:
    """Return the design that asks for fewer coalitions, unless its list is too long."""
    shared = Rotations(players, records, rounds, seed)
    harmonic = float(np.sum(1.0 / np.arange(1, players + 1)))
    asks_more = 2 * len(records) * players * harmonic * rounds >= shared.evaluations
    # A round of a layer of pairs names all others.
    if asks_more or len(records) * rounds * players**2 > MOST_PLACES:
        return shared
    return Pairs(players, records, rounds, seed)


def certify_values(
    design: ValueDesign, clips: FloatArray, stability: Stability | None, audience: Audience
) -> Certificate:
    """Certify the values of a design for those who will see them.

    Args:
      design: the public coalitions.
      clips: the greatest marginal of every layer, 0 to n - 1.
      stability: how far a replaced record moves a coalition's utility, if known.
      audience: ``owner`` leaves out what a record does to its own value, which its owner alone may
        see; ``public`` counts it.

    Guarantees:
      - Replacing record j moves the values shown to anybody but j's owner (audience ``owner``), or
        to anybody (``public``), by at most the bounds, in L1, L2 and Linf. [shapley-design]
    """
    moved = certified_moves(design, clips, stability, audience)
    return Certificate(
        ("shapley-design", "joint-values") if audience == "owner" else ("shapley-design",),
        len(design.records),
        {
            REPLACE_ONE: Bounds(
                _ROUNDED * float(moved.sum(axis=0).max()),
                _ROUNDED * float(np.sqrt((moved**2).sum(axis=0)).max()),
                _ROUNDED * float(moved.max()),
            )
        },
    )


def certified_moves(
    design: ValueDesign, clips: FloatArray, stability: Stability | None, audience: Audience
) -> FloatArray:
    """Return valued records x all records: how far replacing one moves a value somebody else sees.

    Guarantees:
      - What float addition loses is counted wherever anything can move. [shapley-design]
    """
    pair, own = marginal_widths(clips, stability)
    moved = design.moves(pair)
    if audience == "public":
        rows = np.arange(len(design.records))
        moved[rows, list(design.records)] = own.sum() / design.players
    lost = _LOST * float(clips.sum()) / design.players
    return np.asarray(np.where(moved > 0, moved + lost, 0.0))


def marginal_widths(clips: FloatArray, stability: Stability | None) -> tuple[FloatArray, FloatArray]:
    """Return, per layer, how far a marginal moves with a record of its coalition, and with its own.

    Guarantees:
      - min(2 c_k, g_k + g_{k+1}), and min(2 c_k, g_{k+1}): a clipped marginal has the range 2 c_k, and
        clipping moves no two marginals apart. [shapley-design]
    """
    if stability is None:
        return 2 * clips, 2 * clips
    sizes = np.arange(len(clips) + 1)
    utility = np.concatenate([[0.0], stability.replacement(sizes[1:])])
    return np.minimum(2 * clips, utility[:-1] + utility[1:]), np.minimum(2 * clips, utility[1:])
