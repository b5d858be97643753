"""No row leaves the certified interval, and the interval is not wider than it must be."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import differential_evolution
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from discreet.errors import ModelError
from discreet.models import Model, tree_ensemble
from discreet.models.bounds import Ranges, bound_output, bound_trees
from discreet.privacy.certificate import Box
from discreet.schema import Category, FloatArray, Number, Schema
from tests.models import tree_zoo
from tests.models.tree_zoo import MAKERS, WIDTH, answers, outputs, target, training

SCHEMA = Schema(
    {
        **{f"x{i}": Number(-1 - i, 3, missing=False) for i in range(4)},
        "x4": Category("a", "b", "c", missing=False, other=False),
    }
)
RANGES = Ranges.of(SCHEMA, SCHEMA.features)

WEIGHTS: dict[str, tuple[Callable[[], Any], int]] = {
    "logistic": (LogisticRegression, 2),
    "logistic, three classes": (lambda: LogisticRegression(max_iter=2_000), 3),
    "scaled logistic": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), 2),
    "vectors": (LinearSVC, 2),
    "descent": (lambda: SGDClassifier(random_state=0), 2),
    "ridge classes": (RidgeClassifier, 2),
    "least squares": (LinearRegression, 0),
    "ridge": (lambda: Ridge(fit_intercept=False), 0),
    "lasso": (lambda: Lasso(0.01), 0),
    "scaled net": (lambda: make_pipeline(StandardScaler(with_mean=False), ElasticNet(0.01)), 0),
    "tanh network": (
        lambda: MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", max_iter=40, random_state=0),
        0,
    ),
    "relu network": (lambda: MLPRegressor(hidden_layer_sizes=(6,), max_iter=40, random_state=0), 0),
    "logistic network": (
        lambda: MLPClassifier(
            hidden_layer_sizes=(6,), activation="logistic", max_iter=40, random_state=0
        ),
        2,
    ),
    "flat network": (
        lambda: MLPClassifier(hidden_layer_sizes=(4,), activation="identity", max_iter=9),
        2,
    ),
    "scaled network of two layers": (
        lambda: make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(5, 4), max_iter=40, random_state=0)
        ),
        0,
    ),
}


@cache
def weighted(name: str) -> Any:
    make, classes = WEIGHTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough here
        return make().fit(training()[0], target(classes))


def weighted_outputs(estimator: Any) -> list[tuple[str, int]]:
    if not hasattr(estimator, "classes_"):
        return [("value", 1)]
    places = range(len(estimator.classes_))
    found = [("margin", p) for p in places] if hasattr(estimator, "decision_function") else []
    if hasattr(estimator, "predict_proba") and len(places) == 2:
        found += [("probability", p) for p in places]
    return found


def corners() -> FloatArray:
    """Return every corner of the schema's ranges, and rows inside."""
    ends = np.stack([RANGES.low, RANGES.high])
    places = (np.arange(2**WIDTH)[:, None] >> np.arange(WIDTH)) & 1
    inside = np.random.default_rng(0).uniform(RANGES.low, RANGES.high, size=(2_000, WIDTH))
    return np.concatenate([ends[places, np.arange(WIDTH)], inside])


def outside(box: Box, found: FloatArray) -> int:
    """Count outputs that leave an interval."""
    return int(((found < box.low) | (found > box.high)).sum())


@pytest.mark.proves("fmax")
@pytest.mark.parametrize("name", WEIGHTS)
def test_no_corner_and_no_row_leaves_the_interval_of_weights(name: str) -> None:
    estimator, rows = weighted(name), corners()
    for output, place in weighted_outputs(estimator):
        box = bound_output(estimator, output, place, RANGES)
        assert box is not None
        assert outside(box, answers(estimator, output, place, rows)) == 0


@pytest.mark.proves("fmax")
@pytest.mark.parametrize("name", MAKERS)
def test_no_row_leaves_the_interval_of_leaves(name: str) -> None:
    estimator = tree_zoo.fitted(name)
    for output, place in outputs(estimator):
        trees = tree_ensemble(estimator, output, place)
        assert trees is not None
        box = bound_output(estimator, output, place)
        assert box is not None and box == bound_trees(trees)
        rows = np.concatenate([training()[0], 9 * corners(), tree_zoo.close_calls(trees)])
        assert outside(box, trees.predict(rows)) == 0


@pytest.mark.proves("fmax")
@pytest.mark.parametrize("name", ["tanh network", "relu network", "shallow forest"])
def test_a_hunt_for_extremes_stays_inside(name: str) -> None:
    forest = name == "shallow forest"
    estimator = tree_zoo.fitted(name) if forest else weighted(name)
    output = "probability" if forest else "value"
    box = bound_output(estimator, output, 1, RANGES)
    assert box is not None
    for sign in (1, -1):
        hunt = differential_evolution(
            lambda x, s=sign: s * answers(estimator, output, 1, np.ascontiguousarray(x.T)),
            list(zip(RANGES.low, RANGES.high, strict=True)),
            maxiter=30,
            popsize=8,
            rng=0,
            vectorized=True,
            updating="deferred",
            polish=False,
        )
        assert box.low <= sign * hunt.fun <= box.high


@pytest.mark.refutes("fmax")
@pytest.mark.parametrize("name", ["logistic", "scaled logistic", "least squares", "vectors"])
def test_a_shrunk_interval_of_weights_is_left(name: str) -> None:
    """A linear model reaches both ends at corners: an interval a billionth narrower is wrong."""
    estimator = weighted(name)
    output, place = weighted_outputs(estimator)[0]
    box = bound_output(estimator, output, place, RANGES)
    assert box is not None
    margin = 1e-9 * (box.high - box.low)
    found = answers(estimator, output, place, corners())
    assert outside(box, found) == 0
    assert outside(Box(box.low + margin, box.high), found) > 0
    assert outside(Box(box.low, box.high - margin), found) > 0


@pytest.mark.refutes("fmax")
@pytest.mark.parametrize("name", ["tree", "stump", "xgboost"])
def test_a_shrunk_interval_of_leaves_is_left(name: str) -> None:
    """A single tree reaches its extreme leaves; a symmetric or forgotten base does not hold."""
    estimator = tree_zoo.fitted(name)
    output, place = outputs(estimator)[-1]
    trees = tree_ensemble(estimator, output, place)
    assert trees is not None
    box = bound_trees(trees)
    assert box is not None
    found = trees.predict(training()[0])
    if name == "xgboost":  # many trees: the fault is a tree that was left out
        forgotten = trees.roots[1]
        part = {field: getattr(trees, field)[:forgotten] for field in PER_NODE}
        box = bound_trees(type(trees)(**{**vars_of(trees), **part, "roots": trees.roots[:1]}))
        assert box is not None and outside(box, found) > 0
        return
    margin = 1e-9 * (box.high - box.low)
    assert outside(box, found) == 0
    assert outside(Box(box.low + margin, box.high), found) > 0
    assert outside(Box(box.low, box.high - margin), found) > 0


PER_NODE = ("feature", "threshold", "missing_left", "left", "value", "depth")


def vars_of(trees: Any) -> dict[str, Any]:
    return {field.name: getattr(trees, field.name) for field in dataclasses.fields(trees)}


def test_a_tanh_network_is_bounded_below_the_published_sum() -> None:
    network = weighted("tanh network")
    box = bound_output(network, "value", 1, RANGES)
    published = np.abs(network.coefs_[1]).sum() + abs(network.intercepts_[1][0])
    assert box is not None and box.magnitude < published
    assert box.high - box.low < 2 * published


def test_intervals_are_signed() -> None:
    """A forest of regression trees far from zero has the width of its leaves, not of its values."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(training()[0], target(0) + 1e6)
    box = bound_output(forest, "value", 1)
    assert box is not None and box.low > 999_990 and box.high < 1_000_010


WITHOUT: dict[str, tuple[Callable[[], Any], str]] = {
    "probability of three": (lambda: weighted("logistic, three classes"), "probability"),
    "labels": (lambda: weighted("logistic"), "value"),
    "probability of a number": (lambda: weighted("tanh network"), "probability"),
    "other scaler": (
        lambda: make_pipeline(MinMaxScaler(), Ridge()).fit(training()[0], target(0)),
        "value",
    ),
    "softmax network": (
        lambda: quiet(MLPClassifier(hidden_layer_sizes=(3,), max_iter=3).fit, training()[0], target(3)),
        "probability",
    ),
    "not fitted": (LogisticRegression, "margin"),
    "function": (lambda: len, "value"),
    "other kind": (StandardScaler, "value"),
}


def quiet(function: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


@pytest.mark.parametrize("name", WITHOUT)
def test_no_interval_is_invented(name: str) -> None:
    make, output = WITHOUT[name]
    assert bound_output(make(), output, 1, RANGES) is None


def test_ranges_are_needed_for_weights_and_must_not_overflow() -> None:
    assert bound_output(weighted("logistic"), "margin", 1) is None
    wide = Ranges(np.full(WIDTH, -1.7e308), np.full(WIDTH, 1.7e308))
    assert bound_output(weighted("least squares"), "value", 1, wide) is None
    box = bound_output(
        weighted("logistic"), "probability", 1, Ranges(RANGES.low * 1e9, RANGES.high * 1e9)
    )
    assert box is not None and box.limits == (0.0, 1.0)


def test_the_adapter_takes_a_schema_for_bounds() -> None:
    for name in ("logistic", "scaled logistic", "least squares", "relu network"):
        estimator = weighted(name)
        output, place = weighted_outputs(estimator)[-1]
        model = Model(estimator, output=output, bounds=SCHEMA)  # type: ignore[arg-type]
        assert model.bounds == bound_output(estimator, output, 1, RANGES)
        found = model.bind(SCHEMA).predict(corners())
        assert outside(model.bounds, found) == 0 and place == 1
    forest = tree_zoo.fitted("shallow forest")
    assert Model(forest, bounds=SCHEMA).bounds == bound_output(forest, "probability", 1)


def test_a_schema_without_an_interval_is_refused() -> None:
    with pytest.raises(ModelError, match="no certified interval"):
        Model(lambda rows: rows[:, 0], bounds=SCHEMA)
    import pandas as pd

    named = Ridge().fit(pd.DataFrame(training()[0], columns=list(SCHEMA)), target(0))
    with pytest.raises(ModelError, match="no certified interval"):
        Model(named, bounds=SCHEMA)  # it sees original categories, not codes
    with pytest.raises(ModelError, match="must take the schema's 2 features"):
        Model(
            weighted("least squares"),
            bounds=Schema({"a": Number(0, 1, missing=False), "b": Number(0, 1, missing=False)}),
        )
