"""Whether what was fitted has the shapes that fitting makes.

Whoever writes into a model, or its file, can give compiled code an array that points past its end and
into the next row, and a product one that has all rows in it. Parts are told by the names of their
classes alone; that they are scikit-learn's own is seen to elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def is_sound(part: Any) -> bool:
    """Say whether what was fitted sends compiled code nowhere but to leaves and to columns of a row.

    Such code follows what it is given, past the ends of its arrays and into the next row, too; and a
    product with an array of another shape has all rows in one. Fitting never makes such things, but a
    file or somebody who writes into a model can.
    """
    held = getattr(part, "__dict__", {})
    if type(part).__module__.partition(".")[0] != "sklearn":
        return True
    try:
        if "tree_" in held and not _ends(held["tree_"], held["n_features_in_"]):
            return False
        if type(part).__name__ in ("KDTree", "BallTree"):
            return _holds_its_rows(part)
        fitted, check = _SOUND.get(type(part).__name__, ("", None))
        return check is None or fitted not in held or check(part, held["n_features_in_"])
    except Exception:  # not even of the shape of what fitting makes
        return False


def _ends(tree: Any, width: int) -> bool:
    """Say whether every row of so many columns comes to a leaf of a tree."""
    if tree.n_features != width or tree.node_count != tree.capacity:
        return False
    split = tree.children_left != -1
    return _goes_down(tree.children_left, tree.children_right, tree.feature, split, width)


def _goes_down(left: Any, right: Any, feature: Any, split: Any, width: int) -> bool:
    """Say whether children stand behind their parents, each behind one, and features in a row."""
    nodes, places = len(split), np.flatnonzero(split)
    children = np.concatenate([left[places], right[places]]).astype(np.int64)
    after = np.concatenate([places, places]) < children
    features = feature[places].astype(np.int64)
    inside = np.all((children < nodes) & after) and np.all((features >= 0) & (features < width))
    return nodes > 0 and bool(inside) and bool(np.all(np.bincount(children, minlength=1) <= 1))


def _members_see(estimator: Any, width: int) -> bool:
    """Say whether a forest's members take the columns they are given without looking again."""
    return all(member.n_features_in_ == width for member in np.ravel(estimator.estimators_))


def _members_see_theirs(estimator: Any, width: int) -> bool:
    """Say the same of a forest whose members may be given some of the columns."""
    if estimator._max_features == width:
        return _members_see(estimator, width)
    members, given = estimator.estimators_, estimator.estimators_features_
    return all(m.n_features_in_ == len(at) for m, at in zip(members, given, strict=True))


def _boosts_its_columns(estimator: Any, width: int) -> bool:
    """Say whether gradient boosting writes into as many columns as it starts with."""
    start = estimator._raw_predict_init(np.zeros((1, width), dtype=np.float32))
    return _members_see(estimator, width) and start.shape == (1, estimator.estimators_.shape[1])


def _sets_are_there(estimator: Any, width: int) -> bool:
    """Say whether histogram boosting ends everywhere, and has every set and column it asks for."""
    coded, base = estimator._bin_mapper.is_categorical_, np.asarray(estimator._baseline_prediction)
    made = getattr(estimator, "_preprocessor", None)
    trees = [tree for iteration in estimator._predictors for tree in iteration]
    shown = made is None or _makes_as_many(made, width)
    one_start = base.ndim <= 1 or len(base) == 1  # with one per row, places would matter
    return (
        shown and one_start and coded.shape == (width,) and all(_ends_in_sets(t, coded) for t in trees)
    )


def _makes_as_many(columns: Any, width: int) -> bool:
    """Say whether what stands before histogram boosting makes one column of each: none looks again."""
    chosen, many = columns._transformer_to_input_indices, 0
    for name, step, at in columns.transformers_:
        size = np.arange(width)[at].size
        kept = type(step).__name__ == "OrdinalEncoder" or _only_checks(step)
        if size and not (kept and np.size(chosen[name]) == size):
            return False
        many += size
    return many == width and not columns.transformer_weights


def _only_checks(step: Any) -> bool:
    """Say whether a step hands its columns on, checked by scikit-learn's own function at most."""
    from sklearn.utils.validation import check_array

    func = step.func if type(step).__name__ == "FunctionTransformer" else step
    return func is None or (type(func) is partial and func.func is check_array)


def _ends_in_sets(predictor: Any, coded: Any) -> bool:
    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    split = nodes["is_leaf"] == 0
    down = _goes_down(nodes["left"], nodes["right"], nodes["feature_idx"], split, len(coded))
    sets = nodes[split & (nodes["is_categorical"] != 0)]
    known = np.all(sets["bitset_idx"] < len(bits)) and bits.shape[1:] == (8,)
    return down and bool(known) and bool(np.all(coded[sets["feature_idx"].astype(np.int64)]))


def _holds_its_rows(tree: Any) -> bool:
    """Say whether a tree of neighbours holds every row once, and nodes that divide them."""
    rows, order, nodes, bounds = (np.asarray(array) for array in tree.get_arrays())
    count, split = len(rows), np.flatnonzero(nodes["is_leaf"] == 0)
    inside = (nodes["idx_start"] >= 0) & (nodes["idx_end"] <= count)
    return bool(
        np.array_equal(np.sort(order), np.arange(count))
        and np.all(inside & (nodes["idx_start"] <= nodes["idx_end"]))
        and np.all(2 * split + 2 < len(nodes))
        and bounds.shape[1:] == (len(nodes), rows.shape[1])
    )


def _codes_have_columns(encoder: Any, width: int) -> bool:
    """Say whether every code gets one of its own column's places: others are in the next row."""
    known, outs = encoder.categories_, encoder._n_features_outs
    if not (len(known) == len(outs) == width and type(outs) is list):
        return False
    gone = encoder._drop_idx_after_grouping
    gone = [None] * width if gone is None else gone
    if np.shape(gone) != (width,):
        return False
    return all(
        _is_sorted(values) and _codes_fit(_grouped(encoder, place), values, drop, many)
        for place, (values, drop, many) in enumerate(zip(known, gone, outs, strict=True))
    )


def _is_sorted(values: Any) -> bool:
    """Say whether a search among numbers finds each of them at its place; NaN comes last."""
    if values.ndim != 1 or values.dtype.kind in "OUS":
        return bool(values.ndim == 1)
    found = np.searchsorted(values, values)
    return len(np.unique(values)) == len(values) and np.array_equal(found, np.arange(len(values)))


def _grouped(encoder: Any, place: int) -> Any:
    """Return which code each category of a column gets once rare ones stand together."""
    codes = np.arange(len(encoder.categories_[place]))
    if not encoder._infrequent_enabled:
        return codes
    rare, mapping = encoder._infrequent_indices[place], encoder._default_to_infrequent_mappings[place]
    unknown = codes[:0] if rare is None else np.asarray(rare)[:1]
    codes = np.concatenate([codes, unknown])
    return codes if mapping is None else np.take(mapping, codes)


def _codes_fit(codes: Any, values: Any, drop: int | None, many: int) -> bool:
    left = np.where(codes > (len(values) if drop is None else drop), codes - 1, codes)[codes != drop]
    return bool(np.all((left >= 0) & (left < many)))


def _fill_alone(encoder: Any, width: int) -> bool:
    """Say whether there is one code for what is missing or unknown, not one for each row with it."""
    return np.ndim(encoder.unknown_value) == 0 == np.ndim(encoder.encoded_missing_value)


def _layers_fit(network: Any, width: int) -> bool:
    """Say whether each layer is a matrix for a row, and not one for all rows of a call."""
    for weights, shift in zip(network.coefs_, network.intercepts_, strict=True):
        if weights.ndim != 2 or len(weights) != width or shift.shape != weights.shape[1:]:
            return False
        width = weights.shape[1]
    return bool(network.n_layers_ == len(network.coefs_) + 1 and network.n_outputs_ == width)


def _weighs_rows(estimator: Any, width: int) -> bool:
    """Say whether weights make numbers of each row, with shifts that are the same for all rows."""
    coef = estimator.coef_
    return coef.ndim in (1, 2) and coef.shape[-1] == width and np.ndim(estimator.intercept_) <= 1


def _turns_rows(estimator: Any, width: int) -> bool:
    """Say whether components, as many as there are, are made of each row."""
    return bool(estimator.components_.ndim == 2 and estimator.components_.shape[1] == width)


_Check = Callable[[Any, int], bool]
_FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_LINEAR = ("LogisticRegression", "LinearRegression", "Ridge", "Lasso", "ElasticNet")
_SOUND: dict[str, tuple[str, _Check]] = {
    **dict.fromkeys((*_FORESTS, "ExtraTreesRegressor"), ("estimators_", _members_see)),
    **dict.fromkeys(_BOOSTED, ("estimators_", _boosts_its_columns)),
    **dict.fromkeys(_HISTOGRAMS, ("_predictors", _sets_are_there)),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), ("coefs_", _layers_fit)),
    **dict.fromkeys(_LINEAR, ("coef_", _weighs_rows)),
    "RandomTreesEmbedding": ("estimators_", _members_see),
    "IsolationForest": ("estimators_", _members_see_theirs),
    "OneHotEncoder": ("categories_", _codes_have_columns),
    "OrdinalEncoder": ("categories_", _fill_alone),
    "PCA": ("components_", _turns_rows),
}
"""By which attribute a fitted part is known, and what must hold of it."""
