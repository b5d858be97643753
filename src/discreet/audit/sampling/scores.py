"""Scores that tell two sides apart, learned from some of the runs.

Every event that is tried is "the score is at least t" or "below t". The best score is the ratio of the
two likelihoods (Neyman and Pearson 1933); three guesses at it are tried: single numbers as they are,
which suits noise on one number; the product of ratios in cells of each number and kind, which suits
independent noise and finite outcomes; and a classifier (Bichsel et al. 2021, DP-Sniper), which suits
everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from discreet.audit.sampling.outcomes import FloatArray, Outcomes

EventName = Literal["auto", "threshold", "cells", "classifier", "gaussian"]
EVENTS: tuple[EventName, ...] = get_args(EventName)

_MOST_NUMBERS = 64
_MOST_CELLS = 256
_RUNS_PER_CELL = 150
_LARGEST = 1e30
"""Greater numbers are learned from as this one: their squares would be infinite."""

_MOST_ROWS = 20_000
"""A classifier learns little from more rows, and slowly."""


@dataclass(frozen=True)
class LearnedScore:
    """A function of outcomes, with a name for people.

    Args:
      name: in words.
      of: the function.
      plain: whether nothing had to be learned for it.
    """

    name: str
    of: Callable[[Outcomes], FloatArray]
    plain: bool = False


def scores_for(event: EventName, first: Outcomes, second: Outcomes) -> Iterator[LearnedScore]:
    """Yield the scores to try, learned from these runs.

    Args:
      event: a kind of score, or ``auto`` for all that suit the outcomes.
      first: runs to learn from.
      second: the same of the other side.
    """
    if event in ("auto", "threshold", "gaussian"):
        yield from _single_numbers(first.width)
    if event in ("auto", "cells", "gaussian") or (event == "threshold" and not first.width):
        yield LearnedScore("the product of ratios in cells", cell_ratios(first, second))
        yield from _single_values(first, second)
    if event == "classifier" or (event in ("auto", "gaussian") and first.width > 1):
        yield from _classifiers(first, second)


def _single_numbers(width: int) -> Iterator[LearnedScore]:
    for place in range(min(width, _MOST_NUMBERS)):
        name = "the outcome" if width == 1 else f"number {place + 1} of {width}"
        yield LearnedScore(name, _number(place), plain=True)


def _number(place: int) -> Callable[[Outcomes], FloatArray]:
    return lambda outcomes: outcomes.values[:, place]


def cell_ratios(first: Outcomes, second: Outcomes) -> Callable[[Outcomes], FloatArray]:
    """Return the logarithm of the ratio of likelihoods as if all numbers and kinds were independent."""
    readers = [_of_kinds(first, second)]
    for place in range(first.width):
        readers.append(_of_numbers(first.values[:, place], second.values[:, place], place))
    return lambda outcomes: np.sum([reader(outcomes) for reader in readers], axis=0)


def _single_values(first: Outcomes, second: Outcomes) -> Iterator[LearnedScore]:
    """Yield the ratio of each value by itself, where there are many and they repeat.

    Cells of neighbouring values do not tell even numbers from odd ones.
    """
    values = np.concatenate([first.values, second.values])
    known = np.unique(values[~np.isnan(values)])
    if first.width == 1 and _MOST_CELLS < len(known) <= len(values) // 2:
        yield LearnedScore("the ratio of each value", _of_values(first, second, known))


def _of_values(
    first: Outcomes, second: Outcomes, known: FloatArray
) -> Callable[[Outcomes], FloatArray]:
    def places(outcomes: Outcomes) -> Any:
        values = outcomes.values[:, 0]
        found = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[found] == values, found, len(known))

    ratios = _log_ratios(places(first), places(second), len(known) + 1)
    return lambda outcomes: ratios[places(outcomes)]


def _of_kinds(first: Outcomes, second: Outcomes) -> Callable[[Outcomes], FloatArray]:
    ratios = _log_ratios(first.kinds, second.kinds, len(first.names))
    return lambda outcomes: ratios[outcomes.kinds]


def _of_numbers(first: FloatArray, second: FloatArray, place: int) -> Callable[[Outcomes], FloatArray]:
    edges = _edges(np.concatenate([first, second]))

    def cells(values: FloatArray) -> Any:
        return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))

    ratios = _log_ratios(cells(first), cells(second), len(edges) + 2)
    return lambda outcomes: ratios[cells(outcomes.values[:, place])]


def _edges(values: FloatArray) -> FloatArray:
    """Return where cells begin: at each value if there are few, else at quantiles."""
    values = values[~np.isnan(values)]
    distinct = np.unique(values)
    if len(distinct) <= _MOST_CELLS:
        return distinct
    cells = int(np.clip(len(values) // _RUNS_PER_CELL, 8, _MOST_CELLS))
    return np.unique(np.quantile(values, np.linspace(0, 1, cells + 1)[1:-1]))


def _log_ratios(first: Any, second: Any, cells: int) -> FloatArray:
    """Return the logarithm of how much more often each cell was hit on the first side."""
    hits, other = (np.bincount(side, minlength=cells) for side in (first, second))
    return np.asarray(
        np.log((hits + 0.5) / (len(first) + 0.5)) - np.log((other + 0.5) / (len(second) + 0.5))
    )


def _classifiers(first: Outcomes, second: Outcomes) -> Iterator[LearnedScore]:
    """Yield a linear and a tree-based guess at the ratio of likelihoods."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler
    from threadpoolctl import threadpool_limits

    features = _features(first, second)
    rows = np.concatenate([features(first)[:_MOST_ROWS], features(second)[:_MOST_ROWS]])
    sides = np.repeat([1, 0], [min(len(first), _MOST_ROWS), min(len(second), _MOST_ROWS)])
    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=16, early_stopping=False, random_state=0
    )
    kinds = {"boosted trees": trees}
    if not np.isnan(rows).any():
        kinds["logistic regression"] = make_pipeline(RobustScaler(), LogisticRegression(max_iter=200))
    for name, model in kinds.items():
        with threadpool_limits(1):  # threads that wait for a busy machine take longer than one
            model.fit(rows, sides)
        yield LearnedScore(name, _decision(model, features))


def _decision(
    model: Any, features: Callable[[Outcomes], FloatArray]
) -> Callable[[Outcomes], FloatArray]:
    from threadpoolctl import threadpool_limits

    def decision(outcomes: Outcomes) -> FloatArray:
        with threadpool_limits(1):
            return np.asarray(model.decision_function(features(outcomes)))

    return decision


def _features(first: Outcomes, second: Outcomes) -> Callable[[Outcomes], FloatArray]:
    """Return numbers, those that were ever there, and the ratio of kinds where there are several."""
    kind = _of_kinds(first, second)
    there = ~np.isnan(np.concatenate([first.values, second.values])).all(axis=0)

    def features(outcomes: Outcomes) -> FloatArray:
        numbers = np.clip(outcomes.values[:, there], -_LARGEST, _LARGEST)
        return numbers if len(first.names) == 1 else np.column_stack([numbers, kind(outcomes)])

    return features
