"""One row, whatever it says, stops nobody's reading and changes nobody else's contribution."""

from __future__ import annotations

import datetime as dt
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
import sqlalchemy

import discreet as dc
from discreet.data.conversion import from_arrow, from_pandas
from discreet.data.persons import hash_ids
from discreet.data.rows import open_rows
from discreet.data.sources import csv_files
from discreet.data.sources.elsewhere.queries import _array
from discreet.data.sources.elsewhere.spool import _join, _raw
from discreet.data.table import PrivateTable
from discreet.schema import Column
from discreet.schema.person import Person
from discreet.schema.raw import as_codes

ZONE = "Europe/Vienna"
COLUMNS: dict[str, Column] = {
    "number": dc.Number(0, 10),
    "category": dc.Category("a", "1", "2020-01-01", "2020-01-01 05:00:00", "{'a': 1}", "[1]"),
    "truth": dc.Boolean(),
    "date": dc.Date("2015-01-01", "2029-12-31", "hour"),
    "zoned": dc.Date("2015-01-01", "2029-12-31", "hour", zone=ZONE),
    "written": dc.Date("2015-01-01", "2029-12-31", format="%Y%m%d"),
}


def read(raw: Any) -> np.ndarray[Any, Any]:
    """Return all that columns of a schema make of raw values, and the hashes of ids."""
    encoded = [column.encode(raw) for column in COLUMNS.values()]
    return np.column_stack([*encoded, hash_ids([raw], Person("who")).view(np.int64)])


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # all at once numpy would ask them how long they are
        found[place] = value
    return found


def queried(values: list[Any]) -> Any:
    return _raw(_join([_array(values)]))


class Hostile:
    """An object that fails whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError("secret")

    def __str__(self) -> str:
        raise ValueError("secret")

    def __eq__(self, other: object) -> bool:
        raise ValueError("secret")

    __hash__ = None  # type: ignore[assignment]


class HostileText(str):
    """A text that cannot be written, compared or hashed."""

    def __str__(self) -> str:
        raise ValueError("secret")

    def __eq__(self, other: object) -> bool:
        raise ValueError("secret")

    def __hash__(self) -> int:
        raise ValueError("secret")


ODD = ["a\0b", "\0", "\ud800", Decimal("sNaN"), Decimal("1E+9999"), 10**5000, b"\xff", None]
BASES: list[list[Any]] = [
    ["a", "a", "1", "20200131"],
    [1, 1, 0, 20200131],
    [True, True, False, True],
    [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 3, 1), dt.date(2021, 1, 1)],
]


@pytest.mark.parametrize("odd", [*ODD, Hostile, HostileText], ids=map(str, range(10)))
@pytest.mark.parametrize("base", BASES, ids=["texts", "wholes", "truths", "dates"])
def test_one_object_changes_no_other(base: list[Any], odd: Any) -> None:
    odd = odd() if isinstance(odd, type) else odd  # pytest would ask it for its name
    for make in (objects, lambda values: from_pandas(pd.Series(objects(values), dtype=object))):
        plain, beside = read(make(base)), read(make([odd, *base[1:]]))
        np.testing.assert_array_equal(beside[1:], plain[1:])


def as_pandas_2(values: Any) -> Any:
    """Return codes as pandas 2.2.3 makes them of texts."""
    cut = [value.split("\0")[0] if isinstance(value, str) else value for value in values.tolist()]
    codes, first = np.unique(np.array(cut, dtype=str), return_inverse=True)[1], dict[int, Any]()
    for place, code in enumerate(codes.tolist()):
        first.setdefault(code, values[place])
    return codes, objects([first[code] for code in range(len(first))])


def test_texts_are_told_apart_behind_a_zero_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas 2 ends a text there when it makes codes: whichever came first stood for all."""
    values = objects(["a\0b", "a", "a\0c", "a"])
    monkeypatch.setattr(pd, "factorize", as_pandas_2)
    assert as_codes(values).values == ["a\0b", "a", "a\0c"]
    assert len(np.unique(hash_ids([values], Person("who")), axis=0)) == 3


@pytest.mark.parametrize("odd", ["9999-12-31 23:59:59-05:00", "0001-01-01 00:00:00+05:00"])
def test_the_ends_of_the_calendar_stop_nobody(odd: str) -> None:
    base = ["2020-01-01", "2020-01-01 05:00:00+01:00"]
    plain, beside = read(from_arrow(pa.array(base))), read(from_arrow(pa.array([odd, base[1]])))
    np.testing.assert_array_equal(beside[1:], plain[1:])
    column = COLUMNS["zoned"]
    assert isinstance(column, dc.Date)
    assert column.encode(from_arrow(pa.array([odd])))[0] in (column.low, column.high)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [ZONE, "Asia/Tokyo", "America/New_York"])
def test_times_no_zone_has_stop_nobody(unit: str, zone: str) -> None:
    def times(first: int) -> Any:
        found = np.array(["2020-01-01T05", "2020-07-01T23"], dtype=f"M8[{unit}]")
        found.view(np.int64)[0] = first
        return from_pandas(pd.Series(found).dt.tz_localize("UTC").dt.tz_convert(zone))

    plain = read(times(0))
    for first in (2**63 - 1, -(2**63) + 1, -(2**63)):
        np.testing.assert_array_equal(read(times(first))[1:], plain[1:])


@pytest.mark.parametrize("odd", [None, 5])
def test_whole_numbers_are_dates_as_a_format_writes_them(odd: int | None) -> None:
    """One that is missing makes objects of a column, as one that is no number does."""
    column, days = COLUMNS["written"], [20200131, 20200131, 20200201]
    assert isinstance(column, dc.Date)
    alone = [column.encode(np.array([str(day)]))[0] for day in days]
    makers: dict[str, Any] = {
        "array": lambda values: np.array([np.nan if v is None else v for v in values]),
        "nullable": lambda values: from_pandas(pd.Series(values, dtype="Int64")),
        "arrow": lambda values: from_arrow(pa.array(values, pa.int64())),
    }
    for make in makers.values():
        assert column.encode(make(days)).tolist() == alone
        assert column.encode(make([odd, *days[1:]])).tolist()[1:] == alone[1:]
    marks = column.landmarks()
    np.testing.assert_array_equal(marks[:2], [column.low, column.high])


def zoned(hour: int, zone: Any) -> dt.datetime:
    return dt.datetime(2020, 1, 1, hour, tzinfo=zone)


@pytest.mark.parametrize(
    ("base", "odd"),
    [
        ([1, 1], dt.date(2020, 1, 1)),
        ([dt.datetime(2020, 1, 1, 5)] * 2, dt.date(2020, 1, 1)),
        ([dt.datetime(2020, 1, 1, 5)] * 2, zoned(5, dt.UTC)),
        ([zoned(5, dt.UTC)] * 2, zoned(5, ZoneInfo(ZONE))),
        ([zoned(5, dt.UTC)] * 2, dt.datetime(2020, 1, 1)),
        ([zoned(5, dt.UTC)] * 2, dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5)))),
        ([{"a": 1}] * 2, {"b": 1}),
        ([[1]] * 2, [1.5]),
        ([uuid.UUID(int=1)] * 2, "x"),
        (["a"] * 2, "\ud800"),
        ([memoryview(b"a")] * 2, "x"),
    ],
    ids=map(str, range(11)),
)
def test_one_answer_of_a_query_changes_no_other(base: list[Any], odd: Any) -> None:
    plain = read(queried(base))
    np.testing.assert_array_equal(read(queried([odd, *base[1:]]))[1:], plain[1:])
    joined = _raw(_join([_array(base), _array([odd])]))
    np.testing.assert_array_equal(read(joined)[:2], plain)


def test_a_header_without_rows_needs_no_end_of_line(tmp_path: Path) -> None:
    file = tmp_path / "nobody.csv"
    for names in ("a,b", "a"):
        for end in ("", "\n", "\r\n"):
            file.write_text(names + end, newline="")
            assert PrivateTable(str(file), dc.Schema({"a": dc.Number(0, 1)}), "add-remove").count() == 0
    file.write_text("a,b\n1,2", newline="")
    table = PrivateTable(str(file), dc.Schema({"a": dc.Number(0, 1)}), "add-remove")
    assert [len(block) for block in open_rows(table, ["a"])] == [1]


def test_a_text_that_is_none_stops_no_query(tmp_path: Path) -> None:
    where = tmp_path / "clinic.db"
    with closing(sqlite3.connect(where)) as base:
        base.execute("CREATE TABLE visits (home TEXT)")
        base.execute("INSERT INTO visits VALUES ('a'), (CAST(x'ff' AS TEXT)), ('a')")
        base.commit()
    query = dc.SqlQuery(f"sqlite:///{where}", "SELECT home FROM visits")
    table = PrivateTable(query, dc.Schema({"home": dc.Category("a")}))
    (block,) = open_rows(table, ["home"])
    assert sorted(block["home"].tolist()) == [0.0, 0.0, 1.0]
    engine = sqlalchemy.create_engine(f"sqlite:///{where}", poolclass=sqlalchemy.StaticPool)
    PrivateTable(dc.SqlQuery(engine, query.sql), table.schema)
    with engine.connect() as connection:  # of the owner's pool: as it was
        driver: Any = connection.connection.driver_connection
        assert driver.text_factory is str


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("timestamp", "12026-01-01"),
        ("timestamptz", "-infinity"),
        ("timestamptz", "9999-12-31 23:59:59-11"),
        ("interval", "9999999 years"),
        ("time", "24:00"),
    ],
)
def test_a_time_that_python_lacks_stops_no_query(
    kind: str, odd: str, new_database: Callable[[], str]
) -> None:
    where = new_database()
    with closing(psycopg.connect(where, autocommit=True)) as base:
        base.execute(f"CREATE TABLE visits (seen {kind})")
        plain = {"time": "10:00", "interval": "1 day"}.get(kind, "2020-01-01")
        base.execute(f"INSERT INTO visits VALUES ('{plain}'), ('{odd}')")
    schema = dc.Schema({"seen": dc.Date("2015-01-01", "2029-12-31")})
    found = {}
    for rows in ("", f" WHERE seen = '{plain}'"):
        table = PrivateTable(dc.SqlQuery(where, f"SELECT seen FROM visits{rows}"), schema)
        found[rows] = [row for block in open_rows(table, ["seen"]) for row in block["seen"].tolist()]
    first, second = found.values()
    assert len(first) == 2 and second[0] in first


@pytest.mark.parametrize("letters", range(1, 40))
def test_letters_of_one_row_stop_no_file(
    letters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes more bytes as the reader sees it: what is left over must not be a block of its own."""
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 256)
    file = tmp_path / "letters.csv"
    rows = ["1,some text that is longer\n"] * 200
    rows[3] = f"1,{'é' * letters}\n"
    file.write_text("a,b\n" + "".join(rows))
    table = PrivateTable(str(file), dc.Schema({"a": dc.Number(0, 1)}))
    assert table.count() == 200
