"""Tree ensembles over a whole grid: every record meets a leaf once per range of the grid it serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.models import TreeEnsemble
from discreet.models.forms.compiled import LeafMasks, fits_masks, kernel_copy, starts_of
from discreet.models.forms.trees import apply_link
from discreet.schema import FloatArray

IntArray = NDArray[np.int64]

_NONE = np.zeros(1)
"""Stands for the second grid of a curve; no split looks at it."""


@dataclass(frozen=True)
class TreeGrid:
    """What an ensemble answers if one or two features are set to the points of ascending grids.

    Guarantees:
      - A record's answers are a function of its own row, to the last bit, and differ from the
        ensemble's own by rounding alone. [pdp-tree-grid]
    """

    trees: TreeEnsemble
    over: _Over
    cells: int

    @classmethod
    def of(cls, trees: TreeEnsemble, places: Sequence[int], grids: Sequence[FloatArray]) -> TreeGrid:
        """Prepare the columns ``places`` and their grids: leaf masks for small trees, else a walk."""
        axes = dict(zip(places, grids, strict=True))
        over: _Over = _GridMasks.of(trees, axes) if fits_masks(trees) else _GridWalk.of(trees, axes)
        return cls(trees, over, int(np.prod([len(grid) for grid in grids])))

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return every row's answers, one column per cell of the grid, the last feature fastest."""
        if rows.ndim != 2 or rows.shape[1] != self.trees.width:  # the kernel would read beyond a row
            raise ModelError(f"rows must have {self.trees.width} columns, got shape {rows.shape}.")
        scores = np.zeros((self.cells, len(rows)))
        scores[0] = self.trees.base
        self.over.add(rows, scores)
        return apply_link(self.trees.link, scores).T


class _Over(Protocol):
    """Something that adds the trees' values over a grid."""

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """Add every row's values to ``out``, which has a row per cell."""


@dataclass(frozen=True)
class _GridMasks:
    """Splits on other features, and the leaves that ranges of the grid leave open."""

    splits: LeafMasks
    pick: NDArray[Any]
    corner: IntArray
    first_run: IntArray
    width: int

    @classmethod
    def of(cls, trees: TreeEnsemble, axes: dict[int, FloatArray]) -> _GridMasks:
        masks = LeafMasks.of(trees)
        tree = np.repeat(np.arange(len(trees.roots)), np.diff(masks.first_split))
        other = ~np.isin(masks.feature, list(axes))
        places, grids = [*axes, -1][:2], [*axes.values(), _NONE][:2]
        compared = [kernel_copy(grid[None, :], masks.threshold.dtype)[0] for grid in grids]
        picks: list[Any] = []
        corners, counts = [], []
        for number in range(len(trees.roots)):
            start, stop = masks.first_split[number : number + 2]
            looks_at = masks.feature[start:stop]
            found = [
                _ranges(masks, start + np.flatnonzero(looks_at == place), points)
                for place, points in zip(places, compared, strict=True)
            ]
            before = len(picks)
            for (first, a), (second, b) in product(*found):
                picks.append(a & b)
                corners.append(_corners(first, second, len(grids[0]), len(grids[1])))
            counts.append(len(picks) - before)
        rest = LeafMasks(
            base=masks.base,
            feature=masks.feature[other],
            threshold=masks.threshold[other],
            missing_left=masks.missing_left[other],
            mask=masks.mask[other],
            first_split=starts_of(np.bincount(tree[other], minlength=len(trees.roots))),
            value=masks.value,
            first_leaf=masks.first_leaf,
        )
        first_run = starts_of(np.array(counts))
        pick = np.array(picks, dtype=masks.mask.dtype)
        return cls(rest, pick, np.array(corners, dtype=np.int64), first_run, len(grids[1]))

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """See ``_Over``."""
        from discreet.engines.kernels.curve_trees import add_curves_by_masks

        s = self.splits
        add_curves_by_masks(
            kernel_copy(rows.T, s.threshold.dtype),
            *(s.feature, s.threshold, s.missing_left, s.mask, s.first_split, s.value, s.first_leaf),
            *(self.pick, self.corner, self.first_run, self.width, out),
        )


def _ranges(
    masks: LeafMasks, splits: IntArray, points: NDArray[Any]
) -> list[tuple[tuple[int, int], Any]]:
    """Return the ranges of a grid, from their first point up to the next one's, and the leaves open."""
    bits = np.full(len(points), ~masks.mask.dtype.type(0))
    if not len(splits):
        return [((0, len(points)), bits[0])]
    for split in splits:
        bits[points > masks.threshold[split]] &= masks.mask[split]
    ends = [0, *(np.flatnonzero(bits[1:] != bits[:-1]) + 1).tolist(), len(points)]
    return [((first, after), bits[first]) for first, after in pairwise(ends)]


def _corners(first: tuple[int, int], second: tuple[int, int], rows: int, width: int) -> list[int]:
    """Return where a rectangle's value is added, taken away twice and added again; -1 for never."""
    (a, a_end), (b, b_end) = first, second
    inside0, inside1 = a_end < rows, b_end < width
    return [
        a * width + b,
        a_end * width + b if inside0 else -1,
        a * width + b_end if inside1 else -1,
        a_end * width + b_end if inside0 and inside1 else -1,
    ]


@dataclass(frozen=True)
class _GridWalk:
    """Nodes of trees of any size, and how many points of a grid go left at those that look at it."""

    trees: TreeEnsemble
    axis: NDArray[np.int8]
    cut: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, trees: TreeEnsemble, axes: dict[int, FloatArray]) -> _GridWalk:
        axis = np.where(trees.is_leaf, -2, -1).astype(np.int8)
        cut = np.zeros(len(axis), dtype=np.int64)
        for number, (place, grid) in enumerate(axes.items()):
            here = trees.feature == place
            axis[here] = number
            cut[here] = np.searchsorted(grid, trees.threshold[here], side="right")
        lengths = [len(grid) for grid in [*axes.values(), _NONE][:2]]
        return cls(trees, axis, cut, np.array(lengths))

    def add(self, rows: FloatArray, out: FloatArray) -> None:
        """See ``_Over``."""
        from discreet.engines.kernels.curve_trees import add_curves_by_walk

        t = self.trees
        add_curves_by_walk(
            kernel_copy(rows, np.dtype(np.float64)),
            *(t.feature, t.threshold, t.missing_left, t.left, t.value),
            *(self.axis, self.cut, t.roots, int(t.depth.max()), self.lengths, out),
        )
