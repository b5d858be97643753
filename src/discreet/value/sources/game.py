"""The game of sources: how well naive Bayes, trained on the counts of a coalition, predicts.

A coalition's counts are the sums of its members' counts, so that one release of counts by source
answers for all 2^k coalitions. Probabilities are smoothed by a *public* number, as large as the noise
on a coalition's count (its standard deviation times the root of the coalition's size): the game is
defined with it, on exact counts and on noisy ones alike, and cells that hold nothing but noise count
for little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.engines.shapley.coalitions import all_coalitions, exact_operator
from discreet.plans.stages.counts import onto_total
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.scores import LOSS_CLIP, named_score

ScoreName = Literal["brier", "log-loss", "accuracy"]
Semivalue = Literal["shapley", "banzhaf"]

MOST_SOURCES = 12
"""The most sources: all their coalitions are valued."""

_ENTRIES = 2**22
"""Probabilities that are held at once."""

_TIE = 1e-12
"""By how much of itself a probability must be beaten to be no longer the greatest."""


@dataclass(frozen=True)
class SourceTables:
    """Where counts are: a table of sources x classes, then one of sources x classes x cells a column.

    Args:
      sources: how many there are.
      classes: how many classes the target has.
      cells: the number of cells of every column.
    """

    sources: int
    classes: int
    cells: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of counts of every table."""
        pairs = self.sources * self.classes
        return (pairs, *(pairs * count for count in self.cells))

    @property
    def size(self) -> int:
        """The number of counts of all tables."""
        return sum(self.sizes)

    def tables(self, counts: FloatArray) -> list[FloatArray]:
        """Return the tables of flat counts, one row of [class x cell] a source."""
        parts = np.split(np.asarray(counts, dtype=np.float64), np.cumsum(self.sizes)[:-1])
        return [part.reshape(self.sources, self.classes, -1) for part in parts]

    def mended(self, noisy_counts: FloatArray) -> FloatArray:
        """Return flat counts that fit together: none negative, cells adding up to their class (free).

        The records of a source and class are told by every table once, by wide ones with more noise;
        they are weighed accordingly. Exact counts stay as they are.
        """
        classes, *columns = self.tables(noisy_counts)
        weights = [1 / count for count in self.cells]
        parts = [
            table.sum(axis=2, keepdims=True) * w for table, w in zip(columns, weights, strict=True)
        ]
        total = np.maximum(sum(parts, classes) / (1 + sum(weights)), 0.0)
        return np.concatenate([total.ravel(), *(onto_total(table, total).ravel() for table in columns)])


@dataclass(frozen=True)
class TestCells:
    """Public test rows as naive Bayes sees them: equal ones once, with their number.

    Args:
      cells: of every row the cell of every column.
      labels: the class of every row.
      weights: how often it was there.
    """

    cells: IntArray
    labels: IntArray
    weights: IntArray

    __test__ = False  # no test, whatever pytest makes of its name

    @classmethod
    def of(cls, cells: IntArray, labels: IntArray) -> TestCells:
        """Return rows, equal ones together."""
        rows = np.column_stack([labels, cells])
        found, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(found[:, 1:], found[:, 0], counts)

    def thinned(self, most: int) -> TestCells:
        """Return about so many of the rows, frequent ones first: a rehearsal needs no more."""
        if len(self.labels) <= most:
            return self
        ends = np.cumsum(self.weights)
        drawn = np.searchsorted(ends, (np.arange(most) + 0.5) / most * ends[-1])
        places, weights = np.unique(drawn, return_counts=True)
        return TestCells(self.cells[places], self.labels[places], weights)


@dataclass(frozen=True)
class SourceGame:
    """The utility of every coalition of sources, by the score of naive Bayes on public test rows.

    Args:
      layout: of the counts.
      test: public rows.
      score: ``brier``, ``log-loss`` or ``accuracy``; higher is better.
      smoothing: what is added to every count of a single source; public.
    """

    layout: SourceTables
    test: TestCells
    score: ScoreName
    smoothing: float

    def utilities(self, counts: FloatArray, kind: type = np.float64) -> FloatArray:
        """Return the utility of all 2^k coalitions, in the order of their numbers.

        Args:
          counts: flat, exact or noisy.
          kind: of the floats it is computed in; rehearsals make do with single precision.
        """
        tables = self._log_tables(counts)
        found = np.zeros(2**self.layout.sources)
        for label, places in self._by_label:
            weights = self.test.weights[places] / self.test.weights.sum()
            step = max(1, _ENTRIES // len(found))
            for start in range(0, len(places), step):
                rows = places[start : start + step]
                odds = self._odds(tables, label, rows, kind)
                found += _scored(odds, self.score).T @ weights[start : start + step]
        found[0] = self._guess
        return found

    def values(
        self, counts: FloatArray, semivalue: Semivalue = "shapley", kind: type = np.float64
    ) -> FloatArray:
        """Return the value of every source."""
        return np.asarray(operator(self.layout.sources, semivalue) @ self.utilities(counts, kind))

    @cached_property
    def _by_label(self) -> list[tuple[int, IntArray]]:
        labels = np.unique(self.test.labels).tolist()
        return [(label, np.flatnonzero(self.test.labels == label)) for label in labels]

    @property
    def _guess(self) -> float:
        """The score of nobody: of the same probability for every class, or of the commonest class."""
        guess = named_score(self.score).guess
        assert guess is not None
        return guess(np.repeat(self.test.labels, self.test.weights), self.layout.classes)

    def _log_tables(self, counts: FloatArray) -> list[FloatArray]:
        """Return log shares of cells within classes, coalitions x classes x cells a table."""
        members = all_coalitions(self.layout.sources).astype(np.float64)
        alpha = self.smoothing * np.sqrt(np.maximum(members.sum(axis=1), 1.0))[:, None, None]
        first, *others = self.layout.tables(counts)
        tables = [first.reshape(self.layout.sources, 1, -1), *others]
        found = []
        for table in tables:
            together = (members @ table.reshape(len(table), -1)).reshape(-1, *table.shape[1:])
            smooth = np.maximum(together, 0.0) + alpha
            found.append(np.log(smooth) - np.log(smooth.sum(axis=2, keepdims=True)))
        return found

    def _odds(
        self, tables: Sequence[FloatArray], label: int, rows: IntArray, kind: type
    ) -> list[NDArray[Any]]:
        """Return the odds of every other class against the right one, rows x coalitions each."""
        shares, *columns = tables
        marks = [
            self.test.cells[rows, j][:, None] == np.arange(m) for j, m in enumerate(self.layout.cells)
        ]
        design: NDArray[Any] = np.hstack([np.ones((len(rows), 1)), *marks]).astype(kind)
        odds = []
        for other in range(self.layout.classes):
            if other == label:
                continue
            parts = [shares[:, 0, other] - shares[:, 0, label]]
            parts = [parts[0][:, None], *(table[:, other] - table[:, label] for table in columns)]
            odds.append(np.exp(design @ np.hstack(parts).T.astype(kind)))
        return odds


def operator(sources: int, semivalue: Semivalue) -> FloatArray:
    """Return the matrix that takes utilities of all coalitions to the values of sources.

    >>> operator(2, "banzhaf").tolist()
    [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]]
    """
    if semivalue == "shapley":
        return exact_operator(sources)
    return np.asarray(np.where(all_coalitions(sources), 1.0, -1.0).T / 2 ** (sources - 1))


def _scored(odds: Sequence[NDArray[Any]], score: ScoreName) -> NDArray[Any]:
    """Return the scores of rows by the odds against their right class."""
    if score == "accuracy":
        return np.asarray(np.all([other <= 1 + _TIE for other in odds], axis=0), dtype=np.float64)
    against: NDArray[Any] = sum(odds[1:], odds[0])
    if score == "log-loss":
        return np.asarray(np.maximum(-np.log1p(against), -LOSS_CLIP))
    wrong = 1 - 1 / (1 + against)
    return np.asarray(1.0 - wrong * wrong)
