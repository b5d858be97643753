"""Models as libraries keep them besides their estimators, seen as estimators.

XGBoost's and CatBoost's own boosters become the estimators of these libraries; LightGBM has no way
back, so its booster is wrapped. What a booster predicts follows from its objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError

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
    import json

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
