"""Compiled loops of the tree engine: codes of rows, tables from codes, look-ups, pairs.

A row is known to a cell by its *code*, one bit per test that it passes, and to a leaf by its
*pattern*, one bit per feature of the path on which it satisfies the leaf. If a row x has a features of
the path to itself (x satisfies the leaf, the record does not), the record b, and there is none that
neither has, a leaf of value v gives

    phi_j(x; z) = v (a - 1)! b! / (a + b)!    for a feature that only x has
                = -v a! (b - 1)! / (a + b)!   for one that only z has,  0 for one that both have;

otherwise no mixture of the two rows falls into the leaf. ``own_weights`` and ``other_weights``
hold these factors.

Every sum runs over cells, leaves and patterns in an order fixed by the trees: what is computed for a
row depends on its own values alone, whatever rows are beside it.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.engines.shapley.tree_tables import Cells, Checks
from discreet.models.forms.tree_kernels import lowest_bit
from discreet.randomness import IntArray
from discreet.schema import FloatArray

TILE = 256
"""Rows whose columns, codes and sums stay in the second cache."""


@intrinsic
def _count(typing_context: Any, bits: Any) -> Any:
    """Return the number of bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return bits(bits), generate


@njit(cache=True, nogil=True)
def fill_codes(columns: FloatArray, start: int, tests: Checks, c: int, codes: NDArray[Any]) -> None:
    """Write the codes of rows from ``start`` on for cell ``c``; ``columns`` has a row per feature."""
    rows = len(codes)
    codes[:] = 0
    for test in range(tests.first[c], tests.first[c + 1]):
        column = columns[tests.feature[test], start : start + rows]
        low, high = tests.low[test], tests.high[test]
        bit = codes.dtype.type(1 << (test - tests.first[c]))
        none = codes.dtype.type(0)
        if tests.missing[test]:  # NaN is neither at most the one nor above the other
            for i in range(rows):
                codes[i] |= none if (column[i] <= low) | (column[i] > high) else bit
        else:  # NaN is not at most anything
            for i in range(rows):
                codes[i] |= bit if (not column[i] <= low) & (column[i] <= high) else none


@njit(cache=True, nogil=True)
def _fill_patterns(cells: Cells, leaf: int, patterns: IntArray) -> None:
    """Write the pattern that every code of a cell has at one of its leaves."""
    leaves = cells.leaves
    start = leaves.first_bit[leaf]
    for code in range(len(patterns)):
        pattern = 0
        for bit in range(start, leaves.first_bit[leaf + 1]):
            pattern |= ((code & leaves.mask[bit]) == leaves.want[bit]) << (bit - start)
        patterns[code] = pattern


@njit(cache=True, nogil=True)
def _add_pattern(
    other: int,
    weight: float,
    bits: int,
    own_weights: FloatArray,
    other_weights: FloatArray,
    table: FloatArray,
) -> None:
    """Add what a record's pattern gives to rows of every pattern (bits x patterns)."""
    full = (1 << bits) - 1
    own = full & ~other  # without these no mixture falls into the leaf
    a, shared = _count(own), other
    while True:
        pattern = own | shared
        b = _count(other & ~shared)
        for k in range(bits):
            if own >> k & 1:
                table[k, pattern] += weight * own_weights[a, b]
            elif not pattern >> k & 1:
                table[k, pattern] -= weight * other_weights[a, b]
        if shared == 0:
            return
        shared = (shared - 1) & other


@njit(cache=True, nogil=True)
def fill_tables(
    columns: FloatArray,
    cells: Cells,
    first_entry: IntArray,
    own_weights: FloatArray,
    other_weights: FloatArray,
    divisor: float,
    out: FloatArray,
) -> None:
    """Write the tables of all cells: for every player and code, the sum over records / ``divisor``."""
    leaves, tests = cells.leaves, cells.tests
    codes = np.empty(columns.shape[1], np.uint16)
    for c in range(len(tests.first) - 1):
        size = 1 << (tests.first[c + 1] - tests.first[c])
        fill_codes(columns, np.int64(0), tests, c, codes)
        counts, patterns = np.zeros(size), np.empty(size, np.int64)
        for i in range(len(codes)):
            counts[codes[i]] += 1.0
        for leaf in range(leaves.first[c], leaves.first[c + 1]):
            start = leaves.first_bit[leaf]
            bits = leaves.first_bit[leaf + 1] - start
            _fill_patterns(cells, leaf, patterns)
            table, weights = np.zeros((bits, 1 << bits)), np.zeros(1 << bits)
            for code in range(size):
                weights[patterns[code]] += counts[code]
            for pattern in range(1 << bits):
                if weights[pattern] > 0.0:
                    _add_pattern(pattern, weights[pattern], bits, own_weights, other_weights, table)
            for k in range(bits):
                at = first_entry[c] + leaves.player[start + k] * size
                for code in range(size):
                    out[at + code] += leaves.value[leaf] * (table[k, patterns[code]] / divisor)


@njit(cache=True, nogil=True)
def look_up(
    columns: FloatArray, cells: Cells, first_entry: IntArray, tables: FloatArray, out: FloatArray
) -> None:
    """Write the sum of every row's entries (rows x tables x features)."""
    tests, width = cells.tests, len(columns)
    count = len(tests.first) - 1
    codes, sums = np.empty((count, TILE), np.uint16), np.empty((width, TILE))
    for start in range(0, columns.shape[1], TILE):
        rows = min(TILE, columns.shape[1] - start)
        for c in range(count):
            fill_codes(columns, start, tests, c, codes[c, :rows])
        for t in range(len(tables)):
            sums[:] = 0.0
            for c in range(count):
                size = 1 << (tests.first[c + 1] - tests.first[c])
                code, at = codes[c], first_entry[c]
                for p in range(cells.first_player[c], cells.first_player[c + 1]):
                    entries, total = tables[t, at : at + size], sums[cells.player[p]]
                    for i in range(rows):
                        total[i] += entries[code[i]]
                    at += size
            for i in range(rows):
                for j in range(width):
                    out[start + i, t, j] = sums[j, i]


@njit(cache=True, nogil=True)
def _sum_pairs(
    pattern: int,
    others: IntArray,
    weights: FloatArray,
    own_weights: FloatArray,
    other_weights: FloatArray,
    sums: FloatArray,
) -> None:
    """Write what some patterns of records give to one pattern of a row, as ``_add_pattern`` adds it."""
    full = (1 << len(sums)) - 1
    theirs = full & ~pattern
    b, lost = _count(theirs), 0.0  # the same for every feature that only records have
    sums[:] = 0.0
    for r in range(len(others)):
        own = full & ~others[r]
        if own & theirs:
            continue
        a = _count(own)
        lost += weights[r] * other_weights[a, b]
        while own:
            sums[lowest_bit(own)] += weights[r] * own_weights[a, b]
            own &= own - 1
    while theirs:
        sums[lowest_bit(theirs)] = -lost
        theirs &= theirs - 1


@njit(cache=True, nogil=True)
def _count_equal(codes: IntArray, weights: FloatArray) -> int:
    """Sort codes, move the different ones to the front, count each, and return their number."""
    codes.sort()
    found = 0
    for i in range(len(codes)):
        if found == 0 or codes[found - 1] != codes[i]:
            codes[found], weights[found] = codes[i], 0.0
            found += 1
        weights[found - 1] += 1.0
    return found


@njit(cache=True, nogil=True)
def add_pairs(
    columns: FloatArray,
    records: FloatArray,
    cells: Cells,
    own_weights: FloatArray,
    other_weights: FloatArray,
    divisor: float,
    out: FloatArray,
) -> None:
    """Add every row against every record at leaves alone in their cell, without tables.

    ``out`` (rows x tables x features) has one table per record, or one for all of them.
    """
    rows, tables = out.shape[:2]
    codes, others = np.empty(rows, np.int64), np.empty(records.shape[1], np.int64)
    weights = np.ones(len(others))
    for c in range(len(cells.tests.first) - 1):
        fill_codes(columns, np.int64(0), cells.tests, c, codes)
        fill_codes(records, np.int64(0), cells.tests, c, others)
        apart = tables == len(others)
        count = 1 if apart else _count_equal(others, weights)
        player = cells.player[cells.first_player[c] : cells.first_player[c + 1]]
        sums = np.empty(len(player))
        for i in range(rows):
            for t in range(tables):
                _sum_pairs(
                    codes[i],
                    others[t : t + count],
                    weights[t : t + count],
                    own_weights,
                    other_weights,
                    sums,
                )
                for k in range(len(player)):
                    out[i, t, player[k]] += cells.leaves.value[c] * (sums[k] / divisor)
