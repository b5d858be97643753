"""Cuts between records that are dealt out over places inside values: where cuts of one score lie.

Records of a value go to ``slots`` places inside it, one after the other. A long grid with many records
has tens of millions of such places, and those around the wanted rank are all that a choice ever looks
at. So a value far from it stays whole, with the best score that any of its cuts has: whoever draws such
a run finds the score of the cut itself and keeps it as rarely as that demands (``draw_candidate``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from discreet.randomness import IntArray


@dataclass(frozen=True)
class Wanted:
    """Cuts from ``first`` to ``last``, to leave ``left`` of ``parts`` of the records between them."""

    first: int
    last: int
    left: int
    parts: int


@dataclass(frozen=True)
class Runs:
    """Stretches of cuts, in order: where they begin, how many they are, the best score among them."""

    begins: IntArray
    sizes: IntArray
    scores: IntArray


@dataclass(frozen=True)
class DealtCounts:
    """Counts of values, and where their cuts lie: ``starts`` is the first of each, and the last of all.

    A cut c in a value has the slots below it to its left: those that begin before c.
    """

    counts: IntArray
    starts: IntArray
    slots: int

    @cached_property
    def _upto(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.counts)])

    def score(self, cut: int, wanted: Wanted) -> int:
        """Return how far a cut is from the wanted rank, negated."""
        first, last = self._rank(wanted.first), self._rank(wanted.last)
        return -abs(wanted.parts * (self._rank(cut) - first) - wanted.left * (last - first))

    def runs(self, wanted: Wanted, radius: float = math.inf) -> Runs:
        """Return all cuts as runs; values whose best cut is ``radius`` behind the best stay whole."""
        before, upto = self._rank(wanted.first), self._rank(wanted.last)
        begin, end = self._value(wanted.first), self._value(wanted.last) + 1
        begins, ends = self.starts[begin:end] + 1, self.starts[begin + 1 : end + 1].copy()
        begins[0], ends[-1] = wanted.first, wanted.last
        low, high = (
            wanted.parts * (np.clip(self._upto[begin + k : end + k], before, upto) - before)
            - wanted.left * (upto - before)
            for k in (0, 1)
        )
        scores = -np.maximum(0, np.maximum(low, -high))
        near = (self.counts[begin:end] > 0) & (scores.max() - scores < radius)
        near[[0, -1]] |= self.counts[[begin, end - 1]] > 0  # of which some cuts may be outside
        inner, sizes, ranks = self._inside(begin + np.flatnonzero(near), begins[near], ends[near])
        off = wanted.parts * (ranks - before) - wanted.left * (upto - before)
        begins, ends, scores = begins[~near], ends[~near], scores[~near]
        at = np.searchsorted(begins, inner)
        return Runs(
            np.insert(begins, at, inner),
            np.insert(ends - begins + 1, at, sizes),
            np.insert(scores, at, -np.abs(off)),
        )

    def _inside(
        self, values: IntArray, first: IntArray, last: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return begins, sizes and ranks of runs inside some values, of cuts from first to last."""
        places, slots, records = deal(self.counts[values], self.slots)
        # Every value begins with a run before its first filled slot, then one after each of them.
        heads, every = np.searchsorted(places, np.arange(len(values))), np.arange(len(values))
        owner, held = np.insert(places, heads, every), np.insert(records, heads, 0)
        after = np.insert(self._position(values[places], slots), heads, first - 1)
        after = np.maximum(after, first[owner] - 1)
        until = np.where(np.diff(owner, append=-1) == 0, np.append(after[1:], 0), last[owner])
        until = np.minimum(until, last[owner])
        counts = self.counts[values]
        ranks = self._upto[values[owner]] + np.cumsum(held) - (np.cumsum(counts) - counts)[owner]
        kept = until > after
        return after[kept] + 1, (until - after)[kept], ranks[kept]

    def _position(self, values: IntArray, slots: IntArray) -> IntArray:
        """Return where slots of values begin among all cuts."""
        widths = self.starts[values + 1] - self.starts[values]
        return np.asarray(self.starts[values] + slots * (widths // self.slots))

    def _value(self, cut: int) -> int:
        return max(int(np.searchsorted(self.starts, cut)) - 1, 0)

    def _rank(self, cut: int) -> int:
        """Return how many records are left of a cut."""
        value = self._value(cut)
        _, slots, records = deal(self.counts[value : value + 1], self.slots)
        positions = self._position(np.full(len(slots), value), slots)
        return int(self._upto[value] + records[positions < cut].sum())


def deal(raw_counts: IntArray, slots: int) -> tuple[IntArray, IntArray, IntArray]:
    """Deal the records of every value out over its slots, one after the other, far apart.

    Returns, in order, the values and slots that hold records, and how many they hold.

    Guarantees:
      - One record more of a value is one more in one of its slots. [several-quantiles]
    """
    filled = np.flatnonzero(raw_counts)
    counts = np.asarray(raw_counts, dtype=np.int64)[filled]
    used = np.minimum(counts, slots)
    turn = np.arange(used.sum()) - np.repeat(np.cumsum(used) - used, used)
    values, places = np.repeat(filled, used), _order(slots)[turn]
    records = (np.repeat(counts, used) + slots - 1 - turn) // slots
    in_order = np.argsort(values * slots + places, kind="stable")
    return values[in_order], places[in_order], records[in_order]


@lru_cache(maxsize=8)
def _order(slots: int) -> IntArray:
    """Return the slots as they get records: halves first, then quarters, and so on."""
    bits = max(1, (slots - 1).bit_length())
    place = np.arange(1 << bits)
    reversed_bits = sum((place >> b & 1) << (bits - 1 - b) for b in range(bits))
    order = (np.asarray(reversed_bits) + (1 << bits >> 1)) % (1 << bits)
    return np.asarray(order[order < slots])
