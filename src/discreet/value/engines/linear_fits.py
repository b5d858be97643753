"""Which scikit-learn models the compiled solvers stand in for, and the refits themselves.

``LogisticRegression`` with an L2 penalty on two classes, and ``Ridge``. scikit-learn's liblinear
penalises the intercept like any other coefficient, its other solvers leave it free; so do we.

Penalised fits are stable: their scores move by a bounded amount with one record. A coalition of k
records is fitted by minimising (1/k) sum l(x.w; y) + lambda |w|^2, where l is convex in x.w with
slope at most L, and rows have norm at most kappa. With scikit-learn's C or alpha held fixed lambda
falls like 1/k and nothing decays with the size of the coalition; so C is 1 / (2 lambda k), alpha is
lambda k. An intercept that is not penalised has no such bound: it becomes a constant column.

Reference: Bousquet, Elisseeff (2002), "Stability and Generalization", whose removal keeps the factor
1/m; ours rescales it, which doubles the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, up
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


Bound = Callable[[Any], FloatArray]


@dataclass(frozen=True)
class Stability:
    """Bounds on what one record does to a utility, by the size k of the coalition.

    Attributes:
      removal: bounds abs(v(C + i) - v(C)) for C of k records.
      replacement: bounds abs(v(C) - v(C')) for C of k records, one of which is another in C'.
      claimed: whether they are a caller's claim instead of a proof.
    """

    removal: Bound
    replacement: Bound
    claimed: bool = False


def stable_fits(
    *,
    l2_penalty: float,
    lipschitz: float,
    row_clip: float,
    score_lipschitz: float,
    width: float,
    tolerance: float = 0.0,
) -> Stability:
    """Return the stability of a mean score of a penalised linear model.

    Args:
      l2_penalty: lambda, in the mean of losses.
      lipschitz: L, greatest slope of the loss in x.w.
      row_clip: kappa, greatest norm of a row, constant column included.
      score_lipschitz: greatest slope of the score of one test row in x.w.
      width: of the range of scores; no bound exceeds it.
      tolerance: how far fitted weights may be from the minimum.

    Guarantees:
      - Replacing one of k records moves the weights by at most G / (lambda k), adding one by at most
        G / (lambda (k + 1)), G = L kappa, and a score by its slope times kappa times that.
        [stability-replace]
    """
    for name, value in (("l2_penalty", l2_penalty), ("row_clip", row_clip), ("width", width)):
        check_positive(name, value)
    per_distance, moved = score_lipschitz * row_clip, lipschitz * row_clip / l2_penalty

    def capped(distance: FloatArray) -> FloatArray:
        # Both fits are within the tolerance of their minima.
        return np.minimum(width, up(1.0) * per_distance * (distance + 2 * tolerance))

    def removal(size: Any) -> FloatArray:
        k = np.asarray(size, dtype=np.float64)
        # The value of nobody is a number of its own, not a fit.
        return np.where(k > 0, capped(moved / (k + 1)), width)

    def replacement(size: Any) -> FloatArray:
        k = np.asarray(size, dtype=np.float64)
        return np.where(k > 0, capped(moved / np.maximum(k, 1.0)), 0.0)

    return Stability(removal, replacement)


def least_squares_slope(l2_penalty: float, row_clip: float, target_clip: float) -> float:
    """Return the greatest slope of the squared error where the fit can be.

    The minimum is no worse than w = 0, so |w|^2 <= B^2 / lambda for targets within [-B, B].
    """
    return 2 * (target_clip + row_clip * greatest_weights(l2_penalty, target_clip))


def greatest_weights(l2_penalty: float, target_clip: float) -> float:
    """Return a bound on the norm of least-squares weights."""
    return target_clip / float(np.sqrt(l2_penalty))


def claimed_stability(removal: Bound, replacement: Bound) -> Stability:
    """Return a stability that the caller vouches for: nothing here can check it."""
    for name, bound in (("removal", removal), ("replacement", replacement)):
        said = np.asarray(bound(np.arange(1.0, 5.0)), dtype=np.float64)
        if said.shape != (4,) or not (np.isfinite(said) & (said >= 0)).all():
            raise ArgumentError(
                f"{name} must return a finite bound of at least 0 for every size, got {said!r}."
            )
    return Stability(removal, replacement, claimed=True)
