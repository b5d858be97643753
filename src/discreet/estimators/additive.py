"""Private additive models as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from discreet.additive.plan import additive_model
from discreet.estimators.kinds import PrivateClassifier, PrivateRegressor
from discreet.schema import FloatArray


@dataclass(repr=False, eq=False)
class PrivateAdditiveClassifier(PrivateClassifier):
    """An additive model of classes that keeps (epsilon, delta)-differential privacy of its rows.

    What it shares with other private classifiers is said of ``PrivateClassifier``; ``released_`` is an
    ``AdditiveModel``, whose shapes, SHAP values and edits cost nothing.

    Args:
      bins: into how many bins a number is divided at most.
      interactions: how many pairs of features may add something together.

    Guarantees:
      - As ``additive_model``. [additive-counts] [additive-corrections] [additive-pairs]

    >>> model = PrivateAdditiveClassifier(delta=1e-6, bounds=(0, 1), classes=[0, 1])
    >>> fitted = model.fit([[0.1], [0.2], [0.8], [0.9]] * 500, [0, 0, 1, 1] * 500)
    >>> fitted.predict([[0.1], [0.9]]).tolist(), fitted.guarantee_.certified
    ([0, 1], True)
    """

    _: KW_ONLY
    bins: int = 32
    interactions: int = 0

    question = additive_model

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins: log-odds of the second of two classes, or one margin for each."""
        return self._answers(X, "decision_function")


@dataclass(repr=False, eq=False)
class PrivateAdditiveRegressor(PrivateRegressor):
    """An additive model of a number that keeps (epsilon, delta)-differential privacy of its rows.

    What it shares with other private regressors is said of ``PrivateRegressor``; ``released_`` is an
    ``AdditiveModel``, whose shapes, SHAP values and edits cost nothing.

    Args:
      bins: into how many bins a number is divided at most.
      interactions: how many pairs of features may add something together.

    Guarantees:
      - As ``additive_model``. [additive-counts] [additive-corrections] [additive-pairs]

    >>> model = PrivateAdditiveRegressor(delta=1e-6, bounds=(0, 1), target_bounds=(0, 1))
    >>> fitted = model.fit([[0.0], [1.0]] * 2500, [0.1, 0.9] * 2500)
    >>> low, high = fitted.predict([[0.0], [1.0]])
    >>> bool(low < 0.4 and high > 0.6), fitted.guarantee_.certified
    (True, True)
    """

    _: KW_ONLY
    bins: int = 32
    interactions: int = 0

    question = additive_model
