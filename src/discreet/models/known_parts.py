"""Parts of scikit-learn that answer every row by itself, to the last bit, as they are written.

A class is known if it is exactly the one of this list, under its own name in its own module, and
nothing of it was overridden on the instance; pipelines and column transformers are known if all their
parts are. In calls of one shape (``data.calls``) the numbers of a row are then computed from that row
alone. Where a matrix product is among them, only as long as the row keeps its place in the call: the
law is tried on all of the list, and places are nothing a library promises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

Known = Literal["anywhere", "in its place"]

ANYWHERE = {
    "sklearn.preprocessing._data": ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.impute._base": ("SimpleImputer",),
    "sklearn.tree._classes": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "sklearn.ensemble._forest": (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
    ),
    "sklearn.ensemble._gb": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": (
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    ),
}
IN_ITS_PLACE = {
    "sklearn.linear_model._logistic": ("LogisticRegression",),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._ridge": ("Ridge",),
    "sklearn.linear_model._coordinate_descent": ("Lasso", "ElasticNet"),
    "sklearn.neural_network._multilayer_perceptron": ("MLPClassifier", "MLPRegressor"),
    "sklearn.decomposition._pca": ("PCA",),
}

_PIPELINE = ("sklearn.pipeline", "Pipeline")
_COLUMNS = ("sklearn.compose._column_transformer", "ColumnTransformer")
_IDENTITY = ("sklearn.preprocessing._function_transformer", "FunctionTransformer")


def known_parts(estimator: Any) -> Known | None:
    """Return where an estimator answers a row by itself, or None if that is not known.

    Guarantees:
      - Known parts of known parts alone, none of them changed. [grades]
    """
    return _worst(_known(part) for part in _parts(estimator))


def _worst(places: Iterable[Known | None]) -> Known | None:
    """Return what is known of a whole whose parts are known so far."""
    worst: Known = "anywhere"
    for place in places:
        if place is None:
            return None
        worst = "in its place" if place == "in its place" else worst
    return worst


def parts_within(model: Any) -> Iterator[Any]:
    """Yield a model and all that it holds, however deep, each once."""
    waiting, seen = [model], {}
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen[id(part)] = part  # kept, so that its id stays its own
            yield part
            waiting += _entries(part)
            waiting += _entries(dict(getattr(part, "__dict__", {})))


def is_itself(estimator: Any) -> bool:
    """Say whether something is of a class of scikit-learn's, unchanged, and so does what that does."""
    kind = type(estimator)
    own = kind.__module__.partition(".")[0] == "sklearn"
    return own and _is(estimator, (kind.__module__, kind.__qualname__))


def _parts(estimator: Any) -> Iterator[Any]:
    """Yield an estimator's parts, or itself; what is handed on or dropped is none."""
    if _is(estimator, _PIPELINE) and _is_list(estimator.steps):
        for _, part in estimator.steps:
            yield from _parts(part)
    elif _is(estimator, _COLUMNS) and _is_list(estimator.transformers_):
        weights = estimator.transformer_weights or {}
        yield from (weight for weight in _entries(weights) if type(weight) not in (int, float))
        for _, part, _ in estimator.transformers_:
            # "passthrough" is stored as a transformer without a function.
            if not (_is(part, _IDENTITY) and part.func is None):
                yield from _parts(part)
    elif not (estimator is None or (isinstance(estimator, str) and estimator in _HANDED_ON)):
        yield estimator


def _is_list(value: Any) -> bool:
    """Say whether something is a list of lists, which show the same to all who ask."""
    return type(value) in (list, tuple) and all(type(entry) in (list, tuple) for entry in value)


_HANDED_ON = ("passthrough", "drop")
_TYPES = frozenset({bool, int, float, complex, str, bytes, object, *np.sctypeDict.values()})
_PLAIN = _TYPES | {type(None), slice, range, np.random.RandomState, np.random.Generator}
_LOSSES = ("sklearn._loss.loss", "sklearn._loss.link")
_FLAT = (
    "sklearn.preprocessing._data",
    "sklearn.preprocessing._encoders",
    "sklearn.impute._base",
    "sklearn.dummy",
)
_MADE = {
    "sklearn.tree._tree": ("Tree",),
    "sklearn.tree._classes": ("ExtraTreeClassifier", "ExtraTreeRegressor"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder"),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
}
"""What fitting leaves behind in the listed parts."""


def _known(part: Any) -> Known | None:
    kind = (type(part).__module__, type(part).__qualname__)
    anywhere = kind[1] in ANYWHERE.get(kind[0], ())
    listed = anywhere or kind[1] in IN_ITS_PLACE.get(kind[0], ())
    if not listed or not _is(part, kind):
        return None
    return _worst(("anywhere" if anywhere else "in its place", _made_of(part)))


def _made_of(part: Any) -> Known | None:
    """Return what is known of all that a part holds: plain data, and what scikit-learn makes of it.

    What was fitted counts, not what was asked for: a start that is no longer among the parameters is
    still called. Scalers, encoders and imputers hold one number per column: with one per row, places
    would matter.
    """
    held = list(_entries(list(vars(part).values())))
    found = _worst(map(_own, held))
    found = found if type(part).__module__ not in _FLAT or all(map(_is_flat, held)) else None
    return found if found is not None and is_sound(part) else None


def _is_flat(entry: Any) -> bool:
    return not isinstance(entry, np.ndarray) or entry.ndim <= 1 or len(entry) == 1


def _entries(value: Any) -> Iterator[Any]:
    """Yield all entries of lists, mappings and arrays of objects, however deep, or the value alone.

    A list of a class of its own is an entry besides: it may show others something else.
    """
    if isinstance(value, dict | list | tuple | set) and type(value) not in (dict, list, tuple, set):
        yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        yield value
        value = value.ravel().tolist() if value.dtype == object else ()
    if isinstance(value, list | tuple | set):
        for entry in value:
            yield from _entries(entry)
    else:
        yield value


def _own(entry: Any) -> Known | None:
    """Return where plain data, or what scikit-learn makes when it fits a listed part, is by itself."""
    kind = (type(entry).__module__, type(entry).__qualname__)
    if type(entry) in _PLAIN or isinstance(entry, np.dtype):
        return "anywhere"
    if isinstance(entry, np.ndarray):
        return "anywhere" if type(entry) is np.ndarray and entry.ndim <= 2 else None
    if isinstance(entry, type):  # another class could have methods that need no instance
        return "anywhere" if entry in _TYPES else None
    if kind[0] == "sklearn.dummy" and entry.strategy == "stratified":
        return None  # it draws
    if kind[1] in _MADE.get(kind[0], ()):
        # What is compiled has no attributes of its own; what it holds is looked at (is_sound).
        made = "anywhere" if not hasattr(entry, "__dict__") else _made_of(entry)
        return made if _is(entry, kind) else None
    if kind[0] in _LOSSES:
        return _worst(map(_own, _entries(dict(vars(entry))))) if _is(entry, kind) else None
    if type(entry) is getattr(sys.modules.get("sklearn._loss._loss"), kind[1], None):
        return "anywhere"  # compiled, and without attributes
    return known_parts(entry)


def _is(part: Any, kind: tuple[str, str]) -> bool:
    """Say whether something is of exactly the class of this name, without overrides of its own."""
    module, name = kind
    found = getattr(sys.modules.get(module), name, None)
    return type(part) is found and not any(hasattr(found, own) for own in getattr(part, "__dict__", ()))


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
