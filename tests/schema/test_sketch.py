"""Drafts from rows: every bound is marked, and a marked schema protects nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.data import PrivateTable
from discreet.errors import SchemaError
from discreet.schema import Boolean, Category, Date, Number, Schema

FACTS = {
    "age": [30, 41, 30],
    "income": [1.5, None, float("inf")],
    "home": ["rent", None, "own"],
    "paid": [True, None, False],
    "day": [dt.date(2020, 1, 2), None, dt.date(2020, 1, 1)],
    "same": [7.0, 7.0, 7.0],
    "id": [1, 2, 3],
}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_bound_is_marked(kind: str) -> None:
    schema = Schema.sketch(MAKERS[kind](FACTS), target="home", id="id")
    assert (schema.target, schema.id, list(schema)) == ("home", "id", list(FACTS)[:-1])
    both, all_three = ("low", "high"), ("low", "high", "step")
    assert schema["age"] == Number(30, 41, 1, read_from_data=all_three)
    assert schema["income"] == Number(1.5, 2.5, read_from_data=both)
    assert schema["home"] == Category("own", "rent", read_from_data=("values",))
    assert schema["day"] == Date("2020-01-01", "2020-01-02", read_from_data=all_three)
    assert schema["same"] == Number(7, 8, 1, read_from_data=all_three)
    assert schema["paid"].read_from_data == ("values",)
    assert {mark.split(".")[0] for mark in schema.unconfirmed} == set(schema)
    with pytest.raises(SchemaError, match=r"read from data: age\.low, age\.high, age\.step"):
        PrivateTable(MAKERS[kind](FACTS), schema)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_truth_values_and_decimals(kind: str) -> None:
    frame = MAKERS[kind]({"paid": [True, None], "owed": [Decimal("1.5"), Decimal("2.5")]})
    schema = Schema.sketch(frame)
    assert schema["paid"] == Boolean(read_from_data=("values",))
    assert schema["owed"] == Number(1.5, 2.5, read_from_data=("low", "high"))


@pytest.mark.parametrize(
    ("values", "drafted"),
    [
        ([None, None], Category("unknown", read_from_data=("values",))),
        ([float("nan")], Number(0, 1, read_from_data=("low", "high"))),
        ([float("inf"), 1.5], Number(1.5, 2.5, read_from_data=("low", "high"))),
        ([1.0, None, 4.0], Number(1, 4, 1, read_from_data=("low", "high", "step"))),
        ([1, 0, 1, None], Category(0, 1, read_from_data=("values",))),
        (["yes", "No", None], Boolean(read_from_data=("values",))),
        (["02134", "90210"], Category("02134", "90210", read_from_data=("values",))),
        (["1.5", "2"], Number(1.5, 2, read_from_data=("low", "high"))),
        (
            ["31.1.2020", "1.2.2020"],
            Date("2020-01-31", "2020-02-01", format="%d.%m.%Y", read_from_data=("low", "high", "step")),
        ),
        (
            ["2020-01-01 10:30", "2020-01-02 11:00"],
            Date(
                "2020-01-01 10:30", "2020-01-02 11:00", "hour", read_from_data=("low", "high", "step")
            ),
        ),
        (["2020-01-01"] * 3, Date("2020-01-01", "2021-01-01", read_from_data=("low", "high", "step"))),
        ([1e17], Number(1e17, 1e17 + 256, read_from_data=("low", "high"))),
        ([10**16, 3], Number(3, 1e16, read_from_data=("low", "high"))),
        ([[1], [2]], Category("[1]", "[2]", read_from_data=("values",))),
        (["", "a"], Category("a", read_from_data=("values",))),
        (["1", "01", "b"], Category("01", "b", read_from_data=("values",))),  # the same as floats
        ([True, False], Boolean(read_from_data=("values",))),
    ],
)
def test_odd_columns(values: list[Any], drafted: Any) -> None:
    assert Schema.sketch(pd.DataFrame({"a": values}))["a"] == drafted


def test_long_lists_of_values_are_cut() -> None:
    """The most frequent are kept: rare ones are the likelier to name a person."""
    values = [f"{place:03}" for place in range(99)] * 3 + ["often"] * 9
    schema = Schema.sketch(pd.DataFrame({"a": values}))
    assert len(schema["a"].values) == 50 and "often" in schema["a"].values  # type: ignore[union-attr]
    assert schema.notes["a"][-1] == "cut at 50 of 100: all others count as (other)"


def patients(rows: int = 300) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": [f"P-{place:04}" for place in range(rows)],
            "record_id": 5_000 + 7 * np.arange(rows),
            "place": np.arange(rows),
            "remark": [f"said {number:.3f}" for number in draw.random(rows)],
            "income": draw.permutation(10 * rows)[:rows],
            "age": [None if place % 8 == 0 else 20.0 + place % 50 for place in range(rows)],
            "class": draw.integers(1, 4, rows),
        }
    )


def test_names_of_records_are_in_no_draft(tmp_path: Path) -> None:
    frame = patients()
    schema = Schema.sketch(frame, target="class")
    assert list(schema) == ["income", "age", "class"]
    assert set(schema.left_out) == {"patient", "record_id", "place", "remark"}
    assert schema.left_out["record_id"] == "looks like an id (300 different values in 300 rows)"
    assert schema.notes["age"] == ("13 % missing", "whole numbers")
    assert schema["class"] == Category(1, 2, 3, read_from_data=("values",))
    text = schema.save(tmp_path / "draft.toml").read_text()
    assert "# 13 % missing" in text and '# "patient" is left out: looks like an id or free text' in text
    assert not any(name in text for name in frame["patient"]) and "said" not in text
    assert Schema.load(tmp_path / "draft.toml") == schema


def test_a_frame_of_names_alone_has_no_draft() -> None:
    with pytest.raises(SchemaError, match="must have a column that names no record"):
        Schema.sketch(patients()[["patient", "place"]])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.Series([1]), "frame must be a pandas, polars or pyarrow table, got Series"),
        ("file.csv", "got str. Read the file into a data frame first"),
        (np.zeros((2, 2)), "got ndarray"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names that differ"),
        (pd.DataFrame(), "at least one column"),
    ],
)
def test_frames_that_are_refused(frame: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.sketch(frame)
    assert message in str(caught.value)
