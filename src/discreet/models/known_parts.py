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
        for _, part, _ in estimator.transformers_:
            # "passthrough" is stored as a transformer without a function.
            if not (_is(part, _IDENTITY) and part.func is None):
                yield from _parts(part)
    elif not (estimator is None or (isinstance(estimator, str) and estimator in _HANDED_ON)):
        yield estimator


_HANDED_ON = ("passthrough", "drop")
_PLAIN = ("builtins", "numpy", "numpy.random.mtrand", "numpy.random._generator", "numpy.dtypes")
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
    return flat and all(_is_own(entry) for entry in held)


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
    if kind[1] in _MADE.get(kind[0], ()):
        # Nobody can have written into what is compiled.
        return _is(entry, kind) and (not hasattr(entry, "__dict__") or _made_of_known(entry))
    if kind[0] == "sklearn._loss.loss":
        return _is(entry, kind)
    plain = isinstance(entry, type) or (kind[0] in _PLAIN and not callable(entry))
    return plain or known_parts(entry) is not None


def _is(part: Any, kind: tuple[str, str]) -> bool:
    """Say whether something is of exactly the class of this name, without overrides of its own."""
    module, name = kind
    found = getattr(sys.modules.get(module), name, None)
    return type(part) is found and not any(hasattr(found, own) for own in getattr(part, "__dict__", ()))
