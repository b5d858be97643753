"""Which scikit-learn models the compiled solvers stand in for, and the refits themselves.

``LogisticRegression`` with an L2 penalty on two classes, and ``Ridge``. scikit-learn's liblinear
penalises the intercept like any other coefficient, its other solvers leave it free; so do we.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains
from discreet.value.engines.solvers import TOLERANCE, fit_logistic, fit_ridge

MOST_COLUMNS = 256
"""Wider rows are left to scikit-learn: the solvers keep a square matrix of the columns."""

Kind = Literal["logistic", "ridge"]


@dataclass(frozen=True)
class LinearFit:
    """A linear model that is refitted on coalitions.

    Attributes:
      kind: "logistic" or "ridge".
      fixed: the part of the penalty that all coalitions have.
      per_record: the part that grows with the coalition.
      constant: value of the constant column, 0 if there is none.
      free: whether the constant column is not penalised.
      alike: whether a coalition with one class is fitted.
    """

    kind: Kind
    fixed: float
    per_record: float
    constant: float
    free: bool
    alike: bool = False

    def weights(self, rows: FloatArray, targets: FloatArray, chains: Chains) -> FloatArray:
        """Return the weights of every coalition, NaN where there is no fit."""
        solve = fit_logistic if self.kind == "logistic" else fit_ridge
        penalty = np.ones(rows.shape[1])
        if self.constant and self.free:
            penalty[-1] = 0.0
        found = np.empty((chains.evaluations, rows.shape[1]))
        terms = np.array([self.fixed, self.per_record, TOLERANCE, float(self.alike)])
        parts: tuple[IntArray, ...] = (chains.members, chains.starts, chains.sizes, chains.marks)
        solve(rows, targets, *parts, penalty, terms, found)
        return found

    def widen(self, rows: FloatArray) -> FloatArray:
        """Return the rows with the constant column, if there is one."""
        if not self.constant:
            return np.ascontiguousarray(rows)
        return np.column_stack([rows, np.full(len(rows), self.constant)])


def linear_fit(model: Any, l2_penalty: float | None) -> LinearFit | None:
    """Return the compiled twin of a scikit-learn model, or None if it has none.

    With an ``l2_penalty`` the penalty grows with the coalition and the intercept, if there is one, is a
    penalised constant column.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    if type(model) is LogisticRegression:
        return _logistic(model, l2_penalty)
    if type(model) is Ridge:
        return _ridge(model, l2_penalty)
    return None


def with_l2_penalty(model: Any, l2_penalty: float, size: int) -> Any:
    """Return an unfitted copy whose penalty is ``l2_penalty`` in the mean of ``size`` losses."""
    from sklearn.base import clone

    name = "C" if hasattr(model, "C") else "alpha"
    value = 1 / (2 * l2_penalty * size) if name == "C" else l2_penalty * size
    return clone(model).set_params(**{name: value, "fit_intercept": False})


def _logistic(model: Any, l2_penalty: float | None) -> LinearFit | None:
    plain = (
        getattr(model, "penalty", "l2") in ("l2", "deprecated")
        and not model.l1_ratio
        and model.class_weight is None
        and not model.dual
        and not model.warm_start
        and np.isfinite(model.C)
        and model.C > 0
    )
    if not plain:
        return None
    if l2_penalty is not None:
        return LinearFit("logistic", 0.0, 2 * l2_penalty, float(model.fit_intercept), False, alike=True)
    if model.solver == "liblinear":
        constant = float(model.intercept_scaling) if model.fit_intercept else 0.0
        return LinearFit("logistic", 1 / model.C, 0.0, constant, free=False)
    return LinearFit("logistic", 1 / model.C, 0.0, float(model.fit_intercept), free=True)


def _ridge(model: Any, l2_penalty: float | None) -> LinearFit | None:
    alpha = model.alpha if isinstance(model.alpha, int | float) else 0.0
    if model.positive or not alpha > 0:
        return None
    if l2_penalty is not None:
        return LinearFit("ridge", 0.0, l2_penalty, float(model.fit_intercept), free=False)
    return LinearFit("ridge", float(alpha), 0.0, float(model.fit_intercept), free=True)
