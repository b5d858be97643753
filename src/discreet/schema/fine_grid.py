"""A public grid that is fine wherever values may lie: the round numbers of a column's range.

Values are written with few digits, and bounds are often far too wide. So the grid holds the numbers of
up to five digits (far below the bounds: of four), every order of magnitude with its part, besides even
steps; and a number has the more weight the fewer digits it has, so that numbers of one digit weigh
together as much as those of two, of three, and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.schema.bins import FloatArray
from discreet.schema.columns import Number

IntArray = NDArray[np.int64]

_MOST_STEPS, _EVEN = 2**18, 2**16
_SHORT_GRID = 2**15
"""Step grids up to this are taken as they are, every point with one weight."""

_DIGITS = 5
_LEAST_WIDTH = 1e-280
_FINE_DECADES, _COARSE_DECADES = 4, 6


@dataclass(frozen=True)
class FineGrid:
    """Values in order, and a whole weight for each."""

    values: FloatArray
    weights: IntArray


@lru_cache(maxsize=16)
def fine_grid(column: Number) -> FineGrid:
    """Return the step grid of a column, or the round numbers of its range, its ends included."""
    steps = column.grid(_MOST_STEPS) if column.step is not None else np.zeros(0)
    whole = 0 < len(steps) < _MOST_STEPS
    values = steps if whole else np.unique(column.nearest(_round_numbers(column.low, column.high)))
    short = whole and len(values) <= _SHORT_GRID
    weights = np.ones(len(values), dtype=np.int64) if short else _weights(values)
    values.flags.writeable = weights.flags.writeable = False
    return FineGrid(values, weights)


def _round_numbers(low: float, high: float) -> FloatArray:
    greatest = max(abs(low), abs(high))
    if high - low < max(greatest * 1e-9, _LEAST_WIDTH):  # floats have no rounder numbers between
        return np.linspace(low, high, _EVEN)
    step = _round_step((high - low) / _EVEN)
    even = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    with np.errstate(over="ignore"):  # what is no float is not inside either
        short = _short_numbers(greatest)
    near = np.concatenate([-short, [0.0], short])
    return np.concatenate([even, near[(near > low) & (near < high)], [low, high]])


def _round_step(least: float) -> float:
    """Return the least of 1, 2, 5, 10, ... times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10, 20) if times * power >= least)


def _short_numbers(greatest: float) -> FloatArray:
    """Return positive numbers of few digits, of the orders of magnitude up to that of the greatest."""
    powers = math.floor(math.log10(greatest)) - np.arange(_FINE_DECADES + _COARSE_DECADES)
    fine, coarse = np.split(10.0**powers, [_FINE_DECADES])
    five, four = np.arange(10_000, 100_000) / 1e4, np.arange(1_000, 10_000) / 1e3
    return np.concatenate([np.outer(fine, five).ravel(), np.outer(coarse, four).ravel()])


def _weights(values: FloatArray) -> IntArray:
    """Return 1 for numbers of five digits and more, ten times as much for every digit less."""
    size = np.abs(values)
    power = np.floor(np.log10(np.where(size > _LEAST_WIDTH, size, 1.0)))
    leading = size / 10.0**power
    weights = np.ones(len(values), dtype=np.int64)
    for digits in range(_DIGITS - 1, 0, -1):
        shifted = leading * 10.0 ** (digits - 1)
        exact = np.abs(shifted - np.rint(shifted)) <= 1e-9 * shifted
        weights[exact] = 10 ** (_DIGITS - digits)
    return weights
