"""Other tables and pictures of a saved evaluation: thresholds, groups and kinds from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from tests.cli.shell import shell, told

NUMBERS = ["income", "late_payments"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with saved releases: an evaluation by home, one of a number, a histogram, a card."""
    where = tmp_path_factory.mktemp("views")
    loans, public = dc.samples.loans(2_000), dc.samples.loans(1_000, seed=7)
    schema = dc.samples.loan_schema()
    terms: Any = {"epsilon": 1e6, "ledger": ":memory:", "progress": False}
    session = dc.protect(loans, schema, dataset="loans", **terms)
    model = LogisticRegression(max_iter=500).fit(public[NUMBERS], public.defaulted)
    session.release(dc.evaluate(model, by="home", epsilon=1e3)).save(where / "e.json")
    session.release(dc.model_card(model, by="home", curves=1, epsilon=1e3)).save(where / "card.json")
    session.release(dc.histogram("age", bins=4, epsilon=1.0)).save(where / "age.json")
    session.release(dc.mean("income", by="home", epsilon=1.0)).save(where / "mean.json")
    columns = {name: schema[name] for name in ("income", "late_payments", "home", "credit_score")}
    scored = dc.Schema(columns, target="credit_score")
    line = dc.Model(LinearRegression().fit(public[NUMBERS], public.credit_score), bounds=(300, 850))
    scores = dc.protect(loans[list(columns)], scored, dataset="scores", **terms)
    plan = dc.evaluate(line, by="home", residuals=["late_payments"], epsilon=1e3)
    scores.release(plan).save(where / "r.json")
    return where


@pytest.fixture(autouse=True)
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def value(name: str) -> Any:
    return dc.Release.load(name).value


def test_a_threshold_is_chosen_after_seeing() -> None:
    rows = told("show", "e.json", "--threshold", "0.3")["table"]
    found = {row["metric"]: row["value"] for row in rows}
    assert found["accuracy"] == pytest.approx(float(value("e.json").metric("accuracy", threshold=0.3)))
    done = shell("show", "e.json", "--threshold", "0.3")
    assert done.code == 0 and "true_positive_rate" in done.out and "epsilon" in done.out
    wrong = shell("show", "e.json", "--threshold", "3")
    assert wrong.code == 2 and "threshold must be between 0 and 1" in wrong.err


def test_groups_are_compared_and_evened_out(folder: Path) -> None:
    rows = told("show", "e.json", "--by-group", "--threshold", "0.3")["table"]
    assert [row["home"] for row in rows] == ["rent", "mortgage", "own"]
    exact = value("e.json").metric("selection_rate", threshold=0.3, group="own")
    assert rows[2]["selection_rate"] == pytest.approx(float(exact))
    even = told("show", "e.json", "--even-thresholds", "true_positive_rate")["table"]
    assert {"home", "threshold", "true_positive_rate"} <= set(even[0])
    assert shell("show", "e.json", "--view", "pairs", "--table", "pairs.csv").code == 0
    assert {"metric", "first", "second", "low", "high"} <= set(pd.read_csv(folder / "pairs.csv"))
    own = told("show", "e.json", "--group", "own", "--view", "calibration")["table"]
    assert len(own) == len(value("e.json").calibration_curve(group="own"))


def test_groups_of_any_question_are_compared() -> None:
    rows = told("show", "mean.json", "--view", "pairs")["table"]
    assert [(row["first group"], row["second group"]) for row in rows] == [
        ("rent", "mortgage"), ("rent", "own"), ("mortgage", "own"),
    ]  # fmt: skip
    apart = value("mean.json").difference("rent", "own").iloc[0]
    assert (rows[1]["difference"], rows[1]["low"]) == pytest.approx((apart.difference, apart.low))
    (own,) = told("show", "mean.json", "--group", "own")["table"]
    assert own["value"] == pytest.approx(value("mean.json")["own"].value)


def test_pictures_of_every_kind_and_group(folder: Path) -> None:
    for words in (
        ["e.json", "--kind", "precision-recall"],
        ["e.json", "--kind", "calibration", "--group", "rent"],
        ["e.json", "--kind", "roc_by_group"],
        ["e.json", "--kind", "groups"],
        ["r.json", "--kind", "residuals-of-late-payments"],
        ["r.json", "--kind", "mae-by-group"],
        ["card.json", "--kind", "importances"],
        ["mean.json", "--kind", "plain"],
        ["card.json"],
    ):
        assert shell("plot", *words, "--out", "one.png").code == 0, words
        assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")
        (folder / "one.png").unlink()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plot", "e.json", "--kind", "pie"], "--kind must be one that this answer has (roc, prec"),
        (["plot", "age.json", "--kind", "roc"], "--kind must be one that this answer has (plain)"),
        (["plot", "age.json", "--group", "F"], "group must be left out"),
        (["plot", "e.json", "--group", "tent"], "group must be one of the groups (rent"),
        (["show", "age.json", "--threshold", "0.3"], "threshold must be left out"),
        (["show", "age.json", "--by-group"], "--view must be one that this answer has (plain)"),
        (["show", "r.json", "--threshold", "0.3"], "threshold must be left out"),
        (["show", "mean.json", "--threshold", "0.3"], "threshold must be left out"),
        (
            ["show", "mean.json", "--view", "roc"],
            "--view must be one that this answer has (plain, pairs)",
        ),
        (["show", "e.json", "--even-thresholds", "auc"], "even-selection-rate"),
        (["show", "e.json", "--by-group", "--view", "pairs"], "one at a time"),
    ],
)
def test_what_an_answer_does_not_have_is_said(words: list[str], said: str) -> None:
    done = shell(*words)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
