"""Preparations that turn around or rename what trees see, where no public row would tell."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from discreet.models import Model, TreeEnsemble
from discreet.models.forms import prepared
from discreet.models.readers import pipelines
from discreet.schema import Category, FloatArray, Number, Schema
from tests.models.forms.test_prepared import corner, cornered

WIDE = (-99.0, 99.0)
TEXTS = ("1", "2", "3", "4")


def at(values: Any) -> FloatArray:
    """Return rows in the corner, one for each value of the third column."""
    return np.asfortranarray([[0.99, 0.01, value] for value in values])


def turned_around() -> tuple[Pipeline, Schema]:
    """Return a tree behind weights below zero: its thresholds lie beyond the column's bounds."""
    rows, schema = cornered()
    rows = rows.assign(c=np.random.default_rng(2).uniform(0, 10, len(rows)))
    columns = ColumnTransformer(
        [("turned", StandardScaler(with_mean=False, with_std=False), ["c"])],
        remainder="passthrough",
        transformer_weights={"turned": -1.0},
    )
    target = 5.0 * corner(rows) + 3.0 * (corner(rows) & (rows.c > 4))
    numbers = {name: schema[name] for name in "ab"}
    made: Pipeline = make_pipeline(columns, DecisionTreeRegressor(max_depth=3)).fit(rows, target)
    return made, Schema({**numbers, "c": Number(0, 10, missing=False)})


def named_by_numerals(last: Any) -> tuple[Pipeline, Schema]:
    """Return boosting that knows texts which read like numbers, handed on in a frame."""
    rows, schema = cornered()
    texts = pd.Categorical(rows.c.astype(str), categories=list(TEXTS))
    rows = rows.assign(c=texts)
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), ["a", "b"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    target = 5.0 * corner(rows) + 3.0 * (corner(rows) & rows.c.isin(["1", "3"]))
    numbers = {name: schema[name] for name in "ab"}
    made: Pipeline = make_pipeline(columns, last).fit(rows, target)
    return made, Schema({**numbers, "c": Category(*TEXTS, missing=False, other=False)})


def histograms() -> Any:
    options = {"max_iter": 1, "learning_rate": 1.0, "max_leaf_nodes": 4, "min_samples_leaf": 1}
    return HistGradientBoostingRegressor(categorical_features="from_dtype", **options)


def xgboost() -> Any:
    library = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
    options = {"max_depth": 3, "learning_rate": 1.0, "reg_lambda": 0, "max_cat_to_onehot": 1}
    return library.XGBRegressor(n_estimators=1, enable_categorical=True, n_jobs=1, **options)


def lightgbm() -> Any:
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    options = {"min_child_samples": 1, "min_data_per_group": 1, "cat_smooth": 0, "cat_l2": 0}
    return library.LGBMRegressor(
        n_estimators=1, learning_rate=1.0, num_leaves=4, n_jobs=1, verbose=-1, **options
    )


def largest_difference(estimator: Pipeline, schema: Schema, rows: FloatArray) -> float:
    bound = Model(estimator, bounds=WIDE).bind(schema)
    own = estimator.predict(bound.call.make_input(rows))
    return float(np.abs(bound.answer(rows) - own).max())


@pytest.mark.proves("tree-decisions")
def test_weights_that_turn_numbers_around_are_called() -> None:
    estimator, schema = turned_around()
    assert Model(estimator, bounds=WIDE).bind(schema).form is None
    assert largest_difference(estimator, schema, at([1.0, 3.0, 5.0, 9.0])) == 0


@pytest.mark.refutes("tree-decisions")
def test_weights_that_are_overlooked_are_caught_at_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def weightless(transformer: Any, columns: Any) -> Any:
        plain = copy(transformer)
        plain.transformer_weights = None
        return pipelines._through_columns(plain, columns)

    monkeypatch.setitem(pipelines._MAKES, "ColumnTransformer", weightless)
    estimator, schema = turned_around()
    assert Model(estimator, bounds=WIDE).bind(schema).form is None  # a bound goes the other way
    monkeypatch.setattr(prepared._Prepared, "_agrees", lambda *given: True)
    bound = Model(estimator, bounds=WIDE).bind(schema)
    assert isinstance(bound.form, TreeEnsemble)  # public rows do not tell
    assert largest_difference(estimator, schema, at([1.0, 9.0])) > 1


BY_NUMERALS: dict[str, Callable[[], Any]] = {
    "histograms": histograms,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("name", BY_NUMERALS)
def test_texts_that_read_like_numbers_are_called(name: str) -> None:
    estimator, schema = named_by_numerals(BY_NUMERALS[name]())
    assert Model(estimator, bounds=WIDE).bind(schema).form is None
    assert largest_difference(estimator, schema, at(range(4))) < 1e-5
    assert np.ptp(Model(estimator, bounds=WIDE).bind(schema).answer(at(range(4)))) > 2


@pytest.mark.refutes("tree-decisions")
def test_texts_that_are_taken_for_numbers_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_numbers", lambda made: np.asarray(made, dtype=np.float64))
    estimator, schema = named_by_numerals(histograms())
    assert largest_difference(estimator, schema, at(range(4))) > 2


@pytest.mark.parametrize("ends", [{"mean_": np.nan}, {"scale_": np.inf}, {"mean_": np.inf}])
def test_shifts_and_scales_that_are_no_numbers_are_called(ends: dict[str, float]) -> None:
    rows, _ = cornered()
    scaler = StandardScaler().fit(rows[["a"]])
    column = [pipelines.MadeColumn(0)]
    assert pipelines._through(scaler, column) is not None
    for name, value in ends.items():
        setattr(scaler, name, np.array([value]))
    assert pipelines._through(scaler, column) is None
    ranged = MinMaxScaler().fit(rows[["a"]])
    ranged.min_ = np.array([np.nan])
    assert pipelines._through(ranged, column) is None


def test_whole_numbers_that_single_precision_does_not_hold_are_called() -> None:
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    for first in (0, 2**24):
        values = tuple(range(first, first + 12))
        drawn = np.random.default_rng(4)
        rows = pd.DataFrame({"k": drawn.choice(["x", "y"], 900), "c": drawn.choice(values, 900)})
        columns = ColumnTransformer(
            [("coded", OrdinalEncoder(dtype=np.int64), ["k"])], remainder="passthrough"
        )
        last = library.LGBMRegressor(n_estimators=3, n_jobs=1, verbose=-1)
        estimator = make_pipeline(columns, last).fit(rows, rows.c - first)
        whole = {"k": Category("x", "y", missing=False, other=False)}
        schema = Schema({**whole, "c": Category(*values, missing=False, other=False)})
        bound = Model(estimator).bind(schema)
        assert (bound.form is None) == (first > 0)


def almost_zero(made: str) -> tuple[Pipeline, Schema, FloatArray]:
    """Return LightGBM behind what is made, with a threshold next below zero, and rows there."""
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    draw = np.random.default_rng(5)
    number = np.where(draw.random(2_000) < 0.4, 0.0, draw.uniform(-1, 1, 2_000))
    rows = pd.DataFrame({"n": number, "k": draw.choice(list("abcdefghij"), 2_000)})
    coded = OneHotEncoder(sparse_output=made == "sparse")
    columns = ColumnTransformer(
        [("coded", coded, ["k"])], remainder="passthrough", sparse_threshold=1.0
    )
    columns.set_output(transform="default" if made == "sparse" else made)
    last = library.LGBMRegressor(n_estimators=3, n_jobs=1, verbose=-1, max_bin=7)
    estimator = make_pipeline(columns, last).fit(rows, np.where(rows.n < 0, -3.0, rows.n))
    whole = Category(*"abcdefghij", missing=False, other=False)
    edge = -float(np.float32(1e-35))
    return (
        estimator,
        Schema({"n": Number(-1, 1, missing=False), "k": whole}),
        np.asfortranarray([[number, 2.0] for number in (edge, np.nextafter(edge, -1), edge / 2, 0.0)]),
    )


@pytest.mark.proves("tree-decisions")
@pytest.mark.parametrize("made", ["sparse", "polars", "pandas"])
def test_numbers_next_to_zero_are_themselves_to_lightgbm_but_in_dense_matrices(made: str) -> None:
    if made == "polars":
        pytest.importorskip("polars", reason="polars is an optional extra")
    estimator, schema, rows = almost_zero(made)
    assert (Model(estimator).bind(schema).form is None) == (made != "pandas")
    assert largest_difference(estimator, schema, rows) == 0


@pytest.mark.refutes("tree-decisions")
def test_numbers_next_to_zero_that_are_taken_for_zero_are_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prepared._Prepared, "_zeros_differ", property(lambda self: False))
    estimator, schema, rows = almost_zero("sparse")
    assert largest_difference(estimator, schema, rows) > 0.1


def test_columns_that_were_exchanged_since_are_called() -> None:
    rows, schema = cornered()
    matrix, target = rows[["a", "b", "c"]].to_numpy(), rows.a
    for columns in ([0, 1], slice(0, 2), [True, True, False], [-3, -2]):
        steps = ColumnTransformer([("scaled", StandardScaler(), columns)], remainder="passthrough")
        estimator = make_pipeline(steps, DecisionTreeRegressor(max_depth=3)).fit(matrix, target)
        found = pipelines.preparation(estimator)
        assert found is not None and [made.place for made in found.made] == [0, 1, 2]
        estimator[0].transformers_[0] = ("scaled", estimator[0].transformers_[0][1], [1, 0])
        assert pipelines.preparation(estimator) is None
    for named in (["a", "b"], slice("a", "b"), lambda frame: ["a", "b"]):
        steps = ColumnTransformer([("scaled", StandardScaler(), named)], remainder="passthrough")
        estimator = make_pipeline(steps, DecisionTreeRegressor(max_depth=3)).fit(rows, target)
        assert isinstance(Model(estimator, bounds=WIDE).bind(schema).form, TreeEnsemble)
