"""Sums and counts of one column, from its numbers as they came: encoded and added up in one loop.

They need no blocks: a number is encoded by itself, and integers have no order.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import Bins, Column, FloatArray, Number
from discreet.schema.even_walls import EvenWalls


@dataclass(frozen=True)
class DirectSum:
    """What a record adds is its value of ``column``, clipped to ``box``, less the ``middle``.

    The column has no missing values; ``region`` is the contribution's. By ``places`` it is not the
    value but its place in the box, from 0 to 1; by ``square`` the square of what is said so far.
    """

    column: Number
    box: Box
    middle: float
    region: Box
    places: bool = False
    square: bool = False

    def add(self, numbers: FloatArray, lattice_step: float) -> IntArray:
        """Return the sum of numbers in whole steps of a lattice; encoded ones stay as they are.

        Guarantees:
          - The integer that encoding, clipping and rounding one after the other give. [lattice]
        """
        from discreet.data.kernels import encode_and_add

        total = encode_and_add(
            _plain(numbers),
            *_encoding(self.column),
            *self.box.limits,
            1.0 / self.box.width if self.places else 0.0,
            self.middle,
            self.square,
            *self.region.limits,
            1.0 / lattice_step,
        )
        return np.array([total], dtype=np.int64)


@dataclass(frozen=True)
class DirectCount:
    """Every record is counted in the cell of its value of ``column``; cells stand on even walls."""

    column: Number
    bins: Bins
    walls: EvenWalls

    def add(self, numbers: FloatArray, lattice_step: float) -> IntArray:
        """Return the counts of numbers that were not encoded before; the lattice is that of ones.

        Guarantees:
          - The counts that encoding numbers and looking for their cells give. [pattern-counts]
        """
        from discreet.data.kernels import encode_and_count

        walls, counts = self.walls, np.zeros(len(self.bins), dtype=np.int64)
        encode_and_count(
            _plain(numbers),
            *_encoding(self.column),
            walls.start,
            walls.stop,
            len(self.bins) - 1 if self.bins.reserved else -1,
            walls.zero,
            walls.per_unit,
            walls.near,
            np.empty(0, dtype=np.int64) if walls.cells is None else walls.cells,
            walls.edges,
            counts,
        )
        return counts


Direct = DirectSum | DirectCount


def _plain(numbers: FloatArray) -> FloatArray:
    plain = np.ascontiguousarray(numbers).view()
    plain.setflags(write=False)  # another kind of array would be compiled anew
    return plain


def _encoding(column: Number) -> tuple[float, float, float, float, float]:
    """Return the bounds, the step and the last point of its grid, zero for none, and the fill."""
    step, last = (0.0, 0.0) if column.step is None else (column.step, column.step_count - 1.0)
    return column.low, column.high, step, last, column.fill


def direct_sum(
    column: Number,
    box: Box,
    middle: float,
    region: Box,
    *,
    places: bool = False,
    square: bool = False,
) -> DirectSum | None:
    """Return the one loop for a column's sum; None if values may be missing or it is too narrow."""
    if column.may_be_missing or box.width < sys.float_info.min:
        return None
    return DirectSum(column, box, middle, region, places, square)


def direct_count(column: Column, bins: Bins) -> DirectCount | None:
    """Return the one loop that counts a column; None if its cells stand on no grid of walls."""
    if type(column) is not Number or bins.walls is None:
        return None
    return DirectCount(column, bins, bins.walls)
