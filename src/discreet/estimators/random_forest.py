"""A private random forest as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from discreet.estimators.base import PrivateClassifier
from discreet.plans import Plan
from discreet.schema import Schema
from discreet.session import Session
from discreet.trees.forest import random_forest


class PrivateRandomForestClassifier(PrivateClassifier):
    """A random forest that keeps (epsilon, delta)-differential privacy of its training rows.

    Args:
      epsilon: the whole budget of one fit.
      delta: zero for a pure guarantee.
      n_estimators: the number of trees; from the number of rows and epsilon if left out.
      max_depth: levels of splits; from public facts if left out.
      method: ``auto``, ``chosen`` or ``random``; see ``random_forest``.
      rows: ``auto``, ``disjoint`` or ``whole``; see ``random_forest``.
      criterion: ``norm``, ``max``, ``gini`` or ``gain``.
      mechanism: what chooses the splits; ``auto`` takes the least expected error.
      candidate_splits: how many per node.
      schema: the public facts about features and target.
      bounds: without a schema: ``(low, high)`` for all numbers, or one pair per feature. ``"data"``
        reads everything from the data, for simulations with a ``random_state``: nothing is private.
      classes: without a schema: the classes.
      categories: without a schema: the values of features that are no numbers, by name or place.
      relation: ``replace-one`` or ``add-remove``; a session has its own.
      session: charge every fit to this session's data set.
      random_state: draw noise from a seed: for tests and studies, nothing is private.

    Every fit is charged: a grid search over this estimator pays epsilon for each of its fits.

    Attributes:
      guarantee_: the promise of the last fit.
      release_: the release it came with.
      released_: the released forest itself, a ``RandomForest``.
      classes_: the classes.
      feature_importances_: finite shares, from released counts.

    Guarantees:
      - As ``random_forest``. [forest-disjoint] [forest-composed]

    >>> model = PrivateRandomForestClassifier(bounds=(0, 1), classes=[0, 1], n_estimators=2)
    >>> fitted = model.fit([[0.1], [0.2], [0.8], [0.9]] * 2500, [0, 0, 1, 1] * 2500)
    >>> fitted.predict([[0.0], [1.0]]).tolist(), fitted.guarantee_.certified
    ([0, 1], True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        method: str = "auto",
        rows: str = "auto",
        criterion: str = "norm",
        mechanism: str = "auto",
        candidate_splits: int = 64,
        schema: Schema | None = None,
        bounds: Any = None,
        classes: Any = None,
        categories: Any = None,
        relation: str = "replace-one",
        session: Session | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.method = method
        self.rows = rows
        self.criterion = criterion
        self.mechanism = mechanism
        self.candidate_splits = candidate_splits
        self.schema = schema
        self.bounds = bounds
        self.classes = classes
        self.categories = categories
        self.relation = relation
        self.session = session
        self.random_state = random_state

    def _plan(self, target: str, features: tuple[str, ...]) -> Plan:
        return random_forest(
            target,
            features=features,
            trees=self.n_estimators,
            depth=self.max_depth,
            method=self.method,  # type: ignore[arg-type]
            rows=self.rows,  # type: ignore[arg-type]
            criterion=self.criterion,  # type: ignore[arg-type]
            mechanism=self.mechanism,  # type: ignore[arg-type]
            candidate_splits=self.candidate_splits,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the importances; returns a display with ``ax_`` and ``figure_``."""
        return self.released_.plot(ax, title=title or str(self.guarantee_))
