"""Choose the event that tells two sides apart best, on runs that are not used again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.sampling.joint_bound import TwoCounts, epsilon_bound, weight_for
from discreet.audit.sampling.outcomes import FloatArray, Outcomes
from discreet.audit.sampling.scores import LearnedScore

Sides = tuple[Outcomes, Outcomes]

_MOST_THRESHOLDS = 400

_DOUBTS = (2.5, 1.0, 0.0)
"""Events are compared as if their shares were so many standard errors worse than seen, so that rare
ones do not win by luck; with less doubt where nothing would be proven."""


@dataclass(frozen=True)
class Event:
    """An event: a score is at least a threshold, or below it.

    Args:
      score: a function of outcomes.
      threshold: to which it is compared.
      above: whether the event is "at least", or "below".
      side: the side on which it is more frequent, 0 or 1.
      weight: of that side's count when both are tested at once, 0 for two intervals.
    """

    score: LearnedScore
    threshold: float
    above: bool
    side: int
    weight: float = 0.0

    @property
    def said(self) -> str:
        """The event in words."""
        return f"{self.score.name} {'>=' if self.above else '<'} {self.threshold:.6g}"

    def hits(self, outcomes: Outcomes) -> int:
        """Return how many outcomes are in the event; a score that is NaN is in none."""
        found = self.score.of(outcomes)
        return int(np.sum(found >= self.threshold if self.above else found < self.threshold))


def chosen_event(
    scores: Iterable[LearnedScore],
    learned: Sides,
    choose: Sides,
    *,
    runs: int,
    delta: float,
    error: float,
    gaussian: bool = False,
) -> Event:
    """Return the event that will prove most: of all scores, thresholds and directions.

    Args:
      scores: functions of outcomes.
      learned: runs of both sides that scores were learned from; plain ones are chosen by them too.
      choose: runs of both sides to choose by.
      runs: per side on which the event will be evaluated.
      delta: of the promise.
      error: one minus the confidence that is asked for.
      gaussian: whether mu is bounded, or epsilon.
    """
    tables = list(_tables(scores, learned, choose))
    for doubt in _DOUBTS:
        best = max((table.best(runs, delta, error, doubt, gaussian) for table in tables), key=_proven)
        if best[0] > 0:
            break
    return best[1] if gaussian else _weighted(best[1], choose, runs, delta, error)


def _weighted(event: Event, choose: Sides, runs: int, delta: float, error: float) -> Event:
    """Return the event with the weight that proves more, if its shares are what they seem."""
    shares = [event.hits(side) / len(side) for side in choose]
    one, other = shares[event.side], shares[1 - event.side]
    counts = TwoCounts(round(one * runs), runs, round(other * runs), runs)
    weights = (weight_for(one, other, delta), 0.0)
    return max(
        (replace(event, weight=weight) for weight in weights),
        key=lambda tried: epsilon_bound(counts, weight=tried.weight, delta=delta, error=error),
    )


def _proven(tried: tuple[float, Event]) -> float:
    return tried[0]


@dataclass(frozen=True)
class _Table:
    """Hits of every threshold of one score, for one direction."""

    score: LearnedScore
    above: bool
    side: int
    thresholds: FloatArray
    hits: Any
    runs: tuple[int, int]

    def best(
        self, runs: int, delta: float, error: float, doubt: float, gaussian: bool
    ) -> tuple[float, Event]:
        """Return about what the best threshold will prove on so many runs, and its event."""
        from scipy.special import ndtri

        likely = _moved(self.hits[0] / self.runs[0], self.runs[0], -doubt)
        unlikely = _moved(self.hits[1] / self.runs[1], self.runs[1], doubt)
        allowed = float(ndtri(1.0 - error / 2))
        above, below = _moved(likely, runs, -allowed), _moved(unlikely, runs, allowed)
        if gaussian:
            proven = np.nan_to_num(ndtri(above) - ndtri(below), nan=-np.inf)
        else:
            with np.errstate(divide="ignore"):
                proven = np.log(np.maximum(above - delta, 0.0)) - np.log(below)
        place = int(np.argmax(proven))
        event = Event(self.score, float(self.thresholds[place]), self.above, self.side)
        return float(proven[place]), event


def _moved(shares: Any, runs: int, errors: float) -> Any:
    """Return shares moved by so many standard errors, up or down (Wilson 1927).

    It need not be exact: whatever the choice is made by, the event is evaluated on other runs.
    """
    square = errors**2
    spread = errors * np.sqrt(shares * (1 - shares) / runs + square / (4 * runs**2))
    return np.clip((shares + square / (2 * runs) + spread) / (1 + square / runs), 0.0, 1.0)


def _tables(scores: Iterable[LearnedScore], learned: Sides, choose: Sides) -> Iterator[_Table]:
    for score in scores:
        values = [score.of(side) for side in choose]
        if score.plain:
            values = [np.append(score.of(learned[side]), values[side]) for side in (0, 1)]
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
