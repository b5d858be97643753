"""Sums of one column, from its numbers as they came: encoded, clipped and added up in one loop.

A sum of a column needs no blocks: a number is encoded by itself, and integers have no order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Number


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

    def add(self, numbers: FloatArray, lattice_step: float) -> int:
        """Return the sum of encoded numbers in whole steps of a lattice; encoded ones stay as they are.

        Guarantees:
          - The integer that encoding, clipping and rounding one after the other give. [lattice]
        """
        from discreet.data.kernels import encode_and_add

        column, plain = self.column, np.ascontiguousarray(numbers).view()
        plain.setflags(write=False)  # another kind of array would be compiled anew
        step, last = (0.0, 0.0) if column.step is None else (column.step, column.step_count - 1.0)
        return int(
            encode_and_add(
                plain,
                column.low,
                column.high,
                step,
                last,
                column.fill,
                *self.box.limits,
                self.box.width if self.places else 0.0,
                self.middle,
                self.square,
                *self.region.limits,
                1.0 / lattice_step,
            )
        )


def direct_sum(
    column: Number,
    box: Box,
    middle: float,
    region: Box,
    *,
    places: bool = False,
    square: bool = False,
) -> DirectSum | None:
    """Return the one loop for a column's sum; None for a column whose values may be missing."""
    if column.may_be_missing:
        return None
    return DirectSum(column, box, middle, region, places, square)
