"""Parts of scikit-learn that answer every row by itself, to the last bit, as they are written.

A class is known if it is exactly the one of this list, under its own name in its own module, and
nothing of it was overridden on the instance; pipelines and column transformers are known if all their
parts are. In calls of one shape (``data.calls``) the numbers of a row are then computed from that row
alone. Where a matrix product is among them, only as long as the row keeps its place in the call: the
law is tried on all of the list, and places are nothing a library promises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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


def _parts(estimator: Any) -> Iterator[Any]:
    """Yield an estimator's parts, or itself; what is handed on or dropped is none."""
    if _is(estimator, _PIPELINE):
        for _, part in estimator.steps:
            yield from _parts(part)
    elif _is(estimator, _COLUMNS):
        for _, part, _ in estimator.transformers_:
            # "passthrough" is stored as a transformer without a function.
            if not (_is(part, _IDENTITY) and part.func is None):
                yield from _parts(part)
    elif not (estimator is None or (isinstance(estimator, str) and estimator in _HANDED_ON)):
        yield estimator


_HANDED_ON = ("passthrough", "drop")
_TREE = "sklearn.tree._classes"
_TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)


def _known(part: Any) -> Known | None:
    kind = (type(part).__module__, type(part).__qualname__)
    if not _is(part, kind) or not _made_of_known(part):
        return None
    if kind[1] in ANYWHERE.get(kind[0], ()):
        return "anywhere"
    return "in its place" if kind[1] in IN_ITS_PLACE.get(kind[0], ()) else None


def _made_of_known(part: Any) -> bool:
    """Say whether what a part hands rows to is its own: trees, a start, a loss, plain arrays."""
    held = [entry for value in vars(part).values() for entry in _entries(value)]
    trees = [t for t in _entries(getattr(part, "estimators_", [])) if not isinstance(t, np.ndarray)]
    return (
        getattr(part, "init", None) in (None, "zero")
        and all(_is_own(entry) for entry in held)
        and all(
            any(_is(tree, (_TREE, name)) and _made_of_known(tree) for name in _TREES) for tree in trees
        )
    )


def _entries(value: Any) -> list[Any]:
    """Return the entries of a list, a mapping or an array of objects, or the value alone."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [value, *value.flat]
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_own(entry: Any) -> bool:
    """Say whether something is plain data, or of a class of scikit-learn's, unchanged."""
    kind = type(entry)
    package = kind.__module__.partition(".")[0]
    if isinstance(entry, np.ndarray):
        return kind is np.ndarray
    if package == "sklearn":
        return _is(entry, (kind.__module__, kind.__qualname__))
    return isinstance(entry, type) or (package in ("builtins", "numpy") and not callable(entry))


def _is(part: Any, kind: tuple[str, str]) -> bool:
    """Say whether something is of exactly the class of this name, without overrides of its own."""
    module, name = kind
    found = getattr(sys.modules.get(module), name, None)
    return type(part) is found and not any(hasattr(found, own) for own in getattr(part, "__dict__", ()))
