"""Read scikit-learn's trees, forests and boosted trees into flat arrays.

Trees, forests and gradient boosting round a row to float32 before comparing; histogram gradient
boosting compares float64, and puts columns of categories first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.models.forms.category_splits import CategorySet, ListedCategories, RawEnsemble, SetTree
from discreet.models.forms.trees import IntArray, Link, RawTree
from discreet.models.known_parts import is_itself
from discreet.models.readers.thresholds import lift_single
from discreet.models.soundness import is_sound
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


def read_sklearn(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    """Return the trees behind a fitted estimator's output, or None if it has no such form."""
    readers: dict[str, Callable[[Any, str, int], RawEnsemble | None]] = {
        **dict.fromkeys(_AVERAGED, _read_averaged),
        **dict.fromkeys(_BOOSTED, _read_boosted),
        **dict.fromkeys(_HISTOGRAM, _read_histogram),
    }
    reader = readers.get(type(estimator).__name__)
    if reader is None or not hasattr(estimator, "n_features_in_") or not is_itself(estimator):
        return None
    members = np.ravel(getattr(estimator, "estimators_", []))
    if not all(map(is_sound, (estimator, *members))):
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


def _read_averaged(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    classifier = hasattr(estimator, "classes_")
    if estimator.n_outputs_ != 1 or output != ("probability" if classifier else "value"):
        return None
    members = getattr(estimator, "estimators_", [estimator])
    if not all(map(is_itself, members)):
        return None
    column = class_index if classifier else 0
    trees = [_single_tree(m.tree_, m.tree_.value[:, 0, column] / len(members)) for m in members]
    return RawEnsemble(trees, base=0.0, link="identity", width=estimator.n_features_in_)


def _read_boosted(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
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
    return RawEnsemble(trees, base=base, link=link, width=estimator.n_features_in_)


def _read_histogram(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    kind = boosted_output(_classes(estimator), output, class_index)
    made = {"value": "IdentityLink", "probability": "LogitLink"}.get(output)
    if kind is None or made not in (None, type(estimator._loss.link).__name__):
        return None
    link, column, sign = kind
    order, categories = histogram_columns(estimator)
    return RawEnsemble(
        [_histogram_tree(iteration[column], sign, order) for iteration in estimator._predictors],
        base=sign * np.ravel(estimator._baseline_prediction)[column],
        link=link,
        width=estimator.n_features_in_,
        code=ListedCategories(categories),
    )


def histogram_columns(estimator: Any) -> tuple[IntArray, dict[int, list[Any]]]:
    """Return the columns in the order of the trees, and the values behind codes of categories."""
    if estimator._preprocessor is None:
        return np.arange(estimator.n_features_in_), {}
    coded = np.asarray(estimator.is_categorical_, dtype=bool)
    places = np.flatnonzero(coded)
    known = estimator._preprocessor.named_transformers_["encoder"].categories_
    return np.concatenate([places, np.flatnonzero(~coded)]), {
        int(place): [value for value in values.tolist() if value == value]  # NaN comes last
        for place, values in zip(places, known, strict=True)
    }


def _histogram_tree(predictor: Any, sign: float, order: IntArray) -> SetTree:
    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    leaf = nodes["is_leaf"].astype(bool)
    return SetTree(
        sets={
            int(node): _in_bits(bits[nodes["bitset_idx"][node]])
            for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
        },
        feature=order[nodes["feature_idx"].astype(np.int64)],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        value=sign * nodes["value"],
    )


def _in_bits(words: Any) -> CategorySet:
    """Return the set that 32-bit words say, lowest bit first."""
    flags = np.unpackbits(np.asarray(words, dtype="<u4").view(np.uint8), bitorder="little")
    return CategorySet(frozenset(np.flatnonzero(flags).tolist()))


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
