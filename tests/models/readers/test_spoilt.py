"""Files of boosters whose trees lead nowhere are refused before their library follows them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import ModelError
from discreet.models.files import read_model
from discreet.models.readers import native

X = np.random.default_rng(0).uniform(-4, 4, (300, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
FAR = 10**6


def xgboost_file(path: Path, tree: dict[str, tuple[int, int]], group: int = 0) -> Path:
    """Write a booster whose last tree has other numbers at some places."""
    xgboost = pytest.importorskip("xgboost")
    xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, Y).save_model(path)
    plain = json.loads(path.read_text())
    model = plain["learner"]["gradient_booster"]["model"]
    for name, (place, value) in tree.items():
        model["trees"][-1][name][place] = value
    model["tree_info"][-1] = group
    path.write_text(json.dumps(plain))
    return path


XGBOOST: dict[str, dict[str, Any]] = {
    "past the row": {"tree": {"split_indices": (0, 3)}},
    "far away": {"tree": {"split_indices": (0, FAR)}},
    "in a circle": {"tree": {"left_children": (0, 0)}},
    "up again": {"tree": {"left_children": (1, 0)}},
    "past the end": {"tree": {"left_children": (0, FAR)}},
    "for no class": {"tree": {}, "group": 7},
}


@pytest.mark.parametrize("name", XGBOOST)
def test_spoilt_files_of_xgboost_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="got others in a file of XGBoost"):
        read_model(xgboost_file(tmp_path / "model.json", **XGBOOST[name]))


def lightgbm_file(path: Path, name: str = "", number: int = 0) -> Path:
    """Write a booster whose last tree begins with another number in one of its lines."""
    lightgbm = pytest.importorskip("lightgbm")
    made = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1).fit(X, Y)
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", made.booster_.model_to_string())
    first, last = text.split("Tree=1")
    last = re.sub(rf"(?m)^{name}=\S+", f"{name}={number}", last, count=1) if name else last
    path.write_text(first + "Tree=1" + last)
    return path


LIGHTGBM = {
    "past the row": ("split_feature", 3),
    "far away": ("split_feature", FAR),
    "in a circle": ("left_child", 0),
    "past the end": ("left_child", FAR),
    "past the leaves": ("left_child", -FAR),
    "sets that are not there": ("decision_type", 1),
}


@pytest.mark.parametrize("name", LIGHTGBM)
def test_spoilt_files_of_lightgbm_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="got others in a file of LightGBM"):
        read_model(lightgbm_file(tmp_path / "model.txt", *LIGHTGBM[name]))


def catboost_file(path: Path, place: int) -> Path:
    """Write a model of CatBoost whose first column stands at another place."""
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 2, "depth": 2, "thread_count": 1, "allow_writing_files": False}
    made = catboost.CatBoostClassifier(**options, verbose=False)
    made.fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y).save_model(str(path), format="json")
    plain = json.loads(path.read_text())
    plain["features_info"]["float_features"][0]["flat_feature_index"] = place
    path.write_text(json.dumps(plain))
    return path


def test_spoilt_files_of_catboost_are_refused(tmp_path: Path) -> None:
    assert read_model(catboost_file(tmp_path / "model.json", 0)).feature_names_ == ["a", "b", "c"]
    with pytest.raises(ModelError, match="got one beyond them in a file of CatBoost"):
        read_model(catboost_file(tmp_path / "model.json", 5))


def test_what_libraries_write_is_read(tmp_path: Path) -> None:
    assert read_model(xgboost_file(tmp_path / "model.json", {})).n_features_in_ == 3
    assert read_model(lightgbm_file(tmp_path / "model.txt")).n_features_in_ == 3
    import lightgbm
    import xgboost

    coded = np.column_stack([np.floor(X[:, 0] + 4), X[:, 1:]])
    classes = np.floor(X[:, 0] + 4) % 3
    plain: dict[str, Any]
    for plain in ({}, {"booster": "dart"}, {"booster": "gblinear"}, {"num_parallel_tree": 2}):
        kinds = None if "gblinear" in plain.values() else ["c", "q", "q"]
        rows = xgboost.DMatrix(coded, classes, feature_types=kinds, enable_categorical=True)
        plain = {"objective": "multi:softprob", "num_class": 3, "nthread": 1, **plain}
        xgboost.train(plain, rows, 3).save_model(tmp_path / "other.ubj")
        read_model(tmp_path / "other.ubj")
    for plain in ({}, {"boosting": "dart"}, {"linear_tree": True}, {"min_data_in_leaf": 400}):
        places = [] if "linear_tree" in plain else [0]
        table = lightgbm.Dataset(coded, classes, categorical_feature=places)
        plain = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1, **plain}
        lightgbm.train(plain, table, 3).save_model(tmp_path / "other.txt")
        read_model(tmp_path / "other.txt")


_ASKED = {
    "xgboost": """
import sys, numpy, xgboost
booster = xgboost.Booster(model_file=sys.argv[1])
booster.predict(xgboost.DMatrix(numpy.zeros((99, 3)), nthread=1))
""",
    "lightgbm": """
import sys, numpy, lightgbm
lightgbm.Booster(model_file=sys.argv[1]).predict(numpy.full((99, 3), -5.0), num_threads=1)
""",
    "catboost": """
import sys, numpy, catboost, pandas
model = catboost.CatBoost().load_model(sys.argv[1], format="json")
model.predict(pandas.DataFrame(numpy.zeros((99, 3)), columns=["a", "b", "c"]), thread_count=1)
""",
}


def ends_the_process(library: str, path: Path) -> bool:
    """Say whether a process that asks the library itself ends by a signal, or never."""
    command = [sys.executable, "-c", _ASKED[library], str(path)]
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode < 0
    except subprocess.TimeoutExpired:
        return True


def test_a_spoilt_file_would_end_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = xgboost_file(tmp_path / "model.json", **XGBOOST["past the end"])
    assert ends_the_process("xgboost", path)
    monkeypatch.setattr(native, "leads_to_leaves", lambda *tree: True)
    assert read_model(path).n_features_in_ == 3


def test_a_spoilt_file_of_lightgbm_would_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lightgbm_file(tmp_path / "model.txt", *LIGHTGBM["past the end"])
    assert ends_the_process("lightgbm", path)
    monkeypatch.setattr(native, "leads_to_leaves", lambda *tree: True)
    assert read_model(path).n_features_in_ == 3


def test_a_spoilt_file_of_catboost_would_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = catboost_file(tmp_path / "model.json", 50)
    assert ends_the_process("catboost", path)
    monkeypatch.setattr("discreet.models.readers.catboost.check_catboost", lambda model: None)
    assert sorted(read_model(path).feature_names_) == ["a", "b", "c"]
