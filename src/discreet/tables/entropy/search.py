"""How far one record moves a Rényi entropy of order above 1: exact searches.

Moving a record from a cell with u records to one with w changes S = sum of c^a to S - N, where
N = u^a - (u-1)^a - (w+1)^a + w^a; the entropy moves by ln(1 + N/(S - N))/(a-1). It moves furthest when
the other records are spread evenly, which leaves two numbers to search. For a fixed w the quotient
rises to one peak in u (Bellman's inequality), so bisection finds it; blocks of w are bounded together
by their most favourable ends and split until no block can hold more than the best found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.schema import FloatArray

Cells = NDArray[np.int64]
Ceilings = Callable[[Cells, Cells], FloatArray]
"""For blocks ``low .. high`` of target sizes: a bound on the quotient, exact for blocks of one."""

TOLERANCE = 1e-6
"""A block is left unsplit if it cannot hold more than this share above the best found."""

_FIRST_BLOCKS = 65
_SPLIT = 8


def largest_move(rows: int, cells: int, order: float) -> float:
    """Return the greatest N/(S - N) over tables of so many rows and cells, for an order above 1."""
    if cells == 2:
        return _refine(lambda low, high: _two_cells(low, high, rows, order), (rows - 1) // 2)
    return _refine(lambda low, high: _peaks(low, high, rows, cells, order), (rows - 1) // 2)


def largest_gain(rows: int, cells: int, order: float) -> float:
    """Return the greatest ((u+1)^a - u^a)/S over tables of so many rows, u the size of some cell."""

    def quotient(after: Cells) -> FloatArray:
        with np.errstate(over="ignore", divide="ignore"):
            rest = _even(rows + 1 - after, cells - 1, after, order)
            return _fall(after, order) / (((after - 1) / after) ** order + rest)

    return float(_climb(quotient, np.array([1]), np.array([rows + 1]))[0])


def _peaks(low: Cells, high: Cells, rows: int, cells: int, order: float) -> FloatArray:
    """Return for every block the peak over u of N at ``low`` over the least S - N in the block."""

    def quotient(source: Cells) -> FloatArray:
        # S - N is convex in w and least where the target, after the move, has an even share.
        share = (rows - source + 1) // (cells - 1) - 1
        target = np.clip(share, low, np.minimum(high, rows - source))
        with np.errstate(over="ignore", divide="ignore"):
            moved = _fall(source, order) - _rise(low, source, order)
            after = ((source - 1) / source) ** order + ((target + 1) / source) ** order
            return moved / (after + _even(rows - source - target, cells - 2, source, order))

    return _climb(quotient, low + 1, rows - low)


def _two_cells(low: Cells, high: Cells, rows: int, order: float) -> FloatArray:
    """Return N at ``low`` over S - N at ``high``: both extreme, as u + w is the number of rows."""
    source, smaller = rows - low, rows - high
    with np.errstate(divide="ignore"):
        moved = _fall(source, order) - _rise(low, source, order)
    return moved / (((smaller - 1) / source) ** order + ((high + 1) / source) ** order)


def _refine(ceilings: Ceilings, last: int) -> float:
    """Return the greatest ceiling left after splitting every block of 0 .. last that matters.

    Guarantees:
      - At least the maximum, and at most ``TOLERANCE`` of it above, whatever is in between.
        [entropy-renyi]
    """
    starts = np.unique(np.linspace(0, last + 1, min(_FIRST_BLOCKS, last + 2)).astype(np.int64))
    low, high = starts[:-1], starts[1:] - 1
    best = bound = 0.0
    while low.size:
        found = ceilings(low, high)
        best = max(best, float(ceilings(low, low).max()))
        open_ = (low < high) & (found > best * (1 + TOLERANCE))
        bound = max(bound, float(found[~open_].max(initial=0.0)))
        low, high = _split(low[open_], high[open_])
    return bound


def _split(low: Cells, high: Cells) -> tuple[Cells, Cells]:
    shares = np.arange(_SPLIT + 1) / _SPLIT
    edges = low[:, None] + ((high - low + 1)[:, None] * shares).astype(np.int64)
    starts, ends = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    kept = starts <= ends
    return starts[kept], ends[kept]


def _climb(quotient: Callable[[Cells], FloatArray], first: Cells, last: Cells) -> FloatArray:
    """Return the peaks of functions that rise to one peak and fall from there."""
    low, high = first.copy(), last.copy()
    while np.any(low < high):
        middle = (low + high) // 2
        here, next_ = quotient(middle), quotient(np.minimum(middle + 1, last))
        rising = (next_ > here) | (here <= 0)  # zero: no move yet, or too small for a float
        low, high = np.where(rising, np.minimum(middle + 1, high), low), np.where(rising, high, middle)
    return quotient(low)


def _fall(size: Cells, order: float) -> FloatArray:
    """Return (u^a - (u-1)^a)/u^a."""
    return np.asarray(-np.expm1(order * np.log1p(-1.0 / size)))


def _rise(size: Cells, unit: Cells, order: float) -> FloatArray:
    """Return ((w+1)^a - w^a)/u^a."""
    grown = np.expm1(order * np.log1p(1.0 / np.maximum(size, 1)))
    return np.asarray(np.where(size == 0, unit**-order, (size / unit) ** order * grown))


def _even(records: Cells, cells: int, unit: Cells, order: float) -> FloatArray:
    """Return the sum of c^a over u^a for records spread evenly over some cells."""
    each, more = np.divmod(records, cells)
    larger = np.where(more > 0, ((each + 1) / unit) ** order, 0.0)
    return np.asarray((cells - more) * (each / unit) ** order + more * larger)
