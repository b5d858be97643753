"""Intervals no output of a model can leave, read from its leaves and weights.

Narrower bounds mean less noise, and these need no guess from anybody: for trees the structure alone is
enough, for linear models and networks the schema's ranges of the features are needed too. Intervals
are signed (a margin between 1 and 3 has width 2, not 6) and rounded outward, so that they hold for
the numbers a computer finds and not only for exact ones.

The literature bounds a tanh network by the sum of its absolute output weights and a bias (Alissaiei
2026); intervals of the hidden units over the schema's ranges are never wider than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ModelError
from discreet.models.forms.trees import Link, TreeEnsemble, apply_link, raw_ensemble
from discreet.models.readers.pipelines import preparation
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Number, Schema

_EPS = float(np.finfo(np.float64).eps)
_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "logistic": lambda z: apply_link("logistic", z),
}
_REGRESSORS = ("LinearRegression", "Ridge", "Lasso", "ElasticNet")
_CLASSIFIERS = ("LogisticRegression", "LinearSVC", "RidgeClassifier", "SGDClassifier")


@dataclass(frozen=True)
class Ranges:
    """The least and the greatest value of several numbers at once."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, schema: Schema, columns: tuple[str, ...]) -> Ranges:
        """Return where values lie as a model without NaN sees them: in bounds, among values' codes."""
        ends = [
            (column.low, column.high) if isinstance(column, Number) else (0.0, len(column.values) - 1.0)
            for column in map(schema.__getitem__, columns)
        ]
        return cls(*np.array(ends, dtype=np.float64).T)

    def widened(self, slack: Any) -> Ranges:
        """Return the ranges with room for rounding."""
        return Ranges(self.low - slack, self.high + slack)

    def through(self, increasing: Callable[[FloatArray], FloatArray]) -> Ranges:
        """Return the ranges of an increasing function of each number."""
        return Ranges(increasing(self.low), increasing(self.high))

    def weighted(self, weights: FloatArray, intercept: FloatArray) -> Ranges:
        """Return the ranges of ``intercept + numbers @ weights``, in whatever order it is added up.

        Adding d terms of any order loses at most d eps times the sum of their magnitudes: once in
        the model, once here. (Higham 2002, section 3.1.)
        """
        up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
        sizes = np.maximum(np.abs(self.low), np.abs(self.high)) @ np.abs(weights)
        slack = 2 * (len(weights) + 3) * _EPS * (np.abs(intercept) + sizes)
        return Ranges(
            intercept + self.low @ up + self.high @ down, intercept + self.high @ up + self.low @ down
        ).widened(slack)


def bound_output(
    estimator: Any, output: str, class_index: int, ranges: Ranges | None = None
) -> Box | None:
    """Return an interval that holds every output of a fitted estimator, or None if none is known.

    Args:
      estimator: trees of scikit-learn, XGBoost, LightGBM or CatBoost, also at the end of a pipeline;
        with ``ranges`` also linear models and perceptrons of scikit-learn, alone or behind a
        ``StandardScaler``.
      output: ``probability``, ``margin`` or ``value``.
      class_index: the place of the class among ``classes_``.
      ranges: where the values of the columns lie.

    Guarantees:
      - No row (within ``ranges``, where they are used) has an output outside the interval. [fmax]
    """
    prepared = preparation(estimator)  # whatever rows become, they fall into leaves
    last = estimator if prepared is None else prepared.last
    trees = raw_ensemble(last, output, class_index)
    if trees is not None:
        return _bound_leaves(trees.leaves(), trees.base, trees.link)
    if ranges is None or type(estimator).__module__.split(".")[0] != "sklearn":
        return None
    with np.errstate(all="ignore"):
        return _bound_weights(estimator, output, class_index, ranges)


def bound_trees(trees: TreeEnsemble) -> Box | None:
    """Return base plus the least, and plus the greatest, leaf of every tree, through the link.

    Guarantees:
      - Every prediction lies between the two. [fmax]
    """
    leaves = np.flatnonzero(trees.is_leaf)
    starts = np.searchsorted(leaves, trees.roots)
    return _bound_leaves(np.split(trees.value[leaves], starts[1:]), trees.base, trees.link)


def bound_sums(scores: Sequence[FloatArray], base: float) -> Box:
    """Return base plus the least, and plus the greatest, score of every term.

    Guarantees:
      - Every sum of base and one score of each lies between the two. [fmax]
    """
    box = _bound_leaves([*scores, np.zeros(1)], base, "identity")
    if box is None:
        raise ModelError("scores must add up to finite numbers, got others. Give bounds of your own.")
    return box


def _bound_leaves(leaves: Sequence[FloatArray], base: float, link: Link) -> Box | None:
    if not leaves:
        return None
    least = np.array([values.min() for values in leaves])
    greatest = np.array([values.max() for values in leaves])
    sizes = np.maximum(np.abs(least), np.abs(greatest))
    slack = 2 * (len(sizes) + 3) * _EPS * math.fsum([abs(base), *sizes])
    low, high = math.fsum([base, *least]), math.fsum([base, *greatest])
    return _finish(low - slack, high + slack, link == "logistic")


def _bound_weights(estimator: Any, output: str, class_index: int, ranges: Ranges) -> Box | None:
    if type(estimator).__name__ == "Pipeline":
        if [type(step).__name__ for _, step in estimator.steps[:-1]] != ["StandardScaler"]:
            return None
        ranges = _scaled(estimator.steps[0][1], ranges)
        estimator = estimator.steps[-1][1]
    name = type(estimator).__name__
    if name in ("MLPClassifier", "MLPRegressor") and hasattr(estimator, "coefs_"):
        return _bound_network(estimator, output, class_index, ranges)
    known = _REGRESSORS if output == "value" else _CLASSIFIERS
    if name not in known or not hasattr(estimator, "coef_"):
        return None
    weights = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), len(weights))
    if len(weights) > 1 and output != "margin":
        return None
    several = len(weights) > 1
    scores = ranges.weighted(weights.T, intercepts)
    place = class_index if several else 0
    low, high = float(scores.low[place]), float(scores.high[place])
    if output != "value" and not several and class_index == 0:
        low, high = -high, -low
    return _finish(low, high, output == "probability")


def _scaled(scaler: Any, ranges: Ranges) -> Ranges:
    """Return the ranges a scaler makes: subtracting and dividing keep the order, rounding included."""
    mean = scaler.mean_ if scaler.with_mean else 0.0
    scale = scaler.scale_ if scaler.with_std else 1.0
    return ranges.through(lambda values: (values - mean) / scale)


def _bound_network(estimator: Any, output: str, class_index: int, ranges: Ranges) -> Box | None:
    """Carry ranges through the layers; every activation is increasing."""
    final = {"probability": "logistic", "value": "identity"}.get(output)
    if estimator.out_activation_ != final or estimator.n_outputs_ != 1:
        return None
    *hidden, last = zip(estimator.coefs_, estimator.intercepts_, strict=True)
    for weights, intercept in hidden:
        sums = ranges.weighted(weights, intercept)
        # Functions of the mathematical library are right to a few of the last digits.
        ranges = sums.through(_ACTIVATIONS[estimator.activation]).widened(4 * _EPS)
    scores = ranges.weighted(*last)
    low, high = float(scores.low[0]), float(scores.high[0])
    if output == "probability" and class_index == 0:
        low, high = -high, -low
    return _finish(low, high, final == "logistic")


def _finish(low: float, high: float, logistic: bool) -> Box | None:
    """Apply the link, round outward once more, and give up on what is not finite."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if logistic:
        ends = apply_link("logistic", np.array([low, high]))
        return Box(max(0.0, float(ends[0]) - 4 * _EPS), min(1.0, float(ends[1]) + 4 * _EPS))
    return Box(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
