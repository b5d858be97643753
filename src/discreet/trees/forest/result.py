"""A released forest: the average of its trees' probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.forms.trees import RawTree
from discreet.schema import FloatArray
from discreet.trees.compiled import raw_tree
from discreet.trees.decision_tree.result import DecisionTree, finite
from discreet.trees.nodes import LEAF, Nodes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class RandomForest(DecisionTree):
    """A private forest, ready to predict: nodes of all trees level by level, the roots first.

    Attributes:
      trees: their number; the roots are the nodes 0 to trees - 1.
      chosen_levels: how many levels of a tree were chosen; those below were drawn at random.
      rows: ``disjoint`` if each tree counted records of its own, ``whole`` if each counted all.

    Guarantees:
      - Made of released splits, released counts, a public seed and public facts. [forest-disjoint]
    """

    trees: int
    chosen_levels: int
    rows: str

    @classmethod
    def grown(cls, nodes: Nodes, counts: FloatArray, shares: FloatArray, **facts: Any) -> RandomForest:
        """Return grown nodes with their noisy counts and shares as plain numbers."""
        return cls(
            feature=tuple(nodes.feature.tolist()),
            low=finite(nodes.low),
            high=finite(nodes.high),
            left=tuple(nodes.left.tolist()),
            counts=tuple(map(tuple, counts.tolist())),
            shares=tuple(map(tuple, shares.tolist())),
            **facts,
        )

    def __repr__(self) -> str:
        return (
            f"RandomForest({self.target!r}, trees={self.trees}, depth={self.depth}, "
            f"{self.chosen_levels} levels chosen by {self.criterion}, {self.rows} rows)"
        )

    def fits_together(self) -> bool:
        """Return whether the nodes are trees, so many as it says."""
        return 1 <= self.trees <= len(self.feature) and super().fits_together()

    def to_json(self) -> dict[str, Any]:
        """Return the forest as plain data, without loss; thousands of nodes are copied but once."""
        return {"type": self.type_name, **{name: _lists(v) for name, v in self.get_params().items()}}

    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes: the average over all trees."""
        from discreet.trees.growth import walk

        feature, low, high, left, shares = self._arrays
        rows = np.asfortranarray(encoded)
        found = np.empty(len(rows), dtype=np.int64)
        total = np.zeros((len(rows), shares.shape[1]))
        for root in range(self.trees):
            walk(rows, np.full_like(found, root), feature, low, high, left, found)
            total += shares[found]
        return total / self.trees

    def raw_trees(self, class_index: int) -> list[RawTree] | None:
        """Return the trees with their part of the probability of a class at the leaves."""
        feature, low, high, left, shares = self._arrays
        value = shares[:, class_index] / self.trees
        found = [raw_tree(feature, low, high, left, value, root) for root in range(self.trees)]
        known = [tree for tree in found if tree is not None]
        return known if len(known) == len(found) else None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per node as a tree does, with the number of its tree."""
        owner = list(range(len(self.left)))
        for node, child in enumerate(self.left):
            if self.feature[node] != LEAF:
                owner[child] = owner[child + 1] = owner[node]
        frame = super().to_frame()
        frame.insert(0, "tree", owner)
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None, levels: int = 4) -> Any:
        """Draw the importances of the features, or of one tree's splits if there is but one tree."""
        if self.trees == 1:
            return super().plot(ax, title=title, levels=levels)
        from discreet.trees.forest.display import ForestDisplay

        return ForestDisplay(self).plot(ax, title=title)


def _lists(value: Any) -> Any:
    """Return nested tuples as lists."""
    if not isinstance(value, tuple):
        return value
    return [list(entry) if isinstance(entry, tuple) else entry for entry in value]
