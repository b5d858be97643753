"""Answers of databases: a query is run once, while nothing is spent, and streams into a spool.

Rows come in batches, from PostgreSQL through a cursor of the server, and are in memory one batch at a
time. The database is asked nothing more afterwards: it may go away, and what others write to it
meanwhile changes nothing. A statement sees one state of the database.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from discreet.data.sources.elsewhere.drivers import hands_over_all
from discreet.data.sources.elsewhere.spool import SpooledSource, one_by_one, spool
from discreet.data.sources.source import CHUNK_ROWS, missing_package, run_or_refuse
from discreet.errors import ArgumentError, DataRefused

_FAILS = "a query that the database answers to its end, got one that fails. Run it there to see why"


@dataclass(frozen=True)
class SqlQuery:
    """A query of a database, in the place of a table: ``dc.protect(dc.SqlQuery(address, sql), ...)``.

    Args:
      where: the address of a database as SQLAlchemy writes it (``postgresql://host/clinic``,
        ``sqlite:///clinic.db``), ``duckdb:///clinic.duckdb``, or a SQLAlchemy engine. Leave passwords
        to ``~/.pgpass``, the environment or a service file.
      sql: one statement that returns rows, with the columns of the schema. One row of its answer is
        one record: a join or a sum that mixes the rows of persons is not protected against.

    >>> SqlQuery("sqlite:///clinic.db", "SELECT age, paid FROM visits").sql
    'SELECT age, paid FROM visits'
    """

    where: Any = field(repr=False)
    sql: str

    def __post_init__(self) -> None:
        if not isinstance(self.sql, str) or not self.sql.strip():
            raise ArgumentError(f"sql must be a statement that returns rows, got {self.sql!r}.")


def open_query(query: SqlQuery, names: Sequence[str]) -> SpooledSource:
    """Return the source of what a query answers now."""
    if _is_duckdb(query):
        with _duckdb_at(query) as connection:
            return run_or_refuse(
                lambda: _read_duckdb(connection.sql(query.sql), names), _FAILS, "query"
            )
    engine = _engine(query.where)
    told = engine.url.render_as_string(hide_password=True)
    with _connected(engine, told) as connection, hands_over_all(connection):
        return run_or_refuse(lambda: _read(connection, query.sql, names), _FAILS, rule="query")


def first_answers(query: SqlQuery, rows: int) -> Any:
    """Return a pandas frame of the first rows that a query answers, for the owner."""
    import pandas as pd

    if _is_duckdb(query):
        with _duckdb_at(query) as connection:
            return run_or_refuse(lambda: connection.sql(query.sql).limit(rows).df(), _FAILS, "query")
    engine = _engine(query.where)

    def read(connection: Any) -> Any:
        with closing(connection.exec_driver_sql(query.sql)) as result:
            return pd.DataFrame(result.fetchmany(rows), columns=list(result.keys()))

    with _connected(engine, engine.url.render_as_string(hide_password=True)) as connection:
        return run_or_refuse(lambda: read(connection), _FAILS, rule="query")


def open_duckdb(relation: Any, names: Sequence[str]) -> SpooledSource:
    """Return the source of what a DuckDB relation answers now."""
    return run_or_refuse(lambda: _read_duckdb(relation, names), _FAILS, rule="query")


def _engine(where: Any) -> Any:
    import sqlalchemy

    if isinstance(where, sqlalchemy.Engine):
        return where
    try:
        url = sqlalchemy.make_url(where)
    except Exception:  # it may hold a password
        raise ArgumentError(
            "where must be the address of a database as SQLAlchemy writes it, as "
            "'postgresql://host/name', or an engine, got something else."
        ) from None
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and not os.path.isfile(url.database or ""):
        raise DataRefused(f"data must be in an existing database, got {url}.", rule="file")
    try:
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    except ImportError as error:
        raise missing_package(
            f"a database of {url.get_backend_name()}", str(error.name), "postgres"
        ) from None
    except sqlalchemy.exc.NoSuchModuleError:
        raise ArgumentError(
            f"where must be of a database that SQLAlchemy knows, got {url.drivername}://."
        ) from None


@contextmanager
def _connected(engine: Any, told: str) -> Iterator[Any]:
    what = f"in a database that can be reached, got {told}"
    connection = run_or_refuse(engine.connect, what, rule="database")
    with closing(connection):
        yield connection.execution_options(
            stream_results=True, yield_per=CHUNK_ROWS, postgresql_readonly=True
        )


def _read(connection: Any, sql: str, names: Sequence[str]) -> SpooledSource:
    with closing(connection.exec_driver_sql(sql)) as result:
        columns = [str(name) for name in result.keys()]  # noqa: SIM118 - no mapping
        places = [columns.index(name) for name in names if name in columns]
        return spool(columns, _batches(result, places), names)


def _batches(result: Any, places: Sequence[int]) -> Iterator[Any]:
    import pyarrow as pa

    for rows in result.partitions(CHUNK_ROWS):
        columns = [_array([row[place] for row in rows]) for place in places]
        yield pa.record_batch(columns, names=[str(place) for place in places])


_SAFE: tuple[set[type], ...] = (
    {int, float},
    {bool},
    {str},
    {bytes},
    {Decimal},
    {dt.date},
    {dt.datetime},
)
"""Kinds that Arrow holds side by side without changing one value because of another."""


def _array(values: list[Any]) -> Any:
    """Return values as an array in which each is what it would be alone.

    Arrow makes one type of a whole column: dates cut times off, one zone moves the clocks of another,
    a key of one document comes into all. What is not surely alike is kept value by value.
    """
    import pyarrow as pa

    values = [bytes(own) if isinstance(own, bytearray | memoryview) else own for own in values]
    kinds = set(map(type, values)) - {type(None)}
    alike = any(kinds <= safe for safe in _SAFE)
    if alike and dt.datetime in kinds:  # at the calendar's ends one in UTC may lie outside
        there = [own for own in values if own is not None]
        alike = len({id(own.tzinfo) for own in there}) == 1 and all(1 < t.year < 9999 for t in there)
    try:
        return pa.array(values) if alike else one_by_one(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # numbers beyond Arrow's
        return one_by_one(values)


def _is_duckdb(query: SqlQuery) -> bool:
    return isinstance(query.where, str) and query.where.startswith("duckdb://")


def _duckdb_at(query: SqlQuery) -> Any:
    path = query.where.removeprefix("duckdb:///")
    if not os.path.isfile(path):
        raise DataRefused(f"data must be in an existing database, got {query.where}.", rule="file")
    try:
        import duckdb
    except ImportError:
        raise missing_package("a DuckDB database", "duckdb", "duckdb") from None
    what = f"in a database that can be reached, got {query.where}"
    return run_or_refuse(lambda: duckdb.connect(path, read_only=True), what, "database")


def _read_duckdb(relation: Any, names: Sequence[str]) -> SpooledSource:
    columns = [str(name) for name in relation.columns]
    kept = [name for name in names if name in columns]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in kept)
    wanted = relation.project(quoted) if kept else relation
    reader = wanted.to_arrow_reader(CHUNK_ROWS)
    return spool(columns, reader, names)
