"""Parts of scikit-learn that answer every row by itself, to the last bit, as they are written.

A class is known if it is exactly the one of this list, under its own name in its own module, and
nothing of it was overridden on the instance; pipelines and column transformers are known if all their
parts are. In calls of one shape (``data.calls``) the numbers of a row are then computed from that row
alone. Where a matrix product is among them, only as long as the row keeps its place in the call: the
law is tried on all of the list, and places are nothing a library promises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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
    places = {_known(part) for part in _parts(estimator)}
    if None in places:
        return None
    return "in its place" if "in its place" in places else "anywhere"


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
    if _is(estimator, _PIPELINE):
        for _, part in estimator.steps:
            yield from _parts(part)
    elif _is(estimator, _COLUMNS):
        weights = (estimator.transformer_weights or {}).values()
        yield from (weight for weight in weights if type(weight) not in (int, float))
        for _, part, _ in estimator.transformers_:
            # "passthrough" is stored as a transformer without a function.
            if not (_is(part, _IDENTITY) and part.func is None):
                yield from _parts(part)
    elif not (estimator is None or (isinstance(estimator, str) and estimator in _HANDED_ON)):
        yield estimator


_HANDED_ON = ("passthrough", "drop")
_PLAIN = ("builtins", "numpy", "numpy.random.mtrand", "numpy.random._generator", "numpy.dtypes")
_LOSSES = ("sklearn._loss.loss", "sklearn._loss.link")
_FLAT = ("sklearn.preprocessing._data",)
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
    if not listed or not _is(part, kind) or not _made_of_known(part):
        return None
    return "anywhere" if anywhere else "in its place"


def _made_of_known(part: Any) -> bool:
    """Say whether a part holds plain data and what scikit-learn itself makes of it, nothing else.

    What was fitted counts, not what was asked for: a start that is no longer among the parameters is
    still called. Scalers hold one number per column: with one per row, places would matter.
    """
    held = list(_entries(list(vars(part).values())))
    flat = type(part).__module__ not in _FLAT or all(np.ndim(entry) <= 1 for entry in held)
    return flat and is_sound(part) and all(_is_own(entry) for entry in held)


def _entries(value: Any) -> Iterator[Any]:
    """Yield all entries of lists, mappings and arrays of objects, however deep, or the value alone."""
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


def _is_own(entry: Any) -> bool:
    """Say whether something is plain data, or what scikit-learn makes when it fits a listed part."""
    if isinstance(entry, np.ndarray):
        return type(entry) is np.ndarray
    kind = (type(entry).__module__, type(entry).__qualname__)
    if kind[0] == "sklearn.dummy" and entry.strategy == "stratified":
        return False  # it draws
    if kind[1] in _MADE.get(kind[0], ()):
        # What is compiled has no attributes of its own; what it holds is looked at (is_sound).
        return _is(entry, kind) and (not hasattr(entry, "__dict__") or _made_of_known(entry))
    if kind[0] in _LOSSES:
        return _is(entry, kind) and all(map(_is_own, _entries(dict(vars(entry)))))
    if type(entry) is getattr(sys.modules.get("sklearn._loss._loss"), kind[1], None):
        return True  # compiled, and without attributes
    plain = isinstance(entry, type) or (kind[0] in _PLAIN and not callable(entry))
    return plain or known_parts(entry) is not None


def _is(part: Any, kind: tuple[str, str]) -> bool:
    """Say whether something is of exactly the class of this name, without overrides of its own."""
    module, name = kind
    found = getattr(sys.modules.get(module), name, None)
    return type(part) is found and not any(hasattr(found, own) for own in getattr(part, "__dict__", ()))


def is_sound(part: Any) -> bool:
    """Say whether what was fitted sends compiled code nowhere but to leaves and to columns of a row.

    Such code follows what it is given, past the ends of its arrays and into the next row, too. Fitting
    never gives it such things, but a file or somebody who writes into a model can.
    """
    held = getattr(part, "__dict__", {})
    if type(part).__module__.partition(".")[0] != "sklearn":
        return True
    try:
        if "tree_" in held and not _ends(held["tree_"], held["n_features_in_"]):
            return False
        if type(part).__name__ in ("KDTree", "BallTree"):
            return _holds_its_rows(part)
        check = _SOUND.get(type(part).__module__)
        return check is None or "n_features_in_" not in held or check(part, held["n_features_in_"])
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
    members = np.ravel(estimator.estimators_)
    if getattr(estimator, "_max_features", width) == width:
        return all(member.n_features_in_ == width for member in members)
    given = estimator.estimators_features_
    return all(m.n_features_in_ == len(at) for m, at in zip(members, given, strict=True))


def _boosts_its_columns(estimator: Any, width: int) -> bool:
    """Say whether gradient boosting writes into as many columns as it starts with."""
    if not hasattr(estimator, "estimators_"):
        return True
    start = estimator._raw_predict_init(np.zeros((1, width), dtype=np.float32))
    return _members_see(estimator, width) and start.shape == (1, estimator.estimators_.shape[1])


def _sets_are_there(estimator: Any, width: int) -> bool:
    """Say whether histogram boosting ends everywhere, and has every set and column it asks for."""
    coded = estimator._bin_mapper.is_categorical_
    made = getattr(estimator, "_preprocessor", None)
    shown = width if made is None else sum(np.arange(width)[at].size for _, _, at in made.transformers_)
    trees = [tree for iteration in estimator._predictors for tree in iteration]
    return coded.shape == (width,) == (shown,) and all(_ends_in_sets(t, coded) for t in trees)


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


_SOUND: dict[str, Callable[[Any, int], bool]] = {
    "sklearn.ensemble._forest": _members_see,
    "sklearn.ensemble._iforest": _members_see,
    "sklearn.ensemble._gb": _boosts_its_columns,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": _sets_are_there,
}
