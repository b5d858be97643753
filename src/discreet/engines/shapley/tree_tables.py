"""Tables of a tree ensemble against given rows, from which other rows are explained by look-ups.

The Shapley values of a row against records depend, leaf by leaf, on which features' conditions the
row and the records satisfy. The records are folded into one table per cell of leaves, indexed by the
row's code: explaining a row costs the same however many records there are. The idea is that of
WOODELF (Nadel and Wettenstein 2025, arXiv 2511.09376); joining leaves in cells is ours.

Roles can be exchanged, because phi(x; z) = -phi(z; x): tables of queries explain records.

Memory: at most ``_MOST_BYTES`` of tables and ``_MOST_TESTS`` tests to a cell. Leaves that do not fit
have no table and are evaluated pair by pair: slower, in no more memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from discreet.engines.shapley.tree_cells import LONGEST, Cells, make_cells
from discreet.models.forms.trees import TreeEnsemble
from discreet.schema import FloatArray

_MOST_TESTS = 9
_MOST_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class TreeTables:
    """An ensemble and rows it is to be explained against, ready for any number of other rows.

    Args:
      cells: leaves with tables.
      entries: one row per table, a table for each of the rows or one for all of them.
      alone: leaves without.
      against: the rows, one column each.
      divisor: what sums over them are divided by.
    """

    cells: Cells
    entries: FloatArray
    alone: Cells
    against: FloatArray
    divisor: float

    @classmethod
    def of(cls, trees: TreeEnsemble, rows: FloatArray, *, apart: bool, divisor: float) -> TreeTables:
        """Fold rows into tables, one for each row if ``apart``."""
        from discreet.engines.shapley.tree_kernels import fill_tables

        parts = [rows[i : i + 1] for i in range(len(rows))] if apart else [rows]
        cells, alone = make_cells(trees, _MOST_TESTS, _MOST_BYTES // (8 * max(1, len(parts))))
        first_entry = cells.first_entry
        entries = np.zeros((len(parts), first_entry[-1]))
        for part, table in zip(parts, entries, strict=True):
            fill_tables(as_columns(part), cells, first_entry, *_weights(), divisor, table)
        return cls(cells, entries, alone, as_columns(rows), divisor)

    def explain(self, rows: FloatArray) -> FloatArray:
        """Return the Shapley values of rows (rows x tables x features)."""
        from discreet.engines.shapley.tree_kernels import add_pairs, look_up

        columns = as_columns(rows)
        out = np.empty((len(rows), len(self.entries), len(columns)))
        look_up(columns, self.cells, self.cells.first_entry, self.entries, out)
        if len(self.alone.player):  # else not even compiled
            add_pairs(columns, self.against, self.alone, *_weights(), self.divisor, out)
        return out


def most_at_once(trees: TreeEnsemble) -> int:
    """Return how many rows can have tables of their own without being cut down for each other."""
    cells, _ = make_cells(trees, _MOST_TESTS, _MOST_BYTES // 8)
    return int(max(1, _MOST_BYTES // (8 * max(1, cells.first_entry[-1]))))


def as_columns(rows: FloatArray) -> FloatArray:
    """Return a copy with one row per feature: kernels are compiled for one kind of array."""
    return np.array(rows.T, dtype=np.float64, order="C")


@cache
def _weights() -> tuple[FloatArray, FloatArray]:
    """Return (a - 1)! b! / (a + b)! and a! (b - 1)! / (a + b)!, each rounded once."""
    gain = np.zeros((LONGEST + 1, LONGEST + 1))
    for a in range(1, LONGEST + 1):
        for b in range(LONGEST + 1):
            gain[a, b] = math.factorial(a - 1) * math.factorial(b) / math.factorial(a + b)
    return gain, np.ascontiguousarray(gain.T)
