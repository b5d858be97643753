"""A model that is a weighted sample: rows drawn along a tree, weighed until all measured tables agree.

Weights are raked (iterative proportional fitting over rows): table by table every row's weight is
multiplied by what its cell should have over what it has. Factors and weights are kept within limits, so
that a cell no row is in, or a table that contradicts another, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_FACTORS = (0.05, 20.0)
_WEIGHTS = (1e-4, 1e3)


@dataclass
class WeightedRows:
    """Rows as cells of their columns, and how many records each stands for."""

    cells: IntArray
    sizes: tuple[int, ...]
    weights: FloatArray

    @classmethod
    def evenly(cls, cells: IntArray, sizes: tuple[int, ...], rows: float) -> WeightedRows:
        """Return rows that stand for equally many records each."""
        return cls(cells, sizes, np.full(len(cells), rows / len(cells)))

    def place(self, edge: Edge) -> IntArray:
        """Return the cell of every row in the table of a pair."""
        a, b = edge
        return np.asarray(self.cells[:, a] * self.sizes[b] + self.cells[:, b])

    def table(self, edge: Edge) -> FloatArray:
        """Return the counts of a pair."""
        shape = (self.sizes[edge[0]], self.sizes[edge[1]])
        counts = np.bincount(self.place(edge), weights=self.weights, minlength=shape[0] * shape[1])
        return np.asarray(counts.reshape(shape))

    def rake(
        self, columns: Sequence[FloatArray], pairs: Iterable[tuple[Edge, FloatArray]], sweeps: int
    ) -> None:
        """Weigh rows so that the tables of columns and pairs are met as nearly as can be."""
        targets = [(self.place(edge), table.ravel()) for edge, table in pairs]
        targets += [(self.cells[:, column], counts) for column, counts in enumerate(columns)]
        mean = self.weights.sum() / len(self.weights)
        for _ in range(sweeps):
            for place, wanted in targets:
                found = np.bincount(place, weights=self.weights, minlength=len(wanted))
                factors = np.clip(wanted / np.maximum(found, 1e-12), *_FACTORS)
                self.weights = self.weights * factors[place]
            self.weights = np.clip(self.weights, mean * _WEIGHTS[0], mean * _WEIGHTS[1])
