"""Model files of every library, read without running code from them, and native boosters."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler
from skops.io import dump

from discreet.errors import ModelError
from discreet.models import Model, TreeEnsemble
from discreet.models.files import read_model, types_of
from discreet.models.readers.native import as_estimator
from tests.models.readers.test_categories import SCHEMA, encoded, everything, fitted, handed, training


def agree(model: Any, name: str, kind: str) -> None:
    """Ask a model that was read for rows, and compare with the one that was saved."""
    bound = Model(model).bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble)
    frame = everything(missing=False)
    expected = fitted(name).predict_proba(handed(frame, kind))[:, 1]
    np.testing.assert_allclose(bound.predict(encoded(frame, bound)), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
def test_xgboost_files_keep_their_categories(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    fitted("xgboost").save_model(path)
    agree(read_model(path), "xgboost", "categories")
    assert Model(path).fingerprint == Model(str(path)).fingerprint


def test_xgboost_boosters_are_taken_as_they_are() -> None:
    agree(fitted("xgboost").get_booster(), "xgboost", "categories")


def test_lightgbm_files_and_boosters(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    fitted("lightgbm").booster_.save_model(path)
    agree(path, "lightgbm", "categories")
    agree(fitted("lightgbm").booster_, "lightgbm", "categories")
    number = as_estimator(fitted("lightgbm, one column").booster_)
    assert not hasattr(number, "classes_") and Model(number).output == "value"


@pytest.mark.parametrize("suffix", [".cbm", ".json"])
def test_catboost_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    fitted("catboost").save_model(str(path), format=suffix[1:])
    agree(path, "catboost", "plain")
    fitted("catboost, by leaves").save_model(str(path), format=suffix[1:])
    assert Model(path).output == "value"


def test_pickles_are_never_read(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "trapped",))

    for name in ("model.pkl", "model.joblib", "model.skops", "model.json", "model.txt", "model.onnx"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Trap()))
        with pytest.raises(ModelError, match=r"model must be a file"):
            read_model(path)
    assert not (tmp_path / "trapped").exists()


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"must be a file of CatBoost, got .*FileNotFoundError"):
        Model(tmp_path / "none.cbm")


def onnx_classifier(path: Path, weights: Any) -> None:
    """Write a logistic model of two columns: labels, then probabilities of both classes."""
    onnx = pytest.importorskip("onnx", reason="onnx is needed to write a file")
    pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")
    make, kinds = onnx.helper, onnx.TensorProto
    given = make.make_tensor_value_info("rows", kinds.FLOAT, [None, 2])
    said = [
        make.make_tensor_value_info("label", kinds.INT64, [None]),
        make.make_tensor_value_info("probabilities", kinds.FLOAT, [None, 2]),
    ]
    values = make.make_tensor("weights", kinds.FLOAT, [2, 2], np.ravel(weights))
    nodes = [
        make.make_node("MatMul", ["rows", "weights"], ["scores"]),
        make.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
        make.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    graph = make.make_graph(nodes, "model", [given], said, [values])
    opset = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opset, ir_version=8), path)


def test_onnx_files_with_a_matrix(tmp_path: Path) -> None:
    path, weights = tmp_path / "model.onnx", np.array([[0.0, 0.01], [0.0, -0.02]])
    onnx_classifier(path, weights)
    model = Model(path, columns=["age", "income"])
    bound = model.bind(SCHEMA)
    rows = training("plain")[0][["age", "income"]].to_numpy()
    expected = 1 / (1 + np.exp(-rows @ weights[:, 1]))
    np.testing.assert_allclose(bound.predict(rows), expected, rtol=0, atol=1e-6)
    assert bound.form is None and bound.third_party is not None
    assert bound.third_party.kept.grade == "probed"
    assert model.fingerprint == Model(str(path), columns=["age", "income"]).fingerprint
    with pytest.raises(ModelError, match=r"must take the schema's 4 features, got one with 2"):
        Model(path).bind(SCHEMA)


def test_onnx_files_with_an_input_per_column(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is needed to write a file")
    pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")
    make, kinds = onnx.helper, onnx.TensorProto
    given = [make.make_tensor_value_info(name, kinds.DOUBLE, [None, 1]) for name in ("income", "level")]
    said = [make.make_tensor_value_info("sum", kinds.DOUBLE, [None, 1])]
    graph = make.make_graph([make.make_node("Add", ["income", "level"], ["sum"])], "model", given, said)
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, tmp_path / "model.onnx")
    model = Model(tmp_path / "model.onnx", bounds=(0, 120))
    bound, frame = model.bind(SCHEMA), everything(missing=False)
    assert bound.columns == ("income", "level") and model.output == "value"
    np.testing.assert_array_equal(bound.predict(encoded(frame, bound)), frame.income + frame.level)


USUAL: dict[str, Callable[[], Any]] = {
    "imputer": lambda: make_pipeline(SimpleImputer(), LogisticRegression()),
    "bins": lambda: make_pipeline(KBinsDiscretizer(3), LogisticRegression()),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression()),
    "searched": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
    "selected": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), make_column_selector())), LogisticRegression()
    ),
    "categories": lambda: HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype"),
}


@pytest.mark.parametrize("name", USUAL)
def test_what_scikit_learn_is_made_of_needs_no_trust(name: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"a": draw.normal(size=90), "b": draw.normal(size=90)})
    if name == "categories":
        rows["b"] = pd.Categorical(draw.choice(["x", "y"], 90))
    made = USUAL[name]().fit(rows, rows.a > 0)
    dump(made, tmp_path / "model.skops")
    assert types_of(tmp_path / "model.skops").third_party == ()
    again = read_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(rows), made.predict_proba(rows))


def test_a_function_of_others_inside_a_known_one_is_not_trusted(tmp_path: Path) -> None:
    made = FunctionTransformer(partial(os.path.join, "here"))
    dump(made, tmp_path / "model.skops")
    assert types_of(tmp_path / "model.skops").third_party == ("posixpath.join",)
    with pytest.raises(ModelError, match=r"posixpath\.join"):
        read_model(tmp_path / "model.skops")
