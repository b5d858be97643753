"""Which estimators have an additive form, and what the adapter does with it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression

from discreet.data.blocks import Block
from discreet.errors import ModelError
from discreet.explain.pdp.plan import curve_contribution
from discreet.models import Model, TreeEnsemble, tree_ensemble
from discreet.privacy.certificate import Box
from discreet.schema import Category, FloatArray, Number, Schema
from tests.models.tree_zoo import (
    MAKERS,
    WIDTH,
    answers,
    fitted,
    lightgbm,
    outputs,
    target,
    training,
    xgboost,
)

NUMBERS = Schema({f"x{i}": Number(-4, 4, missing=False) for i in range(WIDTH)})
FRAME = pd.DataFrame(training()[0], columns=list(NUMBERS))


def fit(estimator: Any, classes: int, rows: Any = None, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(training()[0] if rows is None else rows, target(classes), **options)


class Mirrored(RandomForestClassifier):
    """Has a forest, and does something else with it."""

    def predict_proba(self, rows: Any) -> Any:
        return super().predict_proba(rows)[:, ::-1]


def categorical() -> Any:
    rows = training()[0].copy()
    rows[:, 0] = np.digitize(rows[:, 0], [-1, 0, 1])
    return fit(HistGradientBoostingClassifier(max_iter=3, categorical_features=[0]), 2, rows)


def two_targets() -> Any:
    both = np.column_stack([target(0), target(0)])
    return RandomForestRegressor(3).fit(training()[0], both)


def lightgbm_with_categories() -> Any:
    rows = training()[0].copy()
    rows[:, 0] = np.digitize(rows[:, 0], [-1, 0, 1])
    model = lightgbm("LGBMRegressor")(min_data_per_group=1, cat_smooth=0)
    return fit(model, 0, rows, categorical_feature=[0])


WITHOUT: dict[str, tuple[Callable[[], Any], str]] = {
    "softmax of boosting": (lambda: fitted("boosting, three classes"), "probability"),
    "softmax of histograms": (lambda: fitted("histogram, three classes"), "probability"),
    "softmax of xgboost": (lambda: fitted("xgboost, three classes"), "probability"),
    "softmax of lightgbm": (lambda: fitted("lightgbm, three classes"), "probability"),
    "labels": (lambda: fitted("shallow forest"), "value"),
    "labels of boosting": (lambda: fitted("boosting"), "value"),
    "margin of a forest": (lambda: fitted("shallow forest"), "margin"),
    "probability of a number": (lambda: fitted("deep forest"), "probability"),
    "boosting on a model": (
        lambda: fit(GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()), 2),
        "margin",
    ),
    "logarithmic link": (
        lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=3).fit(
            training()[0], np.exp(target(0))
        ),
        "value",
    ),
    "categories": (categorical, "margin"),
    "two targets": (two_targets, "value"),
    "not fitted": (RandomForestClassifier, "probability"),
    "other ensemble": (lambda: fit(AdaBoostClassifier(n_estimators=3), 2), "probability"),
    "subclass": (lambda: fit(Mirrored(3), 2), "probability"),
    "no estimator": (lambda: len, "value"),
    "xgboost with dropout": (lambda: fit(xgboost("XGBRegressor")(booster="dart"), 0), "value"),
    "xgboost, linear": (lambda: fit(xgboost("XGBRegressor")(booster="gblinear"), 0), "value"),
    "xgboost, other missing": (lambda: fit(xgboost("XGBRegressor")(missing=0.0), 0), "value"),
    "xgboost, counts": (
        lambda: xgboost("XGBRegressor")(objective="count:poisson").fit(
            training()[0], np.exp(target(0))
        ),
        "value",
    ),
    "lightgbm, zero missing": (
        lambda: fit(lightgbm("LGBMRegressor")(zero_as_missing=True), 0, np.round(training()[0])),
        "value",
    ),
    "lightgbm, linear leaves": (lambda: fit(lightgbm("LGBMRegressor")(linear_tree=True), 0), "value"),
    "lightgbm, averaged": (
        lambda: fit(lightgbm("LGBMRegressor")(boosting_type="rf", subsample=0.5, subsample_freq=1), 0),
        "value",
    ),
    "lightgbm, steep": (lambda: fit(lightgbm("LGBMClassifier")(sigmoid=2.0), 2), "probability"),
    "lightgbm, roots": (lambda: fit(lightgbm("LGBMRegressor")(reg_sqrt=True), 0), "value"),
    "lightgbm, categories": (lightgbm_with_categories, "value"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_other_outputs_have_no_additive_form(name: str) -> None:
    make, output = WITHOUT[name]
    assert tree_ensemble(make(), output, 1) is None


SPECIAL: dict[str, Callable[[], Any]] = {
    "xgboost, stopped early": lambda: fit(
        xgboost("XGBClassifier")(early_stopping_rounds=1, learning_rate=3.0),
        2,
        eval_set=[(training()[0][::-1], target(2))],
        verbose=False,
    ),
    "xgboost, forests": lambda: fit(xgboost("XGBRegressor")(num_parallel_tree=3, subsample=0.5), 0),
    "xgboost, own base": lambda: fit(xgboost("XGBClassifier")(base_score=0.2), 2),
    "xgboost, pruned": lambda: fit(xgboost("XGBRegressor")(gamma=5.0, tree_method="exact"), 0),
    "xgboost, softmax of two": lambda: fit(
        xgboost("XGBClassifier")(objective="multi:softprob", num_class=2), 2
    ),
    "lightgbm, steep": lambda: fit(lightgbm("LGBMClassifier")(sigmoid=2.0), 2),
    "lightgbm, dropout": lambda: fit(lightgbm("LGBMRegressor")(boosting_type="dart"), 0),
    "lightgbm, absolute": lambda: fit(lightgbm("LGBMRegressor")(objective="mae"), 0),
    "boosting, quantile": lambda: fit(GradientBoostingRegressor(n_estimators=5, loss="quantile"), 0),
    "histogram, stopped early": lambda: fit(
        HistGradientBoostingClassifier(max_iter=30, early_stopping=True), 2
    ),
    "weighted forest": lambda: fit(
        RandomForestClassifier(5, max_depth=3, class_weight={0: 1, 1: 7}), 2
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_settings_are_read_right(name: str) -> None:
    estimator = SPECIAL[name]()
    output = "margin" if hasattr(estimator, "classes_") else "value"
    output = "probability" if "forest" in name and "xgboost" not in name else output
    trees = tree_ensemble(estimator, output, 1)
    assert trees is not None
    expected = answers(estimator, output, 1, training()[0])
    np.testing.assert_allclose(trees.predict(training()[0]), expected, rtol=1e-5, atol=1e-5)
    assert trees.agrees(training()[0], expected)
    assert not trees.agrees(training()[0], expected + 1e-3)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", ["shallow forest", "deep forest", "boosting", "xgboost", "lightgbm"])
def test_the_adapter_uses_the_compiled_form(name: str, named: bool) -> None:
    make, classes = MAKERS[name]
    estimator = fit(make(), classes, FRAME if named else None)
    rows = np.asfortranarray(FRAME.to_numpy())
    for output, place in outputs(estimator):
        options = {"class_": estimator.classes_[place]} if output != "value" else {}
        bound = Model(estimator, output=output, **options).bind(NUMBERS)  # type: ignore[arg-type]
        assert isinstance(bound.form, TreeEnsemble) and bound.pulse is None
        given = FRAME if named else rows
        expected = answers(estimator, output, place, given)  # type: ignore[arg-type]
        np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-5)


def test_columns_in_another_order_and_fewer_of_them() -> None:
    chosen = ["x3", "x0", "x1"]
    estimator = fit(RandomForestClassifier(5, max_depth=4), 2, FRAME[chosen])
    bound = Model(estimator).bind(NUMBERS)
    assert isinstance(bound.form, TreeEnsemble) and bound.columns == tuple(chosen)
    expected = estimator.predict_proba(FRAME[chosen])[:, 1]
    np.testing.assert_allclose(bound.predict(FRAME[chosen].to_numpy()), expected, atol=1e-12)


def test_splits_on_the_values_of_categories_become_splits_on_their_codes() -> None:
    schema = Schema(
        {
            **{f"x{i}": Number(-4, 4, missing=False) for i in range(4)},
            "x4": Category(2, 0, 1, missing=False, other=False),
        }
    )
    frame = FRAME.assign(x4=np.digitize(FRAME["x4"], [-0.5, 0.5]))
    named = fit(RandomForestClassifier(5, max_depth=4, random_state=0), 2, frame)
    codes = schema["x4"].encode(frame["x4"].to_numpy())
    bound = Model(named).bind(schema)
    assert isinstance(bound.form, TreeEnsemble)
    found = bound.predict(frame.assign(x4=codes).to_numpy())
    np.testing.assert_allclose(found, named.predict_proba(frame)[:, 1], rtol=0, atol=1e-12)
    plain = fit(RandomForestClassifier(5, max_depth=4), 2, frame.assign(x4=codes).to_numpy())
    assert Model(plain).bind(schema).form is not None


def test_a_form_that_disagrees_with_its_model_is_not_used() -> None:
    estimator = copy.deepcopy(fitted("shallow forest"))
    honest = estimator.predict_proba
    estimator.predict_proba = lambda rows: honest(rows)[:, ::-1]
    bound = Model(estimator).bind(NUMBERS)
    assert bound.form is None and bound.pulse is not None


def test_missing_answers_become_the_middle_and_others_are_clipped() -> None:
    bound = Model(fitted("shallow forest"), bounds=(0.4, 0.5)).bind(NUMBERS)
    found = bound.predict(training()[0])
    assert found.min() == 0.4 and found.max() == 0.5
    assert isinstance(bound.form, TreeEnsemble)


def test_margins_of_trees_bring_their_own_bounds() -> None:
    for name in ("boosting", "histogram", "lightgbm", "xgboost"):
        estimator = fitted(name)
        low, high = Model(estimator, output="margin").bounds.limits
        margins = answers(estimator, "margin", 1, training()[0])
        assert low < margins.min() < margins.max() < high
        mirrored = Model(estimator, output="margin", class_=0).bounds.limits
        np.testing.assert_allclose(mirrored, (-high, -low), rtol=1e-12)
    assert Model(fitted("deep forest")).bounds.low < target(0).min() * 0.5
    assert Model(fitted("boosting")).bounds == Box(0.0, 1.0)
    assert Model(fitted("boosting"), output="margin", bounds=(-1, 2)).bounds == Box(-1.0, 2.0)


def test_margins_without_trees_still_need_bounds() -> None:
    logistic = fit(LogisticRegression(), 2)
    with pytest.raises(ModelError, match="bounds must be given for a model whose output"):
        Model(logistic, output="margin")
    with pytest.raises(ModelError, match="model must have decision_function"):
        Model(fitted("shallow forest"), output="margin")
    with pytest.raises(ModelError, match="model must have decision_function"):
        Model(fitted("lightgbm, numbers"), output="margin")


def test_a_curve_of_a_forest_depends_on_its_own_row_alone() -> None:
    """No rows beside it are paid for, and the sums are those of the estimator."""
    estimator = fitted("shallow forest")
    bound = Model(estimator).bind(NUMBERS)
    grid = np.linspace(-2, 2, 7)
    contribution = curve_contribution(bound, "x1", grid)
    assert contribution.own_row
    values = np.asfortranarray(training()[0])
    found = contribution.compute(Block(0, tuple(NUMBERS), values))
    np.testing.assert_allclose(found, by_hand(estimator, values, 1, grid) - 0.5, atol=1e-12)
    alone = contribution.compute(Block(0, tuple(NUMBERS), values[17:18]))
    assert alone.tobytes() == found[17:18].tobytes()


def by_hand(estimator: Any, rows: FloatArray, place: int, grid: FloatArray) -> FloatArray:
    columns = []
    for point in grid:
        changed = rows.copy()
        changed[:, place] = point
        columns.append(estimator.predict_proba(changed)[:, 1])
    return np.column_stack(columns)
