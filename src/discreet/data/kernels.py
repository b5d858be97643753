"""The compiled loop that adds up what records contribute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
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


_CHUNK = 1_024
"""Numbers that are worked on together: they stay near the processor."""

_WHOLE = 1.5 * 2.0**52
_WHOLE_BITS = 0x4338 << 48
"""Floats near this one are the whole numbers; the bits of its neighbours follow those of its own."""


@intrinsic
def _bits(_: Any, value: Any) -> Any:
    """Return the bits of a float as a whole number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return types.int64(value), generate


@njit(cache=True, nogil=True, error_model="numpy")
def _put_on_grid(
    part: NDArray[np.float64],
    low: float,
    high: float,
    step: float,
    last: float,
    fill: float,
    encoded: NDArray[np.float64],
) -> None:
    """Write numbers as the nearest points of a step grid, of which ``last`` is the last."""
    for i in range(len(part)):
        value = fill if part[i] != part[i] else part[i]
        value = min(max(value, low), high)
        encoded[i] = min(low + step * min(np.rint((value - low) / step), last), high)


@njit(cache=True, nogil=True, error_model="numpy")
def _clip(
    part: NDArray[np.float64], least: float, most: float, fill: float, encoded: NDArray[np.float64]
) -> None:
    for i in range(len(part)):
        value = fill if part[i] != part[i] else part[i]
        encoded[i] = min(max(value, least), most)


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_and_add(
    part: NDArray[np.float64],
    ends: tuple[float, float],
    fill: float,
    place: tuple[float, float],
    middle: float,
    square: bool,
    region: tuple[float, float],
    per_step: float,
) -> np.int64:
    """Add up in whole steps how far clipped numbers, or their places, are from the middle.

    A ``place`` is what is taken off and one over the width; zero over it for the number itself. There
    is a loop for either, without a branch, whose sum is one of integers: so the machine does several
    numbers at once. Up to 2^51 steps adding ``_WHOLE`` rounds as ``np.rint`` does; another loop is for
    finer ones.
    """
    total = np.int64(0)
    if max(abs(region[0]), abs(region[1])) * per_step >= 2.0**51:
        for i in range(len(part)):
            value = fill if part[i] != part[i] else part[i]
            value = min(max(value, ends[0]), ends[1])
            if place[1] > 0:
                value = min(max((value - place[0]) * place[1], 0.0), 1.0)
            value -= middle
            value = value * value if square else value
            total += np.int64(np.rint(min(max(value, region[0]), region[1]) * per_step))
        return total
    if place[1] > 0:
        for i in range(len(part)):
            value = fill if part[i] != part[i] else part[i]
            value = min(max(value, ends[0]), ends[1])
            value = min(max((value - place[0]) * place[1], 0.0), 1.0) - middle
            value = value * value if square else value
            total += _bits(min(max(value, region[0]), region[1]) * per_step + _WHOLE)
    else:
        for i in range(len(part)):
            value = fill if part[i] != part[i] else part[i]
            value = min(max(value, ends[0]), ends[1]) - middle
            value = value * value if square else value
            total += _bits(min(max(value, region[0]), region[1]) * per_step + _WHOLE)
    # What is added too much by every number, modulo 2^64 as the sum itself.
    return total - np.int64(len(part)) * np.int64(_WHOLE_BITS)


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
    per_width: float,
    middle: float,
    square: bool,
    least: float,
    most: float,
    per_step: float,
) -> Any:
    """Encode every number, clip it to a box, measure it from the middle, add whole steps of a lattice.

    A ``step`` of zero is none; ``last`` is the last point of a step grid. With a ``per_width`` (one
    over it) other than zero it is the place in the box that is measured, from 0 to 1.
    """
    ends = min(max(low, box_low), box_high), min(max(high, box_low), box_high)
    place, region = (box_low, per_width), (least, most)
    if step == 0:
        return _measure_and_add(numbers, ends, fill, place, middle, square, region, per_step)
    room = np.empty(_CHUNK)
    total = np.int64(0)
    for start in range(0, len(numbers), _CHUNK):
        part = numbers[start : start + _CHUNK]
        encoded = room[: len(part)]
        _put_on_grid(part, low, high, step, last, fill, encoded)
        total += _measure_and_add(encoded, ends, fill, place, middle, square, region, per_step)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def encode_and_count(
    numbers: NDArray[np.float64],
    low: float,
    high: float,
    step: float,
    last: float,
    fill: float,
    start_wall: float,
    stop_wall: float,
    absent: int,
    zero: float,
    per_unit: float,
    near: float,
    units: NDArray[np.int64],
    edges: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Encode every number and count it in its cell, on a grid of walls (``schema.EvenWalls``).

    Numbers that are none are counted in the cell ``absent``; as the ``fill`` if that is negative. Of
    two tables successive numbers take turns: one that is written is not read at once.
    """
    encoded, places = np.empty(_CHUNK), np.empty(_CHUNK)
    tables = np.zeros((2, len(counts)), dtype=np.int64)
    for start in range(0, len(numbers), _CHUNK):
        part = numbers[start : start + _CHUNK]
        if step > 0:
            _put_on_grid(part, low, high, step, last, fill, encoded)
            _clip(encoded[: len(part)], start_wall, stop_wall, fill, encoded)
        else:
            _clip(part, start_wall, stop_wall, fill, encoded)
        for i in range(len(part)):
            places[i] = (encoded[i] - zero) * per_unit
        for i in range(len(part)):
            whole = np.int64(places[i])
            cell = units[whole] if len(units) > 0 else whole
            if places[i] - whole < near and encoded[i] < edges[cell]:
                cell -= 1
            if absent >= 0 and part[i] != part[i]:
                cell = absent
            tables[i & 1, cell] += 1
    counts += tables[0] + tables[1]
