"""Recognise networks with one hidden layer: the first layer is affine in every column.

That is why they are recognised: with one value changed the layer moves along one row of its
weights, so that nothing else of the network has to be computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.models.forms.linear import LinearForm, behind_scaler
from discreet.models.known_parts import is_itself
from discreet.schema import FloatArray

_ACTIVATIONS = ("tanh", "logistic", "relu", "identity")


@dataclass(frozen=True)
class NetworkForm:
    """prediction = link(outer_bias + activation(bias + columns . weights) . outer)."""

    weights: FloatArray
    bias: FloatArray
    outer: FloatArray
    outer_bias: float
    activation: str
    logistic: bool

    kind: ClassVar[Literal["network"]] = "network"

    @property
    def curve(self) -> int:
        """The activation's number, as kernels know it."""
        return _ACTIVATIONS.index(self.activation)

    @property
    def rate(self) -> float:
        """The factor in the exponential of the activation; zero if it has none."""
        return {"tanh": 2.0, "logistic": 1.0}.get(self.activation, 0.0)

    @classmethod
    def of_linear(cls, form: LinearForm) -> NetworkForm:
        """Return a linear or logistic model as a network of one unit."""
        return cls(
            weights=np.array(form.weights[:, None], order="C"),
            bias=np.array([form.intercept]),
            outer=np.ones(1),
            outer_bias=0.0,
            activation="logistic" if form.logistic else "identity",
            logistic=False,
        )

    def predict(self, columns: FloatArray) -> FloatArray:
        """Return the predictions of encoded rows; last bits may depend on the rows beside them."""
        scores = columns @ self.weights + self.bias
        answer = _activate(scores, self.activation) @ self.outer + self.outer_bias
        return _activate(answer, "logistic") if self.logistic else np.asarray(answer)


def network_form(estimator: Any, output: str, class_index: int = 1) -> NetworkForm | None:
    """Return the form of a fitted scikit-learn network, or None if it is not of a known kind.

    Args:
      estimator: ``MLPClassifier`` of two classes or ``MLPRegressor`` of one target with one hidden
        layer, bare or in a pipeline after ``StandardScaler``.
      output: ``probability`` for the classifier, ``value`` for the regressor.
      class_index: the class whose probability is meant.
    """
    found = behind_scaler(estimator)
    if found is None or not _is_known(found.estimator, output):
        return None
    network = found.estimator
    first, last = (np.asarray(layer, dtype=np.float64) for layer in network.coefs_)
    bias, outer_bias = (np.asarray(layer, dtype=np.float64) for layer in network.intercepts_)
    sign = -1.0 if output == "probability" and class_index == 0 else 1.0
    return NetworkForm(
        weights=np.ascontiguousarray(first * np.broadcast_to(found.scale, len(first))[:, None]),
        bias=bias + np.broadcast_to(found.shift, len(first)) @ first,
        outer=np.ascontiguousarray(sign * last[:, 0]),
        outer_bias=sign * float(outer_bias[0]),
        activation=network.activation,
        logistic=output == "probability",
    )


def _is_known(estimator: Any, output: str) -> bool:
    wanted = {"probability": ("MLPClassifier", "logistic"), "value": ("MLPRegressor", "identity")}
    return (
        is_itself(estimator)
        and (type(estimator).__name__, getattr(estimator, "out_activation_", "")) == wanted.get(output)
        and estimator.n_layers_ == 3
        and estimator.n_outputs_ == 1
        and estimator.activation in _ACTIVATIONS
        and all(type(part) is np.ndarray for part in (*estimator.coefs_, *estimator.intercepts_))
    )


def _activate(scores: FloatArray, activation: str) -> FloatArray:
    with np.errstate(over="ignore"):
        if activation == "tanh":
            return np.tanh(scores)
        if activation == "logistic":
            return np.asarray(1.0 / (1.0 + np.exp(-scores)))
        return np.maximum(scores, 0.0) if activation == "relu" else scores
