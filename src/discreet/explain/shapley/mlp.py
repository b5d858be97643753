"""Recognise networks with one hidden layer, so that attributions need no model calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.schema import FloatArray

_ACTIVATIONS = ("tanh", "logistic", "relu", "identity")


@dataclass(frozen=True)
class MlpForm:
    """prediction = link(outer_bias + activation(bias + columns . weights) . outer)."""

    weights: FloatArray
    bias: FloatArray
    outer: FloatArray
    outer_bias: float
    activation: str
    logistic: bool

    def predict(self, columns: FloatArray) -> FloatArray:
        """Return the predictions of encoded rows."""
        scores = columns @ self.weights + self.bias
        answer = _activate(scores, self.activation) @ self.outer + self.outer_bias
        return _activate(answer, "logistic") if self.logistic else np.asarray(answer)


def mlp_form(estimator: Any, output: str, class_index: int = 1) -> MlpForm | None:
    """Return the form of a fitted scikit-learn network, or None if it is not of a known kind.

    Args:
      estimator: ``MLPClassifier`` of two classes or ``MLPRegressor`` of one target with one hidden
        layer, bare or in a pipeline after ``StandardScaler``.
      output: ``probability`` for the classifier, ``value`` for the regressor.
      class_index: the class whose probability is meant.
    """
    scale, shift = 1.0, 0.0
    if type(estimator).__name__ == "Pipeline" and _is_sklearn(estimator):
        if [type(step).__name__ for _, step in estimator.steps[:-1]] != ["StandardScaler"]:
            return None
        scaler, estimator = estimator.steps[0][1], estimator.steps[-1][1]
        scale = 1.0 / scaler.scale_ if scaler.scale_ is not None else 1.0
        shift = -scaler.mean_ * scale if scaler.mean_ is not None else 0.0
    if not _is_known(estimator, output):
        return None
    first, last = (np.asarray(layer, dtype=np.float64) for layer in estimator.coefs_)
    bias, outer_bias = (np.asarray(layer, dtype=np.float64) for layer in estimator.intercepts_)
    sign = -1.0 if output == "probability" and class_index == 0 else 1.0
    return MlpForm(
        weights=np.ascontiguousarray(first * np.broadcast_to(scale, len(first))[:, None]),
        bias=bias + np.broadcast_to(shift, len(first)) @ first,
        outer=np.ascontiguousarray(sign * last[:, 0]),
        outer_bias=sign * float(outer_bias[0]),
        activation=estimator.activation,
        logistic=output == "probability",
    )


def _is_known(estimator: Any, output: str) -> bool:
    wanted = {"probability": ("MLPClassifier", "logistic"), "value": ("MLPRegressor", "identity")}
    return (
        _is_sklearn(estimator)
        and (type(estimator).__name__, getattr(estimator, "out_activation_", "")) == wanted.get(output)
        and estimator.n_layers_ == 3
        and estimator.n_outputs_ == 1
        and estimator.activation in _ACTIVATIONS
    )


def _is_sklearn(estimator: Any) -> bool:
    return type(estimator).__module__.split(".")[0] == "sklearn"


def _activate(scores: FloatArray, activation: str) -> FloatArray:
    with np.errstate(over="ignore"):
        if activation == "tanh":
            return np.tanh(scores)
        if activation == "logistic":
            return np.asarray(1.0 / (1.0 + np.exp(-scores)))
        return np.maximum(scores, 0.0) if activation == "relu" else scores
