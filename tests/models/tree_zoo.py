"""Small tree models of every kind, and rows that lie where decisions are close."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from discreet.models.forms.trees import LEAF, TreeEnsemble
from discreet.models.readers.boosters import booster_margin
from discreet.schema import FloatArray

WIDTH = 5


@cache
def training() -> tuple[FloatArray, FloatArray]:
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(400, WIDTH))
    rows[:, 4] = np.round(rows[:, 4], 1)
    return rows, rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.3 * draw.normal(size=400)


def target(classes: int) -> Any:
    """Return the training target: a number, or one of some classes."""
    score = training()[1]
    if classes == 0:
        return score
    return np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def xgboost(name: str) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        library = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
        return getattr(library, name)(n_jobs=1, n_estimators=12, **options)

    return make


def lightgbm(name: str) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
        options = {"n_estimators": 12, "num_leaves": 20, **options}
        return getattr(library, name)(n_jobs=1, verbose=-1, **options)

    return make


MAKERS: dict[str, tuple[Callable[[], Any], int]] = {
    "tree": (lambda: DecisionTreeRegressor(max_depth=5), 0),
    "stump": (lambda: DecisionTreeClassifier(max_depth=1), 2),
    "trivial tree": (lambda: DecisionTreeRegressor(min_samples_split=1_000), 0),
    "shallow forest": (lambda: RandomForestClassifier(9, max_depth=4, random_state=0), 2),
    "middle forest": (lambda: RandomForestClassifier(9, max_depth=5, random_state=0), 3),
    "forest of 64 leaves": (lambda: RandomForestRegressor(5, max_leaf_nodes=64, random_state=0), 0),
    "deep forest": (lambda: RandomForestRegressor(7, random_state=0), 0),
    "extra trees": (lambda: ExtraTreesClassifier(7, random_state=0), 3),
    "shallow extra trees": (lambda: ExtraTreesRegressor(7, max_depth=3, random_state=0), 0),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=12, random_state=0), 2),
    "boosting, three classes": (lambda: GradientBoostingClassifier(n_estimators=5), 3),
    "exponential loss": (lambda: GradientBoostingClassifier(n_estimators=9, loss="exponential"), 2),
    "boosting from zero": (lambda: GradientBoostingRegressor(n_estimators=9, init="zero"), 0),
    "boosting, huber": (lambda: GradientBoostingRegressor(n_estimators=9, loss="huber"), 0),
    "histogram": (lambda: HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=3), 2),
    "histogram, three classes": (lambda: HistGradientBoostingClassifier(max_iter=4), 3),
    "deep histogram": (
        lambda: HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=None, min_samples_leaf=2),
        0,
    ),
    "xgboost": (xgboost("XGBClassifier"), 2),
    "xgboost, three classes": (xgboost("XGBClassifier"), 3),
    "xgboost, numbers": (xgboost("XGBRegressor"), 0),
    "lightgbm": (lightgbm("LGBMClassifier"), 2),
    "lightgbm, three classes": (lightgbm("LGBMClassifier"), 3),
    "lightgbm, numbers": (lightgbm("LGBMRegressor"), 0),
}


@cache
def fitted(name: str, missing: bool = False) -> Any:
    """Return a fitted model; with ``missing``, one that has seen NaN."""
    make, classes = MAKERS[name]
    rows = training()[0].copy()
    if missing:
        rows[np.random.default_rng(9).random(rows.shape) < 0.15] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(rows, target(classes))


def outputs(estimator: Any) -> list[tuple[str, int]]:
    """Return the outputs that have an additive form, with the class."""
    if not hasattr(estimator, "classes_"):
        return [("value", 1)]
    places = range(len(estimator.classes_))
    averaged = not hasattr(estimator, "learning_rate")
    found = [] if averaged else [("margin", place) for place in places]
    if averaged or len(places) == 2:
        found += [("probability", place) for place in places]
    return found


def answers(estimator: Any, output: str, place: int, rows: FloatArray) -> FloatArray:
    """Return what the estimator itself says."""
    if output == "value":
        return np.asarray(estimator.predict(rows), dtype=np.float64)
    if output == "probability":
        return np.asarray(estimator.predict_proba(rows)[:, place], dtype=np.float64)
    found = (booster_margin(estimator) or estimator.decision_function)(rows)
    if found.ndim == 2:
        return np.asarray(found[:, place], dtype=np.float64)
    return np.asarray(found if place == 1 else -found, dtype=np.float64)


def with_leaves_apart(estimator: Any) -> Any:
    """Give every leaf of a scikit-learn model a value of its own: a wrong leaf cannot hide."""
    draw = np.random.default_rng(11)
    if hasattr(estimator, "_predictors"):
        for tree in (tree for iteration in estimator._predictors for tree in iteration):
            tree.nodes["value"] = draw.normal(size=len(tree.nodes))
        return estimator
    for member in np.ravel(getattr(estimator, "estimators_", [estimator])):
        member.tree_.value[...] = draw.normal(size=member.tree_.value.shape)
    return estimator


def close_calls(trees: TreeEnsemble, seed: int = 0, missing: bool = True) -> FloatArray:
    """Return rows of values at thresholds, one float beside them, one float32 beside them, and NaN."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(3_000, trees.width))
    for column in range(trees.width):
        here = trees.threshold[trees.feature == column]
        here = here[np.isfinite(here)]
        if not len(here):
            continue
        with np.errstate(over="ignore"):
            single = here.astype(np.float32)
        near = np.concatenate(
            [
                here,
                np.nextafter(here, np.inf),
                np.nextafter(here, -np.inf),
                single.astype(np.float64),
                np.nextafter(single, np.float32(np.inf)).astype(np.float64),
                np.nextafter(single, np.float32(-np.inf)).astype(np.float64),
                (single.astype(np.float64) + np.nextafter(single, np.float32(np.inf))) / 2,
                (single.astype(np.float64) + np.nextafter(single, np.float32(-np.inf))) / 2,
                [0.0, -0.0, 1e-40, -1e-40, 1e30, -1e30],
            ]
        )
        rows[:, column] = draw.choice(near, len(rows))
    if missing:
        rows[draw.random(rows.shape) < 0.05] = np.nan
    return np.asfortranarray(rows)


def splits(trees: TreeEnsemble) -> Any:
    """Return the nodes that are splits."""
    return np.flatnonzero(trees.feature != LEAF)
