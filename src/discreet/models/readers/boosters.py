"""Read XGBoost's and LightGBM's boosted trees into flat arrays.

Neither library is imported here: a fitted estimator brings its own. XGBoost goes left if the float32
value is *below* the threshold and adds in float32, so its own answers differ from exact sums in the
seventh digit; a set of categories goes right. LightGBM compares float64 with ``<=`` and adds in
float64; a set of categories goes left, and what it does not know goes right. Linear leaves, dropout,
averaged boosters and links other than identity and logistic are not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.models.forms.category_splits import CategorySet, ListedCategories, RawEnsemble, SetTree
from discreet.models.forms.trees import Link
from discreet.models.readers.sklearn import boosted_output
from discreet.models.readers.thresholds import lift_single
from discreet.schema import FloatArray

_XGBOOST_TOLERANCE = 1e-5
_TINY, _HUGE = float(np.float32(1e-35)), 1e300
BELOW_ZERO = float(np.nextafter(-_TINY, -np.inf))
"""The threshold in whose stead LightGBM compares with ``-_TINY`` where a matrix is sparse."""

_XGBOOST = {
    "binary:logistic": ("margin", "probability"),
    "multi:softprob": ("margin",),
    "multi:softmax": ("margin",),
    "reg:squarederror": ("value",),
    "reg:absoluteerror": ("value",),
    "reg:pseudohubererror": ("value",),
}
_LIGHTGBM = {
    "binary": ("margin", "probability"),
    "multiclass": ("margin",),
    "regression": ("value",),
    "regression_l1": ("value",),
    "huber": ("value",),
    "fair": ("value",),
    "quantile": ("value",),
    "mape": ("value",),
}


def booster_margin(estimator: Any) -> Callable[[Any], Any] | None:
    """Return the function of rows that gives a booster's margins, or None for other estimators."""
    library = type(estimator).__module__.split(".")[0]
    options: dict[str, dict[str, Any]] = {
        "xgboost": {"output_margin": True},
        "lightgbm": {"raw_score": True},
        "discreet": {"raw_score": True} if hasattr(estimator, "booster_") else {},
        "catboost": {"prediction_type": "RawFormulaVal"},
    }
    option = options.get(library)
    if not option or not len(getattr(estimator, "classes_", ())):
        return None
    return partial(estimator.predict, **option)


def read_xgboost(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    """Return the trees of an XGBoost estimator's output, or None if it has no such form."""
    learner = json.loads(bytes(estimator.get_booster().save_raw("json")))["learner"]
    booster, facts = learner["gradient_booster"], learner["learner_model_param"]
    objective = learner["objective"]["name"]
    if output not in _XGBOOST.get(objective, ()) or booster["name"] != "gbtree":
        return None
    if not np.isnan(estimator.missing) or int(facts.get("num_target", 1)) != 1:
        return None
    kind = _output(estimator, objective, output, class_index)
    if kind is None:
        return None
    link, column, sign = kind
    model = booster["model"]
    end = _last_tree(learner, model)
    chosen = [
        tree
        for tree, group in zip(model["trees"][:end], model["tree_info"][:end], strict=True)
        if group == column
    ]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in chosen):
        return None
    return RawEnsemble(
        [_xgboost_tree(tree, sign) for tree in chosen],
        base=sign * _xgboost_base(facts["base_score"], column, objective),
        link=link,
        width=int(facts["num_feature"]),
        tolerance=_XGBOOST_TOLERANCE,
        code=ListedCategories(xgboost_categories(model.get("cats"))),
    )


def read_lightgbm(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    """Return the trees of a LightGBM estimator's output, or None if it has no such form."""
    dump = estimator.booster_.dump_model()
    if _predicts_otherwise(estimator) or not _knows_its_columns(dump):
        return None
    objective, *options = dump["objective"].split(" ")
    kind = _output(estimator, objective, output, class_index)
    if output not in _LIGHTGBM.get(objective, ()) or kind is None or dump["average_output"]:
        return None
    odd = [o for o in options if o == "sqrt" or (o.startswith("sigmoid:") and float(o[8:]) != 1.0)]
    if odd and output != "margin":
        return None
    link, column, sign = kind
    trees = [
        _lightgbm_tree(info["tree_structure"], sign)
        for info in dump["tree_info"]
        if info["tree_index"] % dump["num_tree_per_iteration"] == column
    ]
    read = [tree for tree in trees if tree is not None]
    if len(read) < len(trees):
        return None
    return RawEnsemble(
        read,
        base=0.0,
        link=link,
        width=dump["max_feature_idx"] + 1,
        code=ListedCategories(lightgbm_categories(dump)),
    )


def _predicts_otherwise(estimator: Any) -> bool:
    """Say whether an estimator stops early when it predicts, or leaves out trees."""
    given = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return any("pred" in name and value for name, value in given.items())


def _knows_its_columns(dump: Mapping[str, Any]) -> bool:
    """Say whether lists of categories can be told apart: one category leaves no trace but its list."""
    listed = dump["pandas_categorical"] or ()
    return len(listed) in (0, len(_category_places(dump)))


def lightgbm_categories(dump: Mapping[str, Any]) -> dict[int, list[Any]]:
    """Return the values behind a model's own codes, per column; matrices have none."""
    listed, places = dump["pandas_categorical"], _category_places(dump)
    return dict(zip(places, listed, strict=True)) if listed and len(listed) == len(places) else {}


def _category_places(dump: Mapping[str, Any]) -> list[int]:
    facts = dump["feature_infos"]
    return [p for p, name in enumerate(dump["feature_names"]) if facts.get(name, {}).get("values")]


def _last_tree(learner: dict[str, Any], model: dict[str, Any]) -> int:
    """Return how many trees predictions use: all, or up to the best round of early stopping."""
    best = learner["attributes"].get("best_iteration")
    if best is None or "iteration_indptr" not in model:
        return len(model["trees"])
    return int(model["iteration_indptr"][int(best) + 1])


def xgboost_categories(written: Mapping[str, Any] | None) -> dict[int, list[Any]]:
    """Return the values behind a model's own codes, per column; older models do not keep them."""
    found = {}
    for place, kind in enumerate((written or {}).get("enc", ())):
        values = kind["values"]
        if "offsets" in kind:  # texts, one after the other
            text, ends = bytes(np.array(values, dtype=np.uint8)), kind["offsets"]
            values = [text[a:b].decode() for a, b in pairwise(ends)]
        if values:
            found[place] = values
    return found


def _xgboost_sets(tree: dict[str, Any]) -> dict[int, CategorySet]:
    starts, sizes = tree["categories_segments"], tree["categories_sizes"]
    return {
        node: CategorySet(frozenset(tree["categories"][start : start + size]), inside_left=False)
        for node, start, size in zip(tree["categories_nodes"], starts, sizes, strict=True)
    }


def _xgboost_tree(tree: dict[str, Any], sign: float) -> SetTree:
    # Splits and leaves share a field; its numbers are float32 in decimal.
    conditions = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    return SetTree(
        sets=_xgboost_sets(tree),
        feature=np.array(tree["split_indices"], dtype=np.int64),
        threshold=lift_single(conditions, strict=True),
        missing_left=np.array(tree["default_left"], dtype=bool),
        left=np.array(tree["left_children"], dtype=np.int64),
        right=np.array(tree["right_children"], dtype=np.int64),
        value=sign * conditions,
    )


def _xgboost_base(text: str, column: int, objective: str) -> float:
    """Return the score before any tree; newer versions write one base per class, in brackets."""
    bases = [float(number) for number in text.strip("[]").split(",")]
    base = bases[column] if len(bases) > 1 else bases[0]
    return float(np.log(base / (1.0 - base))) if objective == "binary:logistic" else base


def _lightgbm_tree(root: dict[str, Any], sign: float) -> SetTree | None:
    """Flatten a nested tree; None if a split is of another kind or its leaves are not constants."""
    nodes, left, right = [root], [-1], [-1]
    for at, node in enumerate(nodes):  # grows while we go
        if "split_index" in node:
            left[at], right[at] = len(nodes), len(nodes) + 1
            nodes += [node["left_child"], node["right_child"]]
            left += [-1, -1]
            right += [-1, -1]
    sets = {at: _lightgbm_set(node) for at, node in enumerate(nodes) if _is_set_split(node)}
    splits = [node for at, node in enumerate(nodes) if "split_index" in node and at not in sets]
    if any("leaf_coeff" in node for node in nodes) or not all(map(_is_number_split, splits)):
        return None
    written = [np.inf if at in sets else n.get("threshold", np.inf) for at, n in enumerate(nodes)]
    return SetTree(
        sets=sets,
        feature=np.array([node.get("split_feature", 0) for node in nodes], dtype=np.int64),
        threshold=_lightgbm_thresholds(np.array(written)),
        missing_left=np.array([_missing_left(node) for node in nodes], dtype=bool),
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        value=sign * np.array([node.get("leaf_value", 0.0) for node in nodes], dtype=np.float64),
    )


def _lightgbm_thresholds(written: FloatArray) -> FloatArray:
    """Return the thresholds of float64 comparisons behind those of a dump.

    LightGBM takes values within ``_TINY`` of zero for zero, and writes infinity as ``_HUGE``.
    """
    below = (written >= -_TINY) & (written < 0.0)
    above = (written >= 0.0) & (written < _TINY)
    exact = np.where(below, BELOW_ZERO, np.where(above, _TINY, written))
    return np.where(np.abs(exact) >= _HUGE, np.copysign(np.inf, exact), exact)


def _is_set_split(node: dict[str, Any]) -> bool:
    return node.get("decision_type") == "=="


def _lightgbm_set(node: dict[str, Any]) -> CategorySet:
    return CategorySet(frozenset(map(int, node["threshold"].split("||"))))


def _is_number_split(node: dict[str, Any]) -> bool:
    return node["decision_type"] == "<=" and node["missing_type"] in ("None", "NaN")


def _missing_left(node: dict[str, Any]) -> bool:
    """Where NaN goes: as learnt, or where a zero goes if none was seen in training; of a set, right."""
    if _is_set_split(node):
        return False
    if node.get("missing_type") == "NaN":
        return bool(node["default_left"])
    return float(node.get("threshold", np.inf)) >= 0.0


def _output(
    estimator: Any, objective: str, output: str, class_index: int
) -> tuple[Link, int, float] | None:
    classes = len(estimator.classes_) if hasattr(estimator, "classes_") else None
    if objective.startswith("multi") and classes == 2:  # one column of trees each, unlike elsewhere
        return "identity", class_index, 1.0
    return boosted_output(classes, output, class_index)
