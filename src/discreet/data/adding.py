"""Adding up the records of a block: vectors in whole steps, cells, and all that by groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.privacy.certificate import Ball, Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_HUGE = 1e100


def by_group(
    vectors: FloatArray, places: NDArray[np.int64] | None, groups: int
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the vectors of every group that has some; those of no group belong to none."""
    if places is None:
        yield 0, vectors
        return
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(groups + 1))
    for group in np.flatnonzero(np.diff(ends)).tolist():
        yield group, np.asfortranarray(vectors[order[ends[group] : ends[group + 1]]])


def count_cells(
    cells: NDArray[np.int64], size: int, block: Block, places: NDArray[np.int64] | None, groups: int
) -> IntArray:
    """Return the counts of every group's cells, one row each."""
    cells = np.asarray(cells, dtype=np.int64)
    check_shape(cells.shape, (len(block),))
    strange = cells.view(np.uint64).max(initial=0) >= size  # one look for both: negative ones are huge
    if strange:
        cells = np.minimum(cells, size - 1)
    if places is not None:
        cells = np.where((places >= 0) & (cells >= 0), places * size + cells, -1)
    if strange or places is not None:
        cells = cells[cells >= 0]
    return np.bincount(cells, minlength=groups * size).reshape(groups, size)


def check_shape(found: tuple[int, ...], needed: tuple[int, ...]) -> None:
    """Raise unless a contribution has the shape that it must have."""
    if found != needed:  # the kernel would read or write beyond its arrays
        raise ArgumentError(f"A contribution must have the shape {needed}, got {found}.")


def add_pairs(
    first: NDArray[np.int64],
    second: FloatArray,
    size: int,
    lattice_step: float,
    places: NDArray[np.int64] | None = None,
    groups: int = 1,
) -> IntArray:
    """Return every cell's sum in whole steps of a lattice, group after group.

    Args:
      first: the first of the two cells of every record; a negative one is none.
      second: what goes to the cell after it; the rest of one goes to the first.
      size: how many cells a group has.
      lattice_step: of the sums.
      places: the group of every record, negative for none; all in one if left out.
      groups: how many there are.

    Guarantees:
      - The integers that rounding vectors of all cells gives. [lattice]
    """
    cells = np.minimum(np.asarray(first, dtype=np.int64), size - 2)
    if places is not None:
        cells = np.where((places >= 0) & (cells >= 0), places * size + cells, -1)
    there = cells >= 0
    cells, share = cells[there], np.fmin(np.fmax(second[there], 0.0), 1.0)
    totals = np.zeros(groups * size, dtype=np.int64)
    for place, part in ((cells, 1.0 - share), (cells + 1, share)):
        np.add.at(totals, place, np.rint(part * (1.0 / lattice_step)).astype(np.int64))
    return totals


def rounded_sum(vectors: FloatArray, region: Box | Ball, fill: float, step: float) -> IntArray:
    """Return the sum of vectors, clipped to a region and rounded to whole steps one by one."""
    from discreet.data.kernels import round_and_add

    if isinstance(region, Ball):
        vectors = np.asfortranarray(_into_ball(vectors, region, fill))
    total = np.zeros(vectors.shape[1], dtype=np.int64)
    low, high = region.limits
    round_and_add(vectors, low, high, fill, 1.0 / step, total)
    return total


def _into_ball(vectors: FloatArray, ball: Ball, fill: float) -> FloatArray:
    """Return rows in the ball, clipped in units of its radius: no square can be too large or small."""
    # Row by row in memory: sums along rows must not depend on how many rows there are.
    filled = np.ascontiguousarray(np.where(np.isnan(vectors), fill, vectors))
    with np.errstate(all="ignore"):
        units = np.clip(filled / ball.radius, -_HUGE, _HUGE)
        inside = Ball(1.0, ball.norm).clip(units)
    untouched = np.all(inside == units, axis=1, keepdims=True)
    return np.where(untouched, filled, inside * ball.radius)
