"""Schemas from the shell: drafts that tell what they saw, checks, and a dialogue."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import SchemaError
from discreet.schema import Boolean, Category, Date, Number, Schema

ROWS = pd.DataFrame(
    {
        "who": [f"P{place:03}" for place in range(60)],
        "bmi": [None, 22.5, 31.0] * 20,
        "visit": ["2020-01-05", "2021-06-07", "2022-03-09"] * 20,
        "zip": ["02134", "90210", "00501"] * 20,
        "smoker": ["yes", "no", "no"] * 20,
        "stage": ["I", "II", "III"] * 20,
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def run(*words: object, answers: str = "") -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], input=answers)
    if isinstance(done.exception, Exception):
        raise done.exception
    return done.output


def test_a_sketch_tells_what_it_saw(table: Path) -> None:
    draft = table.parent / "draft.toml"
    told = run("sketch", table, "--out", draft)
    assert "bmi: 33 % missing" in told
    assert "visit: dates from 2020-01-05 to 2022-03-09 (read from data)" in told
    assert "zip: leading zeros are kept" in told
    assert "who: left out, looks like an id or free text (60 different values in 60 rows)" in told
    assert "P001" not in draft.read_text() + told and '"02134"' in draft.read_text()
    with pytest.raises(SchemaError, match=r"read from data: bmi\.low"):
        run("schema", "check", draft)


ANSWERS = [
    *("n", "10", "sixty", "60", "n", "kg/m²", "y"),
    *("d", "2020-01-01", "2019-01-01", "day", "n", "2020-01-01", "2024-12-31", "month", "n"),
    *("x",),
    *("b", "n"),
    *("c", "I, II, III, IV", "y", "n"),
    *("hat", "smoker"),
]


def test_a_dialogue_makes_a_schema_that_protects(table: Path) -> None:
    out = table.parent / "schema.toml"
    told = run("sketch", table, "--out", out, "--ask", answers="\n".join([*ANSWERS, ""]))
    assert "1 of 5: bmi" in told and "seen: number, 33 % missing" in told
    assert "Please type a number" in told  # sixty
    assert "high must be a later day" in told  # asked again
    schema = Schema.load(out)
    assert schema["bmi"] == Number(10, 60) and schema["bmi"].unit == "kg/m²"  # type: ignore[union-attr]
    assert schema["visit"] == Date("2020-01-01", "2024-12-31", "month", missing=False)
    assert schema["smoker"] == Boolean(missing=False)
    assert schema["stage"] == Category("I", "II", "III", "IV", ordered=True, missing=False)
    assert (list(schema), schema.target) == (["bmi", "visit", "smoker", "stage"], "smoker")
    assert schema.unconfirmed == () and "discreet protect" in told
    assert "All facts are confirmed." in run("schema", "check", out)
    fits = run("schema", "check", out, table)
    assert "FOR THE CURATOR ONLY" in fits and "visit: as expected" in fits


def test_what_is_left_open_keeps_its_mark(table: Path) -> None:
    out = table.parent / "schema.toml"
    run("sketch", table, "--out", out, "--ask", answers="\n" * 40)
    assert {mark.split(".")[0] for mark in Schema.load(out).unconfirmed} == {
        "bmi",
        "visit",
        "zip",
        "stage",
    }
