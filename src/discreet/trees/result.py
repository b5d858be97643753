"""What is released: a tree with noisy counts and class probabilities, and a forest of such trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.models.forms.trees import RawTree
from discreet.plans import Result
from discreet.plans.results.result import is_table
from discreet.schema import MISSING, Category, Date, FloatArray, Number
from discreet.trees.classifier import ReleasedClassifier, raw_tree
from discreet.trees.columns import IntArray
from discreet.trees.nodes import LEAF, TreeNodes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class DecisionTree(ReleasedClassifier, Result):
    """A private decision tree, ready to predict: a scikit-learn classifier that is already fitted.

    TreeNodes stand level by level, the root first.

    Attributes:
      features: the columns it may look at, in order.
      target: the column it predicts.
      feature: for every node the place of the feature it splits on; -1 for a leaf.
      low: what is above ``low`` (None: no lower end) and not above ``high`` goes left.
      high: see ``low``.
      left: the left child, the right one is ``left + 1``; a leaf is its own.
      counts: noisy records per node and class; an inner node's are the sums of its leaves.
      shares: probabilities per node and class, drawn towards the parent's by what noise deserves.
      noise_std: the standard deviation of the noise on a leaf's count.
      criterion: what splits were chosen by.
      mechanism: how they were chosen.
      facts: the public schema, as JSON.

    Guarantees:
      - Made of released splits, released counts and public facts. [tree-leaves]
    """

    features: tuple[str, ...]
    target: str
    feature: tuple[int, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    left: tuple[int, ...]
    counts: tuple[tuple[float, ...], ...]
    shares: tuple[tuple[float, ...], ...]
    noise_std: float
    criterion: str
    mechanism: str
    facts: str

    @classmethod
    def of(cls, nodes: TreeNodes, counts: FloatArray, shares: FloatArray, **facts: Any) -> Self:
        """Return grown nodes with their noisy counts and shares as plain numbers."""
        return cls(
            feature=tuple(nodes.feature.tolist()),
            low=finite_ends(nodes.low),
            high=finite_ends(nodes.high),
            left=tuple(nodes.left.tolist()),
            counts=tuple(map(tuple, counts.tolist())),
            shares=tuple(map(tuple, shares.tolist())),
            **facts,
        )

    def __repr__(self) -> str:
        leaves = self.feature.count(LEAF)
        return f"DecisionTree({self.target!r}, depth={self.depth}, leaves={leaves}, {self.criterion})"

    @property
    def extent(self) -> str:
        """The depth and the number of leaves."""
        return f"depth {self.depth}, {self.feature.count(LEAF):,} leaves"

    def fits_together(self) -> bool:
        """Return whether every node has its parts, and children that stand behind it.

        Kernels walk the nodes without looking: what is not a tree must not come to them.
        """
        nodes, classes = len(self.feature), len(self.classes_)
        parts = (self.low, self.high, self.left)
        return (
            nodes > 0
            and self.schema.features == self.features
            and all(len(part) == nodes for part in parts)
            and is_table(self.counts, nodes, classes)
            and is_table(self.shares, nodes, classes)
            and all(self._stands(node) for node in range(nodes))
        )

    def _stands(self, node: int) -> bool:
        """Return whether a node is a leaf, or a split with two children behind it."""
        place, left, high = self.feature[node], self.left[node], self.high[node]
        if place == LEAF:
            return left == node
        if not 0 <= place < len(self.features) or not node < left < len(self.left) - 1 or high is None:
            return False
        column, low = self.schema[self.features[place]], self.low[node]
        return not isinstance(column, Category) or -1 <= (low or 0) < high <= len(column)

    @cached_property
    def _arrays(self) -> tuple[IntArray, FloatArray, FloatArray, IntArray, FloatArray]:
        low, high = _ends(self.low, -np.inf), _ends(self.high, np.inf)
        return np.array(self.feature), low, high, np.array(self.left), np.array(self.shares)

    @property
    def depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        levels = [0] * len(self.left)
        for node, child in enumerate(self.left):
            if child != node:
                levels[child] = levels[child + 1] = levels[node] + 1
        return max(levels)

    @property
    def feature_importances_(self) -> FloatArray:
        """How much the splits on each feature reduce Gini impurity, by noisy counts; they sum to one.

        All zero if noise leaves nothing to save.
        """
        kept = np.maximum(np.array(self.counts), 0.0)
        sizes = kept.sum(axis=1)
        impure = sizes - (kept**2).sum(axis=1) / np.maximum(sizes, 1e-9)
        found = np.zeros(len(self.features))
        for node, (place, child) in enumerate(zip(self.feature, self.left, strict=True)):
            if place != LEAF:
                saved = impure[node] - impure[child] - impure[child + 1]
                found[place] += max(0.0, saved)
        return np.asarray(found / max(found.sum(), 1e-300))

    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes."""
        return np.asarray(self._arrays[-1][self.leaf_of(encoded)])

    def leaf_of(self, encoded: FloatArray) -> IntArray:
        """Return the leaf of every encoded row."""
        from discreet.trees.growth import walk

        feature, low, high, left, _ = self._arrays
        found = np.empty(len(encoded), dtype=np.int64)
        walk(np.asfortranarray(encoded), np.zeros_like(found), feature, low, high, left, found)
        return found

    def raw_trees(self, class_index: int) -> list[RawTree] | None:
        """Return the tree with the probability of a class at its leaves."""
        feature, low, high, left, shares = self._arrays
        tree = raw_tree(feature, low, high, left, shares[:, class_index])
        return None if tree is None else [tree]

    def split_text(self, node: int) -> str:
        """Return what sends a row to the left, for people."""
        name, low, high = self.features[self.feature[node]], self.low[node], self.high[node]
        column = self.schema[name]
        assert high is not None
        if not isinstance(column, Category):
            return _number_text(name, high, column)
        codes = range(0 if low is None else int(low + 0.5), int(high + 0.5))
        chosen = [column.labels[code] for code in codes]
        return f"{name} = {chosen[0]}" if len(chosen) == 1 else f"{name} in {', '.join(chosen)}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per node: its split, its children, noisy counts and probabilities."""
        import pandas as pd

        splits = [place != LEAF for place in self.feature]
        frame: dict[str, Any] = {
            "split": [self.split_text(n) if split else None for n, split in enumerate(splits)],
            "left": [child if split else None for child, split in zip(self.left, splits, strict=True)],
        }
        for place, name in enumerate(self.classes_):
            frame[f"count {name}"] = [row[place] for row in self.counts]
            frame[f"share {name}"] = [row[place] for row in self.shares]
        return pd.DataFrame(frame)

    def plot(self, ax: Any = None, *, title: str | None = None, levels: int = 4) -> Any:
        """Draw the tree down to so many levels; returns a display with ``ax_`` and ``figure_``."""
        from discreet.plans.results.pictures.tree import TreeDisplay

        return TreeDisplay(self, levels=levels).plot(ax, title=title)


@dataclass(frozen=True, repr=False)
class RandomForest(DecisionTree):
    """A private forest, ready to predict: nodes of all trees level by level, the roots first.

    Attributes:
      trees: their number; the roots are the nodes 0 to trees - 1.
      chosen_levels: how many levels of a tree were chosen; those below were drawn at random.
      rows: ``disjoint`` if each tree counted records of its own, ``whole`` if each counted all.
      copies: for every copy of all trees its nodes' ``high``; probabilities are the mean over copies.
        Empty if the trees themselves are asked.

    Guarantees:
      - Made of released splits, released counts, a public seed and public facts. [forest-disjoint]
    """

    trees: int
    chosen_levels: int
    rows: str
    copies: tuple[tuple[float | None, ...], ...] = ()

    def __repr__(self) -> str:
        return (
            f"RandomForest({self.target!r}, trees={self.trees}, depth={self.depth}, "
            f"{self.chosen_levels} levels chosen by {self.criterion}, {self.rows} rows)"
        )

    @property
    def extent(self) -> str:
        """The number of trees, their depth, and the copies that are asked."""
        trees = f"{self.trees:,} tree{'s' if self.trees > 1 else ''} of depth {self.depth}"
        return f"{trees}, in {len(self.copies)} copies" if self.copies else trees

    def fits_together(self) -> bool:
        """Return whether the nodes are so many trees, and every copy has an end for each of them."""
        nodes = len(self.feature)
        return (
            1 <= self.trees <= nodes
            and all(len(high) == nodes for high in self.copies)
            and super().fits_together()
        )

    def to_json(self) -> dict[str, Any]:
        """Return the forest as plain data, without loss; thousands of nodes are copied but once."""
        return {"type": self.type_name, **{name: _lists(v) for name, v in self.get_params().items()}}

    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes: the mean over trees and copies."""
        from discreet.trees.growth import walk

        feature, low, _, left, shares = self._arrays
        rows = np.asfortranarray(encoded)
        found = np.empty(len(rows), dtype=np.int64)
        total = np.zeros((len(rows), shares.shape[1]))
        for high in self._highs:
            for root in range(self.trees):
                walk(rows, np.full_like(found, root), feature, low, high, left, found)
                total += shares[found]
        return total / (self.trees * len(self._highs))

    @cached_property
    def _highs(self) -> list[FloatArray]:
        """The upper ends of all nodes, of every copy or of the trees themselves."""
        return [_ends(high, np.inf) for high in self.copies or (self.high,)]

    def raw_trees(self, class_index: int) -> list[RawTree] | None:
        """Return trees and copies with their part of the probability of a class at the leaves."""
        feature, low, _, left, shares = self._arrays
        value = shares[:, class_index] / (self.trees * len(self._highs))
        found = [
            raw_tree(feature, low, high, left, value, root)
            for high in self._highs
            for root in range(self.trees)
        ]
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
        from discreet.plans.results.pictures.tree import ForestDisplay

        return ForestDisplay(self).plot(ax, title=title)


def _lists(value: Any) -> Any:
    """Return nested tuples as lists."""
    if not isinstance(value, tuple):
        return value
    return [list(entry) if isinstance(entry, tuple) else entry for entry in value]


def _number_text(name: str, high: float, column: Number) -> str:
    if high == MISSING:
        return f"{name} is missing"
    shown = column.show(high) if isinstance(column, Date) else f"{high:,.6g}"
    return f"{name} ≤ {shown}" + (" or missing" if column.may_be_missing else "")


def _ends(ends: tuple[float | None, ...], none: float) -> FloatArray:
    """Return ends as numbers, with an infinity where there is none."""
    return np.array([none if end is None else end for end in ends])


def finite_ends(ends: FloatArray) -> tuple[float | None, ...]:
    """Return ends as JSON can hold them: None where there is none."""
    return tuple(end if np.isfinite(end) else None for end in ends.tolist())
