"""Drafts from rows: every bound is marked, and a marked schema protects nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.data import PrivateTable
from discreet.errors import SchemaError
from discreet.schema import Category, Number, Schema

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
    assert schema["day"] == Category("2020-01-01", "2020-01-02", read_from_data=("values",))
    assert schema["same"] == Number(7, 8, read_from_data=both)
    assert schema["paid"].read_from_data == ("values",)
    assert {mark.split(".")[0] for mark in schema.unconfirmed} == set(schema)
    with pytest.raises(SchemaError, match=r"read from data: age\.low, age\.high, age\.step"):
        PrivateTable(MAKERS[kind](FACTS), schema)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_truth_values_and_decimals(kind: str) -> None:
    frame = MAKERS[kind]({"paid": [True, None], "owed": [Decimal("1.5"), Decimal("2.5")]})
    schema = Schema.sketch(frame)
    assert schema["paid"] == Category(False, True, read_from_data=("values",))
    assert schema["owed"] == Number(1.5, 2.5, read_from_data=("low", "high"))


@pytest.mark.parametrize(
    ("values", "drafted"),
    [
        ([None, None], Category("unknown", read_from_data=("values",))),
        ([float("nan")], Number(0, 1, read_from_data=("low", "high"))),
        ([1e17], Number(1e17, 1e17 + 256, read_from_data=("low", "high"))),
        ([10**16, 3], Number(3, 1e16, read_from_data=("low", "high"))),
        ([[1], [2]], Category("[1]", "[2]", read_from_data=("values",))),
        (["", "a"], Category("a", read_from_data=("values",))),
        (["1", "01", "b"], Category("01", "b", read_from_data=("values",))),  # the same as floats
        ([True, False], Category(False, True, read_from_data=("values",))),
    ],
)
def test_odd_columns(values: list[Any], drafted: Any) -> None:
    assert Schema.sketch(pd.DataFrame({"a": values}))["a"] == drafted


def test_long_lists_of_values_are_cut() -> None:
    assert len(Schema.sketch(pd.DataFrame({"a": [f"{i:03}" for i in range(99)]}))["a"].values) == 50  # type: ignore[union-attr]


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
