"""Comparisons of float32 values, written as comparisons of float64 values.

Most tree libraries round a row to float32 before they compare it with a threshold. Rounding never
changes the order of two numbers, so the float64 values that round to something at or below a
threshold are all those up to a greatest one. Storing that greatest one makes ``x <= threshold`` on
float64 rows decide exactly as the library does, ties included, and nobody after us has to remember
which library a tree came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import FloatArray

_BEYOND_SINGLE = 2.0**128
"""Stands for the infinite float32: the next one after the greatest, were there room for it."""


def lift_single(thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
    """Return float64 thresholds that decide as comparing float32 values with the given ones.

    Args:
      thresholds: what the float32 values are compared with.
      strict: whether a value equal to its threshold goes right (``<`` instead of ``<=``).

    Guarantees:
      - For every finite float64 x, ``x <= lift_single(t)`` holds exactly if ``float32(x) <= t``
        (``<`` if strict). [tree-decisions]

    >>> lift_single(np.array([0.5])).item() == 0.5 + 2.0**-25
    True
    """
    greatest = _single_at_most(thresholds)
    if strict:
        at = greatest == thresholds
        greatest[at] = np.nextafter(greatest[at], np.float32(-np.inf))
    return _greatest_rounding_to(greatest)


def as_single(thresholds: FloatArray) -> NDArray[np.float32] | None:
    """Return float32 thresholds that decide alike on rows rounded to float32, or None.

    They exist only if every threshold was lifted from float32; then half the memory will do.
    """
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
    return single if np.array_equal(_greatest_rounding_to(single), thresholds) else None


def _single_at_most(values: FloatArray) -> NDArray[np.float32]:
    """Return the greatest float32 that does not exceed each value."""
    with np.errstate(over="ignore"):
        single = np.asarray(values, dtype=np.float64).astype(np.float32)
    above = single > values
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single


def _greatest_rounding_to(single: NDArray[np.float32]) -> FloatArray:
    """Return the greatest float64 that rounds to each float32."""
    with np.errstate(over="ignore"):
        following = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
        here = np.clip(single.astype(np.float64), -_BEYOND_SINGLE, _BEYOND_SINGLE)
        middle = (here + np.clip(following, -_BEYOND_SINGLE, _BEYOND_SINGLE)) / 2  # exact
        # A middle goes to the even neighbour; if that is the upper one, all below it still round down.
        rounds_down = middle.astype(np.float32) <= single
    lifted = np.where(rounds_down, middle, np.nextafter(middle, -np.inf))
    return np.where(single == np.inf, np.inf, lifted)


def greatest_where(holds: Callable[[FloatArray], Any], count: int) -> FloatArray:
    """Return the greatest finite numbers for which something holds that holds for all smaller ones.

    Args:
      holds: says for so many numbers at once whether it holds: for each of them up to some number.
      count: how many are looked for. Minus infinity stands for where it holds for none.

    >>> greatest_where(lambda x: x <= np.array([0.1, -3.0]), 2).tolist()
    [0.1, -3.0]
    """
    top = float(np.finfo(np.float64).max)
    low, high = np.full(count, _rank(-top)), np.full(count, _rank(top))
    with np.errstate(all="ignore"):
        everywhere, nowhere = holds(np.full(count, top)), ~holds(np.full(count, -top))
        for _ in range(64):  # halves all floating-point numbers until one is left
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            left = holds(_of_rank(middle))
            low, high = np.where(left, middle, low), np.where(left, high, middle)
    return np.where(nowhere, -np.inf, np.where(everywhere, top, _of_rank(low)))


_ZERO_BELOW = np.iinfo(np.int64).min
"""The bits of -0.0; the bits of numbers below it count on from there."""


def _rank(number: float) -> int:
    """Return the place of a number among all of them; both zeros have place 0."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else _ZERO_BELOW - bits


def _of_rank(ranks: NDArray[np.int64]) -> FloatArray:
    return np.where(ranks >= 0, ranks, _ZERO_BELOW - ranks).view(np.float64)
