"""Which code evaluates an ensemble: leaf masks up to 64 leaves a tree, else a walk, else numpy.

A kernel gets rows in the precision the trees were made for: float32 if all thresholds are lifted from
float32 (twice the rows per vector instruction), float64 otherwise. Blocks keep the copies small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.models.forms.trees import IntArray, TreeEnsemble
from discreet.models.readers.thresholds import as_single
from discreet.schema import FloatArray

_MASK_LEAVES = 64
_MASK_BLOCK = 16_384
_WALK_BLOCK = 4_096
"""Enough rows for a tree's nodes to be fetched once, few enough to stay in the second cache."""


class Compiled(Protocol):
    """Something that evaluates an ensemble."""

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return base plus leaf values of every row."""


def compile_trees(ensemble: TreeEnsemble) -> Compiled:
    """Return the fastest evaluation that fits; numpy alone if numba cannot be imported."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return PlainWalk(ensemble)
    return LeafMasks.of(ensemble) if fits_masks(ensemble) else Walk.of(ensemble)


def fits_masks(trees: TreeEnsemble) -> bool:
    """Say whether no tree has more leaves than a mask has bits."""
    return bool(np.bincount(trees.tree[trees.is_leaf]).max() <= _MASK_LEAVES)


@dataclass(frozen=True)
class PlainWalk:
    """Every row goes down every tree, in numpy; the reference for the compiled ones."""

    ensemble: TreeEnsemble

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return base plus leaf values of every row."""
        trees, every = self.ensemble, np.arange(len(rows))
        totals = np.full(len(rows), trees.base)
        deepest = np.maximum.reduceat(trees.depth, trees.roots)
        for root, levels in zip(trees.roots, deepest, strict=True):
            at = np.full(len(rows), root)
            for _ in range(levels):
                here = rows[every, trees.feature[at]]
                goes_left = (here <= trees.threshold[at]) | (np.isnan(here) & trees.missing_left[at])
                at = trees.left[at] + ~goes_left
            totals += trees.value[at]
        return totals


@dataclass(frozen=True)
class LeafMasks:
    """Splits and leaves of small trees as ``tree_kernels.add_by_masks`` takes them."""

    base: float
    feature: NDArray[np.uint32]
    threshold: NDArray[Any]
    missing_left: NDArray[np.bool_]
    mask: NDArray[Any]
    first_split: IntArray
    value: FloatArray
    first_leaf: IntArray

    @classmethod
    def of(cls, trees: TreeEnsemble) -> LeafMasks:
        """Number the leaves of every tree from left to right and make the mask of every split."""
        first, count = leaf_ranges(trees)
        splits = np.flatnonzero(~trees.is_leaf)
        child = trees.left[splits]
        below_left = ((np.uint64(1) << count[child]) - np.uint64(1)) << first[child]
        single = as_single(trees.threshold[splits])
        # Masks as wide as the compared values are fastest, narrower ones need less memory.
        widest = 64 if single is None else int(count[trees.roots].max())
        kind: Any = np.uint16 if widest <= 16 else np.uint32 if widest <= 32 else np.uint64
        leaves = np.flatnonzero(trees.is_leaf)
        in_order = leaves[np.lexsort((first[leaves], trees.tree[leaves]))]
        return cls(
            base=trees.base,
            feature=trees.feature[splits].astype(np.uint32),
            threshold=trees.threshold[splits] if single is None else single,
            missing_left=trees.missing_left[splits],
            mask=(~below_left).astype(kind),
            first_split=starts_of(np.bincount(trees.tree[splits], minlength=len(trees.roots))),
            value=trees.value[in_order],
            first_leaf=starts_of(np.bincount(trees.tree[leaves], minlength=len(trees.roots))),
        )

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return base plus leaf values of every row."""
        from discreet.models.forms.tree_kernels import add_by_masks

        totals = np.full(len(rows), self.base)
        for start in range(0, len(rows), _MASK_BLOCK):
            block = slice(start, start + _MASK_BLOCK)
            columns = kernel_copy(rows[block].T, self.threshold.dtype)
            add_by_masks(
                columns,
                self.feature,
                self.threshold,
                self.missing_left,
                self.mask,
                self.first_split,
                self.value,
                self.first_leaf,
                totals[block],
            )
        return totals


@dataclass(frozen=True)
class Walk:
    """Nodes of trees of any size as ``tree_kernels.add_by_walk`` takes them."""

    base: float
    nodes: NDArray[Any]
    value: FloatArray
    roots: IntArray
    depths: IntArray
    missing: PlainWalk

    @classmethod
    def of(cls, trees: TreeEnsemble) -> Walk:
        """Pack what a step reads of a node side by side."""
        single = as_single(trees.threshold)
        precision: Any = np.float64 if single is None else np.float32
        nodes = np.empty(
            len(trees.feature),
            dtype=[("threshold", precision), ("feature", np.uint32), ("left", np.uint32)],
        )
        nodes["threshold"] = trees.threshold if single is None else single
        nodes["feature"] = np.maximum(trees.feature, 0)
        nodes["left"] = trees.left
        depths = np.maximum.reduceat(trees.depth, trees.roots)
        return cls(trees.base, nodes, trees.value.copy(), trees.roots.copy(), depths, PlainWalk(trees))

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return base plus leaf values of every row; a row with NaN takes the long way."""
        from discreet.models.forms.tree_kernels import add_by_walk

        totals = np.full(len(rows), self.base)
        for start in range(0, len(rows), _WALK_BLOCK):
            block = slice(start, start + _WALK_BLOCK)
            row_major = kernel_copy(rows[block], self.nodes.dtype["threshold"])
            add_by_walk(row_major, self.nodes, self.value, self.roots, self.depths, totals[block])
            if len(missing := np.flatnonzero(np.isnan(row_major).any(axis=1))):
                totals[start + missing] = self.missing.scores(rows[start + missing])
        return totals


def leaf_ranges(trees: TreeEnsemble) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return, for every node, its first leaf counted from the left of its tree, and how many it has."""
    count = trees.is_leaf.astype(np.uint64)
    first = np.zeros(len(count), dtype=np.uint64)
    splits = [level[~trees.is_leaf[level]] for level in trees.levels()]
    for level in reversed(splits):
        count[level] = count[trees.left[level]] + count[trees.left[level] + 1]
    for level in splits:
        first[trees.left[level]] = first[level]
        first[trees.left[level] + 1] = first[level] + count[trees.left[level]]
    return first, count


def starts_of(sizes: IntArray) -> IntArray:
    """Return where each of some parts begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)])


def kernel_copy(rows: FloatArray, precision: np.dtype[Any]) -> NDArray[Any]:
    """Return a row-major copy: kernels are compiled for one layout, and for arrays that are ours."""
    copy = np.empty(rows.shape, precision)
    with np.errstate(over="ignore"):  # beyond float32 is infinite, and nobody is told of a row
        np.copyto(copy, rows, casting="same_kind")
    return copy
