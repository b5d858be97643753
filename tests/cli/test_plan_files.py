"""Several plans in a file: one reservation, all or nothing, the same plans as in Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from skops.io import dump

import discreet as dc
from discreet.cli.plan_files import read_plans
from discreet.errors import ArgumentError, BudgetExhausted
from tests.cli.shell import left, protect_loans, shell, told

TWO = """
[ages]
plan = "histogram"
columns = "age"
bins = 4
epsilon = 0.2

[purpose]
plan = "most-frequent"
column = "purpose"
epsilon = 0.1
"""


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("protected")
    protect_loans(where)
    (where / "two.toml").write_text(TWO)
    return where


@pytest.fixture
def folder(protected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a protected data set of its own, where commands are run."""
    shutil.copytree(protected, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_plans_of_a_file_are_one_reservation(folder: Path) -> None:
    price = told("price", "--plans", "two.toml")
    assert price["cost"]["epsilon"] == "0.3" and len(price["plans"]) == 2
    for kind in ("json", "csv", "png"):
        (folder / kind).mkdir()
    done = told("release", "--plans", "two.toml", "--out", "json", "--table", "csv", "--plot", "png")
    assert list(done["releases"]) == ["ages", "purpose"]
    assert done["charged"]["epsilon"] == "0.3" and done["remaining"]["epsilon"] == "4.7"
    kinds = [entry["kind"] for entry in told("budget", "history")]
    assert kinds == ["register", "reserve", "reserve", "settle", "settle"]
    saved = sorted(path.name for kind in ("json", "csv", "png") for path in (folder / kind).iterdir())
    assert saved == sorted(f"{n}.{k}" for n in ("ages", "purpose") for k in ("json", "csv", "png"))
    again = shell("release", "--dataset", "loans", "--plans=two.toml")
    assert again.out.count("free: it was answered before") == 2 and left() == "4.7"


def test_all_or_none(folder: Path) -> None:
    (folder / "much.toml").write_text(TWO.replace("epsilon = 0.1", "epsilon = 4.9"))
    done = shell("release", "--plans", "much.toml")
    assert done.code == BudgetExhausted.exit_code and left() == "5"
    assert shell("release", "--plans", "two.toml", "--out", "none").code == 2 and left() == "5"


def test_entries_are_what_python_takes(tmp_path: Path) -> None:
    frame = dc.samples.loans(200)[["age", "income", "credit_score"]]
    risk = LogisticRegression().fit(frame / 1e5, dc.samples.loans(200)["defaulted"])
    dump(risk, tmp_path / "risk.skops")
    dump(LinearRegression().fit(frame, frame["income"]), tmp_path / "line.skops")
    (tmp_path / "row.json").write_text(json.dumps({"age": 30, "income": 1.0, "credit_score": 600}))
    (tmp_path / "plans.toml").write_text(
        """
[cells]
plan = "histogram"
columns = ["age", "income"]
bins = {age = 3}
clip = false
epsilon = 0.5

[shap]
plan = "shap_values"
model = "risk.skops"
query = "row.json"
output = "margin"
bounds = [-3, 3.5]
class = "0"
clip = "none"
epsilon = 1

[curve]
plan = "partial-dependence"
model = "line.skops"
features = "age"
bounds = [0, 1]
isolated = true
epsilon = 1
"""
    )
    made = read_plans(tmp_path / "plans.toml")
    cells = dc.histogram(["age", "income"], bins={"age": 3}, clip=False, epsilon=0.5)
    assert made["cells"] == cells
    margin = dc.Model(risk, output="margin", class_=0, bounds=(-3, 3.5))
    row = {"age": 30, "income": 1.0, "credit_score": 600}
    assert made["shap"] == dc.shap_values(margin, row, clip=None, epsilon=1.0)
    assert made["curve"].model.isolated and made["curve"].model.bounds.limits == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--plans must be a file with a table for every plan"),
        ("plan = 'histogram'", "--plans must be a file with a table for every plan"),
        ("[a", "--plans must be a TOML file that can be read"),
        ("[a]\nplan = 'nothing'", "[a]: plan must be one of accumulated-effects"),
        ("[a]\nepsilon = 1", "got None."),
        ("[a]\nplan = 'choose'\nepsilon = 1", "[a]: plan must be one of"),
        ("[a]\nplan = 'histogram'\ncolumns = 'age'", "[a]: epsilon must be given, got none."),
        (
            "[a]\nplan = 'histogram'\ncolour = 1",
            "[a]: Entries must be options of histogram, got colour.",
        ),
        ("[a]\nplan = 'histogram'\ncolumns = 'age'\nepsilon = -1", "[a]: epsilon must be a positive"),
        ("['../a']\nplan = 'histogram'\ncolumns = 'age'\nepsilon = 1", "must do for a file's"),
    ],
)
def test_mistakes_are_told_with_their_table(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "plans.toml").write_text(text)
    with pytest.raises(ArgumentError) as error:
        read_plans(tmp_path / "plans.toml")
    assert said in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="--plans must be a TOML file that can be read"):
        read_plans(tmp_path / "none.toml")
