"""Small fitted models of every kind, on rows that resemble nobody."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from discreet.schema import Category, FloatArray, Number, Schema

HOMES = ("rent", "own", "other")
SCHEMA = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "income": Number(0, 100, missing=False),
        "home": Category(*HOMES, missing=False, other=False),
        "level": Category(3, 1, 2, missing=False, other=False),
        "paid": Category(0, 1, missing=False, other=False),
    },
    target="paid",
    id="who",
)
NUMBERS = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "income": Number(0, 100, missing=False),
        "paid": Category(0, 1, missing=False, other=False),
    },
    target="paid",
)


@cache
def training() -> tuple[pd.DataFrame, pd.Series]:
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 91, 300).astype(float),
            "income": draw.uniform(0, 100, 300),
            "home": draw.choice(HOMES, 300),
            "level": draw.integers(1, 4, 300),
        }
    )
    score = frame.age / 20 + frame.income / 20 + frame.level + (frame.home == "own") * 2
    return frame, (score + draw.normal(0, 1, 300) > score.median()).astype(int)


def fit(estimator: Any, frame: Any, target: Any) -> Any:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a few steps are enough here
        return estimator.fit(frame, target)


def numbers_only(named: bool = True) -> Any:
    frame = training()[0][["age", "income"]]
    return frame if named else frame.to_numpy()


def encoded() -> FloatArray:
    """Return the training rows as the adapter would encode them."""
    frame = training()[0]
    return np.column_stack([SCHEMA[name].encode(frame[name].to_numpy()) for name in SCHEMA.features])


def one_hot_pipeline(**columns: Any) -> Any:
    frame = training()[0].assign(**columns)
    encode = make_column_transformer((OneHotEncoder(), ["home", "level"]), remainder=StandardScaler())
    return fit(make_pipeline(encode, LogisticRegression()), frame, training()[1])


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(20, random_state=0, n_jobs=2),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "network": lambda: make_pipeline(
        StandardScaler(), MLPClassifier((30,), max_iter=30, random_state=0)
    ),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ridge": Ridge,
    "scaled ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
}


@cache
def fitted(name: str, named: bool = True) -> Any:
    estimator = (ESTIMATORS | REGRESSORS)[name]()
    return fit(estimator, numbers_only(named), training()[1])
