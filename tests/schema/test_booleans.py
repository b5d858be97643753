"""Truth values, ordered categories, words for people, and names of columns as users have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataRefused, SchemaError
from discreet.schema import Boolean, Category, Number, Schema
from tests.data.twins import encode


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None, "perhaps"],
        ["True", "false", None, "perhaps"],
        ["YES", " no ", None, "perhaps"],
        [1, 0, None, 7],
        [1.0, 0.0, float("nan"), 7.0],
        ["1", "0", None, "2"],
        ["Ja", "nein", None, "?"],
    ],
)
def test_truth_values_however_they_are_written(values: list[Any]) -> None:
    column = Boolean(true="ja", false=["nein"])
    for frame in (pd.DataFrame({"a": values}), pl.DataFrame({"a": values}, strict=False)):
        assert encode(frame, a=column)[0][:3] == [1, 0, 3]
    assert encode(pd.DataFrame({"a": values}), a=column)[0][3] == 2


def test_columns_of_truth_values() -> None:
    for frame in (pd.DataFrame({"a": [True, False]}), pl.DataFrame({"a": [True, False]})):
        assert encode(frame, a=Boolean(missing=False, other=False)) == [[1, 0]]
    assert Boolean().labels == ("False", "True", "(other)", "(missing)")
    assert Boolean(missing=False, other=False).decode(np.array([0.0, 1.0])).tolist() == [False, True]


def test_words_that_mean_both_are_refused() -> None:
    with pytest.raises(SchemaError, match="must not share a word, got 'x'"):
        Boolean(true=["x"], false=["X"])
    with pytest.raises(SchemaError, match="must not share a word, got 'no'"):
        Boolean(true="no")
    with pytest.raises(SchemaError, match="true must be a text or a list of texts"):
        Boolean(true=[1])  # type: ignore[list-item]


def test_files_keep_every_kind(tmp_path: Path) -> None:
    schema = Schema(
        {
            "smoker": Boolean(true="ja", false="nein", label="Smokes"),
            "paid": Boolean(missing=False, other=False),
            "grade": Category(["I", "II", "III"], ordered=True, label="Grade of the tumour"),
            "glucose (fasting)": Number(0, 500, unit="mg/dl", label="Glucose"),
        }
    )
    read = Schema.load(schema.save(tmp_path / "schema.toml"))
    assert read == schema and [read[name] for name in read] == [schema[name] for name in schema]
    assert read.to_json() == schema.to_json()
    assert read["glucose (fasting)"].unit == "mg/dl"  # type: ignore[union-attr]
    assert [read[name].label for name in read] == ["Smokes", None, "Grade of the tumour", "Glucose"]


def test_words_for_people_are_no_facts() -> None:
    plain = Schema({"a": Number(0, 1), "b": Category("x", "y"), "c": Boolean()})
    told = Schema(
        {
            "a": Number(0, 1, unit="mg", label="A"),
            "b": Category("x", "y", label="B"),
            "c": Boolean(label="C"),
        }
    )
    assert told.digest == plain.digest and told == plain
    assert Schema({"b": Category("x", "y", ordered=True)}) != Schema({"b": Category("x", "y")})


@pytest.mark.parametrize("entry", ['kind = "boolean"\nvalues = [1]', 'kind = "boolean"\nunit = "mg"'])
def test_entries_that_a_kind_does_not_take(entry: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(f"[columns.a]\n{entry}\n")
    with pytest.raises(SchemaError, match="a boolean takes true, false, missing, other and label"):
        Schema.load(path)


def test_an_ordered_category_is_cut_in_two() -> None:
    """A tree takes no value out of the middle of an order."""
    from discreet.trees.columns import candidate_splits, schema_grid

    def splits(ordered: bool) -> set[tuple[int, int]]:
        column = Category("I", "II", "III", ordered=ordered, missing=False, other=False)
        found = candidate_splits(schema_grid(Schema({"a": column}), ["a"]))
        return set(zip(found.first.tolist(), found.last.tolist(), strict=True))

    assert splits(True) == {(0, 0), (0, 1)}
    assert splits(False) == {(0, 0), (0, 1), (1, 1)}


def test_names_as_users_have_them() -> None:
    schema = Schema({"Größe in cm": Number(0, 10), 0: Number(0, 10), "名": Number(0, 10)}, target=0)
    assert list(schema) == ["Größe in cm", "0", "名"] and schema.target == "0"
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["Größe in cm", 0, "名"])
    session = dc.protect(frame, schema, dataset="d", epsilon=1, ledger=":memory:", seed=1)
    counts = session.release(dc.histogram("Größe in cm", bins=2, epsilon=0.5))
    assert counts.value.columns == ("Größe in cm",)


def test_names_that_are_the_same_as_texts_are_refused() -> None:
    with pytest.raises(SchemaError, match="must differ as texts, got '1' twice"):
        Schema({1: Number(0, 1), "1": Number(0, 1)})
    both = pd.DataFrame([[1, 2]], columns=[1, "1"])
    with pytest.raises(DataRefused, match="one column '1', got 2"):
        dc.protect(both, Schema({1: Number(0, 1)}), dataset="d", epsilon=1, ledger=":memory:")
    for name in ("", None, True, 1.5):
        with pytest.raises(SchemaError, match="non-empty text or a whole number"):
            Schema({name: Number(0, 1)})
