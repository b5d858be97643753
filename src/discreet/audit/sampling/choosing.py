"""Choose the event that tells two sides apart best, on runs that are not used again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.sampling.intervals import epsilon_bounds, lower_share, mu_bounds, upper_share
from discreet.audit.sampling.outcomes import FloatArray, Outcomes
from discreet.audit.sampling.scores import Score

_MOST_THRESHOLDS = 400

_DOUBTS = (0.02, 0.16, 0.5)
"""Events are compared as if their shares were so unlikely far from what is seen, so that rare ones do
not win by luck; with less doubt where nothing would be proven."""


@dataclass(frozen=True)
class Event:
    """An event: a score is at least a threshold, or below it.

    Args:
      score: a function of outcomes.
      threshold: to which it is compared.
      above: whether the event is "at least", or "below".
      side: the side on which it is more frequent, 0 or 1.
    """

    score: Score
    threshold: float
    above: bool
    side: int

    @property
    def said(self) -> str:
        """The event in words."""
        return f"{self.score.name} {'>=' if self.above else '<'} {self.threshold:.6g}"

    def hits(self, outcomes: Outcomes) -> int:
        """Return how many outcomes are in the event; a score that is NaN is in none."""
        found = self.score.of(outcomes)
        return int(np.sum(found >= self.threshold if self.above else found < self.threshold))


def chosen_event(
    scores: Iterable[Score],
    first: Outcomes,
    second: Outcomes,
    *,
    runs: int,
    delta: float,
    error: float,
    gaussian: bool = False,
) -> Event:
    """Return the event that will prove most: of all scores, thresholds and directions.

    Args:
      scores: functions of outcomes.
      first: runs to choose by.
      second: the same of the other side.
      runs: per side on which the event will be evaluated.
      delta: of the promise.
      error: one minus the confidence that is asked for.
      gaussian: whether mu is bounded, or epsilon.
    """
    tables = list(_tables(scores, first, second))
    for doubt in _DOUBTS:
        best = max((table.best(runs, delta, error, doubt, gaussian) for table in tables), key=_proven)
        if best[0] > 0:
            break
    return best[1]


def _proven(tried: tuple[float, Event]) -> float:
    return tried[0]


@dataclass(frozen=True)
class _Table:
    """Hits of every threshold of one score, for one direction."""

    score: Score
    above: bool
    side: int
    thresholds: FloatArray
    hits: Any
    runs: tuple[int, int]

    def best(
        self, runs: int, delta: float, error: float, doubt: float, gaussian: bool
    ) -> tuple[float, Event]:
        """Return what the best threshold will prove on so many runs, and its event."""
        likely = lower_share(self.hits[0], self.runs[0], doubt) * runs
        unlikely = upper_share(self.hits[1], self.runs[1], doubt) * runs
        if gaussian:
            proven = mu_bounds(likely, runs, unlikely, runs, error=error)
        else:
            proven = epsilon_bounds(likely, runs, unlikely, runs, delta=delta, error=error)
        place = int(np.argmax(proven))
        event = Event(self.score, float(self.thresholds[place]), self.above, self.side)
        return float(proven[place]), event


def _tables(scores: Iterable[Score], first: Outcomes, second: Outcomes) -> Iterator[_Table]:
    for score in scores:
        values = score.of(first), score.of(second)
        thresholds = _thresholds(np.concatenate(values))
        for above in (True, False):
            hits = [_hits(side, thresholds, above) for side in values]
            for side in (0, 1):
                one, other = side, 1 - side
                runs = len(values[one]), len(values[other])
                yield _Table(score, above, side, thresholds, (hits[one], hits[other]), runs)


def _thresholds(values: FloatArray) -> FloatArray:
    """Return where a score may be cut: at its values, or at quantiles if there are many."""
    values = values[~np.isnan(values)]
    if not len(values):
        return np.zeros(1)
    distinct = np.unique(values)
    if len(distinct) <= _MOST_THRESHOLDS:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0, 1, _MOST_THRESHOLDS), method="lower"))


def _hits(values: FloatArray, thresholds: FloatArray, above: bool) -> Any:
    """Return how many values are in the event of every threshold."""
    ordered = np.sort(values[~np.isnan(values)])
    below = np.searchsorted(ordered, thresholds, side="left")
    return len(ordered) - below if above else below
