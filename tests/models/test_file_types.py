"""Files that name a module of scikit-learn and mean something else: nothing of it is made."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from skops.io import dump

from discreet.errors import ModelError
from discreet.models import files
from discreet.models.files import is_known_type, read_model, types_of


def plain(value: Any) -> dict[str, Any]:
    """Return how skops writes plain data."""
    kind = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    return {**kind, "content": json.dumps(value), "is_json": True}


def called(name: str, *arguments: Any) -> dict[str, Any]:
    """Return how skops writes what is made by calling something."""
    module, _, own = name.rpartition(".")
    given = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    return {
        "__class__": own,
        "__module__": module,
        "__loader__": "ConstructorFromReduceNode",
        "content": {**given, "content": [plain(argument) for argument in arguments]},
    }


def write(path: Path, description: dict[str, Any]) -> None:
    """Write a file of skops by hand."""
    dump(StandardScaler(), path)
    with zipfile.ZipFile(path) as archive:
        made = json.loads(archive.read("schema.json"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps({**description, "protocol": made["protocol"]}))


BORROWED = [
    "sklearn.datasets._covtype.GzipFile",
    "sklearn.datasets._base.NamedTemporaryFile",
    "sklearn.datasets._lfw.Memory",
    "sklearn.callback._progressbar.Thread",
    "sklearn.callback._transport.Listener",
    "sklearn.callback._scoring_monitor.ScoringMonitor",
    "sklearn.utils._available_if.MethodType",
    "sklearn.utils.parallel.Parallel",
    "sklearn.conftest.SkipTest",
    "sklearn.tests.test_base.MyEstimator",
    "sklearn.calibration.Integral",
    "sklearn.linear_model.LogisticRegression",  # at home in another module
    "sklearn.pipeline.Pipeline.predict",
    "sklearn.nothing.Of_the_kind",
    "builtins.eval",
    "os.system",
]


@pytest.mark.parametrize("name", BORROWED)
def test_what_is_not_at_home_in_scikit_learns_estimators_needs_trust(name: str, tmp_path: Path) -> None:
    assert not is_known_type(name)
    write(tmp_path / "model.skops", called(name))
    assert types_of(tmp_path / "model.skops").third_party == (name,)
    with pytest.raises(ModelError, match="types that are trusted"):
        read_model(tmp_path / "model.skops")


def writes_a_file(folder: Path) -> bool:
    """Say whether reading a model's file writes one that it names."""
    there = folder / "written"
    write(folder / "model.skops", called("sklearn.datasets._covtype.GzipFile", str(there), "wb"))
    with suppress(ModelError):
        read_model(folder / "model.skops").close()
    return there.exists()


def test_reading_a_file_writes_none(tmp_path: Path) -> None:
    assert not writes_a_file(tmp_path)


def test_trust_by_the_looks_of_a_name_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks_known(name: str) -> bool:
        return name.startswith("sklearn.") and name.rsplit(".", 1)[-1].lstrip("_")[:1].isupper()

    monkeypatch.setattr(files, "is_known_type", looks_known)
    assert writes_a_file(tmp_path)


def test_what_fitted_estimators_are_made_of_is_known() -> None:
    for name in (
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.model_selection._split.KFold",
        "numpy.dtype",
    ):
        assert is_known_type(name)


def test_trees_that_go_astray_are_refused_when_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    state = made.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["feature"][0] = 7
    made.tree_.__setstate__(state)
    dump(make_pipeline(StandardScaler(), made), tmp_path / "model.skops")
    with pytest.raises(ModelError, match="splits end in leaves"):
        read_model(tmp_path / "model.skops")
    monkeypatch.setattr(files, "is_sound", lambda part: True)
    assert read_model(tmp_path / "model.skops")[-1].tree_.feature[0] == 7
