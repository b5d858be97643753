"""Trees behind a preparation: the same leaves as the pipeline, to the last bit of every threshold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from discreet.models import Model, TreeEnsemble
from discreet.models.forms import category_splits, prepared
from discreet.models.forms.trees import raw_ensemble
from discreet.schema import Category, Date, FloatArray, Number, Schema

HOMES, LEVELS = ("rent", "own", "other", "none"), (3, 1, 2)
NUMBERS, CATEGORIES = ["age", "income", "debt"], ["home", "level"]
WHOLE = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "home": Category(*HOMES, missing=False, other=False),
        "income": Number(0, 1e5, missing=False),
        "level": Category(*LEVELS, missing=False, other=False),
        "debt": Number(-1e-3, 1e-3, missing=False),
    }
)
GAPS = Schema(
    {
        "age": Number(18, 90, step=1),
        "home": Category(*HOMES, other=False),
        "income": Number(0, 1e5),
        "level": Category(*LEVELS, missing=False, other=False),
        "debt": Number(-1e-3, 1e-3, missing=False),
    }
)


@cache
def training() -> tuple[pd.DataFrame, Any]:
    draw = np.random.default_rng(11)
    rows = pd.DataFrame(
        {
            "age": draw.integers(18, 91, 600).astype(float),
            "home": draw.choice(HOMES, 600, p=[0.5, 0.3, 0.19, 0.01]),
            "income": draw.uniform(0, 1e5, 600),
            "level": draw.choice(LEVELS, 600),
            "debt": draw.uniform(-1e-3, 1e-3, 600),
        }
    )
    score = rows.age / 30 + rows.income / 3e4 + rows.level * (rows.home == "own") + 800 * rows.debt
    return rows, (score + draw.normal(0, 0.5, 600) > score.median()).astype(int)


@cache
def training_with_gaps() -> tuple[pd.DataFrame, Any]:
    rows, target = training()
    rows, draw = rows.copy(), np.random.default_rng(12)
    for name in ("age", "home", "income"):
        rows.loc[draw.random(len(rows)) < 0.15, name] = np.nan
    return rows, target


def one_hot(**options: Any) -> OneHotEncoder:
    return OneHotEncoder(**{"sparse_output": False, **options})


def forest() -> Any:
    return RandomForestClassifier(12, max_depth=7, random_state=0)


def histograms(**options: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=12, random_state=0, **options)


def xgboost() -> Any:
    library = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
    return library.XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1)


def lightgbm() -> Any:
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    return library.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1)


PIPELINES: dict[str, Callable[[], Any]] = {
    "one-hot and standard, forest": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (one_hot(), CATEGORIES)), forest()
    ),
    "sparse, forest": lambda: make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), CATEGORIES), remainder="passthrough", sparse_threshold=1.0
        ),
        forest(),
    ),
    "one dropped, rare together, boosting": lambda: make_pipeline(
        make_column_transformer(
            (one_hot(drop="first", min_frequency=0.05), CATEGORIES), (RobustScaler(), NUMBERS)
        ),
        GradientBoostingClassifier(n_estimators=12, random_state=0),
    ),
    "ordinal, histograms": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder=MinMaxScaler()), histograms()
    ),
    "ordinal sets, histograms": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder=MaxAbsScaler()),
        histograms(categorical_features=[0, 1]),
    ),
    "scaled twice, clipped": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(StandardScaler(), MinMaxScaler((-1, 1), clip=True)), NUMBERS),
            (one_hot(), ["home"]),
            ("drop", ["level"]),
        ),
        forest(),
    ),
    "one column twice": lambda: make_pipeline(
        make_column_transformer(
            (StandardScaler(with_std=False), ["age"]),
            (MinMaxScaler(), ["age", "debt"]),
            (one_hot(), CATEGORIES),
        ),
        forest(),
    ),
    "handed on": lambda: make_pipeline(
        make_column_transformer((one_hot(), CATEGORIES), remainder="passthrough"),
        "passthrough",
        None,
        forest(),
    ),
    "lightgbm": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (one_hot(), CATEGORIES)), lightgbm()
    ),
    "xgboost": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (one_hot(), CATEGORIES)), xgboost()
    ),
    "xgboost, sparse categories": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(), CATEGORIES), sparse_threshold=1.0), xgboost()
    ),
}
WITH_GAPS: dict[str, Callable[[], Any]] = {
    "filled": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot()), CATEGORIES),
        ),
        forest(),
    ),
    "scaled with gaps": lambda: make_pipeline(
        make_column_transformer(
            (StandardScaler(), NUMBERS), (one_hot(handle_unknown="ignore"), CATEGORIES)
        ),
        histograms(),
    ),
    "ordinal with gaps": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder="passthrough"),
        histograms(categorical_features=[0, 1]),
    ),
}


def fit(estimator: Any, gaps: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*(training_with_gaps() if gaps else training()))


def near_thresholds(trees: TreeEnsemble, schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return encoded rows at all thresholds and next to them, and many others."""
    draw = np.random.default_rng(3)
    rows = schema.draw(4_000)[:, [schema.position(name) for name in columns]]
    at = np.flatnonzero(trees.feature >= 0)
    for split in draw.choice(at, min(len(at), 3_000)):
        column = schema[columns[trees.feature[split]]]
        if isinstance(column, Number):
            place, value = draw.integers(len(rows)), trees.threshold[split]
            near = draw.choice([value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)])
            rows[place, trees.feature[split]] = np.clip(near, column.low, column.high)
    return np.asfortranarray(rows)


def said(estimator: Any, bound: Any, rows: FloatArray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = bound.call.make_input(rows)
        if hasattr(estimator, "predict_proba"):
            return estimator.predict_proba(frame)[:, 1]
        return estimator.predict(frame)


def largest_difference(name: str) -> float:
    """Return how far answers of ours and the pipeline's own are apart, beside its precision."""
    gaps = name in WITH_GAPS
    estimator = fit((WITH_GAPS if gaps else PIPELINES)[name](), gaps)
    schema = GAPS if gaps else WHOLE
    bound = Model(estimator).bind(schema)
    assert isinstance(bound.form, TreeEnsemble) and bound.third_party is None
    rows = near_thresholds(bound.form, schema, bound.columns)
    near = 1e-5 if name.startswith("xgboost") else 1e-12
    return float(np.abs(bound.answer(rows) - said(estimator, bound, rows)).max() / near)


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("name", [*PIPELINES, *WITH_GAPS])
def test_pipelines_decide_as_their_trees_do(name: str) -> None:
    assert largest_difference(name) < 1


@pytest.mark.refutes("tree-decisions")
def test_thresholds_that_are_merely_scaled_back_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = prepared._greatest_below

    def rounded(steps: Any, limits: FloatArray) -> FloatArray:
        return np.asarray(exact(steps, limits).astype(np.float32), dtype=np.float64)

    monkeypatch.setattr(prepared, "_greatest_below", rounded)
    name = "one-hot and standard, forest"
    assert Model(fit(PIPELINES[name]())).bind(WHOLE).form is None  # the preparation says otherwise
    monkeypatch.setattr(prepared._Prepared, "_agrees", lambda *given: True)
    assert Model(fit(PIPELINES[name]())).bind(WHOLE).form is None  # so do public rows
    monkeypatch.setattr(TreeEnsemble, "agrees", lambda *given: True)
    assert largest_difference(name) > 1


@pytest.mark.refutes("tree-decisions")
def test_gaps_that_go_where_trees_learnt_without_their_fill_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unfilled = property(lambda self: np.full(len(self.found.made), np.nan))
    monkeypatch.setattr(prepared._Prepared, "_of_gaps", unfilled)
    bound = Model(fit(WITH_GAPS["filled"](), gaps=True)).bind(GAPS)
    assert bound.form is None  # public rows with gaps say otherwise


class Doubled(StandardScaler):
    """A scaler that somebody changed."""

    def transform(self, rows: Any, copy: Any = None) -> Any:
        return 2 * super().transform(rows, copy)


OPAQUE: dict[str, Callable[[], Any]] = {
    "several columns at once": lambda: make_pipeline(
        make_column_transformer((PCA(2), NUMBERS), (one_hot(), CATEGORIES)), forest()
    ),
    "a function": lambda: make_pipeline(
        make_column_transformer((FunctionTransformer(np.abs), NUMBERS), (one_hot(), CATEGORIES)),
        forest(),
    ),
    "a number that is looked up": lambda: make_pipeline(
        make_column_transformer(
            (one_hot(handle_unknown="ignore"), ["age"]), (one_hot(), CATEGORIES), remainder="drop"
        ),
        forest(),
    ),
    "a number that stands for a gap": lambda: make_pipeline(
        make_column_transformer(
            (SimpleImputer(missing_values=40.0, strategy="mean"), NUMBERS), (one_hot(), CATEGORIES)
        ),
        forest(),
    ),
    "marks of gaps": lambda: make_pipeline(
        make_column_transformer((SimpleImputer(add_indicator=True), NUMBERS), (one_hot(), CATEGORIES)),
        forest(),
    ),
    "a changed part": lambda: make_pipeline(
        make_column_transformer((Doubled(), NUMBERS), (one_hot(), CATEGORIES)), forest()
    ),
    "sparse numbers of xgboost": lambda: make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), CATEGORIES), remainder="passthrough", sparse_threshold=1.0
        ),
        xgboost(),
    ),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_other_pipelines_are_called(name: str) -> None:
    estimator = fit(OPAQUE[name]())
    bound = Model(estimator).bind(WHOLE)
    assert not isinstance(bound.form, TreeEnsemble)
    rows = WHOLE.draw(50)[:, [WHOLE.position(column) for column in bound.columns]]
    np.testing.assert_allclose(bound.answer(rows), said(estimator, bound, rows))


def test_a_scale_that_turns_numbers_around_is_called() -> None:
    estimator = fit(PIPELINES["one-hot and standard, forest"]())
    estimator[0].named_transformers_["standardscaler"].scale_[:] *= -1
    assert not isinstance(Model(estimator).bind(WHOLE).form, TreeEnsemble)


def test_pipelines_of_matrices_are_read_by_places() -> None:
    rows, target = training()
    codes = np.column_stack([WHOLE[name].encode(rows[name].to_numpy()) for name in WHOLE])
    transformer = make_column_transformer((one_hot(), [1, 3]), remainder=StandardScaler())
    estimator = make_pipeline(transformer, forest()).fit(codes, target)
    bound = Model(estimator).bind(WHOLE)
    assert isinstance(bound.form, TreeEnsemble)
    np.testing.assert_allclose(bound.answer(codes), estimator.predict_proba(codes)[:, 1], atol=1e-12)


@pytest.mark.parametrize("last", [RandomForestRegressor(5), HistGradientBoostingRegressor(max_iter=5)])
def test_numbers_that_pipelines_predict_are_bounded_by_leaves(last: Any) -> None:
    rows, _ = training()
    transformer = make_column_transformer((one_hot(), CATEGORIES), remainder=StandardScaler())
    estimator: Pipeline = make_pipeline(transformer, last).fit(rows, rows.age / 3)
    model = Model(estimator)
    bound = model.bind(WHOLE)
    assert isinstance(bound.form, TreeEnsemble)
    found = said(estimator, bound, near_thresholds(bound.form, WHOLE, bound.columns))
    assert model.bounds.low <= found.min() < found.max() <= model.bounds.high
    assert model.bounds.high < 90  # leaves, not what somebody might guess


def corner(rows: pd.DataFrame) -> Any:
    """Return where rows lie that public rows do not reach: one number high, another one low."""
    return (rows.a > 0.97) & (rows.b < 0.03)


@cache
def cornered() -> tuple[pd.DataFrame, Schema]:
    draw = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "a": draw.uniform(0, 1, 20_000) ** 0.05,
            "b": 1 - draw.uniform(0, 1, 20_000) ** 0.05,
            "c": draw.choice([1, 2, 3, 4], 20_000),
        }
    )
    whole = {name: Number(0, 1, missing=False) for name in ("a", "b")}
    return rows, Schema({**whole, "c": Category(1, 2, 3, 4, missing=False, other=False)})


def test_thresholds_beyond_all_bounds_are_tried_too() -> None:
    """A scaler sees dates as seconds, not as days: no threshold is where it was looked for."""
    rows, schema = cornered()
    days = pd.to_timedelta(np.random.default_rng(1).integers(0, 1826, len(rows)), unit="D")
    rows = rows.assign(c=(pd.to_datetime("2020-01-01") + days).astype("datetime64[s]"))
    target = 5.0 * corner(rows) + 3.0 * (corner(rows) & (rows.c > "2022-06-01"))
    columns = make_column_transformer((StandardScaler(), ["c"]), remainder="passthrough")
    estimator = make_pipeline(columns, DecisionTreeRegressor(max_depth=3)).fit(rows, target)
    dated = Schema(
        {**{name: schema[name] for name in "ab"}, "c": Date("2020-01-01", "2024-12-31", missing=False)}
    )
    bound = Model(estimator).bind(dated)
    assert bound.form is None
    assert bound.answer(np.asfortranarray([[0.99, 0.01, 20_088.0]])) == pytest.approx(8.0)


def test_categories_that_catboost_hashes_are_called() -> None:
    catboost = pytest.importorskip("catboost", reason="catboost is an optional extra")
    rows, schema = cornered()
    target = 5.0 * corner(rows) + 3.0 * (corner(rows) & rows.c.isin([1, 3]))
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    last = catboost.CatBoostRegressor(
        iterations=1,
        depth=3,
        learning_rate=1.0,
        l2_leaf_reg=0,
        grow_policy="Depthwise",
        cat_features=["c"],
        one_hot_max_size=50,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
    )
    bound = Model(make_pipeline(columns, last).fit(rows, target), bounds=(0, 9)).bind(schema)
    assert bound.form is None
    answers = bound.answer(np.asfortranarray([[0.99, 0.01, code] for code in range(4)]))
    assert answers[0] == answers[1] == answers[2] > answers[3] + 1


def test_a_zero_that_is_stored_is_a_number_to_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
    rows, target = training()
    filled = make_pipeline(
        make_column_transformer((OneHotEncoder(), CATEGORIES), sparse_threshold=1.0),
        SimpleImputer(strategy="constant", fill_value=0),
        xgboost.XGBClassifier(n_estimators=8, n_jobs=1),
    )
    estimator = filled.fit(rows, target)
    bound = Model(estimator).bind(WHOLE)
    drawn = WHOLE.draw(500)[:, [WHOLE.position(name) for name in bound.columns]]
    np.testing.assert_allclose(bound.answer(drawn), said(estimator, bound, drawn), atol=1e-5)
    prepared_, shown = (
        prepared.preparation(estimator),
        prepared.Shown(bound.sight, bound.call.make_input, drawn[0]),
    )
    assert prepared_ is not None
    trees = raw_ensemble(prepared_.last, "probability", 1)
    assert trees is not None
    stored = sparse.csr_matrix(([0.0, 2.0], ([0, 0], [0, 2])), shape=(1, 3))
    steps = replace(prepared_, before=SimpleNamespace(transform=lambda frame: stored))
    seen = prepared._Prepared(steps, trees, shown)._prepare(drawn[:1])
    np.testing.assert_array_equal(seen, [[0.0, np.nan, 2.0]])


def test_a_method_that_somebody_wrote_into_a_part_is_asked() -> None:
    rows, target = training()
    estimator = fit(PIPELINES["one-hot and standard, forest"]())
    member = estimator[-1].estimators_[0]
    member.predict_proba = lambda rows, check_input=True: np.tile([0.0, 1.0], (len(rows), 1))
    assert not isinstance(Model(estimator).bind(WHOLE).form, TreeEnsemble)
    booster = xgboost().fit(rows[NUMBERS], target)
    own = booster.predict_proba
    assert raw_ensemble(booster, "probability", 1) is not None
    booster.predict_proba = lambda rows: 1 - own(rows)
    assert raw_ensemble(booster, "probability", 1) is None


def test_pipelines_that_would_grow_without_end_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = fit(PIPELINES["one-hot and standard, forest"]())
    nodes = sum(tree.tree_.node_count for tree in estimator[-1].estimators_)
    assert isinstance(Model(estimator).bind(WHOLE).form, TreeEnsemble)
    grow = category_splits.grow_all
    monkeypatch.setattr(category_splits, "_MOST_TOGETHER", 0)
    monkeypatch.setattr(
        prepared, "grow_all", lambda trees, missing, _: grow(trees, missing, nodes // 2)
    )
    assert Model(estimator).bind(WHOLE).form is None


def test_a_part_that_was_written_to_since_is_called() -> None:
    estimator = fit(PIPELINES["ordinal, histograms"]())
    estimator[0].named_transformers_["remainder"].min_ = np.array([0.5])
    assert not isinstance(Model(estimator).bind(WHOLE).form, TreeEnsemble)
