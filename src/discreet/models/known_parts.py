"""Parts of scikit-learn that answer every row by itself, to the last bit, as they are written.

A class is known if it is exactly the one of this list, under its own name in its own module, and
nothing of it was overridden on the instance; pipelines and column transformers are known if all their
parts are. In calls of one shape (``data.calls``) the numbers of a row are then computed from that row
alone. Where a matrix product is among them, only as long as the row keeps its place in the call: the
law is tried on all of the list, and places are nothing a library promises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from discreet.models.soundness import is_sound

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
