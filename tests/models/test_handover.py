"""Which columns a model gets, as what, and which models are refused because categories disagree."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet as dc
from discreet.errors import ModelError
from discreet.models import Model
from discreet.schema import Category, FloatArray, Number, Schema
from tests.models.readers.test_categories import (
    HOMES,
    LEVELS,
    SCHEMA,
    coded_rows,
    encoded,
    everything,
    fitted,
    lightgbm,
    training,
)


def test_functions_get_the_columns_they_ask_for_as_a_matrix() -> None:
    shapes: set[tuple[int, ...]] = set()

    def function(rows: FloatArray) -> FloatArray:
        shapes.add(rows.shape[1:])
        return rows[:, 0] - rows[:, 1]

    bound = Model(function, columns=["income", "age"], bounds=(-100, 100)).bind(SCHEMA)
    assert bound.columns == ("income", "age") and shapes == {(2,)}
    assert bound.predict(np.array([[50.0, 20.0]])).tolist() == [30.0]


def test_functions_that_want_a_frame_get_original_values() -> None:
    seen: list[pd.DataFrame] = []

    def function(frame: pd.DataFrame) -> Any:
        seen.append(frame)
        return frame["age"].fillna(0) + 100 * (frame["home type"] == "own")

    model = Model(function, columns=["home type", "age"], as_frame=True, bounds=(0, 200))
    bound = model.bind(SCHEMA)
    rows = encoded(everything(missing=True), bound)
    expected = everything(missing=True)
    answers = expected["age"].fillna(0) + 100 * (expected["home type"] == "own")
    np.testing.assert_array_equal(bound.predict(rows), answers)
    assert {tuple(frame.columns) for frame in seen} == {("home type", "age")}
    assert len({tuple(map(str, frame.dtypes)) for frame in seen}) == 1
    assert model.describe()["columns"] == ["home type", "age"] and model.describe()["as_frame"]


@pytest.mark.parametrize("own", [True, False])
def test_the_kind_of_a_column_never_depends_on_the_rows(own: bool) -> None:
    """A frame of missing values alone has the kinds of a frame with all of them."""
    from discreet.models.inputs import input_makers

    mixed = Schema(
        {"a": Category("x", 1), "b": Category("u", "v"), "c": Category(1, 2), "d": Number(0, 1)}
    )
    known = {1: ["v", "w"]} if own else None
    for _, make in input_makers(mixed, tuple(mixed), True, categories=known):
        rows = mixed.draw(200)
        kinds = {tuple(map(str, make(part).dtypes)) for part in (rows, *np.split(rows, 50))}
        assert len(kinds) == 1


def test_a_matrix_model_of_a_part_of_the_columns() -> None:
    rows = training("plain")[0][["income", "age"]].to_numpy()
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, training("plain")[1])
    with pytest.raises(ModelError, match=r"got one with 2. Name the columns .*columns=\[...\]"):
        Model(forest).bind(SCHEMA)
    bound = Model(forest, columns=["income", "age"]).bind(SCHEMA)
    expected = forest.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-12)


def test_pipelines_on_frames_with_a_part_of_the_columns() -> None:
    frame, target = training("plain")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["home type"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encode, LogisticRegression(max_iter=3_000))
    pipeline.fit(frame[["income", "home type"]], target)
    schema = Schema(
        {c: SCHEMA[c] for c in SCHEMA} | {"income": Number(0, 100, missing=False)}, target="paid"
    )
    bound = Model(pipeline).bind(schema)
    assert bound.columns == ("income", "home type")
    expected = pipeline.predict_proba(frame)[:, 1]
    np.testing.assert_allclose(bound.predict(encoded(frame, bound)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "height"], r"columns must be features of the schema \(age, .*\), got 'height'"),
        (["age", "paid"], r"columns must be features of the schema .*, got 'paid'"),
        (["age"], r"columns must be the 2 that the model takes, got 1"),
        (["age", "age"], r"columns must be a list of different names, got \['age', 'age'\]"),
        ([], r"columns must be a list of different names"),
        ("age", r"columns must be a list of different names, got 'age'"),
    ],
)
def test_columns_that_are_refused(columns: Any, message: str) -> None:
    rows = training("plain")[0][["income", "age"]].to_numpy()
    forest = RandomForestClassifier(2, max_depth=2).fit(rows, training("plain")[1])
    with pytest.raises(ModelError, match=message):
        Model(forest, columns=columns).bind(SCHEMA)


def with_home(*values: Any) -> Schema:
    return Schema({c: SCHEMA[c] for c in SCHEMA} | {"home type": Category(*values)}, target="paid")


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "histogram"])
def test_models_that_know_other_values_are_refused(name: str) -> None:
    with pytest.raises(
        ModelError, match=r"must know values of home type that the schema lists \(1, 2\), got one that"
    ):
        Model(fitted(name)).bind(with_home(1, 2))
    number = Schema({c: SCHEMA[c] for c in SCHEMA} | {"level": Number(0, 9)}, target="paid")
    with pytest.raises(ModelError, match=r"level must be a Category in the schema, got a Number"):
        Model(fitted(name)).bind(number)


def test_models_that_know_other_codes_are_refused() -> None:
    """Fitted on levels 1 to 9, it would be shown places from 0 to 4."""
    rows = coded_rows()
    rows[:, 2] = training("plain")[0]["level"]
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[2])
    model.fit(rows, training("plain")[1])
    with pytest.raises(
        ModelError,
        match=r"schema's codes of level \(9=0, 3=1, 1=2, 2=3, 7=4\), got one .* knows 7.0, 9.0",
    ):
        Model(model).bind(SCHEMA)


def test_codes_that_nobody_can_check_are_told() -> None:
    model = lightgbm("LGBMClassifier")()
    model.fit(coded_rows(), training("plain")[1], categorical_feature=[1])
    taken = Model(model)
    told = "home type: codes rent=0, own=1, mortgage=2, parents=3"
    assert told in taken.inputs(SCHEMA).splitlines()
    table = training("plain")[0].assign(paid=training("plain")[1])
    session = dc.protect(table, SCHEMA, dataset="d", epsilon=1, ledger=":memory:")
    release = session.release(dc.partial_dependence(taken, "age", epsilon=0.5))
    shown = "the model is shown codes of home type (rent=0, own=1, mortgage=2, parents=3)"
    assert shown in release.guarantee.assumptions and shown in str(release.guarantee)


def test_what_a_model_gets_is_shown() -> None:
    lines = Model(fitted("lightgbm")).inputs(SCHEMA).splitlines()
    assert lines == [
        "age: number",
        "home type: values, coded by the model as parents=0, own=1, rent=2, mortgage=3",
        "level: values, coded by the model as 1=0, 2=1, 3=2, 7=3, 9=4",
        "income: number",
    ]
    assert f"level: values {', '.join(map(str, LEVELS))}" in Model(fitted("catboost")).inputs(SCHEMA)
    assert HOMES[0] in Model(fitted("catboost")).inputs(SCHEMA)


# Networks of other libraries: a function is enough.


class Network:
    """Behaves as a PyTorch module: float32 in, float32 out."""

    weights = np.array([[0.02], [-0.01]], dtype=np.float32)

    def __call__(self, tensor: Any) -> Any:
        assert tensor.dtype == np.float32
        return 1 / (1 + np.exp(-(tensor @ self.weights)))


def through_function(rows: FloatArray) -> Any:
    return Network()(np.nan_to_num(rows).astype(np.float32))


def test_a_network_through_a_function() -> None:
    model = Model(through_function, columns=["age", "income"], bounds=(0, 1), name="network")
    bound = model.bind(SCHEMA)
    rows = training("plain")[0][["age", "income"]].to_numpy()
    np.testing.assert_allclose(bound.predict(rows), through_function(rows)[:, 0], rtol=0, atol=1e-6)
    assert bound.third_party is not None and bound.third_party.kept.grade == "probed"
    width = bound.bounds.high - bound.bounds.low
    assert bound.third_party.kept.batch_error == 2.0**-20 * width  # single precision


def test_a_module_of_pytorch_itself_is_told_to_be_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("torch.nn.modules.module")
    base = type("Module", (), {"__module__": "torch.nn.modules.module", "__call__": lambda self, x: x})
    monkeypatch.setitem(sys.modules, "torch.nn.modules.module", module)
    with pytest.raises(ModelError, match=r"got a PyTorch module. Wrap it in a function"):
        Model(type("Net", (base,), {})())


def test_pytorch_itself() -> None:
    torch = pytest.importorskip("torch", reason="not installed for tests")
    module = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Sigmoid())

    def function(rows: FloatArray) -> Any:
        given = torch.tensor(np.nan_to_num(rows), dtype=torch.float32)
        return module(given).detach().numpy()

    bound = Model(function, columns=["age", "income"], bounds=(0, 1)).bind(SCHEMA)
    rows = training("plain")[0][["age", "income"]].to_numpy()
    np.testing.assert_allclose(bound.predict(rows), function(rows)[:, 0], rtol=0, atol=1e-6)


def test_keras_itself() -> None:
    keras = pytest.importorskip("keras", reason="not installed for tests")
    module = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, activation="sigmoid")])

    def function(rows: FloatArray) -> Any:
        return module.predict(np.nan_to_num(rows).astype(np.float32), verbose=0)

    bound = Model(function, columns=["age", "income"], bounds=(0, 1)).bind(SCHEMA)
    rows = training("plain")[0][["age", "income"]].to_numpy()
    np.testing.assert_allclose(bound.predict(rows), function(rows)[:, 0], rtol=0, atol=1e-6)
