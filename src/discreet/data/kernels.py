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


_CHUNK = 128


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _add_whole(steps: NDArray[np.float64]) -> float:
    """Add up whole numbers of which every sum is a float: in any order, so in several at once."""
    total = 0.0
    for i in range(len(steps)):
        total += steps[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
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
    zero it is the place in the box that is measured, from 0 to 1. Steps of a chunk are added up as
    floats where those hold every sum exactly, and loops are short ones without a branch: so the machine
    does several numbers at once.
    """
    exact = max(abs(least), abs(most)) * per_step * _CHUNK < 2.0**52
    room = np.empty(_CHUNK)
    total = np.int64(0)
    for start in range(0, len(numbers), _CHUNK):
        part = numbers[start : start + _CHUNK]
        steps = room[: len(part)]
        for i in range(len(part)):
            value = fill if part[i] != part[i] else part[i]
            steps[i] = min(max(value, low), high)
        if step > 0:
            for i in range(len(steps)):
                steps[i] = min(low + step * min(np.rint((steps[i] - low) / step), last), high)
        for i in range(len(steps)):
            steps[i] = min(max(steps[i], box_low), box_high)
        if width > 0:
            for i in range(len(steps)):
                steps[i] = min(max((steps[i] - box_low) / width, 0.0), 1.0)
        for i in range(len(steps)):
            value = steps[i] - middle
            value = value * value if square else value
            steps[i] = np.rint(min(max(value, least), most) * per_step)
        if exact:
            total += np.int64(_add_whole(steps))
        else:
            for i in range(len(steps)):
                total += np.int64(steps[i])
    return total
