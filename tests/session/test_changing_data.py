"""Data that change under a session: refused while nothing is spent, told when something is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import deltalake
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data import PrivateTable
from discreet.data.sources.csv_files import CsvSource
from discreet.errors import DataChanged, DataRefused, ReleaseFailed
from discreet.ledger import Ledger
from discreet.privacy.accounting import Amount

SCHEMA = dc.Schema({"a": dc.Number(0, 10, missing=False)})
PLAN = dc.mean("a", epsilon=0.5)


def protect(path: Path, relation: str = "replace-one") -> dc.Session:
    pd.DataFrame({"a": np.arange(100) % 10}).to_csv(path, index=False)
    return dc.protect(
        path, SCHEMA, dataset="d", ledger=":memory:", epsilon=2, relation=relation, workers=1
    )


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("7\n")


@pytest.mark.parametrize("change", [grow, Path.unlink], ids=["grows", "goes away"])
def test_a_file_that_changed_is_refused_and_nothing_is_spent(
    change: Callable[[Path], Any], tmp_path: Path
) -> None:
    session = protect(tmp_path / "rows.csv")
    change(tmp_path / "rows.csv")
    with pytest.raises(DataRefused, match="must stay as they were when they were opened"):
        session.release(PLAN)
    assert session.balance.spent == Amount()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("change", [grow, Path.unlink], ids=["grows", "goes away"])
def test_a_file_that_changes_while_it_is_read_ends_the_release(
    change: Callable[[Path], Any], relation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = protect(tmp_path / "rows.csv", relation)
    read = CsvSource.chunks

    def chunks(source: CsvSource, names: Any) -> Any:
        change(tmp_path / "rows.csv")
        return read(source, names)

    monkeypatch.setattr(CsvSource, "chunks", chunks)
    with pytest.raises(DataChanged, match=r"written to, or went away, .* which stays spent") as caught:
        session.release(PLAN)
    assert caught.value.__context__ is None
    assert session.balance.spent != Amount()
    (reserved,) = (
        entry for entry in session.history().to_dict("records") if entry["kind"] == "reserve"
    )
    assert reserved["id"] in str(caught.value)


def test_whatever_else_fails_is_told_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = protect(tmp_path / "rows.csv")

    def chunks(source: CsvSource, names: Any) -> Any:
        raise OSError("SECRET")

    monkeypatch.setattr(CsvSource, "chunks", chunks)
    with pytest.raises(ReleaseFailed, match="The release failed after its reservation") as caught:
        session.release(PLAN)
    assert type(caught.value) is ReleaseFailed


@pytest.mark.parametrize("asked", [True, False], ids=["answered", "opened"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_session_that_starts_again_notices_other_data_under_the_same_version(
    relation: str, asked: bool, tmp_path: Path
) -> None:
    """Answers of the old state would be handed out for the new one. A private number stays private."""
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db", "relation": relation}
    frame = pd.DataFrame({"a": np.arange(100) % 10})
    session = dc.protect(frame, SCHEMA, epsilon=2, **terms)
    if asked:
        session.release(PLAN)
    grown = pd.concat([frame, frame])
    if relation == "add-remove":
        dc.protect(grown, SCHEMA, **terms)
        entries = Ledger.open(terms["ledger"]).history("d")
        assert {fact for entry in entries for fact in entry.note.get("data", ())} == {"source"}
        return
    with pytest.raises(DataRefused, match=r"version '1' stands for, got 200 records where .* 100"):
        dc.protect(grown, SCHEMA, **terms)
    dc.protect(grown, SCHEMA, version="2", **terms)  # noted, too, though nothing is asked of it
    with pytest.raises(DataRefused, match=r"version '2' stands for, got 100 records where .* 200"):
        dc.protect(frame, SCHEMA, version="2", **terms)
    dc.protect(frame, SCHEMA, **terms)
    assert Ledger.open(terms["ledger"]).verify().ok


@pytest.mark.parametrize("asked", [True, False], ids=["answered", "opened"])
def test_another_number_of_persons_under_the_same_version_is_noticed(
    asked: bool, tmp_path: Path
) -> None:
    """It is counted when the data are registered, and is public from then on; rows are not."""
    schema = dc.Schema({"a": dc.Number(0, 9, step=1, missing=False)}, person="who")
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db"}
    frame = pd.DataFrame({"a": np.arange(100) % 10, "who": np.arange(100) // 2})
    session = dc.protect(frame, schema, epsilon=2, **terms)
    if asked:
        session.release(PLAN)
    dc.protect(pd.concat([frame, frame]), schema, **terms)  # more rows of the same persons
    others = frame.assign(who=np.arange(100) // 4)
    with pytest.raises(DataRefused, match=r"got 25 records where .* 50"):
        dc.protect(others, schema, **terms)


def test_a_ledger_that_noted_nothing_opens_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"a": np.arange(100) % 10})
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db"}
    with monkeypatch.context() as patch:
        patch.setattr("discreet.session.opening.State", lambda *given: None)  # as it was written once
        dc.protect(frame, SCHEMA, epsilon=2, **terms)
    assert len(dc.protect(frame, SCHEMA, **terms).history()) == 2  # noted from now on
    with pytest.raises(DataRefused, match="got 200 records"):
        dc.protect(pd.concat([frame, frame]), SCHEMA, **terms)
    assert Ledger.open(terms["ledger"]).verify().ok


# A restart from another source.


def written(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    """Return rows in a source of a kind."""
    table, file = pa.Table.from_pandas(frame, preserve_index=False), folder / "rows.parquet"
    folder.mkdir(exist_ok=True)
    match kind:
        case "pandas":
            return frame
        case "polars":
            return pl.from_pandas(frame)
        case "arrow":
            return table
        case "array":
            return frame[["a"]].to_numpy()
        case "csv":
            frame.to_csv(folder / "rows.csv", index=False)
            return folder / "rows.csv"
        case "parquet" | "folder" | "data set" | "dask":
            pq.write_table(table, file)
            return {
                "parquet": file,
                "folder": folder,
                "data set": ds.dataset(file),
                "dask": dd.read_parquet(file),
            }[kind]
        case "duckdb":
            return duckdb.from_arrow(table)
        case "sql":
            with closing(sqlite3.connect(folder / "rows.db")) as there:
                frame.to_sql("t", there, index=False, if_exists="replace")
            return dc.SqlQuery(f"sqlite:///{folder / 'rows.db'}", "select * from t")
        case "delta":
            deltalake.write_deltalake(str(folder / "lake"), table)
            return folder / "lake"
    raise AssertionError(kind)


KINDS = (
    *("pandas", "polars", "arrow", "array", "csv", "parquet"),
    *("folder", "data set", "dask", "duckdb", "sql", "delta"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_from_another_source_is_noticed(kind: str, tmp_path: Path) -> None:
    """The same one is opened without a word; other columns, rows or another kind are not."""
    frame = pd.DataFrame({"a": np.arange(100) % 10, "b": 1})
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db"}
    data = written(frame, kind, tmp_path / "one")
    dc.protect(data, SCHEMA, epsilon=2, **terms)
    dc.protect(data, SCHEMA, **terms)
    with pytest.raises(DataRefused, match="got 90 records"):
        dc.protect(written(frame[:90], kind, tmp_path / "two"), SCHEMA, **terms)
    other = written(frame, "csv" if kind == "pandas" else "pandas", tmp_path / "three")
    with pytest.warns(UserWarning, match="came from another kind of source, or with other columns"):
        dc.protect(other, SCHEMA, **terms)


@pytest.mark.parametrize("kind", ["pandas", "csv", "parquet", "folder", "dask", "sql", "data set"])
def test_a_restart_with_other_columns_is_noticed(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(100) % 10, "b": 1})
    terms: dict[str, Any] = {"dataset": "d", "ledger": tmp_path / "l.db"}
    dc.protect(written(frame, kind, tmp_path / "one"), SCHEMA, epsilon=2, **terms)
    with pytest.warns(UserWarning, match="came from another kind of source, or with other columns"):
        dc.protect(written(frame.assign(c=2), kind, tmp_path / "two"), SCHEMA, **terms)


def test_kinds_of_columns_are_not_noted() -> None:
    """One value that is missing makes floats of whole numbers: its row would be told."""
    whole, floats = (PrivateTable(pd.DataFrame({"a": a}), SCHEMA) for a in ([1, 2], [1, None]))
    assert whole.facts == floats.facts
