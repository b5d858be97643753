"""Tables of a tree ensemble against given rows, from which other rows are explained by look-ups.

The Shapley values of a row against records depend, leaf by leaf, on which features' conditions the
row and the records satisfy. The records are folded into one table per cell of leaves, indexed by the
row's code: explaining a row costs the same however many records there are. The idea is that of
WOODELF (Nadel and Wettenstein 2025, arXiv 2511.09376); joining leaves in cells is ours.

Roles can be swapped, because phi(x; z) = -phi(z; x): tables of queries explain records.

Memory: at most ``_MOST_BYTES`` of tables and ``_MOST_TESTS`` tests to a cell. Leaves that do not fit
have no table and are evaluated pair by pair: slower, in no more memory.

*Cells.* The path to a leaf meets K different features, and all its conditions on one of them are an
interval. So K tests say of every feature whether a row satisfies the leaf, and nothing else about the
row counts. Neighbouring leaves share most of their path: they are joined in a *cell*, whose tests are
the conditions of the common path and the splits below it, wherever that makes tables no larger. Leaves
with too long a path stay alone.

The arrays are flat: what belongs to cell c stands between ``first[c]`` and ``first[c + 1]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from discreet.engines.shapley.coalitions import BoolArray
from discreet.errors import ArgumentError
from discreet.models.forms.compiled import starts_of
from discreet.models.forms.trees import TreeEnsemble
from discreet.randomness import IntArray
from discreet.schema import FloatArray

NONE = -1
"""The parent of a root."""

LONGEST = 62
"""A code has one bit per test and is a whole number of 64 bits."""

_MOST_TESTS = 9
_MOST_BYTES = 2**27


class Nodes(NamedTuple):
    """The nodes of an ensemble, with parents."""

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    value: FloatArray
    parent: IntArray


class Checks(NamedTuple):
    """Tests of cells: ``low < row[feature] <= high``; no ``low`` if NaN; NaN passes if ``missing``."""

    first: IntArray
    feature: IntArray
    low: FloatArray
    high: FloatArray
    missing: BoolArray


class Leaves(NamedTuple):
    """Leaves of cells, and of every leaf one bit per feature of its path (from ``first_bit`` on).

    A row satisfies the leaf's conditions on the ``player``-th feature of the cell if its code, cut to
    the bits of ``mask``, is ``want``.
    """

    first: IntArray
    value: FloatArray
    first_bit: IntArray
    player: IntArray
    mask: IntArray
    want: IntArray


class Cells(NamedTuple):
    """Some leaves of an ensemble; ``player`` holds the different features of every cell's tests."""

    tests: Checks
    leaves: Leaves
    first_player: IntArray
    player: IntArray

    @property
    def first_entry(self) -> IntArray:
        """Where the tables of every cell begin: one entry per player and code."""
        codes = 1 << np.diff(self.tests.first)
        return starts_of(np.diff(self.first_player) * codes)


def make_cells(trees: TreeEnsemble, most_tests: int, most_entries: int) -> tuple[Cells, Cells]:
    """Return the leaves in cells of few tests, and those left over, each alone.

    Args:
      trees: the ensemble.
      most_tests: the greatest number of tests of a cell.
      most_entries: the greatest size of all tables together; fewer tests are allowed to meet it.
    """
    from discreet.engines.shapley.tree_paths import count_paths, find_tops, join_leaves

    nodes = _nodes(trees)
    features, splits = count_paths(nodes, int(trees.depth.max()))
    if features.max() > LONGEST:
        raise ArgumentError(
            f"trees must have at most {LONGEST} different features on a path, got {features.max()}. "
            "Use the kernel engine."
        )
    for most in range(most_tests, -1, -1):
        joined, entries = join_leaves(nodes, features, splits, most)
        if entries[trees.roots].sum() <= most_entries:
            break
    cell, alone = find_tops(joined, nodes.left)
    return _fill(nodes, cell, features, splits), _fill(nodes, alone, features, splits)


def _nodes(trees: TreeEnsemble) -> Nodes:
    """Copy the nodes (kernels are compiled for arrays that can be written) and find their parents."""
    parent = np.full(len(trees.left), NONE)
    splits = np.flatnonzero(~trees.is_leaf)
    parent[trees.left[splits]] = parent[trees.left[splits] + 1] = splits
    return Nodes(
        feature=trees.feature.copy(),
        threshold=trees.threshold.copy(),
        missing_left=trees.missing_left.copy(),
        left=trees.left.copy(),
        value=trees.value.copy(),
        parent=parent,
    )


def _fill(nodes: Nodes, chosen: BoolArray, features: IntArray, splits: IntArray) -> Cells:
    from discreet.engines.shapley.tree_paths import fill_cells

    roots = np.flatnonzero(chosen)
    first = starts_of(features[roots] + splits[roots])
    size, count = int(first[-1]), int((splits[roots] + 1).sum())
    bits = int(features[nodes.left == np.arange(len(features))].sum())  # those of all leaves: enough
    tests = Checks(first, _whole(size), np.zeros(size), np.zeros(size), np.zeros(size, np.bool_))
    leaves = Leaves(
        _whole(len(roots) + 1),
        np.zeros(count),
        _whole(count + 1),
        *(_whole(bits) for _ in range(3)),
    )
    player, players = _whole(size), _whole(len(roots))
    fill_cells(roots, nodes, tests, leaves, player, players)
    place = np.arange(size) - np.repeat(first[:-1], np.diff(first))
    kept = player[place < np.repeat(players, np.diff(first))]
    return Cells(tests, leaves, starts_of(players), kept)


def _whole(size: int) -> IntArray:
    return np.zeros(size, np.int64)


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
    own = np.zeros((LONGEST + 1, LONGEST + 1))
    for a in range(1, LONGEST + 1):
        for b in range(LONGEST + 1):
            own[a, b] = math.factorial(a - 1) * math.factorial(b) / math.factorial(a + b)
    return own, np.ascontiguousarray(own.T)
