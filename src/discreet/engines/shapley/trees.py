"""Exact interventional Shapley values of tree ensembles, pooled and per background record.

For a query x and a record z the game is v(S) = f(x on S, z elsewhere), f the sum of the trees. A leaf
is reached by a mixture if every feature of its path takes a value that satisfies the leaf's
conditions. So its share of the values depends only on which of these features x satisfies and which z
does, and rows are compared with leaves, never with each other: the cost is that of the queries plus
that of the records, not their product. Every column has a coordinate; unused ones are zero.

The link must be the identity, as for averages of a forest and margins of boosted trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.engines.shapley.tree_tables import TreeTables, most_at_once
from discreet.errors import ArgumentError
from discreet.models.forms.trees import TreeEnsemble
from discreet.numerics import UNIT_ROUNDOFF, check_whole, up
from discreet.schema import FloatArray

_TINY = 2.0**-1074
"""The least float: a product that underflows is off by less."""


def tree_values(trees: TreeEnsemble, queries: FloatArray, background: FloatArray) -> FloatArray:
    """Return the Shapley values of every query against the whole background (queries x features).

    Args:
      trees: an ensemble with the identity link.
      queries: float64 rows to explain, NaN where missing.
      background: rows to explain against.

    Guarantees:
      - The mean over the records of ``tree_record_values``, to rounding. [tree-shapley]
    """
    return BackgroundTables.of(trees, background).explain(queries)


def tree_record_values(trees: TreeEnsemble, queries: FloatArray, background: FloatArray) -> FloatArray:
    """Return phi(x; z) for every query x and record z (queries x records x features).

    Guarantees:
      - The Shapley values of v(S) = f(x on S, z elsewhere), to rounding. [tree-shapley]
      - A vector depends on its own query and record alone, bit for bit. [tree-rounding]
    """
    queries, background = _checked(trees, "queries", queries), _checked(trees, "background", background)
    out, size = np.empty((len(queries), len(background), trees.width)), most_at_once(trees)
    for start in range(0, len(queries), size):
        block = slice(start, start + size)
        out[block] = QueryTables.of(trees, queries[block]).explain(background).swapaxes(0, 1)
    return out


def tree_record_sums(trees: TreeEnsemble, queries: FloatArray, background: FloatArray) -> FloatArray:
    """Return the sum over queries of phi(x; z) for every record z (records x features).

    Guarantees:
      - The sum of ``tree_record_values`` over the queries, to rounding. [tree-shapley]
      - A vector depends on the queries and its own record alone, bit for bit. [tree-rounding]
    """
    queries, background = _checked(trees, "queries", queries), _checked(trees, "background", background)
    return TreeTables.of(trees, queries, apart=False, divisor=-1.0).explain(background)[:, 0]


@dataclass(frozen=True, eq=False)
class BackgroundTables:
    """An ensemble against a background, ready to explain any number of rows, from any thread."""

    trees: TreeEnsemble
    tables: TreeTables

    @classmethod
    def of(cls, trees: TreeEnsemble, background: FloatArray) -> BackgroundTables:
        """Fold the background into tables."""
        background = _checked(trees, "background", background)
        if not len(background):
            raise ArgumentError("background must have at least one row, got none.")
        count = float(len(background))
        return cls(trees, TreeTables.of(trees, background, apart=False, divisor=count))

    def explain(self, rows: FloatArray) -> FloatArray:
        """Return the Shapley values of rows against the background (rows x features).

        Guarantees:
          - A vector depends on the background and its own row alone, bit for bit. [tree-rounding]
        """
        return self.tables.explain(_checked(self.trees, "rows", rows))[:, 0]


@dataclass(frozen=True, eq=False)
class QueryTables:
    """An ensemble and fixed queries, ready to be explained against records, block after block."""

    trees: TreeEnsemble
    tables: TreeTables

    @classmethod
    def of(cls, trees: TreeEnsemble, queries: FloatArray) -> QueryTables:
        """Make the tables of every query."""
        queries = _checked(trees, "queries", queries)
        # phi(x; z) = -phi(z; x): records are explained against the query, and the sign is turned.
        return cls(trees, TreeTables.of(trees, queries, apart=True, divisor=-1.0))

    def explain(self, records: FloatArray) -> FloatArray:
        """Return phi(x; z) for every record z and query x (records x queries x features).

        Guarantees:
          - A vector depends on the queries and its own record alone, bit for bit. [tree-rounding]
        """
        return self.tables.explain(_checked(self.trees, "records", records))


def tree_rounding_error(trees: TreeEnsemble, rows: int = 1) -> float:
    """Return how far a computed coordinate is from the exact Shapley value.

    Args:
      trees: the ensemble.
      rows: how many rows are averaged over: one for values per record, those of the background for
        pooled ones. For a sum over rows, multiply.

    Guarantees:
      - 2 (L + rows + 2) units of rounding times the sum over trees of the greatest absolute leaf, L
        the number of leaves, and L of the least floats. [tree-rounding]
    """
    check_whole("rows", rows, 1)
    leaves = int(trees.is_leaf.sum())
    heights = np.maximum.reduceat(np.abs(trees.value), trees.roots)
    error = 2 * (leaves + rows + 2) * 1.01 * UNIT_ROUNDOFF * float(heights.sum())
    return up(error + leaves * _TINY)


def _checked(trees: TreeEnsemble, name: str, rows: FloatArray) -> FloatArray:
    """Return rows as a float64 matrix; compiled code would read beyond one of another width."""
    if trees.link != "identity":
        raise ArgumentError(
            f"trees must have the identity link, got a {trees.link} one. Explain the margin with "
            "dc.Model(model, output='margin'), or use the kernel engine."
        )
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != trees.width:
        raise ArgumentError(
            f"{name} must be a matrix with {trees.width} columns, those of the trees, "
            f"got shape {np.shape(rows)}."
        )
    return matrix
