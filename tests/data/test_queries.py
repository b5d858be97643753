"""Databases: a query is run once, before anything is spent, and nobody else can read what is kept."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import psycopg
import pytest
import sqlalchemy

from discreet.data.sources.elsewhere import spool as spool_module
from discreet.data.sources.elsewhere.queries import SqlQuery
from discreet.data.table import PrivateTable
from discreet.errors import ArgumentError, DataRefused
from discreet.schema import Category, Number, Schema
from tests.data.twins import SCHEMA, Rows, encode, make_rows, read_blocks

NUMBER = Number(0, 10, missing=False)
ROWS = make_rows(1_000)
KINDS = {
    "age": "bigint",
    "income": "double precision",
    "home": "text",
    "zip": "text",
    "paid": "boolean",
    "owed": "numeric(10, 2)",
    "level": "bigint",
    "who": "text",
}


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def encoded(data: Any) -> list[tuple[Any, ...]]:
    """Return the encoded rows and their ids, sorted: a query has no order."""
    blocks = read_blocks(data)
    return in_order(
        [(*row, who) for b in blocks for row, who in zip(b.values.tolist(), b.ids, strict=True)]
    )


def fill(cursor: Any, rows: Rows, sign: str, kinds: dict[str, str] | None = None) -> None:
    named = ", ".join(f"{name} {kind}" for name, kind in (kinds or KINDS).items())
    cursor.execute(f"CREATE TABLE visits ({named})")
    marks = ", ".join([sign] * len(KINDS))
    cursor.executemany(
        f"INSERT INTO visits VALUES ({marks})", list(zip(*(rows[name] for name in KINDS), strict=True))
    )


def in_postgres(rows: Rows, folder: Path, new_database: Callable[[], str]) -> SqlQuery:
    where = new_database()
    with closing(psycopg.connect(where, autocommit=True)) as connection:
        fill(connection.cursor(), rows, "%s")
    return SqlQuery(where, "SELECT * FROM visits")


def in_sqlite(rows: Rows, folder: Path, new_database: Callable[[], str]) -> SqlQuery:
    plain = {**rows, "owed": [None if v is None else float(v) for v in rows["owed"]]}
    with closing(sqlite3.connect(folder / "clinic.db")) as connection:
        fill(connection.cursor(), plain, "?", dict.fromkeys(KINDS, ""))
        connection.commit()
    return SqlQuery(f"sqlite:///{folder}/clinic.db", "SELECT * FROM visits")


def in_duckdb(rows: Rows, folder: Path, new_database: Callable[[], str]) -> Any:
    connection = duckdb.connect(str(folder / "clinic.duckdb"))
    fill(connection, rows, "?")
    return connection.sql("SELECT * FROM visits")


def in_a_duckdb_file(rows: Rows, folder: Path, new_database: Callable[[], str]) -> SqlQuery:
    with closing(duckdb.connect(str(folder / "clinic.duckdb"))) as connection:
        fill(connection, rows, "?")
    return SqlQuery(f"duckdb:///{folder}/clinic.duckdb", "SELECT * FROM visits")


DATABASES = {
    "PostgreSQL": in_postgres,
    "SQLite": in_sqlite,
    "DuckDB": in_duckdb,
    "DuckDB file": in_a_duckdb_file,
}


@pytest.mark.parametrize("kind", DATABASES)
def test_a_database_gives_the_records_that_pandas_has(
    kind: str, tmp_path: Path, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "_PIECE_ROWS", 3)  # so that every bucket is written
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in ROWS.items()})
    assert encoded(DATABASES[kind](ROWS, tmp_path, new_database)) == encoded(frame)


def test_an_engine_with_another_database_of_its_own(tmp_path: Path) -> None:
    in_sqlite(ROWS, tmp_path, lambda: "")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/clinic.db")
    assert PrivateTable(SqlQuery(engine, "SELECT * FROM visits"), SCHEMA).count() == 1_000
    engine.dispose()


def test_values_of_all_kinds_in_one_column_are_read_one_by_one(tmp_path: Path) -> None:
    """SQLite has no fixed types: a text beside numbers must not change how they are read."""
    kinds: list[Any] = [1, "1", 2.5, "2.50", None, "x", b"x", 2**62, "2020-01-01", float("inf")]
    values = kinds * 50 + [7] * 500
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(v, v) for v in values])
        connection.commit()
    columns = {"a": Number(0, 10), "b": Category(1, 2.5, "x", 2**62, "2020-01-01")}
    found = encode(SqlQuery(f"sqlite:///{tmp_path}/x.db", "SELECT a, b FROM t"), **columns)
    wanted = encode(pd.DataFrame({"a": values, "b": values}, dtype=object), **columns)
    assert in_order(list(zip(*found, strict=True))) == in_order(list(zip(*wanted, strict=True)))


def test_a_database_that_is_gone_after_it_was_read_is_not_missed(tmp_path: Path) -> None:
    query = in_sqlite(ROWS, tmp_path, lambda: "")
    table = PrivateTable(query, SCHEMA)
    (tmp_path / "clinic.db").unlink()
    assert not table.has_changed() and table.count() == 1_000
    with pytest.raises(DataRefused, match="must be in an existing database, got sqlite:///"):
        PrivateTable(query, SCHEMA)
    assert not (tmp_path / "clinic.db").exists()  # SQLite makes one where there is none


def test_a_database_that_goes_away_in_the_middle(new_database: Callable[[], str]) -> None:
    """The server ends the connection of its own client, after a hundred thousand rows."""
    end = "CASE WHEN i = 150000 THEN pg_terminate_backend(pg_backend_pid())::int ELSE i END"
    query = SqlQuery(new_database(), f"SELECT {end} AS a FROM generate_series(1, 200000) AS s(i)")
    with pytest.raises(DataRefused, match="a query that the database answers to its end") as caught:
        PrivateTable(query, Schema({"a": NUMBER}))
    assert caught.value.rule == "query" and caught.value.__context__ is None


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT 1 / (i - 7) AS a FROM generate_series(1, 9) AS s(i)", "answers to its end, got one"),
        ("SELECT nothing FROM nowhere", "answers to its end, got one"),
        ("DELETE FROM t", "answers to its end, got one"),
        ("SELECT i AS b FROM generate_series(1, 9) AS s(i)", "must have a column 'a', got none"),
        ("SELECT i AS a, i AS a FROM generate_series(1, 9) AS s(i)", "one column 'a', got 2"),
        ("SELECT 1 AS a WHERE false", "at least one row under replace-one, got none"),
    ],
)
def test_queries_that_are_refused(sql: str, told: str, new_database: Callable[[], str]) -> None:
    where = new_database()
    with closing(psycopg.connect(where, autocommit=True)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        with pytest.raises(DataRefused, match=told) as caught:
            PrivateTable(SqlQuery(where, sql), Schema({"a": NUMBER}))
        assert caught.value.__context__ is None
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)


@pytest.mark.parametrize(
    ("where", "error", "told"),
    [
        ("postgresql://me:SECRET@127.0.0.1:9/x", DataRefused, "can be reached, got postgresql"),
        ("no address", ArgumentError, "as SQLAlchemy writes it"),
        ("nobody://x", ArgumentError, "that SQLAlchemy knows, got nobody://"),
        ("mysql+pymysql://x", DataRefused, "a database of mysql but no pymysql"),
        ("duckdb:///nowhere.duckdb", DataRefused, "in an existing database"),
    ],
)
def test_addresses_that_are_refused(where: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        PrivateTable(SqlQuery(where, "SELECT 1 AS a"), Schema({"a": NUMBER}))
    assert "SECRET" not in str(caught.value)


def test_a_query_says_something() -> None:
    with pytest.raises(ArgumentError, match="sql must be a statement that returns rows, got ' '"):
        SqlQuery("sqlite:///x.db", " ")
    assert "SECRET" not in repr(SqlQuery("postgresql://me:SECRET@x/y", "SELECT 1"))


def test_what_reads_it_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.duckdb").touch()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for where, extra in (
        (f"duckdb:///{tmp_path}/x.duckdb", "duckdb"),
        ("postgresql://x/y", "postgres"),
    ):
        with pytest.raises(DataRefused, match=rf"pip install 'discreet\[{extra}\]'"):
            PrivateTable(SqlQuery(where, "SELECT 1 AS a"), Schema({"a": NUMBER}))
