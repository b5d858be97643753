"""Adding up the records of a block: vectors in whole steps, cells, and all that by groups."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.privacy.certificate import Ball, Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_HUGE = 1e100

Packed = list[tuple[str, bytes]]
"""Of every vector the kind of its numbers, and the compressed numbers."""

_KINDS = (np.int8, np.int16, np.int32, np.int64)


def by_group(
    vectors: FloatArray,
    weights: FloatArray | None,
    places: NDArray[np.int64] | None,
    groups: int,
) -> Iterator[tuple[int, FloatArray, FloatArray | None]]:
    """Yield the vectors of every group that has some, with their weights; those of none are left."""
    if places is None:
        yield 0, vectors, weights
        return
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(groups + 1))
    for group in np.flatnonzero(np.diff(ends)).tolist():
        own = order[ends[group] : ends[group + 1]]
        yield group, np.asfortranarray(vectors[own]), None if weights is None else weights[own]


def count_cells(
    cells: NDArray[np.int64], size: int, block: Block, places: NDArray[np.int64] | None, groups: int
) -> IntArray:
    """Return the counts of every group's cells, one row each; of parts of records if rows share one.

    Guarantees:
      - Parts are whole numbers, so their sums are exact. [person-weights]
    """
    cells = np.asarray(cells, dtype=np.int64)
    check_shape(cells.shape, (len(block),))
    strange = cells.view(np.uint64).max(initial=0) >= size  # one look for both: negative ones are huge
    if strange:
        cells = np.minimum(cells, size - 1)
    if places is not None:
        cells = np.where((places >= 0) & (cells >= 0), places * size + cells, -1)
    units = block.units
    if strange or places is not None:
        units = None if units is None else units[cells >= 0]
        cells = cells[cells >= 0]
    # Parts of a block stay far below 2^53, so floats add them up exactly.
    counts = np.bincount(cells, weights=units, minlength=groups * size)
    return counts.astype(np.int64, copy=False).reshape(groups, size)


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
    weights: FloatArray | None = None,
) -> IntArray:
    """Return every cell's sum in whole steps of a lattice, group after group.

    Args:
      first: the first of the two cells of every record; a negative one is none.
      second: what goes to the cell after it; the rest of one goes to the first.
      size: how many cells a group has.
      lattice_step: of the sums.
      places: the group of every record, negative for none; all in one if left out.
      groups: how many there are.
      weights: of the records; one each if left out.

    Guarantees:
      - The integers that rounding vectors of all cells gives. [lattice]
    """
    cells = np.minimum(np.asarray(first, dtype=np.int64), size - 2)
    if places is not None:
        cells = np.where((places >= 0) & (cells >= 0), places * size + cells, -1)
    there = cells >= 0
    cells, share = cells[there], np.fmin(np.fmax(second[there], 0.0), 1.0)
    weigh = 1.0 if weights is None else weights[there]
    totals = np.zeros(groups * size, dtype=np.int64)
    for place, part in ((cells, 1.0 - share), (cells + 1, share)):
        np.add.at(totals, place, np.rint(part * weigh * (1.0 / lattice_step)).astype(np.int64))
    return totals


def add_spots(
    cells: NDArray[np.int64],
    values: FloatArray,
    size: int,
    lattice_step: float,
    places: NDArray[np.int64] | None = None,
    groups: int = 1,
    weights: FloatArray | None = None,
) -> IntArray:
    """Return the sums of every cell and channel in whole steps of a lattice, group after group.

    Args:
      cells: of every record in every table, tables x rows; a negative one is none.
      values: what a record adds to the channels of each of its cells, rows x channels.
      size: how many numbers a group has: cells times channels.
      lattice_step: of the sums.
      places: the group of every record, negative for none; all in one if left out.
      groups: how many there are.
      weights: of the records; one each if left out.

    Guarantees:
      - The integers that rounding vectors of all cells gives. [lattice]
    """
    rows, channels = values.shape
    check_shape(cells.shape[1:], (rows,))
    own, totals = size // channels, np.zeros((groups * (size // channels), channels), dtype=np.int64)
    weighed = values if weights is None else values * weights[:, None]
    steps = np.rint(np.clip(np.nan_to_num(weighed), -1.0, 1.0) * (1.0 / lattice_step))
    for row in cells:
        spot = np.minimum(row, own - 1)
        if places is not None:
            spot = np.where((places >= 0) & (spot >= 0), places * own + spot, -1)
        there = np.flatnonzero(spot >= 0)
        kept = spot if len(there) == rows else spot[there]
        for channel in range(channels):
            column = steps[:, channel] if len(there) == rows else steps[there, channel]
            # Steps of a block stay below 2^53, so floats add them up exactly.
            added = np.bincount(kept, weights=column, minlength=len(totals))
            totals[:, channel] += added.astype(np.int64)
    return totals.reshape(groups, -1).ravel()


def spread_spots(cells: NDArray[np.int64], values: FloatArray, size: int) -> FloatArray:
    """Return what records add as vectors of all numbers, rows x size: slowly."""
    rows, channels = values.shape
    vectors = np.zeros((rows, size // channels, channels))
    for row in cells:
        there = np.flatnonzero(row >= 0)
        vectors[there, np.minimum(row[there], size // channels - 1)] += values[there]
    return vectors.reshape(rows, size)


def rounded_sum(
    vectors: FloatArray,
    region: Box | Ball,
    fill: float,
    step: float,
    weights: FloatArray | None = None,
) -> IntArray:
    """Return the sum of vectors, clipped to a region, weighed and rounded to whole steps one by one."""
    from discreet.data.kernels import round_and_add, weigh_and_add

    if isinstance(region, Ball):
        vectors = np.asfortranarray(_into_ball(vectors, region, fill))
    total = np.zeros(vectors.shape[1], dtype=np.int64)
    low, high = region.limits
    if weights is None:
        round_and_add(vectors, low, high, fill, 1.0 / step, total)
    else:
        weigh_and_add(vectors, weights, low, high, fill, 1.0 / step, total)
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


def added(first: Sequence[IntArray] | None, second: Sequence[IntArray] | None) -> list[IntArray] | None:
    """Return the sums of two tasks together; None if one of them failed."""
    if first is None or second is None:
        return None
    return [one + other for one, other in zip(first, second, strict=True)]


def pack_sums(sums: Sequence[IntArray] | None) -> Packed | None:
    """Return sums as few bytes, because counts of many cells are small; None if a task failed.

    >>> unpack_sums(pack_sums([np.array([0, 0, 300]), np.array([2**40])]))
    [array([  0,   0, 300]), array([1099511627776])]
    """
    return None if sums is None else [_pack(vector) for vector in sums]


def unpack_sums(packed: Packed) -> list[IntArray]:
    """Return what ``pack_sums`` packed."""
    return [
        np.frombuffer(zlib.decompress(numbers), dtype=kind).astype(np.int64) for kind, numbers in packed
    ]


def _pack(vector: IntArray) -> tuple[str, bytes]:
    ends = np.array([vector.min(initial=0), vector.max(initial=0)])
    kind = next(k for k in _KINDS if np.array_equal(ends, ends.astype(k)))
    return np.dtype(kind).str, zlib.compress(vector.astype(kind).tobytes(), 1)
