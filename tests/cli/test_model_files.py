"""Models of other libraries on the command line, from their own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import ModelError
from tests.cli.test_cli import answer, discreet

FEATURES = ["age", "income", "home"]


def frame() -> Any:
    return dc.samples.loans(300)[FEATURES].astype({"home": "category"})


def xgboost(path: Path, target: Any) -> None:
    library = pytest.importorskip("xgboost", reason="xgboost is an optional extra")
    model = library.XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True)
    model.fit(frame(), target).save_model(path)


def lightgbm(path: Path, target: Any) -> None:
    library = pytest.importorskip("lightgbm", reason="lightgbm is an optional extra")
    model = library.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    model.fit(frame(), target).booster_.save_model(path)


def catboost(path: Path, target: Any) -> None:
    library = pytest.importorskip("catboost", reason="catboost is an optional extra")
    model = library.CatBoostClassifier(iterations=5, thread_count=1, verbose=False)
    model.set_params(allow_writing_files=False, cat_features=["home"], one_hot_max_size=5)
    model.fit(frame(), target).save_model(str(path))


WRITERS = {"model.ubj": xgboost, "model.json": xgboost, "model.txt": lightgbm, "model.cbm": catboost}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_curve_of_a_model_file(name: str, tmp_path: Path) -> None:
    loans = dc.samples.loans(300)
    loans.to_csv(tmp_path / "loans.csv", index=False)
    dc.samples.loan_schema().save(tmp_path / "schema.toml")
    WRITERS[name](tmp_path / name, loans["defaulted"])
    terms = ["--dataset", "loans", "--ledger", "books.db", "--epsilon", "2"]
    answer("protect", "loans.csv", "--schema", "schema.toml", *terms, cwd=tmp_path)
    ask = ["partial-dependence", "home", "--model", name, "--epsilon", "1"]
    release = answer("release", *ask, cwd=tmp_path)
    assert release["guarantee"]["grade"] == "proven"
    assert release["value"]["feature"] == "home"


@pytest.mark.slow
def test_pickles_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04N.")
    refused = discreet(
        "price", "partial-dependence", "home", "--model", "model.pkl", "--epsilon", "1", cwd=tmp_path
    )
    assert (
        refused.returncode == ModelError.exit_code
        and "a pickle runs code when it is read" in refused.stderr
    )
