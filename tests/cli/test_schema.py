"""Schemas from the shell: drafts that tell what they saw, checks, and a dialogue."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import SchemaError
from discreet.schema import Boolean, Category, Date, Number, Schema
from discreet.schema.person import Person

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


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Rows of 30 persons, one of whom has two and one no id."""
    names = [f"P{place % 29:03}" for place in range(58)]
    frame = ROWS.assign(who=[*names, None, None])[["who", "smoker", "stage"]]
    frame.to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


def test_a_sketch_takes_a_person(visits: Path) -> None:
    draft = visits.parent / "draft.toml"
    run("sketch", visits, "--out", draft, "--person", "who")
    text = draft.read_text()
    assert '[person]\ncolumn = "who"\nrows = "weighted" # "weighted", "capped"' in text
    assert "P001" not in text and Schema.load(draft).person == Person("who")
    with pytest.raises(SchemaError, match="--id and --person must be columns of the frame, got 'whom'"):
        run("sketch", visits, "--out", visits.parent / "other.toml", "--person", "whom")


def test_a_sketch_asks_how_rows_of_a_person_count(visits: Path) -> None:
    out = visits.parent / "schema.toml"
    answers = ["b", "n", "c", "I,II,III", "n", "n", "", "capped", "many", "0", "3", ""]
    told = run("sketch", visits, "--out", out, "--ask", "--person", "who", answers="\n".join(answers))
    assert "who names persons. How do the rows of one count?" in told
    assert "most must be a whole number from 1 to 1024, got 0" in told
    assert Schema.load(out).person == Person("who", "capped", 3)
    fits = run("schema", "check", out, visits)
    assert "a record is a person (who), of whose rows at most 3 count" in fits
    assert "who: 30 persons in 60 rows, at most 2 of one; 2 rows without an id are one person" in fits


def test_the_books_say_who_a_record_is(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(visits.parent)
    columns = {"smoker": Boolean(), "stage": Category("I", "II", "III")}
    Schema(columns, person="who").save("schema.toml")
    words = ["--schema", "schema.toml", "--dataset", "visits", "--ledger", "books.db"]
    run("protect", visits, *words, "--epsilon", 1)
    assert "A record is a person (who), each of whose rows counts" in run("budget", "show")
    plain = json.loads(run("budget", "show", "--json"))
    assert plain["person"] == {"column": "who", "rows": "weighted"}
    run("release", "histogram", "stage", "--epsilon", 0.5, "--out", "stage.json")
    run("report", "stage.json", "--out", "page.html", "--budget")
    assert "A record is a person (who)" in Path("page.html").read_text()
