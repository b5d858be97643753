"""The two kinds of private estimators: those that predict a class, and those that predict a number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from discreet.errors import ArgumentError
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.frames import number_from_data
from discreet.models import Model
from discreet.schema import Category, Column, FloatArray, Number


@dataclass(repr=False, eq=False)
class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier that learns by one private release per fit; see ``PrivateEstimator``.

    Args:
      classes: without a schema: the classes.

    Attributes:
      classes_: the classes.
    """

    _: KW_ONLY
    classes: Any = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class, in the order of ``classes_``."""
        return self._answers(X, "predict_proba")

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def to_model(self, class_: Any = None) -> Model:
        """Return the probability of a class as a ``dc.Model``, to be explained privately."""
        check_is_fitted(self)
        model: Model = self.released_.to_model(class_)
        return model

    def _take(self, released: Any) -> None:
        self.classes_ = released.classes_

    def _check_targets(self, labels: NDArray[Any]) -> None:
        check_classification_targets(labels)

    def _given_target(self) -> Column:
        if self.bounds is None or self.classes is None:
            raise ArgumentError(
                "schema must be given, or bounds and classes, got neither. They must be public: "
                "nothing is read from the data."
            )
        return Category(*self.classes)

    def _target_from_data(self, labels: NDArray[Any]) -> Column:
        return Category(*np.unique(labels).tolist())


@dataclass(repr=False, eq=False)
class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A regressor that learns by one private release per fit; see ``PrivateEstimator``.

    Args:
      target_bounds: without a schema: ``(low, high)`` of the target; values beyond are clipped.
    """

    _: KW_ONLY
    target_bounds: Any = None

    def predict(self, X: Any) -> FloatArray:
        """Return a number inside the bounds of the target for every row."""
        return self._answers(X, "predict")

    def to_model(self) -> Model:
        """Return the prediction as a ``dc.Model``, to be explained privately."""
        check_is_fitted(self)
        model: Model = self.released_.to_model()
        return model

    def _check_targets(self, labels: NDArray[Any]) -> None:
        if labels.dtype.kind in "fiub" and not np.isfinite(labels.astype(np.float64)).all():
            raise ArgumentError(
                "y must be finite with bounds='data', got infinity or NaN. Leave such rows out."
            )

    def _given_target(self) -> Column:
        if self.bounds is None or self.target_bounds is None:
            raise ArgumentError(
                "schema must be given, or bounds and target_bounds, got neither. They must be public: "
                "nothing is read from the data."
            )
        try:
            low, high = self.target_bounds
            return Number(float(low), float(high))
        except (TypeError, ValueError):
            raise ArgumentError(
                f"target_bounds must be a pair of numbers, got {self.target_bounds!r}. Give the least "
                "and the greatest value that the target can have."
            ) from None

    def _target_from_data(self, labels: NDArray[Any]) -> Column:
        return number_from_data(labels)
