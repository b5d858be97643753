"""Compiled sums over trees: leaf masks for small trees, a walk for all others.

*Leaf masks* (QuickScorer, Lucchese et al., SIGIR 2015). Number a tree's leaves from left to right and
give a row one bit per leaf. Every split a row fails (goes right at) clears the leaves below its left
child, whether or not the row's path meets that split; the lowest bit left is the row's leaf. All
splits are compared, one split for many rows at a time, so there is no branch to mispredict and the
compiler uses vector instructions.

*Walk*. All rows of a tile go down one tree in step. Children stand side by side and a leaf is its own
left child behind an infinite threshold, so that a step is a comparison and an addition.

Both add trees in their order, row by row: a row's sum does not depend on the rows beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.compiling import njit

_TILE = 2_048
"""Rows whose masks stay in the first cache."""

_ROUND = 12
"""Levels after which rows that have reached their leaf are taken out of the walk."""


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 1))

    return bits(bits), generate


@njit(cache=True, nogil=True)
def open_leaves(
    columns: NDArray[Any],
    start: int,
    rows: int,
    splits: tuple[Any, ...],
    first: int,
    after: int,
    out: NDArray[Any],
) -> None:
    """Write the leaves that splits from ``first`` to ``after`` leave open to rows from ``start`` on.

    ``columns`` has one row per feature; ``splits`` are features, thresholds, whether NaN goes left, and
    the leaves that stay open to a row that goes right.
    """
    feature, threshold, missing_left, mask = splits
    full = np.bitwise_not(np.zeros(1, mask.dtype))[0]
    for i in range(rows):
        out[i] = full
    for split in range(first, after):
        column = columns[feature[split], start : start + rows]
        limit, rest = threshold[split], mask[split]
        if missing_left[split]:  # NaN is not above
            for i in range(rows):
                out[i] &= rest if column[i] > limit else full
        else:  # NaN is not at most
            for i in range(rows):
                out[i] &= full if column[i] <= limit else rest


@njit(cache=True, nogil=True)
def add_by_masks(
    columns: NDArray[Any],
    feature: NDArray[np.uint32],
    threshold: NDArray[Any],
    missing_left: NDArray[np.bool_],
    mask: NDArray[Any],
    first_split: NDArray[np.int64],
    value: NDArray[np.float64],
    first_leaf: NDArray[np.int64],
    totals: NDArray[np.float64],
) -> None:
    """Add every row's leaf values to ``totals``; ``columns`` has one row per feature."""
    size = columns.shape[1]
    splits = (feature, threshold, missing_left, mask)
    bits = np.empty(_TILE, mask.dtype)
    for start in range(0, size, _TILE):
        rows = min(size, start + _TILE) - start
        for tree in range(len(first_split) - 1):
            ends = first_split[tree], first_split[tree + 1]
            open_leaves(columns, start, rows, splits, ends[0], ends[1], bits)
            leaves = value[first_leaf[tree] : first_leaf[tree + 1]]
            for i in range(rows):
                totals[start + i] += leaves[lowest_bit(bits[i])]


@njit(cache=True, nogil=True)
def add_by_walk(
    rows: NDArray[Any],
    nodes: NDArray[Any],
    value: NDArray[np.float64],
    roots: NDArray[np.int64],
    depths: NDArray[np.int64],
    totals: NDArray[np.float64],
) -> None:
    """Add every row's leaf values to ``totals``; ``rows`` is row-major and holds no NaN."""
    size, width = rows.shape
    flat = rows.ravel()
    at = np.empty(size, np.uint32)
    row = np.empty(size, np.uint32)
    for tree in range(len(roots)):
        for j in range(size):
            at[j] = roots[tree]
            row[j] = j
        left, walking = depths[tree], size
        while left > _ROUND:
            _go_down(flat, width, nodes, at, row, walking, _ROUND)
            left -= _ROUND
            walking = _take_out(nodes, value, at, row, walking, totals)
        _go_down(flat, width, nodes, at, row, walking, left)
        for j in range(walking):
            totals[row[j]] += value[at[j]]


@njit(cache=True, nogil=True)
def _go_down(
    flat: NDArray[Any],
    width: int,
    nodes: NDArray[Any],
    at: NDArray[np.uint32],
    row: NDArray[np.uint32],
    walking: int,
    levels: int,
) -> None:
    """Let the first rows go down some levels. Unsigned places spare a test for negative ones."""
    for _ in range(levels):
        for j in range(walking):
            node = nodes[at[j]]
            here = flat[np.uint64(row[j]) * np.uint64(width) + np.uint64(node.feature)]
            at[j] = node.left + np.uint32(here > node.threshold)


@njit(cache=True, nogil=True)
def _take_out(
    nodes: NDArray[Any],
    value: NDArray[np.float64],
    at: NDArray[np.uint32],
    row: NDArray[np.uint32],
    walking: int,
    totals: NDArray[np.float64],
) -> int:
    """Add the leaves that were reached, move the other rows to the front, return their number."""
    kept = 0
    for j in range(walking):
        node, here = at[j], row[j]
        if nodes[node].left == node:
            totals[here] += value[node]
        else:
            at[kept], row[kept] = node, here
            kept += 1
    return kept
