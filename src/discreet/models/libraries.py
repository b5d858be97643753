"""What a fitted model says of its columns, classes and outputs, in the words of every library.

scikit-learn has ``feature_names_in_`` and ``classes_``; others have attributes of their own, or the
same ones with another meaning. Nothing is imported here: a fitted model brings its own library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from discreet.errors import ModelError
from discreet.models.apart.model import ModelApart
from discreet.models.inputs import METHODS
from discreet.models.readers.boosters import booster_margin, lightgbm_categories, xgboost_categories
from discreet.models.readers.sklearn import histogram_columns

Output = Literal["auto", "probability", "margin", "value"]
Categories = Mapping[int, Sequence[Any] | None]
"""For every column a model treats as categories the values it knows, None if it has codes alone."""


def library(model: Any) -> str:
    """Return the name of the package a model's class is of; of a model apart, of the model itself."""
    if isinstance(model, ModelApart):
        return model.library
    return type(model).__module__.split(".")[0]


def feature_names(model: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns a model was fitted on, None if it was fitted on a matrix."""
    if library(model) == "catboost" and not isinstance(model, ModelApart):
        names = model.feature_names_ or []
        # CatBoost names the columns of a matrix by their places.
        return tuple(names) if names and names != [str(i) for i in range(len(names))] else None
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(names)


def feature_count(model: Any) -> int | None:
    """Return how many columns a model takes, None if it does not say."""
    count = getattr(model, "n_features_in_", None)
    return None if count is None else int(count)


def classes(model: Any) -> list[Any] | None:
    """Return the classes of a classifier, None for anything else."""
    found = getattr(model, "classes_", None)
    # CatBoost's regressors have an empty list.
    return None if found is None or len(found) == 0 else list(found)


def choose_output(model: Any, output: Output) -> str:
    """Return which output of a model is meant, or raise if it has none such."""
    if output not in ("auto", *METHODS):
        raise ModelError(f"output must be one of auto, probability, margin, value, got {output!r}.")
    if output != "auto":
        known = output == "value" or hasattr(model, METHODS[output]) or callable(model)
        if not known and not (output == "margin" and booster_margin(model)):
            raise ModelError(f"model must have {METHODS[output]} for output={output!r}, got none.")
        return output
    if hasattr(model, "predict_proba"):
        return "probability"
    if classes(model) is not None:
        raise ModelError(
            f"model must have predict_proba, got {type(model).__name__}. "
            "Use dc.Model(model, output='margin', bounds=...) or calibrate it."
        )
    if not hasattr(model, "predict") and not callable(model):
        raise ModelError(f"model must be an estimator or a function, got {type(model).__name__}.")
    return "value"


def class_index(model: Any, output: str, class_: Any) -> int:
    """Return the place of the class that is meant, or raise if that is not clear."""
    known = classes(model)
    if output == "value" or known is None:
        if class_ is not None:
            raise ModelError(f"class_ must be left out for a model without classes, got {class_!r}.")
        return 1
    if class_ is None:
        if len(known) != 2:
            raise ModelError(f"class_ must name one of {known} when there are not two classes.")
        return 1
    if class_ not in known:
        raise ModelError(f"class_ must be one of {known}, got {class_!r}.")
    return known.index(class_)


def own_categories(model: Any) -> Categories:
    """Return the columns that a model treats as categories, and what it knows of them."""
    try:
        if isinstance(model, ModelApart):
            return model.categories
        return _OWN.get(library(model), _none)(model)
    except Exception:  # a model that is not fitted, or of another make: its calls will tell
        return {}


def _none(model: Any) -> Categories:
    return {}


def _of_sklearn(model: Any) -> Categories:
    return histogram_columns(model)[1]


def _of_xgboost(model: Any) -> Categories:
    import json

    booster = model.get_booster()
    kinds = booster.feature_types or []
    if "c" not in kinds:
        return {}
    written = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    known = xgboost_categories(written.get("cats"))
    return {place: known.get(place) for place, kind in enumerate(kinds) if kind == "c"}


def _of_lightgbm(model: Any) -> Categories:
    dump = model.booster_.dump_model(num_iteration=1)
    known = lightgbm_categories(dump)
    facts = [dump["feature_infos"].get(name, {}) for name in dump["feature_names"]]
    return {place: known.get(place) for place, fact in enumerate(facts) if fact.get("values")}


def _of_catboost(model: Any) -> Categories:
    # Any text is a category: it is known by its hash.
    return dict.fromkeys(model.get_cat_feature_indices())


_OWN = {
    "sklearn": _of_sklearn,
    "xgboost": _of_xgboost,
    "lightgbm": _of_lightgbm,
    "discreet": _of_lightgbm,
    "catboost": _of_catboost,
}
