"""Utilities: the score, on public test rows, of a model fitted on a coalition of training rows.

Everything a utility fixes is public: the model's settings, the test rows, the range of the score, what
a coalition of nobody has, and one on which no model can be fitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.data.state import quietly
from discreet.errors import ArgumentError, ModelError
from discreet.numerics import check_finite, check_positive
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains
from discreet.value.engines.linear_fits import (
    MOST_COLUMNS,
    LinearFit,
    Stability,
    greatest_weights,
    least_squares_slope,
    linear_fit,
    stable_fits,
    with_l2_penalty,
)
from discreet.value.engines.scores import Score, named_score
from discreet.value.engines.solvers import ROUNDING, TOLERANCE

_SLICE_CELLS = 2**20
"""Scores are taken for fewer fits at a time where there are many test rows: 8 MB."""


class Utility:
    """The utility of coalitions of training rows; holds no training row.

    Args:
      model: an unfitted scikit-learn estimator.
      test_x: public test rows.
      test_y: their labels or values.
      score: a name (see ``named_score``) or a ``Score``.
      empty: the utility of nobody; None takes the score of a guess that knows no record.
      failed: the utility of a coalition with one class only, a fit that fails or a score that is NaN;
        None takes ``empty``.
      l2_penalty: lambda of (1/k) sum of losses + lambda |w|^2: the penalty of ``LogisticRegression`` or
        ``Ridge`` is set by the size k of the coalition, and an intercept becomes a penalised constant
        column. Then coalitions with one class are fitted too.
      row_clip: greatest norm of a row; longer rows are shortened.
      target_clip: greatest absolute value of a training target; others are clipped.
      classes: all labels there can be; None takes those of ``test_y``.
    """

    def __init__(
        self,
        model: Any,
        test_x: Any,
        test_y: Any,
        *,
        score: str | Score = "accuracy",
        empty: float | None = None,
        failed: float | None = None,
        l2_penalty: float | None = None,
        row_clip: float | None = None,
        target_clip: float | None = None,
        classes: Any = None,
    ) -> None:
        self.score = named_score(score) if isinstance(score, str) else score
        for name, value in (
            ("l2_penalty", l2_penalty),
            ("row_clip", row_clip),
            ("target_clip", target_clip),
        ):
            if value is not None:
                check_positive(name, value)
        self.model, self.l2_penalty, self.row_clip, self.target_clip = (
            model,
            l2_penalty,
            row_clip,
            target_clip,
        )
        self._check_model()
        self.test_x, self.test_y = self._clipped(_matrix("test_x", test_x)), _vector("test_y", test_y)
        if not len(self.test_x) or len(self.test_x) != len(self.test_y):
            raise ArgumentError(
                f"test_y must have a label for each of {len(self.test_x)} test rows (at least one), "
                f"got {len(self.test_y)}."
            )
        self.classes = np.unique(self.test_y if classes is None else np.asarray(classes))
        self._is_classifier = self.score.needs in ("label", "probability")
        self.empty = self._within_range("empty", self._guess() if empty is None else empty)
        self.failed = self._within_range("failed", self.empty if failed is None else failed)
        # A score that is not ours is called for one fit at a time, in silence, as a model is.
        self.fast = self._compiled() if isinstance(score, str) else None

    @property
    def low(self) -> float:
        """The least value."""
        return self.score.low

    @property
    def high(self) -> float:
        """The greatest value."""
        return self.score.high

    @property
    def width(self) -> float:
        """How far two values can be apart."""
        return self.score.width

    def certificate(self) -> Stability | None:
        """Return how far one record moves a value, or None if nothing is known beyond the range.

        Guarantees:
          - The bounds of penalised linear fits, with this utility's constants and the tolerance of the
            solver. [stability-replace]
        """
        fast, l2_penalty, clip = self.fast, self.l2_penalty, self.row_clip
        if fast is None or l2_penalty is None or clip is None:
            return None
        row_length, columns = float(np.hypot(clip, fast.constant)), self.test_x.shape[1] + 1
        slopes = self._slopes(fast, l2_penalty, row_length)
        if slopes is None:
            return None
        return stable_fits(
            l2_penalty=l2_penalty,
            lipschitz=slopes[0],
            row_clip=row_length,
            score_lipschitz=slopes[1],
            width=self.width,
            # A gradient that rounding hides is at most this share of the sum of the rows.
            tolerance=TOLERANCE + ROUNDING * row_length * float(np.sqrt(columns)) / (2 * l2_penalty),
        )

    def on(self, x: Any, y: Any) -> UtilityGame:
        """Return the game whose players are these training rows."""
        return UtilityGame(self, self._clipped(_matrix("x", x)), _vector("y", y))

    def _slopes(
        self, fast: LinearFit, l2_penalty: float, row_length: float
    ) -> tuple[float, float] | None:
        """Return the slopes of the loss and of the score, if they are bounded."""
        if fast.kind == "logistic":
            return None if self.score.lipschitz is None else (1.0, self.score.lipschitz)
        if self.score.name != "r2" or self.target_clip is None:
            return None
        farthest = (
            row_length * greatest_weights(l2_penalty, self.target_clip) + np.abs(self.test_y).max()
        )
        spread = float(np.mean((self.test_y - self.test_y.mean()) ** 2))
        if spread == 0:
            return None
        return least_squares_slope(l2_penalty, row_length, self.target_clip), float(
            2 * farthest / spread
        )

    def _compiled(self) -> LinearFit | None:
        fast = linear_fit(self.model, self.l2_penalty)
        if fast is None or self.test_x.shape[1] >= MOST_COLUMNS or self.score.needs == "estimator":
            return None
        suits = len(self.classes) == 2 if fast.kind == "logistic" else True
        wanted = self._is_classifier if fast.kind == "logistic" else self.score.needs == "value"
        return fast if suits and wanted else None

    def _check_model(self) -> None:
        if not hasattr(self.model, "fit") or not hasattr(self.model, "get_params"):
            raise ModelError(
                f"model must be an unfitted scikit-learn estimator, got {type(self.model).__name__}."
            )
        if self.l2_penalty is not None and linear_fit(self.model, self.l2_penalty) is None:
            raise ArgumentError(
                "l2_penalty must be None unless model is LogisticRegression with an L2 penalty or "
                f"Ridge, got {self.l2_penalty!r} for {type(self.model).__name__}."
            )

    def _guess(self) -> float:
        if self.score.guess is None:
            raise ArgumentError(
                f"empty must be given for the score {self.score.name!r}, got None. "
                "Say what utility a coalition of nobody has."
            )
        return self.score.guess(self.test_y, max(2, len(self.classes)))

    def _within_range(self, name: str, value: float) -> float:
        check_finite(name, value)
        if not self.low <= value <= self.high:
            raise ArgumentError(
                f"{name} must be within the score's range [{self.low:g}, {self.high:g}], got {value!r}."
            )
        return float(value)

    def _clipped(self, rows: FloatArray) -> FloatArray:
        if self.row_clip is None:
            return rows
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows * np.minimum(1.0, self.row_clip / np.maximum(lengths, 1e-300)))


class UtilityGame:
    """A utility with training rows: the players are the rows."""

    def __init__(self, utility: Utility, x: FloatArray, y: Any) -> None:
        if not len(x) or len(x) != len(y) or x.shape[1] != utility.test_x.shape[1]:
            raise ArgumentError(
                f"x must have {utility.test_x.shape[1]} columns and a row for each of {len(y)} labels "
                f"(at least one), got shape {x.shape}."
            )
        self.utility, self.players, self.compiled = utility, len(x), utility.fast is not None
        if utility.target_clip is not None:
            y = np.clip(y.astype(np.float64), -utility.target_clip, utility.target_clip)
        self._x, self._y = x, y
        fast = utility.fast
        if fast is not None:
            self._rows, self._test = fast.widen(x), fast.widen(utility.test_x)
            self._targets = self._signs(y) if fast.kind == "logistic" else y.astype(np.float64)
        elif utility.l2_penalty is not None and getattr(utility.model, "fit_intercept", False):
            self._x = np.column_stack([x, np.ones(len(x))])

    def evaluate(self, chains: Chains) -> FloatArray:
        """Return the value of every coalition."""
        fast = self.utility.fast
        values = self._by_estimator(chains) if fast is None else self._by_solver(fast, chains)
        values = np.where(np.isnan(values), self.utility.failed, values)
        values[chains.sizes == 0] = self.utility.empty
        return np.clip(values, self.utility.low, self.utility.high)

    def _by_solver(self, fast: LinearFit, chains: Chains) -> FloatArray:
        weights = fast.weights(self._rows, self._targets, chains)
        step = max(1, _SLICE_CELLS // len(self._test))
        pieces = [
            self._score_margins(fast, weights[first : first + step] @ self._test.T)
            for first in range(0, len(weights), step)
        ]
        values = np.concatenate(pieces) if pieces else np.empty(0)
        values[np.isnan(weights[:, 0])] = np.nan
        return values

    def _score_margins(self, fast: LinearFit, margins: FloatArray) -> FloatArray:
        utility, said = self.utility, margins
        if utility.score.needs == "label":
            said = utility.classes.take((margins > 0).view(np.int8))
        elif utility.score.needs == "probability":
            from scipy.special import expit

            said = expit(margins * self._signs(utility.test_y))
        return np.asarray(utility.score.function(utility.test_y, said), dtype=np.float64)

    def _by_estimator(self, chains: Chains) -> FloatArray:
        values = np.full(chains.evaluations, np.nan)
        with quietly():
            for chain in range(len(chains)):
                order, first = chains.order(chain), chains.marks[chain]
                for place, size in enumerate(chains.sizes_of(chain)):
                    values[first + place] = self._fit_and_score(order[:size])
        return values

    def _fit_and_score(self, members: IntArray) -> float:
        """Return the score of one coalition, NaN if there is none."""
        from sklearn.base import clone

        utility, x, y = self.utility, self._x[members], self._y[members]
        if not len(y) or (utility._is_classifier and (y == y[0]).all()):
            return float("nan")
        try:
            if utility.l2_penalty is None:
                fitted = clone(utility.model).fit(x, y)
            else:
                fitted = with_l2_penalty(utility.model, utility.l2_penalty, len(y)).fit(x, y)
            return float(self._score_estimator(fitted))
        except KeyboardInterrupt:
            raise
        except BaseException:  # even an exit: the coalition has the public utility
            return float("nan")

    def _score_estimator(self, fitted: Any) -> Any:
        utility, test = self.utility, self.utility.test_x
        score, truth = utility.score, utility.test_y
        if self._x.shape[1] > test.shape[1]:
            test = np.column_stack([test, np.ones(len(test))])
        if score.needs == "estimator":
            return score.function(fitted, test, truth)
        if score.needs == "probability":
            said = np.zeros((len(test), len(utility.classes) + 1))  # the last column: never seen
            said[:, np.searchsorted(utility.classes, fitted.classes_)] = fitted.predict_proba(test)
            said = said[np.arange(len(test)), np.searchsorted(utility.classes, truth)]
        else:
            said = fitted.predict(test)
        return score.function(truth, said[None, :])[0]

    def _signs(self, labels: Any) -> FloatArray:
        unknown = ~np.isin(labels, self.utility.classes)
        if unknown.any():
            raise ArgumentError("y must have labels among classes. Pass classes with all there can be.")
        return np.where(labels == self.utility.classes[1], 1.0, -1.0)


def _matrix(name: str, rows: Any) -> FloatArray:
    found = np.asarray(rows, dtype=np.float64)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ArgumentError(f"{name} must be a table of finite numbers, got shape {found.shape}.")
    return np.ascontiguousarray(found)


def _vector(name: str, labels: Any) -> Any:
    found = np.asarray(labels)
    if found.ndim != 1:
        raise ArgumentError(f"{name} must be one-dimensional, got shape {found.shape}.")
    return found
