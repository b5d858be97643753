"""Compiled curves of records: trees over a whole grid at once, and curves split into level and shape.

A tree answers the same for all grid points between two of its thresholds, so a record meets few of its
leaves, each for a range of the grid (a rectangle of two grids). A leaf's value is added where its range
begins and taken away where it ends; sums along the grid then give the curve.

Everything is added in one order for every row, so that a row's curve does not depend on the rows beside
it, to the last bit.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.models.forms.tree_kernels import lowest_bit, open_leaves

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TILE = 512
"""Rows whose curves stay in the second cache."""

_OTHER, _LEAF = -1, -2
"""What a node's ``axis`` is if it splits on a feature that is not varied, and at a leaf."""


@njit(cache=True, nogil=True)
def add_curves_by_masks(
    columns: NDArray[Any],
    feature: NDArray[np.uint32],
    threshold: NDArray[Any],
    missing_left: NDArray[np.bool_],
    mask: NDArray[Any],
    first_split: IntArray,
    value: FloatArray,
    first_leaf: IntArray,
    pick: NDArray[Any],
    corner: IntArray,
    first_run: IntArray,
    width: int,
    out: FloatArray,
) -> None:
    """Add every row's leaf values to ``out``, which has a row per grid point.

    Splits are those on features that are not varied. ``pick`` holds the leaves a range of the grid
    leaves open, ``corner`` where the range begins and ends (-1: never); ``width`` is the length of the
    second grid.
    """
    size = columns.shape[1]
    splits = (feature, threshold, missing_left, mask)
    bits = np.empty(_TILE, mask.dtype)
    leaf = np.empty(_TILE)
    for start in range(0, size, _TILE):
        rows = min(size, start + _TILE) - start
        for tree in range(len(first_split) - 1):
            ends = first_split[tree], first_split[tree + 1]
            open_leaves(columns, start, rows, splits, ends[0], ends[1], bits)
            leaves = value[first_leaf[tree] : first_leaf[tree + 1]]
            for run in range(first_run[tree], first_run[tree + 1]):
                for i in range(rows):
                    leaf[i] = leaves[lowest_bit(bits[i] & pick[run])]
                for end in range(4):
                    if corner[run, end] >= 0:
                        cell = out[corner[run, end], start : start + rows]
                        sign = 1.0 if end == 0 or end == 3 else -1.0
                        for i in range(rows):
                            cell[i] += sign * leaf[i]
        _add_along(out[:, start : start + rows], width)


@njit(cache=True, nogil=True)
def _add_along(out: FloatArray, width: int) -> None:
    """Turn what begins and ends at grid points into what holds there, along both grids."""
    cells, rows = out.shape
    for cell in range(cells):
        if cell % width > 0:
            for i in range(rows):
                out[cell, i] += out[cell - 1, i]
    for cell in range(width, cells):
        for i in range(rows):
            out[cell, i] += out[cell - width, i]


@njit(cache=True, nogil=True)
def add_curves_by_walk(
    rows: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    missing_left: NDArray[np.bool_],
    left: IntArray,
    value: FloatArray,
    axis: NDArray[np.int8],
    cut: IntArray,
    roots: IntArray,
    depth: int,
    lengths: IntArray,
    out: FloatArray,
) -> None:
    """Add every row's leaf values to ``out``, which has a row per grid point, for trees of any size.

    A row takes the whole grid down a tree and parts it at splits on a varied feature: the first
    ``cut`` points of that grid go left.
    """
    waiting = np.empty((depth + 2, 5), np.int64)
    width = lengths[1]
    for i in range(len(rows)):
        for root in roots:
            waiting[0, 0], waiting[0, 1], waiting[0, 2] = root, 0, lengths[0]
            waiting[0, 3], waiting[0, 4] = 0, lengths[1]
            count = 1
            while count > 0:
                count -= 1
                node = waiting[count, 0]
                begin0, end0 = waiting[count, 1], waiting[count, 2]
                begin1, end1 = waiting[count, 3], waiting[count, 4]
                while axis[node] != _LEAF:
                    child = left[node]
                    if axis[node] == _OTHER:
                        here = rows[i, feature[node]]
                        goes_left = here <= threshold[node] or (here != here and missing_left[node])
                        node = child if goes_left else child + 1
                        continue
                    begin, end = (begin0, end0) if axis[node] == 0 else (begin1, end1)
                    middle = min(max(cut[node], begin), end)
                    if begin < middle < end:
                        waiting[count, 0] = child + 1
                        waiting[count, 1], waiting[count, 2] = begin0, end0
                        waiting[count, 3], waiting[count, 4] = begin1, end1
                        waiting[count, 1 + 2 * axis[node]] = middle
                        count += 1
                        if axis[node] == 0:
                            end0 = middle
                        else:
                            end1 = middle
                    node = child if middle > begin else child + 1
                leaf = value[node]
                out[begin0 * width + begin1, i] += leaf
                if end0 < lengths[0]:
                    out[end0 * width + begin1, i] -= leaf
                if end1 < width:
                    out[begin0 * width + end1, i] -= leaf
                    if end0 < lengths[0]:
                        out[end0 * width + end1, i] += leaf
    _add_along(out, width)


@njit(cache=True, nogil=True)
def split_level(
    curves: FloatArray, half: float, weight: float, radius: float, absolute: bool, out: FloatArray
) -> None:
    """Write every row's weighted mean, then its distances from it, shrunk into a ball.

    NaN becomes zero and everything is clipped to ``half`` first. ``radius`` is that of the ball, of
    sums of absolute values or of squares; lengths are taken in units of ``half``, so that no square is
    too large or too small.
    """
    rows, size = curves.shape
    level, length = np.zeros(rows), np.zeros(rows)
    for t in range(size):
        for i in range(rows):
            value = curves[i, t]
            value = 0.0 if value != value else min(max(value, -half), half) / half
            out[i, t + 1] = value
            level[i] += value
    for i in range(rows):
        level[i] = min(max(level[i] / size, -1.0), 1.0)
        out[i, 0] = weight * half * level[i]
    for t in range(size):
        for i in range(rows):
            away = out[i, t + 1] - level[i]
            out[i, t + 1] = away
            length[i] += abs(away) if absolute else away * away
    # A hair below the radius, so that a float length rounded down cannot let a row stick out.
    room = radius / half * (1 - 1e-12)
    for i in range(rows):
        found = length[i] if absolute else np.sqrt(length[i])
        length[i] = half if found <= room else half * (room / found)
    for t in range(size):
        for i in range(rows):
            out[i, t + 1] *= length[i]
