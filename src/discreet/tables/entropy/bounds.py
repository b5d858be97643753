"""How far one record moves an entropy, a conditional entropy or a mutual information.

All bounds are in nats, exact unless said otherwise, and rounded up. With h(x) = x ln x - (x-1) ln(x-1),
h(n)/n is the entropy of a Bernoulli(1/n) variable; it answers most questions here.

Under add-remove the number of records is private, and the bound for the smallest table is a whole bit.
So a number of records is released first, and a table that has fewer than that ``floor`` is filled up
with records of one public cell: a pair of neighbours below the floor becomes a pair that differs by a
replaced record, and a pair above it moves by what a table of that size can.

Orders above 1 are searched, exactly. Moving a record from a cell with u records to one with w changes
S = sum of c^a to S - N, where N = u^a - (u-1)^a - (w+1)^a + w^a; the entropy moves by
ln(1 + N/(S - N))/(a-1). It moves furthest when the other records are spread evenly, which leaves two
numbers to search. For a fixed w the quotient rises to one peak in u (Bellman's inequality), so
bisection finds it; blocks of w are bounded together by their most favourable ends and split until no
block can hold more than the best found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.numerics import up
from discreet.schema import FloatArray

Cells = NDArray[np.int64]
Ceilings = Callable[[Cells, Cells], FloatArray]
"""For blocks ``low .. high`` of target sizes: a bound on the quotient, exact for blocks of one."""

TOLERANCE = 1e-6
"""A block is left unsplit if it cannot hold more than this share above the best found."""

_FIRST_BLOCKS = 65
_SPLIT = 8

_MARGIN = 1e-9
"""Share added to every bound: far above what floats lose in it."""


def bernoulli_entropy(trials: int, order: float) -> float:
    """Return the Rényi entropy of a Bernoulli(1 / trials) variable, in nats.

    >>> round(bernoulli_entropy(2, 1.0) / math.log(2), 12), bernoulli_entropy(1, 3.0)
    (1.0, 0.0)
    """
    if trials < 2:
        return 0.0
    if order == 1:
        return math.log(trials) / trials - (1 - 1 / trials) * math.log1p(-1 / trials)
    if math.isinf(order):
        return -math.log1p(-1 / trials)
    rest = math.log1p(math.exp(-order * math.log(trials - 1)))
    return (order * math.log1p(-1 / trials) + rest) / (1 - order)


@lru_cache(maxsize=1024)
def bound_entropy(rows: int, cells: int, order: float) -> float:
    """Return how far replacing a record moves the entropy of a table with so many rows and cells.

    Guarantees:
      - Orders up to 1: attained at (n, 0, ...), whatever the number of cells. [entropy-shannon]
        [entropy-renyi]
      - Orders above 1: the maximum over all count vectors, at most a millionth above it.
        [entropy-renyi]
    """
    if rows < 2 or cells < 2:
        return 0.0
    if order <= 1:
        return bernoulli_entropy(rows, order) * (1 + _MARGIN)
    if math.isinf(order):
        return math.log1p(1 / -(-rows // cells)) * (1 + _MARGIN)
    return math.log1p(largest_move(rows, cells, order)) / (order - 1) * (1 + _MARGIN)


@lru_cache(maxsize=1024)
def bound_entropy_above(floor: int, cells: int, order: float) -> float:
    """Return how far adding or removing a record moves the entropy of a table filled up to ``floor``.

    Guarantees:
      - At least the change of any pair of tables, smaller ones filled up, larger ones as they are.
        [entropy-add-remove]
    """
    moved = max(bound_entropy(floor, cells, order), bernoulli_entropy(floor + 1, order) * (1 + _MARGIN))
    if order <= 1:
        return moved
    if math.isinf(order):
        return max(moved, math.log1p(1 / -(-floor // cells)) * (1 + _MARGIN))
    rise = math.log1p(largest_rise(floor, cells, order)) / (order - 1)
    return max(moved, rise * (1 + _MARGIN))


def bound_information(rows: int) -> float:
    """Return how far replacing a record moves the mutual information of two columns.

    Guarantees:
      - (h(a) + h(b))/n with a + b = n + 1 as even as can be; attained if both columns have three
        values. [entropy-joint]
    """
    halves = (rows + 1) // 2, (rows + 2) // 2
    return up(sum(_step(half) for half in halves) / rows) * (1 + _MARGIN)


def bound_information_above(floor: int) -> float:
    """Return how far adding or removing a record moves the mutual information above a floor.

    Guarantees:
      - At least the change of any pair of tables, smaller ones filled up. [entropy-joint]
    """
    falling = 2 * _step((floor + 2) / 2) / (floor + 1)
    rising = bernoulli_entropy(floor + 1, 1.0)
    return max(bound_information(floor), up(max(falling, rising)) * (1 + _MARGIN))


def _step(size: float) -> float:
    """Return h(x) = x ln x - (x-1) ln(x-1)."""
    return math.log(size) - (size - 1) * math.log1p(-1 / size) if size > 1 else 0.0


def largest_move(rows: int, cells: int, order: float) -> float:
    """Return the greatest N/(S - N) over tables of so many rows and cells, for an order above 1."""
    if cells == 2:
        return _refine(lambda low, high: _two_cells(low, high, rows, order), (rows - 1) // 2)
    return _refine(lambda low, high: _peaks(low, high, rows, cells, order), (rows - 1) // 2)


def largest_rise(rows: int, cells: int, order: float) -> float:
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
