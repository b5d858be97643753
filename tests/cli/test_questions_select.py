"""Choosing on the command line: what is asked becomes a plan, is priced and released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import ArgumentError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a protected table."""
    dc.samples.loans(400).to_csv(tmp_path / "loans.csv", index=False)
    dc.samples.loan_schema().save(tmp_path / "schema.toml")
    monkeypatch.chdir(tmp_path)
    terms = ["--dataset", "loans", "--ledger", "books.db", "--epsilon", "30", "--delta", "1e-6"]
    done = CliRunner().invoke(app, ["protect", "loans.csv", "--schema", "schema.toml", *terms])
    assert done.exit_code == 0, done.output
    return tmp_path


def ask(*words: str) -> Any:
    """Run a command and return what it answers."""
    done = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_which_value_is_most_frequent(folder: Path) -> None:
    words = ["most-frequent", "home", "--epsilon", "5"]
    assert ask("price", *words)["affordable"]
    value = ask("release", *words)["value"]
    assert value["winner"] == dc.samples.loans(400)["home"].mode()[0]
    assert value["mechanism"] == "permute-and-flip" and "whatever the table" in value["why"]


def test_percentile_and_quantiles(folder: Path) -> None:
    true = dc.samples.loans(400)["age"]
    value = ask("release", "percentile", "age", "50", "--epsilon", "5")["value"]
    assert abs(value["winner"] - true.median()) <= 2
    given = ask(
        "release",
        *["percentile", "age", "50", "--candidate", "20", "--candidate", "80", "--epsilon", "1"],
    )
    assert given["value"]["winner"] in (20.0, 80.0)
    value = ask(
        "release", "quantiles", "age", "0.25", "0.5", "0.75", "--epsilon", "5", "--plot", "q.png"
    )["value"]
    assert value["ps"] == [25.0, 50.0, 75.0] and value["values"] == sorted(value["values"])
    assert (folder / "q.png").exists()


def test_a_wrong_mechanism_is_refused_by_the_plan(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        ask("price", "most-frequent", "home", "--epsilon", "1", "--mechanism", "gaussian")
