"""Read scikit-learn's trees, forests and boosted trees into flat arrays.

Trees, forests and gradient boosting round a row to float32 before comparing; histogram gradient
boosting compares float64. Categorical splits are not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.models.forms.trees import Link, RawTree, TreeEnsemble, join_trees
from discreet.models.known_parts import is_itself
from discreet.models.readers.thresholds import lift_single
from discreet.schema import FloatArray

_AVERAGED = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
)
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def read_sklearn(estimator: Any, output: str, class_index: int) -> TreeEnsemble | None:
    """Return the ensemble behind a fitted estimator's output, or None if it has no such form."""
    readers: dict[str, Callable[[Any, str, int], TreeEnsemble | None]] = {
        **dict.fromkeys(_AVERAGED, _read_averaged),
        **dict.fromkeys(_BOOSTED, _read_boosted),
        **dict.fromkeys(_HISTOGRAM, _read_histogram),
    }
    reader = readers.get(type(estimator).__name__)
    if reader is None or not hasattr(estimator, "n_features_in_") or not is_itself(estimator):
        return None
    return reader(estimator, output, class_index)


def boosted_output(
    classes: int | None, output: str, class_index: int
) -> tuple[Link, int, float] | None:
    """Return link, column of trees and sign for an output of boosted trees, None if not additive.

    Two classes share one column of trees, whose margin speaks for the second class.
    """
    if classes is None:
        return ("identity", 0, 1.0) if output == "value" else None
    if output not in ("margin", "probability"):
        return None
    link: Link = "logistic" if output == "probability" else "identity"
    if classes == 2:
        return link, 0, 1.0 if class_index == 1 else -1.0
    return ("identity", class_index, 1.0) if output == "margin" else None


def _read_averaged(estimator: Any, output: str, class_index: int) -> TreeEnsemble | None:
    classifier = hasattr(estimator, "classes_")
    if estimator.n_outputs_ != 1 or output != ("probability" if classifier else "value"):
        return None
    members = getattr(estimator, "estimators_", [estimator])
    column = class_index if classifier else 0
    trees = [_single_tree(m.tree_, m.tree_.value[:, 0, column] / len(members)) for m in members]
    return join_trees(trees, base=0.0, link="identity", width=estimator.n_features_in_)


def _read_boosted(estimator: Any, output: str, class_index: int) -> TreeEnsemble | None:
    kind = boosted_output(_classes(estimator), output, class_index)
    constant = type(estimator.init_).__name__ in ("DummyClassifier", "DummyRegressor", "str")
    if kind is None or not constant:
        return None
    link, column, sign = kind
    # Exponential loss reads its score as half the log-odds.
    doubled = estimator.loss == "exponential" and link == "logistic"
    factor = 2.0 * sign if doubled else sign
    nowhere = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    base = factor * estimator._raw_predict_init(nowhere)[0, column]
    trees = [
        _single_tree(
            m.tree_, factor * (estimator.learning_rate * m.tree_.value[:, 0, 0]), missing=False
        )
        for m in estimator.estimators_[:, column]
    ]
    return join_trees(trees, base=base, link=link, width=estimator.n_features_in_)


def _read_histogram(estimator: Any, output: str, class_index: int) -> TreeEnsemble | None:
    kind = boosted_output(_classes(estimator), output, class_index)
    plain = output != "value" or type(estimator._loss.link).__name__ == "IdentityLink"
    if kind is None or estimator._preprocessor is not None or not plain:
        return None
    link, column, sign = kind
    trees = []
    for iteration in estimator._predictors:
        nodes = iteration[column].nodes
        if nodes["is_categorical"].any():
            return None
        leaf = nodes["is_leaf"].astype(bool)
        trees.append(
            RawTree(
                feature=nodes["feature_idx"].astype(np.int64),
                threshold=nodes["num_threshold"].astype(np.float64),
                missing_left=nodes["missing_go_to_left"].astype(bool),
                left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
                right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
                value=sign * nodes["value"],
            )
        )
    base = sign * np.ravel(estimator._baseline_prediction)[column]
    return join_trees(trees, base=base, link=link, width=estimator.n_features_in_)


def _single_tree(tree: Any, value: FloatArray, missing: bool = True) -> RawTree:
    """Return a tree that compares float32; gradient boosting sends NaN right whatever was learnt."""
    learnt = np.asarray(tree.missing_go_to_left, dtype=bool)
    return RawTree(
        feature=np.asarray(tree.feature, dtype=np.int64),
        threshold=lift_single(np.asarray(tree.threshold, dtype=np.float64)),
        missing_left=learnt if missing else np.zeros_like(learnt),
        left=np.asarray(tree.children_left, dtype=np.int64),
        right=np.asarray(tree.children_right, dtype=np.int64),
        value=value,
    )


def _classes(estimator: Any) -> int | None:
    return len(estimator.classes_) if hasattr(estimator, "classes_") else None
