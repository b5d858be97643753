"""What was measured of the tables of single columns and of pairs, with how much noise each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.mechanisms.selection.pairs.pair_scores import Edge
from discreet.plans.stages.counts import onto_total
from discreet.plans.stages.marginals import PairTables
from discreet.schema import FloatArray


@dataclass(frozen=True)
class NoisyTable:
    """Noisy counts and the standard deviation of their noise."""

    counts: FloatArray
    std: float

    def beside(self, other: NoisyTable) -> NoisyTable:
        """Return the mean of two measurements of the same table, weighted by their noise."""
        own, its = 1 / self.std**2, 1 / other.std**2
        return NoisyTable((own * self.counts + its * other.counts) / (own + its), (own + its) ** -0.5)


@dataclass
class KnownTables:
    """All tables that were released so far; pairs by their places among those of the layout."""

    layout: PairTables
    rows: float
    columns: Sequence[NoisyTable]
    pairs: dict[int, NoisyTable] = field(default_factory=dict)

    def add(self, pair: int, table: NoisyTable) -> None:
        """Remember a pair's table; one that was measured before is averaged."""
        known = self.pairs.get(pair)
        self.pairs[pair] = table if known is None else known.beside(table)

    def edge(self, pair: int) -> Edge:
        """Return the columns of a pair."""
        return self.layout.pairs[pair]

    def fit_columns(self) -> list[FloatArray]:
        """Return every column's counts: its own table and the sums of its pairs, weighted by noise."""
        weights = [1 / table.std**2 for table in self.columns]
        sums = [weight * table.counts for weight, table in zip(weights, self.columns, strict=True)]
        for pair, table in self.pairs.items():
            for axis, column in enumerate(self.edge(pair)):
                # A sum over k cells has k times the variance of one.
                weight = 1 / (table.std**2 * table.counts.shape[1 - axis])
                sums[column] = sums[column] + weight * table.counts.sum(axis=1 - axis)
                weights[column] += weight
        return [onto_total(s / w, self.rows) for s, w in zip(sums, weights, strict=True)]


def estimate_rows(tables: Sequence[NoisyTable], most: int) -> float:
    """Return the number of records: every column's counts add up to it, those with least noise best."""
    weights = [1 / (len(table.counts) * table.std**2) for table in tables]
    estimate = np.average([table.counts.sum() for table in tables], weights=weights)
    return float(np.clip(estimate, 1.0, most))
