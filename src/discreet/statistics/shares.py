"""A mean where the number of records is private: two cells that share every record.

A record with the value x in [low, high] adds p = (x - low) / (high - low) to one cell and 1 - p to the
other. The cells together are the records, the first one is what their values add up to, and a record
moves them as it moves any two counts: sum and size have one noise and one price. Measured apart, a sum
and a size cost as much again.

The interval of the quotient a / (a + b) is Fieller's (1954): all shares t for which the noise of
(1 - t) a - t b, whose law is known, explains what was released.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import FloatArray
from discreet.statistics.estimates import NoisyNumber

_HALVINGS = 32

Shares = Callable[[Block], FloatArray]
"""The shares of every record of a block, one row each: not negative, and together at most one."""


def certify_shares(size: int) -> Certificate:
    """Certify sums of shares: of ``size`` numbers per record, not negative, together at most one.

    Guarantees:
      - Replacing a record moves L1 2, L2 sqrt 2, Linf 1, adding or removing one 1 in every norm: as
        counts of cells, though a record may be in several of them. [shares]
    """
    return Certificate(
        ("shares",),
        size,
        {
            REPLACE_ONE: Bounds(up(2.0), up(math.sqrt(2.0)), up(1.0)),
            ADD_REMOVE: Bounds(up(1.0), up(1.0), up(1.0)),
        },
    )


def shares_contribution(columns: tuple[str, ...], size: int, shares: Shares) -> VectorContribution:
    """Return what a record adds to cells that share it."""
    return VectorContribution(
        columns, size, Box(0.0, 1.0), 0.0, shares, certify_shares(size), calls=None
    )


def two_shares(box: Box, values: FloatArray, inside: NDArray[np.bool_]) -> FloatArray:
    """Return the two shares of values of a range; records that are not inside have none.

    >>> two_shares(Box(0.0, 4.0), np.array([1.0, 9.0]), np.array([True, True])).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    share = np.clip((np.clip(values, *box.limits) - box.low) / box.width, 0.0, 1.0)
    return np.where(inside[:, None], np.column_stack([share, 1.0 - share]), 0.0)


def noisy_share(noisy_cells: FloatArray, noise: Noise, level: float) -> NoisyNumber:
    """Return the first cell's share of two noisy ones, with its interval."""
    first, records = float(noisy_cells[0]), float(noisy_cells.sum())
    value = min(max(first / records, 0.0), 1.0) if records > 0 else 0.5
    low, high = share_ends(first, records, noise, level)
    std = noise.std * math.hypot(1 - value, value) / max(records, 1.0)
    return NoisyNumber(value, low, high, std, records)


def share_ends(first: float, records: float, noise: Noise, level: float) -> tuple[float, float]:
    """Return the least and the greatest share that the noise explains with a probability.

    The distance ``first - t records`` falls along a line, and the half width of its noise is convex in
    t: between the estimate and an end of [0, 1] they meet at most once.
    """

    def explained(share: float) -> bool:
        return abs(first - share * records) <= _half_width(noise, share, level)

    start = min(max(first / records, 0.0), 1.0) if records > 0 else 0.5
    if not explained(start):  # noise beyond every share: all that is known is that there is one
        return 0.0, 1.0
    return _farthest(explained, start, 0.0), _farthest(explained, start, 1.0)


def _farthest(explained: Callable[[float], bool], inside: float, end: float) -> float:
    """Return a point from which on, towards an end, nothing is explained; the end if it is."""
    if explained(end):
        return end
    outside = end
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if explained(middle) else (inside, middle)
    return outside


def _half_width(noise: Noise, share: float, level: float) -> float:
    """Return how far noise moves ``first - share * records`` at most, with a probability."""
    large, small = max(share, 1 - share), min(share, 1 - share)
    # Whole noise exceeds a continuous one of the same scale by less than a step.
    whole = noise.step * (1 + small / large) if noise.step == 1 else 0.0
    return large * (noise.half_width_of_two(small / large, level) + whole)
