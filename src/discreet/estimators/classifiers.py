"""Private trees and forests as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from discreet.estimators.kinds import PrivateClassifier
from discreet.trees.forest import random_forest
from discreet.trees.plan import decision_tree


@dataclass(repr=False, eq=False)
class PrivateDecisionTreeClassifier(PrivateClassifier):
    """A decision tree that keeps (epsilon, delta)-differential privacy of its training rows.

    What it shares with other private classifiers is said of ``PrivateClassifier``; ``released_`` is
    a ``DecisionTree``.

    Args:
      max_depth: levels of splits; from the number of rows and epsilon if left out.
      criterion: ``norm``, ``max``, ``gini`` or ``gain``; see ``decision_tree``.
      cuts: ``schema`` or ``private``.
      mechanism: what chooses the splits; ``auto`` takes the least expected error.

    Guarantees:
      - As ``decision_tree``. [tree-splits] [tree-leaves]

    >>> model = PrivateDecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], max_depth=1)
    >>> fitted = model.fit([[0.1], [0.2], [0.8], [0.9]] * 500, [0, 0, 1, 1] * 500)
    >>> fitted.predict([[0.0], [1.0]]).tolist(), fitted.guarantee_.certified
    ([0, 1], True)
    """

    _: KW_ONLY
    max_depth: int | None = None
    criterion: str = "norm"
    cuts: str = "schema"
    mechanism: str = "auto"

    question = decision_tree


@dataclass(repr=False, eq=False)
class PrivateRandomForestClassifier(PrivateClassifier):
    """A random forest that keeps (epsilon, delta)-differential privacy of its training rows.

    What it shares with other private classifiers is said of ``PrivateClassifier``; ``released_`` is
    a ``RandomForest``.

    Args:
      n_estimators: the number of trees; from the number of rows and epsilon if left out.
      max_depth: levels of splits; from public facts if left out.
      method: ``auto``, ``chosen`` or ``random``; see ``random_forest``.
      rows: ``auto``, ``disjoint`` or ``whole``; see ``random_forest``.
      criterion: ``norm``, ``max``, ``gini`` or ``gain``.
      mechanism: what chooses the splits; ``auto`` takes the least expected error.
      candidate_splits: how many per node; all, or 64 for more than eight trees, if left out.

    Guarantees:
      - As ``random_forest``. [forest-disjoint] [forest-composed]

    >>> forest = {"n_estimators": 2, "max_depth": 1}
    >>> model = PrivateRandomForestClassifier(bounds=(0, 1), classes=[0, 1], **forest)
    >>> fitted = model.fit([[0.1], [0.2], [0.8], [0.9]] * 2500, [0, 0, 1, 1] * 2500)
    >>> fitted.predict([[0.15], [0.85]]).tolist(), fitted.guarantee_.certified
    ([0, 1], True)
    """

    _: KW_ONLY
    n_estimators: int | None = None
    max_depth: int | None = None
    method: str = "auto"
    rows: str = "auto"
    criterion: str = "norm"
    mechanism: str = "auto"
    candidate_splits: int | None = None

    question = random_forest
