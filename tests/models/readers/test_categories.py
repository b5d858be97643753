"""Boosters with columns of categories: compiled, they decide as the library does."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

from discreet.models import BoundModel, Model, TreeEnsemble
from discreet.models.bounds import bound_output
from discreet.models.forms.trees import raw_ensemble
from discreet.models.readers import boosters
from discreet.models.readers.boosters import booster_margin
from discreet.schema import Category, FloatArray, Number, Schema

HOMES = ("rent", "own", "mortgage", "parents")
LEVELS = (9, 3, 1, 2, 7)
SCHEMA = Schema(
    {
        "age": Number(18, 90),
        "home type": Category(*HOMES),
        "level": Category(*LEVELS),
        "income": Number(0, 100),
        "paid": Category(0, 1),
    },
    target="paid",
)
ORDERS = {"home type": ["parents", "own", "rent", "mortgage"], "level": [1, 2, 3, 7, 9]}
"""As the frames have them: not the schema's."""


@cache
def training(kind: str) -> tuple[pd.DataFrame, Any]:
    draw = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": draw.uniform(18, 90, 600),
            "home type": draw.choice(HOMES, 600),
            "level": draw.choice(LEVELS, 600),
            "income": draw.uniform(0, 100, 600),
        }
    )
    odd = (frame.age > 50) ^ frame["home type"].isin(["rent", "mortgage"]) ^ frame.level.isin([1, 9])
    target = (odd ^ (draw.random(600) < 0.1)).astype(int).to_numpy()
    return handed(frame, kind), target


def handed(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return a frame whose categories are of a kind: all pandas' own, texts alone, or plain values."""
    chosen = {"categories": list(ORDERS), "texts": ["home type"], "plain": []}[kind]
    if kind == "plain":  # CatBoost takes no missing category: it is shown the first value
        frame = frame.fillna({"home type": HOMES[0], "level": LEVELS[0]}).astype({"level": int})
    if kind == "texts":
        frame = frame.assign(level=frame["level"].astype(float if frame["level"].isna().any() else int))
    own = {name: pd.Categorical(frame[name], categories=ORDERS[name]) for name in chosen}
    return frame.assign(**own)


def xgboost(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        library = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
        given = {"n_estimators": 8, "max_depth": 5, "n_jobs": 1, "enable_categorical": True}
        return getattr(library, name)(**given, **options)

    return make


def lightgbm(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
        sets = {"cat_smooth": 0, "min_data_per_group": 1, "max_cat_to_onehot": 1}
        return getattr(library, name)(n_estimators=8, n_jobs=1, verbose=-1, **sets, **options)

    return make


def catboost(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        library = pytest.importorskip("catboost", reason="catboost is an optional extra")
        given = {
            "iterations": 8,
            "depth": 4,
            "one_hot_max_size": 20,
            "cat_features": ["home type", "level"],
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
        }
        return getattr(library, name)(**{**given, **options})

    return make


MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "xgboost": (xgboost("XGBClassifier", max_cat_to_onehot=1), "categories"),
    "xgboost, one category a split": (xgboost("XGBClassifier", max_cat_to_onehot=9), "categories"),
    "xgboost, one column": (xgboost("XGBRegressor", max_cat_to_onehot=1), "texts"),
    "lightgbm": (lightgbm("LGBMClassifier"), "categories"),
    "lightgbm, one column": (lightgbm("LGBMRegressor"), "texts"),
    "histogram": (
        lambda: HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype"),
        "categories",
    ),
    "histogram, one column": (
        lambda: HistGradientBoostingRegressor(max_iter=8, categorical_features="from_dtype"),
        "texts",
    ),
    "catboost": (catboost("CatBoostClassifier"), "plain"),
    "catboost, by leaves": (catboost("CatBoostRegressor", grow_policy="Lossguide"), "plain"),
    "catboost, by depth": (catboost("CatBoostClassifier", grow_policy="Depthwise"), "plain"),
}
LEFT_TO_THEIR_LIBRARY: dict[str, tuple[Callable[[], Any], str]] = {
    "catboost, statistics": (catboost("CatBoostClassifier", one_hot_max_size=2), "plain"),
    "catboost, counts": (catboost("CatBoostRegressor", loss_function="Poisson"), "plain"),
}


@cache
def fitted(name: str) -> Any:
    make, kind = (MODELS | LEFT_TO_THEIR_LIBRARY)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(*training(kind))


def everything(missing: bool) -> pd.DataFrame:
    """Return all pairs of categories with many numbers; some values of all columns may be missing."""
    pairs = list(itertools.product(HOMES, LEVELS))
    draw = np.random.default_rng(8)
    homes, levels = zip(*(pairs * 30), strict=True)
    frame = pd.DataFrame({"age": draw.uniform(18, 90, len(homes)), "home type": homes, "level": levels})
    frame["income"] = draw.uniform(0, 100, len(homes))
    if missing:
        frame = frame.astype({"home type": object, "level": object})
        for name in frame:
            frame.loc[draw.random(len(frame)) < 0.2, name] = np.nan
    return frame


def encoded(frame: pd.DataFrame, bound: BoundModel) -> FloatArray:
    made = [SCHEMA[name].encode(frame[name].to_numpy()) for name in bound.columns]
    return np.asfortranarray(np.column_stack(made))


def said(estimator: Any, output: str, frame: pd.DataFrame) -> Any:
    if output == "probability":
        return estimator.predict_proba(frame)[:, 1]
    if output == "value":
        return estimator.predict(frame)
    return (booster_margin(estimator) or estimator.decision_function)(frame)


def model(estimator: Any, output: str) -> Model:
    return Model(estimator, output=output, bounds=(-50, 50))  # type: ignore[arg-type]


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("name", MODELS)
def test_compiled_trees_decide_as_the_library(name: str) -> None:
    estimator, kind = fitted(name), MODELS[name][1]
    for output in ("margin", "probability") if hasattr(estimator, "predict_proba") else ("value",):
        bound = model(estimator, output).bind(SCHEMA)
        assert isinstance(bound.form, TreeEnsemble) and bound.third_party is None
        for missing in (False, True):
            frame = everything(missing)
            expected = said(estimator, output, handed(frame, kind))
            found = bound.answer(encoded(frame, bound))
            near = 1e-5 if name.startswith("xgboost") else 1e-12
            np.testing.assert_allclose(found, expected, rtol=0, atol=near)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "histogram", "catboost"])
def test_bounds_hold_all_margins(name: str) -> None:
    box = bound_output(fitted(name), "margin", 1)
    assert box is not None
    margins = said(fitted(name), "margin", handed(everything(True), MODELS[name][1]))
    assert box.low <= margins.min() and margins.max() <= box.high


@pytest.mark.parametrize("name", LEFT_TO_THEIR_LIBRARY)
def test_other_models_are_asked_as_they_are(name: str) -> None:
    estimator, frame = fitted(name), everything(missing=False)
    output = "probability" if hasattr(estimator, "predict_proba") else "value"
    bound = model(estimator, output).bind(SCHEMA)
    assert bound.form is None and bound.third_party is not None
    assert bound.third_party.kept.grade == "probed"
    expected = said(estimator, output, handed(frame, "plain"))
    np.testing.assert_allclose(bound.predict(encoded(frame, bound)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "histogram"])
def test_values_a_model_does_not_know_are_missing_to_it(name: str) -> None:
    """XGBoost itself takes an unknown value for the next one in its alphabet, or fails."""
    wider = Schema(
        {c: SCHEMA[c] for c in SCHEMA} | {"home type": Category("boat", *HOMES, "zeppelin")},
        target="paid",
    )
    taken = Model(fitted(name))
    bound = taken.bind(wider)
    assert isinstance(bound.form, TreeEnsemble)
    assert "it does not know 'boat', 'zeppelin': missing" in taken.inputs(wider)
    frame = everything(missing=False).assign(**{"home type": None})
    expected = said(fitted(name), "probability", handed(frame, "categories"))
    for value in ("boat", "zeppelin"):
        frame["home type"] = value
        rows = np.column_stack([wider[c].encode(frame[c].to_numpy()) for c in bound.columns])
        np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-5)


def test_catboost_of_several_classes() -> None:
    library = pytest.importorskip("catboost", reason="catboost is an optional extra")
    frame, _ = training("plain")
    estimator = library.CatBoostClassifier(
        iterations=5, depth=3, loss_function="MultiClass", thread_count=1, verbose=False
    )
    estimator.set_params(allow_writing_files=False)
    estimator.fit(frame[["age", "income"]], frame["level"])
    for place, level in enumerate(estimator.classes_.tolist()):
        bound = Model(estimator, output="margin", class_=level).bind(SCHEMA)
        assert isinstance(bound.form, TreeEnsemble)
        rows = frame[["age", "income"]].to_numpy().copy()
        margins = estimator.predict(rows, prediction_type="RawFormulaVal")
        np.testing.assert_allclose(bound.form.predict(rows), margins[:, place], atol=1e-12)
    assert Model(estimator, class_=9).bind(SCHEMA).form is None


def test_catboost_sends_missing_numbers_where_it_learnt_to() -> None:
    library = pytest.importorskip("catboost", reason="catboost is an optional extra")
    rows, target = training("plain")[0][["age", "income"]].to_numpy().copy(), training("plain")[1]
    rows[::3, 0] = np.nan
    for mode in ("Min", "Max"):
        estimator = library.CatBoostRegressor(
            iterations=6, depth=4, nan_mode=mode, thread_count=1, verbose=False
        )
        estimator.set_params(allow_writing_files=False)
        estimator.fit(rows, target.astype(float))
        bound = Model(estimator, columns=["age", "income"]).bind(SCHEMA)
        assert isinstance(bound.form, TreeEnsemble)
        np.testing.assert_allclose(bound.form.predict(rows), estimator.predict(rows), atol=1e-12)


def coded_rows() -> FloatArray:
    return np.column_stack(
        [SCHEMA[n].encode(training("plain")[0][n].to_numpy()) for n in SCHEMA.features]
    )


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "histogram"])
def test_matrices_of_codes(name: str) -> None:
    rows, target = coded_rows(), training("plain")[1]
    estimator = {
        "xgboost": xgboost("XGBClassifier", max_cat_to_onehot=1, feature_types=["q", "c", "c", "q"]),
        "lightgbm": lightgbm("LGBMClassifier"),
        "histogram": lambda: HistGradientBoostingClassifier(max_iter=8, categorical_features=[1, 2]),
    }[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"categorical_feature": [1, 2]} if name == "lightgbm" else {}
        estimator.fit(rows, target, **options)
    bound = Model(estimator).bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble)
    expected = estimator.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-5)


def test_forests_on_numbers_behind_categories_are_compiled_too() -> None:
    frame = training("plain")[0][["age", "level"]]
    forest = RandomForestClassifier(5, max_depth=6, random_state=0).fit(frame, training("plain")[1])
    bound = Model(forest).bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble) and bound.columns == ("age", "level")
    expected = forest.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(bound.predict(encoded(frame, bound)), expected, rtol=0, atol=1e-12)


def test_values_that_a_library_would_cut_off_are_called() -> None:
    """LightGBM takes 1.5 for category 1, and -0.5 for 0."""
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    values, draw = (-0.5, 1.5, 2.5, 3.0), np.random.default_rng(2)
    frame = pd.DataFrame({"age": draw.uniform(0, 1, 800), "level": draw.choice(values, 800)})
    target = frame.age + frame.level.isin([1.5, 3.0])
    made = library.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(frame, target, categorical_feature=[1])
    schema = Schema(
        {
            "age": Number(0, 1, missing=False),
            "level": Category(*values, missing=False, other=False),
        }
    )
    bound = Model(made, bounds=(-1, 3)).bind(schema)
    rows = np.asfortranarray([[0.5, code] for code in range(4)])
    assert bound.form is None
    shown = pd.DataFrame({"age": 0.5, "level": values})
    np.testing.assert_allclose(bound.answer(rows), made.predict(shown))


def cornered(**columns: Any) -> tuple[pd.DataFrame, Any]:
    """Return rows with a corner that public rows do not reach, and where it is."""
    draw = np.random.default_rng(0)
    a, b = draw.uniform(0, 1, 20_000) ** 0.05, 1 - draw.uniform(0, 1, 20_000) ** 0.05
    drawn = {
        name: pd.Categorical(pd.Series(values).sample(20_000, replace=True, random_state=1))
        for name, values in columns.items()
    }
    return pd.DataFrame({"a": a, "b": b, **drawn}), (a > 0.97) & (b < 0.03)


def one_tree(**options: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    sets = {"cat_smooth": 0, "cat_l2": 0, "min_data_per_group": 1, "min_child_samples": 1}
    given = {"learning_rate": 1.0, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
    return library.LGBMRegressor(**{"n_estimators": 1, **given, **sets, **options})


def unlisted(**columns: tuple[Any, ...]) -> Schema:
    known = {k: Category(*values, missing=False, other=False) for k, values in columns.items()}
    return Schema({**{name: Number(0, 1, missing=False) for name in "ab"}, **known})


LEVELS_AND_ONE = {"one": ("x",), "c": (3, 1, 2, 7)}


def beside_one() -> float:
    """Return how far compiled answers are from a model's beside a column with one category."""
    rows, corner = cornered(**LEVELS_AND_ONE)
    made = one_tree().fit(rows, 5.0 * corner + 3.0 * (corner & rows.c.isin([1, 7])))
    bound = Model(made, bounds=(-9, 9)).bind(unlisted(**LEVELS_AND_ONE))
    shown = np.asfortranarray([[0.99, 0.01, 0, code] for code in range(4)])
    own = made.predict(bound.call.make_input(shown))
    assert np.ptp(own) > 2
    return float(np.abs(bound.answer(shown) - own).max())


@pytest.mark.proves("tree-decisions")
def test_lists_of_categories_that_cannot_be_told_apart_are_not_guessed() -> None:
    assert beside_one() < 1e-9


@pytest.mark.refutes("tree-decisions")
def test_lists_of_categories_that_are_guessed_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosters, "_knows_its_columns", lambda dump: True)
    assert beside_one() > 2


@pytest.mark.parametrize("option", [{"pred_early_stop": True}, {"num_iteration_predict": 1}])
def test_estimators_that_leave_out_trees_when_they_predict_are_called(option: Any) -> None:
    rows, corner = cornered()
    for options in (dict[str, Any](), option):
        made = one_tree(n_estimators=3, **options).fit(rows, 5.0 * corner)
        trees = raw_ensemble(made, "value", 1)
        assert (trees is None) == bool(options)


def test_truth_values_are_handed_to_models_that_know_them_as_numbers() -> None:
    rows, corner = cornered(c=(True, False))
    target = 5.0 * corner + 3.0 * (corner & (rows.c == True))  # noqa: E712
    made = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, categorical_features="from_dtype", min_samples_leaf=1
    ).fit(rows, target)
    bound = Model(made).bind(unlisted(c=(True, False)))
    shown = np.asfortranarray([[0.99, 0.01, 0.0], [0.99, 0.01, 1.0]])
    own = made.predict(
        pd.DataFrame({"a": 0.99, "b": 0.01, "c": pd.Categorical([True, False], [False, True])})
    )
    assert own[0] - own[1] > 2
    np.testing.assert_allclose(made.predict(bound.call.make_input(shown)), own)
    np.testing.assert_allclose(bound.answer(shown), own)
