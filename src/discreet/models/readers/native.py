"""Models as libraries keep them besides their estimators, seen as estimators.

XGBoost's and CatBoost's own boosters become the estimators of these libraries; LightGBM has no way
back, so its booster is wrapped. What a booster predicts follows from its objective.

Libraries read files whose trees lead nowhere without a word, follow them when they are asked, and
crash. What they write of a model that they have read is looked through before it is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.models.forms.trees import IntArray

_CATBOOST_CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")


def as_estimator(model: Any) -> Any:
    """Return a model with methods like scikit-learn's; most are as they are, a path is read."""
    if isinstance(model, str | Path):
        from discreet.models.files import read_model

        return read_model(Path(model))
    kind = f"{type(model).__module__.split('.')[0]}.{type(model).__name__}"
    match kind:
        case "xgboost.Booster":
            return _of_xgboost(model)
        case "lightgbm.Booster":
            return of_lightgbm(model)
        case "catboost.CatBoost":
            return _of_catboost(model)
        case "onnxruntime.InferenceSession":
            raise ModelError(
                "model must be the path of an ONNX file, got an open session, which does not say what "
                "it is made of. Use dc.Model('model.onnx')."
            )
        case _ if any(f"{t.__module__}.{t.__name__}" == _TORCH for t in type(model).__mro__):
            raise ModelError(
                "model must take a matrix of floats, got a PyTorch module. Wrap it in a function: "
                "lambda rows: module(torch.tensor(rows, dtype=torch.float32)).detach().numpy()."
            )
        case _:
            return model


_TORCH = "torch.nn.modules.module.Module"


def _of_xgboost(booster: Any) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    classifies = objective.startswith(("binary:logistic", "multi:"))
    kind = XGBClassifier if classifies else XGBRegressor
    made = kind(enable_categorical=True)
    made.load_model(booster.save_raw("ubj"))
    return made


def _of_catboost(model: Any) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    objective = str(model.get_all_params().get("loss_function", "")).split(":")[0]
    made = (CatBoostClassifier if objective in _CATBOOST_CLASSIFIERS else CatBoostRegressor)()
    made.load_model(blob=model._serialize_model())
    return made


def of_lightgbm(booster: Any) -> LightGBMRegressor | LightGBMClassifier:
    """Return a LightGBM booster as an estimator."""
    objective = str(booster.dump_model(num_iteration=1).get("objective", "")).split(" ")
    if objective[0] == "binary":
        return LightGBMClassifier(booster, 2)
    if objective[0] in ("multiclass", "multiclassova"):
        return LightGBMClassifier(booster, booster.num_model_per_iteration())
    return LightGBMRegressor(booster)


@dataclass(frozen=True, eq=False)
class LightGBMRegressor:
    """A LightGBM booster that predicts a number."""

    booster_: Any

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return int(self.booster_.num_feature())

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns, if it was fitted with some."""
        names = self.booster_.feature_name()
        if names == [f"Column_{place}" for place in range(len(names))]:
            raise AttributeError("The booster was fitted on a matrix.")
        return np.array(names, dtype=object)

    def predict(self, rows: Any, **options: Any) -> Any:
        """Return the booster's own predictions; ``raw_score`` as LightGBM has it."""
        return self.booster_.predict(rows, num_threads=1, **options)


@dataclass(frozen=True, eq=False)
class LightGBMClassifier(LightGBMRegressor):
    """A LightGBM booster that predicts classes, known by their numbers."""

    classes: int

    @property
    def classes_(self) -> NDArray[Any]:
        """The numbers of the classes."""
        return np.arange(self.classes)

    def predict_proba(self, rows: Any) -> Any:
        """Return the probabilities of all classes."""
        said = self.predict(rows)
        return np.column_stack([1.0 - said, said]) if self.classes == 2 else said


def check_xgboost(booster: Any) -> None:
    """Raise if a tree of an XGBoost booster does not end in leaves, or looks at columns it lacks."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    found = learner["gradient_booster"]
    model = found.get("gbtree", found).get("model", {})  # linear boosters have no trees
    facts = learner["learner_model_param"]
    groups = max(int(facts["num_class"]), 1) * max(int(facts.get("num_target", 1)), 1)
    known = all(0 <= group < groups for group in model.get("tree_info", ()))
    width = int(facts["num_feature"])
    if not known or not all(_xgboost_ends(tree, width) for tree in model.get("trees", ())):
        raise _spoilt("XGBoost")


def _xgboost_ends(tree: Mapping[str, Any], width: int) -> bool:
    left, right, feature = (
        np.array(tree[name], dtype=np.int64)
        for name in ("left_children", "right_children", "split_indices")
    )
    starts, sizes = np.array(tree["categories_segments"]), np.array(tree["categories_sizes"])
    sets = np.all((starts >= 0) & (sizes >= 0) & (starts + sizes <= len(tree["categories"])))
    return bool(sets) and leads_to_leaves(left, right, feature, width)


def check_lightgbm_text(text: bytes) -> None:
    """Raise if a file splits on a column beyond its last: LightGBM would write past an array."""
    last = min((int(number) for number in re.findall(rb"max_feature_idx=(\d+)", text)), default=-1)
    for listed in re.findall(rb"split_feature=([^\r\n]*)", text):
        if any(not 0 <= int(feature) <= last for feature in listed.split()):
            raise _spoilt("LightGBM")


def check_lightgbm(booster: Any) -> None:
    """Raise if a tree of a LightGBM booster does not end in leaves, or looks at columns it lacks."""
    head, *trees = booster.model_to_string().split("\nTree=")
    width = int(_fields(head)["max_feature_idx"]) + 1
    if not all(_lightgbm_ends(_fields(tree), width) for tree in trees):
        raise _spoilt("LightGBM")


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _lightgbm_ends(fields: Mapping[str, str], width: int) -> bool:
    """Say so of one tree; leaves are numbered apart, and written as what is below zero."""
    splits = int(fields["num_leaves"]) - 1
    if splits == 0:
        return True
    left, right, feature, kinds = (
        _numbers(fields, name)
        for name in ("left_child", "right_child", "split_feature", "decision_type")
    )
    if not len(left) == len(right) == len(feature) == len(kinds) == splits:
        return False
    children = np.concatenate([left, right])
    leaves = -1 - children[children < 0]
    if np.any(leaves > splits) or not _sets_are_there(fields, kinds):
        return False
    # Behind the splits one node stands for all leaves: each of them is reached from one place.
    ends = np.full(len(leaves), -1)
    place = splits + np.cumsum(children < 0) - 1
    down = np.where(children < 0, place, children)
    left, right = (np.concatenate([half, ends]) for half in np.split(down, 2))
    return leads_to_leaves(left, right, np.concatenate([feature, ends]), width)


def _sets_are_there(fields: Mapping[str, str], kinds: IntArray) -> bool:
    """Say whether splits on sets name one that is written."""
    sets = (kinds & 1) == 1
    if not sets.any():
        return True
    asked = np.array(fields["threshold"].split(), dtype=np.float64)[sets]
    bounds, words = _numbers(fields, "cat_boundaries"), _numbers(fields, "cat_threshold")
    inside = np.all((asked >= 0) & (asked < len(bounds) - 1))
    return bool(inside and bounds[0] == 0 and bounds[-1] <= len(words) and np.all(np.diff(bounds) >= 0))


def _numbers(fields: Mapping[str, str], name: str) -> IntArray:
    return np.array(fields.get(name, "").split(), dtype=np.int64)


def leads_to_leaves(left: IntArray, right: IntArray, feature: IntArray, width: int) -> bool:
    """Say whether every path from the first node ends at nodes with -1 for children."""
    if not len(left) == len(right) == len(feature):
        return False
    level, met = np.zeros(1, dtype=np.int64), 0
    while len(level):
        met += len(level)
        if met > len(left) or level.min() < 0 or level.max() >= len(left):
            return False
        splits = level[left[level] != -1]
        if np.any((feature[splits] < 0) | (feature[splits] >= width)):
            return False
        level = np.concatenate([left[splits], right[splits]])
    return True


def _spoilt(kind: str) -> ModelError:
    return ModelError(
        "model must hold trees whose splits end in leaves, and look at columns that it has, got others "
        f"in a file of {kind}. The file is spoilt: save the model again."
    )
