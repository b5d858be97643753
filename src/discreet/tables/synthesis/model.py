"""A model of rows, fitted to all tables that were released: free, for it reads nothing else.

It starts as rows drawn along a tree of pairs. Every further pair is drawn towards the model as far as
noise explains its distance from it (positive-part James-Stein); then rows are weighed until all tables
agree with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.mechanisms.selection.pairs.spanning_tree import Forest
from discreet.plans.stages.tree_rows import draw_cells, fit_table, walk
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.tables.synthesis.measured import KnownTables
from discreet.tables.synthesis.raking import WeightedRows
from discreet.tables.synthesis.resampling import correct_columns, resample_rows

MODEL_ROWS = (20_000, 50_000)
"""Rows of a model, at least and at most."""

MOST_LOOKUPS = 10**8
"""Rows times pairs; where there are many pairs the model has fewer rows."""

_SWEEPS, _LAST_SWEEPS = 4, 12


@dataclass
class RowModel:
    """Weighted rows, and the tables that they were fitted to.

    Args:
      known: what was released so far; it grows while the model is refined.
      tree: the pairs of a tree, all of them measured.
      count: how many rows are wanted; None for as many as there are records.
      generator: draws them.
    """

    known: KnownTables
    tree: list[int]
    count: int | None
    generator: np.random.Generator
    margins: list[FloatArray] = field(default_factory=list)
    targets: dict[Edge, FloatArray] = field(default_factory=dict)
    sample: WeightedRows | None = None

    def __post_init__(self) -> None:
        self._fit_tree()

    def _fit_tree(self) -> None:
        self.margins = self.known.fit_columns()
        for pair in self.tree:
            (a, b), table = self.known.edge(pair), self.known.pairs[pair]
            first, second = self.margins[a], self.margins[b]
            alone = np.outer(first, second) / self.known.rows
            self.targets[a, b] = fit_table(table.counts, alone, first, second, table.std)

    def _draw_tree(self, rows: int) -> IntArray:
        tree = {self.known.edge(pair): self.targets[self.known.edge(pair)] for pair in self.tree}
        return draw_cells(walk(tree, self.margins), rows, self.generator)

    def _weighted(self) -> WeightedRows:
        if self.sample is None:
            few, many = MODEL_ROWS
            most = min(many, MOST_LOOKUPS // max(1, len(self.known.layout.pairs)))
            cells = self._draw_tree(min(max(round(self.known.rows), few), most))
            self.sample = WeightedRows.evenly(cells, self.known.layout.sizes, self.known.rows)
        return self.sample

    def table(self, edge: Edge) -> FloatArray:
        """Return the counts of a pair."""
        return self._weighted().table(edge)

    def fit(self, *, last: bool = True) -> None:
        """Fit the model to all that was released; pairs that are new are drawn towards it first.

        Args:
          last: whether nothing is released after it, so that weights are worth more sweeps.
        """
        if set(self.known.pairs) == set(self.tree):
            self._fit_tree()
            self.sample = None
            return
        sample = self._weighted()
        self.margins = self.known.fit_columns()
        for pair, table in self.known.pairs.items():
            a, b = edge = self.known.edge(pair)
            if edge not in self.targets:
                self.targets[edge] = fit_table(
                    table.counts, sample.table(edge), self.margins[a], self.margins[b], table.std
                )
        sample.rake(self.margins, self.targets.items(), _LAST_SWEEPS if last else _SWEEPS)

    def draw(self, most: int) -> IntArray:
        """Return the cells of the rows that are wanted, at most so many."""
        wanted = max(1, round(self.known.rows)) if self.count is None else self.count
        rows = min(wanted, most)
        if self.sample is None:
            return self._draw_tree(rows)
        cells = resample_rows(self.sample, rows, self.generator)
        return correct_columns(cells, self.margins, self.generator)

    def misfit(self, cells: IntArray) -> float:
        """Return how far rows are from the tables of pairs they were fitted to, in total variation."""
        if not self.targets:
            return 0.0
        sizes = tuple(len(margin) for margin in self.margins)
        drawn = WeightedRows.evenly(cells, sizes, 1.0)
        apart = [
            np.abs(drawn.table(edge) - target / target.sum()).sum() / 2
            for edge, target in self.targets.items()
        ]
        return float(np.mean(apart))


def strongest_tree(known: KnownTables, margins: Sequence[FloatArray]) -> list[int]:
    """Return the tree of the pairs that are furthest from independence, noise taken off."""
    pairs = known.layout.pairs
    scores = np.empty(len(pairs))
    for pair, (a, b) in enumerate(pairs):
        table = known.pairs[pair]
        apart = table.counts - np.outer(margins[a], margins[b]) / known.rows
        scores[pair] = np.sum(apart**2) - apart.size * table.std**2
    forest, tree = Forest(pairs), []
    while len(joining := forest.joining()):
        pair = int(joining[np.argmax(scores[joining])])
        forest.join(pair)
        tree.append(pair)
    return tree
