"""Pairs of features in coarse cells: which there are, and in which cell of a pair a record is.

Cells are made of public facts and of released counts of bins alone, so they are known before a pair is
chosen. A category that has more codes than cells keeps its frequent ones; the others share a cell, and
the scores of that cell once they are released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.additive.coding import Codes, Feature, joined, parts_of
from discreet.schema import Bins, FloatArray, Number, Schema

CELLS = 8
"""How many cells the ordered bins of a side have at most, and how many its others."""

MOST_CODES = 64
"""A category with more codes goes together with nothing: a table of two would be too large."""

MOST_SIDES = 16
"""How many features go together, each with each: of more those that tell most by themselves."""

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairSide:
    """One feature of a pair.

    Attributes:
      place: of the feature among all.
      cells: the feature with few cells.
      group: the cell of every bin of the feature.
      bins: those of a released term: the cells of a number, the codes of a category.
      counts: of records in every bin of the feature, released before.
    """

    place: int
    cells: Feature
    group: Places
    bins: Bins
    counts: FloatArray

    @classmethod
    def of(cls, schema: Schema, feature: Feature, place: int, counts: FloatArray) -> PairSide:
        """Return a feature in few cells, by released counts of its bins."""
        ordered, own = counts[: feature.ordered], counts[feature.ordered :]
        slow = np.unique(parts_of(ordered, CELLS), return_inverse=True)[1] if len(ordered) else ordered
        first = int(slow.max()) + 1 if len(slow) else 0
        group = np.concatenate([slow, first + _frequent(own)]).astype(np.int64)
        column = schema[feature.name]
        if isinstance(column, Number):
            starts = [*np.flatnonzero(np.diff(slow, prepend=-1)).tolist(), len(slow)]
            cells = joined(feature, column, starts)
            return cls(place, cells, group, cells.bins, counts)
        cells = Feature(feature.name, Bins(tuple(map(str, range(int(group.max()) + 1)))), first)
        return cls(place, cells, group, feature.bins, counts)

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.cells.size

    @cached_property
    def weights(self) -> FloatArray:
        """The records of every cell."""
        found = np.bincount(self.group, weights=self.counts, minlength=self.size)
        return np.asarray(found, dtype=np.float64)

    def mean(self, scores: FloatArray) -> FloatArray:
        """Return the mean scores of cells, cells x margins, of those of bins."""
        sums = np.zeros((self.size, scores.shape[1]))
        np.add.at(sums, self.group, self.counts[:, None] * scores)
        return np.asarray(sums / self.weights[:, None])

    @property
    def term_cells(self) -> Places:
        """The cell of every bin that a released term has."""
        return self.group if self.bins.edges is None else np.arange(self.size)

    @property
    def term_shares(self) -> FloatArray:
        """The share of its cell's records that is in every bin of a released term."""
        whole = self.bins.edges is not None
        return np.ones(self.size) if whole else self.counts / self.weights[self.group]


def _frequent(counts: FloatArray) -> Places:
    """Return cells of codes without an order: the frequent ones by themselves, the rest in the last."""
    if len(counts) <= CELLS:
        return np.arange(len(counts))
    cells = np.full(len(counts), CELLS - 1)
    most = np.sort(np.argsort(-counts, kind="stable")[: CELLS - 1])
    cells[most] = np.arange(CELLS - 1)
    return cells


@dataclass(frozen=True, eq=False)
class FeaturePair:
    """Two features, in the cells that both of them make together, row by row."""

    first: PairSide
    second: PairSide

    @property
    def name(self) -> str:
        """What the pair is called."""
        return f"{self.first.cells.name} x {self.second.cells.name}"

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.first.size * self.second.size

    def cells(self, codes: Codes) -> Places:
        """Return the cell of every row, from the bins of all features."""
        first, second = (side.group[codes[side.place]] for side in (self.first, self.second))
        return np.asarray(first * self.second.size + second)

    @property
    def alone(self) -> FloatArray:
        """Records of cells if both features had nothing to do with each other."""
        first, second = self.first.weights, self.second.weights
        return np.asarray(np.outer(first, second) / first.sum())


def sides_of(fine: Sequence[Feature]) -> list[int]:
    """Return the places of features that may be in a pair: a public fact."""
    return [place for place, one in enumerate(fine) if one.bins.edges or one.size <= MOST_CODES]


def count_pairs(fine: Sequence[Feature]) -> int:
    """Return from how many pairs may be chosen."""
    sides = min(len(sides_of(fine)), MOST_SIDES)
    return sides * (sides - 1) // 2


def all_pairs(sides: Sequence[PairSide]) -> list[FeaturePair]:
    """Return the pairs of some sides, each with each."""
    return [FeaturePair(first, second) for first, second in combinations(sides, 2)]


def widest_pair(fine: Sequence[Feature]) -> FeaturePair:
    """Return a pair with as many cells as any may have, for a price."""
    made = []
    for place in sides_of(fine):
        one = fine[place]
        ordered, own = min(one.ordered, CELLS), min(one.own, CELLS)
        cells = Feature(one.name, Bins(tuple(map(str, range(ordered + own)))), ordered)
        group = np.minimum(np.arange(one.size), cells.size - 1)
        made.append(PairSide(place, cells, group, cells.bins, np.ones(one.size)))
    first, second = sorted(made, key=lambda side: -side.size)[:2]
    return FeaturePair(first, second)
