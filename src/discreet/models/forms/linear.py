"""Recognise models that are a weighted sum of columns, so that curves need no model calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.errors import ModelError
from discreet.models.known_parts import is_itself
from discreet.schema import FloatArray

_REGRESSORS = ("LinearRegression", "Ridge", "Lasso", "ElasticNet")


@dataclass(frozen=True)
class Scaled:
    """An estimator that sees ``scale * columns + shift``."""

    estimator: Any
    scale: Any
    shift: Any


@dataclass(frozen=True)
class LinearForm:
    """prediction = link(intercept + columns . weights)."""

    weights: FloatArray
    intercept: float
    logistic: bool

    kind: ClassVar[Literal["linear"]] = "linear"

    @property
    def slope(self) -> float:
        """How far an answer moves per unit of the sum, at most."""
        return 0.25 if self.logistic else 1.0

    def scores(self, columns: FloatArray) -> FloatArray:
        """Return the sum before the link."""
        from discreet.models.forms.kernels import linear_scores

        if columns.shape[1] != len(self.weights):  # the kernel would read beyond the weights
            raise ModelError(f"columns must have {len(self.weights)} columns, got {columns.shape[1]}.")
        # One kind of array, whoever owns it and however it lies: the kernel is compiled once.
        by_feature = np.ascontiguousarray(columns.T).view()
        by_feature.setflags(write=False)
        return np.asarray(linear_scores(by_feature, self.weights, self.intercept))

    def shifted(self, scores: FloatArray, shifts: FloatArray) -> FloatArray:
        """Return link(score + shift) for every score (rows) and shift (columns)."""
        from discreet.models.forms.kernels import shifted_identity, shifted_logistic

        out = np.empty((len(shifts), len(scores)))
        (shifted_logistic if self.logistic else shifted_identity)(scores, shifts, out)
        return out.T

    def predict(self, columns: FloatArray) -> FloatArray:
        """Return the predictions of encoded rows."""
        return self.shifted(self.scores(columns), np.zeros(1))[:, 0]


def behind_scaler(estimator: Any) -> Scaled | None:
    """Return an estimator, or what stands behind the ``StandardScaler`` of a pipeline of two steps.

    None for any other pipeline, and for one whose parts were overridden.
    """
    if type(estimator).__name__ != "Pipeline" or not is_itself(estimator):
        return Scaled(estimator, 1.0, 0.0)
    scaler, last = estimator.steps[0][1], estimator.steps[-1][1]
    known = len(estimator.steps) == 2 and type(scaler).__name__ == "StandardScaler"
    if not known or not is_itself(scaler):
        return None
    scale = 1.0 / scaler.scale_ if scaler.with_std else 1.0
    return Scaled(last, scale, -scaler.mean_ * scale if scaler.with_mean else 0.0)


def linear_form(estimator: Any, output: str, class_index: int) -> LinearForm | None:
    """Return the linear form of an estimator, or None if it is not of a known kind."""
    found = behind_scaler(estimator)
    if found is None:
        return None
    estimator, scale, shift = found.estimator, found.scale, found.shift
    name = type(estimator).__name__
    if not is_itself(estimator) or type(getattr(estimator, "coef_", None)) is not np.ndarray:
        return None
    logistic = name == "LogisticRegression" and output in ("probability", "margin")
    if not (logistic or (name in _REGRESSORS and output == "value")):
        return None
    weights = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    if len(weights) != 1:
        return None
    sign = -1.0 if logistic and class_index == 0 else 1.0
    intercept = float(np.ravel(estimator.intercept_)[0]) + float(np.sum(weights[0] * shift))
    folded = np.ascontiguousarray(sign * weights[0] * scale)
    return LinearForm(folded, sign * intercept, output == "probability")
