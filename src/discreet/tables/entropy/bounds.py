"""How far one record moves an entropy, a conditional entropy or a mutual information.

All bounds are in nats, exact unless said otherwise, and rounded up. With h(x) = x ln x - (x-1) ln(x-1),
h(n)/n is the entropy of a coin that shows heads once in n throws; it answers most questions here.

Under add-remove the number of records is private, and the bound for the smallest table is a whole bit.
So a number of records is released first, and a table that has fewer than that ``floor`` is filled up
with records of one public cell: a pair of neighbours below the floor becomes a pair that differs by a
replaced record, and a pair above it moves by what a table of that size can.
"""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.numerics import up
from discreet.tables.entropy.search import largest_gain, largest_move

_MARGIN = 1e-9
"""Share added to every bound: far above what floats lose in it."""


def coin_entropy(throws: int, order: float) -> float:
    """Return the Rényi entropy of a coin that shows heads once in so many throws, in nats.

    >>> round(coin_entropy(2, 1.0) / math.log(2), 12), coin_entropy(1, 3.0)
    (1.0, 0.0)
    """
    if throws < 2:
        return 0.0
    if order == 1:
        return math.log(throws) / throws - (1 - 1 / throws) * math.log1p(-1 / throws)
    if math.isinf(order):
        return -math.log1p(-1 / throws)
    heads = math.log1p(math.exp(-order * math.log(throws - 1)))
    return (order * math.log1p(-1 / throws) + heads) / (1 - order)


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
        return coin_entropy(rows, order) * (1 + _MARGIN)
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
    moved = max(bound_entropy(floor, cells, order), coin_entropy(floor + 1, order) * (1 + _MARGIN))
    if order <= 1:
        return moved
    if math.isinf(order):
        return max(moved, math.log1p(1 / -(-floor // cells)) * (1 + _MARGIN))
    gain = math.log1p(largest_gain(floor, cells, order)) / (order - 1)
    return max(moved, gain * (1 + _MARGIN))


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
    rising = coin_entropy(floor + 1, 1.0)
    return max(bound_information(floor), up(max(falling, rising)) * (1 + _MARGIN))


def _step(size: float) -> float:
    """Return h(x) = x ln x - (x-1) ln(x-1)."""
    return math.log(size) - (size - 1) * math.log1p(-1 / size) if size > 1 else 0.0
