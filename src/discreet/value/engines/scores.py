"""Scores of predictions on public test rows: higher is better, and the range is known.

A score says what it must be told: labels, the probability given to the true label, values, or the
fitted estimator itself. The utility of a coalition of nobody has a default for every named score, the
score of a guess that knows no record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_finite
from discreet.schema import FloatArray

Needs = Literal["label", "probability", "value", "estimator"]

LOSS_CLIP = 5.0
"""A test row costs at most this much log loss: as if the true label had probability 0.0067."""

_LEAST_PROBABILITY = math.exp(-LOSS_CLIP)


@dataclass(frozen=True)
class Score:
    """A score with a known range.

    Attributes:
      name: as the documentation calls it.
      low: the least value; lower ones count as this.
      high: the greatest value.
      needs: what ``function`` is told of predictions.
      function: from the truth (test rows) and what was said (fits x test rows) to a score for each fit;
        for ``needs="estimator"`` a scikit-learn scorer ``(estimator, x, y)``.
      guess: from the truth and the number of classes to the score of a guess, if there is one.
      lipschitz: how fast the score of one test row moves with the margin of a linear model, if bounded.
    """

    name: str
    low: float
    high: float
    needs: Needs
    function: Callable[..., Any]
    guess: Callable[[Any, int], float] | None = None
    lipschitz: float | None = None

    @property
    def width(self) -> float:
        """How far two values can be apart."""
        return self.high - self.low


def named_score(name: str) -> Score:
    """Return a score by its name.

    >>> named_score("accuracy").width
    1.0
    """
    check_choice("score", name, SCORES, "Or build one with custom_score.")
    return _NAMED[name]


def custom_score(
    name: str, function: Callable[..., Any], *, low: float, high: float, needs: Needs = "estimator"
) -> Score:
    """Return a score of the caller's, clipped to its declared range.

    Args:
      name: for display.
      function: see ``Score.function``; the default is a scikit-learn scorer.
      low: the least value.
      high: the greatest value.
      needs: what ``function`` is told.
    """
    check_finite("low", low)
    check_finite("high", high)
    check_choice("needs", needs, ("label", "probability", "value", "estimator"))
    if low >= high:
        raise ArgumentError(f"low must be below high, got {low!r} and {high!r}.")
    return Score(name, float(low), float(high), needs, function)


def _accuracy(truth: Any, said: Any) -> FloatArray:
    return np.asarray(np.mean(said == truth, axis=-1))


def _log_loss(truth: Any, said: FloatArray) -> FloatArray:
    return np.asarray(np.mean(np.log(np.clip(said, _LEAST_PROBABILITY, 1.0)), axis=-1))


def _brier(truth: Any, said: FloatArray) -> FloatArray:
    return np.asarray(1.0 - np.mean((1.0 - said) ** 2, axis=-1))


def _r2(truth: FloatArray, said: FloatArray) -> FloatArray:
    spread = np.mean((truth - truth.mean()) ** 2)
    if spread == 0:
        return np.full(said.shape[:-1], np.nan)
    return np.asarray(1.0 - np.mean((said - truth) ** 2, axis=-1) / spread)


def _majority(truth: Any, classes: int) -> float:
    _, counts = np.unique(truth, return_counts=True)
    return float(counts.max() / counts.sum())


_NAMED = {
    "accuracy": Score("accuracy", 0.0, 1.0, "label", _accuracy, _majority),
    # The log loss of a margin has slope at most 1, which clipping does not raise.
    "log-loss": Score(
        "log-loss",
        -LOSS_CLIP,
        0.0,
        "probability",
        _log_loss,
        lambda truth, classes: -min(LOSS_CLIP, math.log(classes)),
        lipschitz=1.0,
    ),
    # (1 - p)^2 with p = 1 / (1 + exp(-z)) has slope 2 p (1 - p)^2, greatest at p = 1/3.
    "brier": Score(
        "brier",
        0.0,
        1.0,
        "probability",
        _brier,
        lambda truth, classes: 1.0 - (1.0 - 1.0 / classes) ** 2,
        lipschitz=8 / 27,
    ),
    "r2": Score("r2", -1.0, 1.0, "value", _r2, lambda truth, classes: 0.0),
}

SCORES = tuple(_NAMED)
"""The names of scores."""
