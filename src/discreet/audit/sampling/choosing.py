"""Choose the event that tells two sides apart best, on runs that are not used again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.sampling.intervals import epsilon_bounds, lower_share, mu_bounds, upper_share
from discreet.audit.sampling.outcomes import FloatArray, Outcomes
from discreet.audit.sampling.scores import Score

_MOST_THRESHOLDS = 400
_STANDARD_ERROR = 0.16
"""Shares are taken to be a standard error worse than seen, so that rare events do not win by luck."""


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
    tried: list[tuple[float, int, Event]] = []
    for score in scores:
        values = score.of(first), score.of(second)
        thresholds = _thresholds(np.concatenate(values))
        for above, side in ((True, 0), (True, 1), (False, 0), (False, 1)):
            one, other = (_hits(values[s], thresholds, above) for s in (side, 1 - side))
            likely = lower_share(one, len(values[side]), _STANDARD_ERROR) * runs
            unlikely = upper_share(other, len(values[1 - side]), _STANDARD_ERROR) * runs
            counts: tuple[Any, ...] = (likely, runs, unlikely, runs)
            proven = (
                mu_bounds(*counts, error=error)
                if gaussian
                else epsilon_bounds(*counts, delta=delta, error=error)
            )
            place = int(np.argmax(proven))
            event = Event(score, float(thresholds[place]), above, side)
            tried.append((float(proven[place]), -len(tried), event))
    return max(tried, key=lambda entry: entry[:2])[2]


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
