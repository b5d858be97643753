"""Draw rows along a tree of noisy tables: free, for everything here was released before.

Noise is taken out first, as far as that is possible without the records: what is known twice is
averaged, counts are made non-negative with the right total, and a pair is drawn towards independence
as far as noise explains its deviation from it (positive-part James-Stein). Then a tree's root is
drawn from its own table and every other column given its neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.plans.stages.counts import onto_total
from discreet.plans.stages.marginals import NoisyTree
from discreet.randomness import IntArray
from discreet.schema import MISSING, Bins, Column, Date, FloatArray, Number, Schema

_RAKING_ROUNDS = 30

Step = tuple[int | None, int, FloatArray]
"""A parent, its child and the child's counts by the parent's cells; a root has no parent."""


def draw_rows(
    tree: NoisyTree, columns: Sequence[Column], rows: int, generator: np.random.Generator
) -> FloatArray:
    """Return encoded rows drawn from the tables of a tree.

    Shares are met as closely as whole rows allow: cells are drawn by quota with a random start, so
    that only their order and the rounding are left to chance. Numbers are uniform inside their cell,
    on the step grid if they have one.

    Guarantees:
      - A function of released tables and a public generator: no cost. [background-separator]
    """
    cells = draw_cells(walk_tables(tree, fit_margins(tree)), rows, generator)
    return spread_cells(columns, tree.layout.cells, cells, generator)


def draw_cells(steps: Sequence[Step], rows: int, generator: np.random.Generator) -> IntArray:
    """Return the cells of rows drawn along a walk: parents first, by quota."""
    cells = np.empty((rows, len(steps)), dtype=np.int64)
    for parent, child, table in steps:
        if parent is None:
            cells[:, child] = draw_quota(table, rows, generator)
            continue
        for cell in np.unique(cells[:, parent]):
            here = np.flatnonzero(cells[:, parent] == cell)
            cells[here, child] = draw_quota(table[cell], len(here), generator)
    return cells


def spread_cells(
    columns: Sequence[Column],
    parts: Sequence[Bins],
    cells: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Return encoded rows inside their cells."""
    spread = [
        _spread(column, part, cells[:, place], generator)
        for place, (column, part) in enumerate(zip(columns, parts, strict=True))
    ]
    return np.column_stack(spread)


def decode_rows(
    schema: Schema, names: Sequence[str], encoded: FloatArray
) -> tuple[tuple[Any, ...], ...]:
    """Return encoded rows in the original values of their columns; None where a value is missing."""
    columns = [_original(schema[name], encoded[:, place]) for place, name in enumerate(names)]
    return tuple(zip(*columns, strict=True))


def _original(column: Column, encoded: FloatArray) -> list[Any]:
    if isinstance(column, Date):
        return [None if code == MISSING else column.show(code) for code in encoded.tolist()]
    return [None if value != value else value for value in column.decode(encoded).tolist()]


def fit_margins(tree: NoisyTree) -> list[FloatArray]:
    """Return every column's counts: its own table and the sums of its pairs, weighted by noise."""
    sums, weights = list(tree.margins), [1.0] * len(tree.margins)
    for edge, table in zip(tree.edges, tree.tables, strict=True):
        for axis, column in enumerate(edge):
            # A sum over k cells has k times the variance of one.
            weight = (tree.margin_std / tree.pair_std) ** 2 / table.shape[1 - axis]
            sums[column] = sums[column] + weight * table.sum(axis=1 - axis)
            weights[column] += weight
    return [onto_total(s / w, tree.rows) for s, w in zip(sums, weights, strict=True)]


def fit_pair(
    noisy: FloatArray, rows_of: FloatArray, columns_of: FloatArray, std: float, total: float
) -> FloatArray:
    """Return a pair's counts with the given margins, as far from independence as noise allows."""
    independent = np.outer(rows_of, columns_of) / total
    return fit_table(noisy, independent, rows_of, columns_of, std)


def fit_table(
    noisy: FloatArray, model: FloatArray, rows_of: FloatArray, columns_of: FloatArray, std: float
) -> FloatArray:
    """Return a pair's counts with the given margins, as far from a model's as noise allows."""
    total = float(rows_of.sum())
    apart = noisy - model
    distance = float(np.sum(apart**2))
    kept = max(0.0, 1.0 - noisy.size * std**2 / distance) if distance > 0 else 0.0
    cells = onto_total((model + kept * apart).ravel(), total)
    # Independence that weighs as much as one record, so that no cell its margins know of is empty.
    table = cells.reshape(noisy.shape) + np.outer(rows_of, columns_of) / total**2
    for _ in range(_RAKING_ROUNDS):
        table = table * _ratio(rows_of, table.sum(axis=1))[:, None]
        table = table * _ratio(columns_of, table.sum(axis=0))[None, :]
    return table


def draw_quota(counts: FloatArray, size: int, generator: np.random.Generator) -> IntArray:
    """Return ``size`` cells in random order, each as often as its share of the counts says.

    >>> drawn = draw_quota(np.array([1.0, 0.0, 3.0]), 8, np.random.default_rng(0))
    >>> np.bincount(drawn).tolist()
    [2, 0, 6]
    """
    ends = np.cumsum(counts)
    marks = (np.arange(size) + generator.random()) / size * ends[-1]
    inside = np.minimum(np.searchsorted(ends, marks, side="right"), np.flatnonzero(counts)[-1])
    return generator.permutation(inside)


def walk_tables(tree: NoisyTree, margins: Sequence[FloatArray]) -> list[Step]:
    """Return the walk along a released tree, its pairs' noise taken out."""
    fitted = {
        (a, b): fit_pair(noisy, margins[a], margins[b], tree.pair_std, tree.rows)
        for (a, b), noisy in zip(tree.edges, tree.tables, strict=True)
    }
    return walk(fitted, margins)


def walk(fitted: Mapping[Edge, FloatArray], margins: Sequence[FloatArray]) -> list[Step]:
    """Return (parent, child, counts by parent) so that a parent always comes before its children."""
    tables = {(b, a): table.T for (a, b), table in fitted.items()} | dict(fitted)
    steps: list[Step] = []
    reached: set[int] = set()
    for root in range(len(margins)):
        waiting: list[tuple[int | None, int]] = [] if root in reached else [(None, root)]
        while waiting:
            parent, child = waiting.pop()
            reached.add(child)
            steps.append((parent, child, margins[child] if parent is None else tables[parent, child]))
            waiting += [(child, b) for a, b in tables if a == child and b not in reached]
    return steps


def _spread(column: Column, part: Bins, cells: IntArray, generator: np.random.Generator) -> FloatArray:
    """Return encoded values inside their cells."""
    if not isinstance(column, Number):
        return cells.astype(np.float64)
    edges = np.asarray(part.edges)
    starts = np.minimum(cells, len(edges) - 2)  # the cell of missing values has no edges
    inside = edges[starts] + generator.random(len(cells)) * (edges[starts + 1] - edges[starts])
    # A step grid's edges lie half a step beside its points.
    return np.where(cells > len(edges) - 2, MISSING, column.nearest(inside))


def _ratio(wanted: FloatArray, found: FloatArray) -> FloatArray:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
