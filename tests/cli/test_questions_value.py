"""Data values on the command line: what is asked becomes a plan, is priced and released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a protected table, public test rows and an unfitted model."""
    dc.samples.loans(30).to_csv(tmp_path / "loans.csv", index=False)
    dc.samples.loans(80, seed=7).to_csv(tmp_path / "test.csv", index=False)
    dc.samples.loan_schema().save(tmp_path / "schema.toml")
    skops.io.dump(LogisticRegression(solver="liblinear"), tmp_path / "model.skops")
    monkeypatch.chdir(tmp_path)
    terms = ["--dataset", "loans", "--ledger", "books.db", "--epsilon", "30", "--delta", "1e-3"]
    done = CliRunner().invoke(app, ["protect", "loans.csv", "--schema", "schema.toml", *terms])
    assert done.exit_code == 0, done.output
    return tmp_path


def ask(act: str, *words: str) -> Any:
    """Run a command and return what it answers."""
    asked = [act, "data-shapley", "--test", "test.csv", *words, "--json"]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_values_of_some_records(folder: Path) -> None:
    words = ["--model", "model.skops", "--record", "3", "--record", "5", "--epsilon", "1"]
    assert ask("price", *words)["affordable"]
    release = ask("release", *words)
    assert release["value"]["records"] == [3, 5]
    assert "owner alone" in release["guarantee"]["protects"]


def test_the_worst_records(folder: Path) -> None:
    words = ["--model", "model.skops", "--bottom", "2", "--audience", "public", "--rounds", "1"]
    release = ask("release", *words, "--epsilon", "1")
    assert len(release["value"]["order"][0]) == 2


def test_counts_for_owners(folder: Path) -> None:
    release = ask("release", "--method", "tknn", "--epsilon", "1", "--delta", "1e-5")
    assert len(release["value"]["right"]) == 80
