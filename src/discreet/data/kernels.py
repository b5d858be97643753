"""The compiled loop that adds up what records contribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


@njit(cache=True, nogil=True)
def round_and_add(
    values: NDArray[np.float64],
    low: float,
    high: float,
    fill: float,
    per_step: float,
    totals: NDArray[np.int64],
) -> None:
    """Clip every value, round it to whole steps, add each column's steps to ``totals``."""
    rows, size = values.shape
    for j in range(size):
        total = np.int64(0)
        for i in range(rows):
            value = values[i, j]
            if value != value:
                value = fill
            value = min(max(value, low), high)
            total += np.int64(np.rint(value * per_step))
        totals[j] += total


@njit(cache=True, nogil=True)
def weigh_and_add(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    low: float,
    high: float,
    fill: float,
    per_step: float,
    totals: NDArray[np.int64],
) -> None:
    """Clip every value, weigh it by its row, round it to whole steps, add each column's steps."""
    rows, size = values.shape
    for j in range(size):
        total = np.int64(0)
        for i in range(rows):
            value = values[i, j]
            if value != value:
                value = fill
            value = min(max(value, low), high)
            total += np.int64(np.rint(value * weights[i] * per_step))
        totals[j] += total


@njit(cache=True, nogil=True)
def encode_and_add(
    numbers: NDArray[np.float64],
    low: float,
    high: float,
    step: float,
    last: float,
    fill: float,
    box_low: float,
    box_high: float,
    width: float,
    middle: float,
    square: bool,
    least: float,
    most: float,
    per_step: float,
) -> np.int64:
    """Encode every number, clip it to a box, measure it from the middle, add whole steps of a lattice.

    A ``step`` of zero is none; ``last`` is the last point of a step grid. With a ``width`` other than
    zero it is the place in the box that is measured, from 0 to 1.
    """
    total = np.int64(0)
    for i in range(len(numbers)):
        value = numbers[i]
        if value != value:
            value = fill
        value = min(max(value, low), high)
        if step > 0:
            value = min(low + step * min(np.rint((value - low) / step), last), high)
        value = min(max(value, box_low), box_high)
        if width > 0:
            value = min(max((value - box_low) / width, 0.0), 1.0)
        value -= middle
        if square:
            value *= value
        total += np.int64(np.rint(min(max(value, least), most) * per_step))
    return total
