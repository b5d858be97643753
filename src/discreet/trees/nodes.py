"""Trees as they grow: nodes in level order, and which codes can still come to them.

All of it is public: it follows from the schema and from splits that were released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.schema import FloatArray
from discreet.trees.columns import CutGrid, IntArray, Splits, offsets

LEAF = -1
"""The ``feature`` of a leaf."""


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """One tree or several, level by level, the roots first; the two children of a split in a row.

    Attributes:
      feature: the place of the feature a node looks at; ``LEAF`` at a leaf.
      low: a value above ``low`` and not above ``high`` goes left.
      high: see ``low``.
      left: the left child, the right one is ``left + 1``; a leaf is its own.
      parent: the parent; a root is its own.
      depth: the level below the root.
      firsts: where the codes of each feature begin in ``region``, and their end.
      region: nodes x codes: which codes of every feature can come to the node.
    """

    feature: IntArray
    low: FloatArray
    high: FloatArray
    left: IntArray
    parent: IntArray
    depth: IntArray
    firsts: IntArray
    region: NDArray[np.bool_]

    @classmethod
    def start(cls, grid: CutGrid, trees: int = 1) -> TreeNodes:
        """Return the roots of so many trees; tree t has the root t."""
        every = np.arange(trees)
        return cls(
            feature=np.full(trees, LEAF),
            low=np.full(trees, -np.inf),
            high=np.full(trees, np.inf),
            left=every,
            parent=every,
            depth=np.zeros(trees, dtype=np.int64),
            firsts=grid.firsts,
            region=np.ones((trees, int(grid.bins.sum())), dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def open(self) -> IntArray:
        """The nodes of the newest level, which may be split next."""
        return np.flatnonzero(self.depth == self.depth[-1])

    @cached_property
    def leaves(self) -> IntArray:
        """The nodes without children."""
        return np.flatnonzero(self.feature == LEAF)

    def useful(self, splits: Splits) -> NDArray[np.bool_]:
        """Return, open nodes x splits, which splits have two sides that codes can come to."""
        upto = np.zeros((len(self.open), self.region.shape[1] + 1), dtype=np.int64)
        np.cumsum(self.region[self.open], axis=1, out=upto[:, 1:])
        begin, end = self.firsts[splits.feature], self.firsts[splits.feature + 1]
        goes_left = upto[:, begin + splits.last + 1] - upto[:, begin + splits.first]
        either = upto[:, end] - upto[:, begin]
        return np.asarray((goes_left > 0) & (goes_left < either))

    def grow(self, splits: Splits, chosen: IntArray) -> TreeNodes:
        """Return the trees with every open node split as chosen; a negative choice leaves a leaf."""
        here, numbers = self.open[chosen >= 0], chosen[chosen >= 0]
        feature, low, high, left = (x.copy() for x in (self.feature, self.low, self.high, self.left))
        feature[here] = splits.feature[numbers]
        low[here], high[here] = splits.low[numbers], splits.high[numbers]
        left[here] = len(self) + 2 * np.arange(len(here))
        new = 2 * len(here)
        return TreeNodes(
            feature=np.append(feature, np.full(new, LEAF)),
            low=np.append(low, np.full(new, -np.inf)),
            high=np.append(high, np.full(new, np.inf)),
            left=np.append(left, len(self) + np.arange(new)),
            parent=np.append(self.parent, np.repeat(here, 2)),
            depth=np.append(self.depth, np.repeat(self.depth[here] + 1, 2)),
            firsts=self.firsts,
            region=np.concatenate([self.region, self._children(here, splits, numbers)]),
        )

    def _children(self, here: IntArray, splits: Splits, numbers: IntArray) -> NDArray[np.bool_]:
        """Return which codes come to the two children of every split node."""
        codes = np.arange(self.region.shape[1])
        begin = self.firsts[splits.feature[numbers]][:, None]
        inside = (codes >= begin + splits.first[numbers][:, None]) & (
            codes <= begin + splits.last[numbers][:, None]
        )
        own = (codes >= begin) & (codes < self.firsts[splits.feature[numbers] + 1][:, None])
        pairs = np.stack([inside | ~own, ~inside], axis=1) & self.region[here][:, None, :]
        return pairs.reshape(2 * len(here), self.region.shape[1])

    def add_up(self, values: FloatArray) -> FloatArray:
        """Return values with every split's replaced by the sum over its children; rows are nodes."""
        total = values.copy()
        for level in range(int(self.depth[-1]), -1, -1):
            here = np.flatnonzero((self.depth == level) & (self.feature != LEAF))
            total[here] = total[self.left[here]] + total[self.left[here] + 1]
        return total


def table_offsets(grid: CutGrid, slots: int, classes: int) -> IntArray:
    """Return where the table of every feature begins: one cell per node, code and class."""
    return offsets(slots * classes * grid.bins)
