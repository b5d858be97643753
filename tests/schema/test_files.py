"""Schemas as TOML: whatever is written is read back, whatever is wrong is one sentence."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from discreet.errors import SchemaError
from discreet.schema import Category, Number, Schema
from tests.schema.strategies import hostile, schemas


@hostile
@given(schemas())
def test_round_trip(schema: Schema) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = schema.save(Path(folder) / "schema.toml")
        read = Schema.load(str(path))
    assert read == schema
    assert list(read) == list(schema)
    assert [read[name] for name in read] == [schema[name] for name in schema]
    assert (read.target, read.id) == (schema.target, schema.id)


def test_file_is_made_for_people(tmp_path: Path) -> None:
    schema = Schema(
        {"age": Number(18, 90, step=1, missing=False), "home": Category("rent", "own", unknown="own")},
        target="home",
        id="who",
    )
    assert schema.save(tmp_path / "s.toml").read_text() == (
        'target = "home"\nid = "who"\n\n'
        '[columns.age]\nkind = "number"\nlow = 18.0\nhigh = 90.0\nstep = 1.0\nmissing = false\n\n'
        '[columns.home]\nkind = "category"\nvalues = ["rent", "own"]\nunknown = "own"\n'
    )


def test_marks_survive_with_their_warning(tmp_path: Path) -> None:
    schema = Schema({"age": Number(18, 90, read_from_data=("low", "high"))})
    path = schema.save(tmp_path / "s.toml")
    assert "# read from data, not public" in path.read_text()
    assert Schema.load(path).unconfirmed == ("age.low", "age.high")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a =", "must be TOML, got an error"),
        (b"\xff", "must be TOML, got an error"),
        ("a = " + "9" * 5000, "must be TOML, got an error"),
        ("", "must have a table named 'columns'"),
        ("columns = 3", "must have a table named 'columns'"),
        ("[columns]", "at least one column"),
        ("[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1\n[other]", "got 'other' besides"),
        ("columns.a = 3", "Column 'a' must have kind = 'number' or 'category'"),
        ("[columns.a]\nlow = 0\nhigh = 1", "Column 'a' must have kind"),
        ("[columns.a]\nkind = 'text'", "Column 'a' must have kind"),
        ("[columns.a]\nkind = 'date'", "a date takes low, high, step, zone, format, missing"),
        ("[columns.a]\nkind = ['number']", "Column 'a' must have kind"),
        ("[columns.a]\nkind = 'number'\nlow = 0", "Column 'a' has a missing or unknown entry"),
        ("[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1\nmean = 2", "missing or unknown entry"),
        ("[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1\nread_from_data = true", "must be a list"),
        ("[columns.a]\nkind = 'number'\nlow = 1\nhigh = 0", "Column 'a': high must be above low=1"),
        ("[columns.a]\nkind = 'category'", "Column 'a': Category must have at least one value"),
        ("[columns.a]\nkind = 'category'\nvalues = 'abc'", "values must be a list, got 'abc'"),
        (
            "[columns.a]\nkind = 'category'\nvalues = ['a', 2020-01-01]",
            "must be a text, number or truth",
        ),
        ("[columns.a]\nkind = 'category'\nvalues = ['a']\nlow = 3", "missing or unknown entry"),
        ("target = ['a']\n[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1", "target must be one of"),
        (
            "id = 7.5\n[columns.a]\nkind = 'number'\nlow = 0\nhigh = 1",
            "id must be the name of a column",
        ),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    assert message in str(caught.value)


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"cannot be read: No such file"):
        Schema.load(tmp_path / "nothing.toml")
    with pytest.raises(SchemaError, match=r"cannot be read: Is a directory"):
        Schema.load(tmp_path)
    with pytest.raises(SchemaError, match=r"cannot be written: Is a directory"):
        Schema({"a": Number(0, 1, missing=False)}).save(tmp_path)
    with pytest.raises(SchemaError, match="valid Unicode"):
        Schema({"a\ud800": Number(0, 1, missing=False)}).save(tmp_path / "s.toml")
