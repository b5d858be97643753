"""Sources: every kind of column is read, and no value can stop a reader."""

from __future__ import annotations

import datetime as dt
import io
import struct
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discreet.data.sources import csv_files
from discreet.data.table import PrivateTable
from discreet.errors import DataRefused
from discreet.schema import Category, Number, Schema
from tests.data.twins import encode

NUMBER = Number(0, 10, missing=False)
LABELS = Category(
    "q",
    "y",
    1,
    2**60 + 1,
    1.5,
    "None",
    "2020-01-01",
    "2020-01-01 00:00:00",
    "2020-01-01 01:00:00+01:00",
    missing=False,
    other=False,
)
NEW_YEAR = dt.datetime(2020, 1, 1)


def labels(data: Any) -> list[Any]:
    (codes,) = encode(data, a=LABELS)
    return [LABELS.values[int(code)] for code in codes]


def bytes_as_text(data: bytes) -> pa.Array:
    """Return an Arrow string that is not valid UTF-8, as a damaged Parquet file can hold."""
    offsets = pa.py_buffer(np.array([0, 1, len(data)], dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(data)])


def invalid_dictionary() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1]), bytes_as_text(b"y\xff"))


ARROW: dict[str, tuple[pa.Array, list[float], list[Any]]] = {
    "null": (pa.nulls(2), [5, 5], ["q", "q"]),
    "bool": (pa.array([True, False]), [1, 0], [1, "q"]),
    "bool and null": (pa.array([True, None]), [1, 5], [1, "q"]),
    "int8": (pa.array([1, 2], pa.int8()), [1, 2], [1, "q"]),
    "large int": (pa.array([2**60 + 1, 2**60 - 1024]), [10, 10], [2**60 + 1, "q"]),
    "large int and null": (pa.array([2**60 + 1, None]), [10, 5], [2**60 + 1, "q"]),
    "uint64": (pa.array([2**64 - 1, 1], pa.uint64()), [10, 1], ["q", 1]),
    "half": (pa.array(np.array([1.5, np.nan], np.float16)), [1.5, 5], [1.5, "q"]),
    "float and null": (pa.array([1.5, None]), [1.5, 5], [1.5, "q"]),
    "decimal": (pa.array([Decimal("0.3"), Decimal("1.5")]), [0.3, 1.5], ["q", 1.5]),
    "decimal256": (pa.array([Decimal("1.5"), None], pa.decimal256(50, 9)), [1.5, 5], [1.5, "q"]),
    "string": (pa.array(["y", None]), [5, 5], ["y", "q"]),
    "numbers as string": (pa.array(["1.5", "1"]), [1.5, 1], [1.5, 1]),
    "string view": (pa.array(["y", None], pa.string_view()), [5, 5], ["y", "q"]),
    "binary": (pa.array([b"y", b"\xff"]), [5, 5], ["y", "q"]),
    "binary view": (pa.array([b"y", b"1"], pa.binary_view()), [5, 1], ["y", 1]),
    "fixed binary": (pa.array([b"y", None], pa.binary(1)), [5, 5], ["y", "q"]),
    "invalid string": (bytes_as_text(b"y\xff"), [5, 5], ["y", "q"]),
    "dictionary": (pa.array(["y", None]).dictionary_encode(), [5, 5], ["y", "q"]),
    "invalid dictionary": (invalid_dictionary(), [5, 5], ["y", "q"]),
    "unsigned dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.uint8()), pa.array(["y"])),
        [5, 5],
        ["y", "q"],
    ),
    "null in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["1", None])),
        [1, 5],
        [1, "q"],
    ),
    "numbers in a dictionary": (pa.array([1.5, 1.0]).dictionary_encode(), [1.5, 1], [1.5, 1]),
    "date": (pa.array([dt.date(2020, 1, 1), None]), [5, 5], ["2020-01-01", "q"]),
    "date no calendar has": (pa.array([10**9, 0], pa.date32()), [5, 5], ["q", "q"]),
    "timestamp": (pa.array([NEW_YEAR, None]), [5, 5], ["2020-01-01 00:00:00", "q"]),
    "nanoseconds": (
        pa.array([NEW_YEAR, None], pa.timestamp("ns")),
        [5, 5],
        ["2020-01-01 00:00:00", "q"],
    ),
    "with a zone": (
        pa.array([NEW_YEAR, None], pa.timestamp("us", "Europe/Paris")),
        [5, 5],
        ["2020-01-01 01:00:00+01:00", "q"],
    ),
    "with no known zone": (
        pa.array([NEW_YEAR] * 2, pa.timestamp("us", "No/Where")),
        [5, 5],
        ["q", "q"],
    ),
    "beyond all years": (pa.array([10**15, 0], pa.timestamp("s")), [5, 5], ["q", "q"]),
    "time": (pa.array([dt.time(1, 2), None]), [5, 5], ["q", "q"]),
    "no time of day": (pa.array([10**15, 1]).view(pa.time64("us")), [5, 5], ["q", "q"]),
    "duration": (pa.array([2**62, 1]).view(pa.duration("s")), [5, 5], ["q", "q"]),
    "list": (pa.array([[1, 2], None]), [5, 5], ["q", "q"]),
    "struct": (pa.array([{"x": 1}, None]), [5, 5], ["q", "q"]),
    "uuid": (pa.array([b"0" * 16, None], pa.uuid()), [0, 5], ["q", "q"]),
    "run ends": (pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([1, 2])), [1, 2], [1, "q"]),
}


@pytest.mark.parametrize("kind", ARROW)
def test_every_arrow_type(kind: str) -> None:
    array, floats, texts = ARROW[kind]
    table = pa.table({"a": array})
    assert encode(table, a=NUMBER) == [floats]
    assert labels(table) == texts
    both = pa.chunked_array([array[:1], array[1:]])
    assert labels(pa.table({"a": both})) == texts


PANDAS: dict[str, tuple[Any, list[float], list[Any]]] = {
    "Int64": (pd.array([2**60 + 1, None], dtype="Int64"), [10, 5], [2**60 + 1, "q"]),
    "Int64, none missing": (pd.array([1, 2], dtype="Int64"), [1, 2], [1, "q"]),
    "boolean": (pd.array([True, None], dtype="boolean"), [1, 5], [1, "q"]),
    "Float64": (pd.array([1.5, None], dtype="Float64"), [1.5, 5], [1.5, "q"]),
    "string": (pd.array(["y", None], dtype="string"), [5, 5], ["y", "q"]),
    "category": (pd.Categorical(["y", None, "q"]), [5, 5, 5], ["y", "q", "q"]),
    "category of ints": (pd.Categorical([1, 2, None]), [1, 2, 5], [1, "q", "q"]),
    "category of dates": (pd.Categorical([pd.Timestamp(NEW_YEAR)]), [5], ["2020-01-01 00:00:00"]),
    "datetime": (pd.to_datetime(["2020-01-01", None]), [5, 5], ["2020-01-01 00:00:00", "q"]),
    "far future": (np.array(["200000-01-01"], "datetime64[s]"), [5], ["q"]),
    "zone": (
        pd.to_datetime(["2020-01-01 01:00"]).tz_localize("Europe/Paris"),
        [5],
        ["2020-01-01 01:00:00+01:00"],
    ),
    "timedelta": (pd.to_timedelta([1, None]), [5, 5], ["q", "q"]),
    "period": (pd.period_range("2020", periods=1, freq="D"), [5], ["2020-01-01"]),
    "interval": (pd.interval_range(0, 1), [5], ["q"]),
    "sparse": (pd.arrays.SparseArray([1.5, np.nan]), [1.5, 5], [1.5, "q"]),
    "complex": (np.array([1 + 0j]), [5], ["q"]),
    "bool": (np.array([True, False]), [1, 0], [1, "q"]),
    "int8": (np.array([1, -1], np.int8), [1, 0], [1, "q"]),
    "float32": (np.array([1.5, np.nan], np.float32), [1.5, 5], [1.5, "q"]),
    "lists": ([["y"], None], [5, 5], ["q", "q"]),
    "arrow int": (pd.array([1, None], dtype="int64[pyarrow]"), [1, 5], [1, "q"]),
    "arrow bool": (pd.array([True, None], dtype="bool[pyarrow]"), [1, 5], [1, "q"]),
    "arrow dictionary": (
        pd.array(["y", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        [5, 5],
        ["y", "q"],
    ),
}


@pytest.mark.parametrize("kind", PANDAS)
def test_every_pandas_dtype(kind: str) -> None:
    values, floats, texts = PANDAS[kind]
    frame = pd.DataFrame({"a": values})
    assert encode(frame, a=NUMBER) == [floats]
    assert labels(frame) == texts


def test_numbered_columns_of_pandas_have_their_numbers_as_names() -> None:
    frame = pd.DataFrame([[1.0, 2.0]], index=[7])
    assert encode(frame, **{"1": NUMBER, "0": NUMBER}) == [[2], [1]]


def test_arrays_of_every_dtype() -> None:
    assert encode(np.array([[1.0, 2.0]]), a=NUMBER, b=NUMBER) == [[1], [2]]
    assert encode(np.array([["1", "y"]]), a=NUMBER, b=LABELS) == [[1], [1]]
    assert encode(np.array([[b"1", b"y"]]), a=NUMBER, b=LABELS) == [[1], [1]]
    assert encode(np.array([[1, "y"]], dtype=object), a=NUMBER, b=LABELS) == [[1], [1]]
    assert encode(np.array([[1, 0]], dtype=bool), a=NUMBER, b=NUMBER) == [[1], [0]]


def test_masked_values_are_missing() -> None:
    array = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    assert encode(array, a=NUMBER, b=NUMBER) == [[5, 3], [2, 4]]


def test_subclasses_of_arrays_are_plain_arrays() -> None:
    class Slanted(np.ndarray):
        def __getitem__(self, key: Any) -> Any:
            return np.asarray(self)[::-1][key]

    assert encode(np.array([[1.0], [2.0]]).view(Slanted), a=NUMBER) == [[1, 2]]


def test_polars_takes_what_the_schema_names() -> None:
    frame = pl.DataFrame({"b": pl.Series([object()], dtype=pl.Object), "a": [1]})
    assert encode(frame, a=NUMBER) == [[1]]
    with pytest.raises(DataRefused, match="column 'b' must have a kind that Arrow knows") as caught:
        PrivateTable(frame, Schema({"b": NUMBER}))
    assert caught.value.fields() == {"column": "b", "rule": "kind of column"}


def csv_file(folder: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "numbers", "texts"),
    [
        ("a,b\n1,y\n2,q\n", [1, 2], ["y", "q"]),
        ("a,b\r\n1,y\r\n2,q\r\n", [1, 2], ["y", "q"]),
        ("a,b\n1,y\n2,q", [1, 2], ["y", "q"]),
        (b"\xef\xbb\xbfa,b\n1,y\n", [1], ["y"]),
        ('"a","b"\n"1","y"\n', [1], ["y"]),
        ('a,b\n1,"y\nz"\n2,y\n', [1, 2], ["q", "y"]),
        ('a,b\n1,"say ""y"""\n', [1], ["q"]),
        ("a,b\n,\n\n1,y\n", [5, 1], ["q", "y"]),
        ("a,b\nNaN,NaN\nnull,NA\n", [5, 5], ["q", "q"]),
        ("a,b\ninf,y\n-inf,y\n1e999,y\n", [10, 0, 10], ["y"] * 3),
        ("a,b\n 1 ,y\n+2,y\n1_0,y\n0x3,y\n", [1, 2, 10, 5], ["y"] * 4),
        ("a,b\nTrue,1\nfalse,1.0\n", [1, 0], [1, 1]),
        (b"a,b\n1,\xff\xfe\n\xff,y\n3,1.50\n", [1, 5, 3], ["q", "y", 1.5]),
        (b"a,b\n1\x00,y\n2,\x00\n", [5, 2], ["y", "q"]),
        ("a,b\n1,y,z\n2\n3,y\n", [3], ["y"]),  # malformed lines are no rows
        (b"a,b\n\xff,y,\xfe\n\xff\n3,y\n", [3], ["y"]),  # whatever their bytes are
        ("b,c,a\ny,9,1\n", [1], ["y"]),
        ('a,b\n1,"y\n2,y\n3,y\n', [1], ["q"]),  # a quote that never closes takes the rest
    ],
)
def test_csv_is_read_to_its_end(
    content: str | bytes, numbers: list[float], texts: list[Any], tmp_path: Path
) -> None:
    path = csv_file(tmp_path, content)
    (found, codes) = encode(path, a=NUMBER, b=LABELS)
    assert found == numbers
    assert [LABELS.values[int(code)] for code in codes] == texts


BYTES = ["plain", "\u00e9 \u20ac \U0001f600", b"\xff\xe2\x82", b"\xc3", "", bytes(range(0x7F, 0x100))]


@pytest.mark.parametrize("size", [3, 7, 1000])
def test_bytes_come_through_as_they_are_wherever_they_are_cut(size: int) -> None:
    """Also those of names of columns, and whatever an ill-formed line beside them holds."""
    fields = [b"\n", *(text.encode() if isinstance(text, str) else text for text in BYTES)]
    spread, parts = csv_files._Spread(pa.input_stream(io.BytesIO(b"|".join(fields)))), [b""]
    while part := bytes(spread.read(size)):
        parts.append(part)
    assert max(map(len, parts)) <= size and not len(spread.read(size))
    column = pa.array([*b"".join(parts).split(b"|"), None], pa.binary())
    assert csv_files._as_written(column).to_pylist() == [*fields, None]
    assert csv_files._as_written(column[1:4]).to_pylist() == fields[1:4]


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "\u00e9,\u20ac\n1,\u00fc\n")
    (found, codes) = encode(path, **{"\u00e9": NUMBER, "\u20ac": Category("\u00fc", "q", unknown="q")})
    assert (found, codes) == ([1], [0])


def test_one_text_does_not_change_how_other_rows_are_read(tmp_path: Path) -> None:
    """Once a single word made "1.0" another category and "02134" a known one, in all rows beside it."""
    schema = {
        "a": Category(0, 1, missing=False, other=False),
        "b": Category("x", "02134", missing=False, other=False),
    }
    alone = encode(csv_file(tmp_path, "a,b\n1.0,02134\n1.0,02134\n"), **schema)
    beside = encode(csv_file(tmp_path, "a,b\n1.0,02134\nsecret,word\n"), **schema)
    assert alone == [[1, 1], [1, 1]]
    assert beside == [[1, 0], [1, 0]]


def read_with_and_without(odd: Any, codes: tuple[Any, Any]) -> list[list[float]]:
    """Return how twelve rows are encoded, and how they are if the last value is another."""
    field = Category(*codes, "other", unknown="other")
    whole = [int(code) for code in codes] * 6
    plain, beside = (pd.DataFrame({"a": values}) for values in (whole, [*whole[:-1], odd]))
    assert plain["a"].dtype != beside["a"].dtype
    return [encode(frame, a=field)[0] for frame in (plain, beside)]


@pytest.mark.proves("pattern-counts")
@pytest.mark.parametrize("codes", [(2**53, 2**53 + 3), (10**17 + 1, 10**17 + 99), ("01", "02")])
@pytest.mark.parametrize("odd", [None, float("nan"), "x", 1.5])
def test_one_value_does_not_change_how_a_frame_holds_others(codes: tuple[Any, Any], odd: Any) -> None:
    """pandas holds whole numbers as floats as soon as one is missing, and long ones lose digits."""
    assert read_with_and_without(odd, codes) == [[0, 1] * 6, [*[0, 1] * 5, 0, 2]]


@pytest.mark.refutes("pattern-counts")
def test_categories_compared_by_all_their_digits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.schema.columns.plain_text", lambda text: text)
    plain, beside = read_with_and_without(None, (2**53, 2**53 + 3))
    assert plain == [0, 1] * 6 and sum(a != b for a, b in zip(plain, beside, strict=True)) > 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("piece", [16, 1 << 20])
def test_an_empty_line_of_a_lonely_column_is_a_row(
    end: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was skipped: taking a value away changed the public number of rows."""
    monkeypatch.setattr(csv_files, "LONGEST_LINE", piece)
    lines = ["7", "", "", "8", "9", "", "10"] * 5 + [""]
    path = csv_file(tmp_path, end.join(["a", *lines, ""]))
    assert PrivateTable(path, Schema({"a": NUMBER})).count() == len(lines)
    assert encode(path, a=NUMBER) == [[float(line or 5) for line in lines]]
    header = csv_file(tmp_path, end + end.join(["a", "1", ""]), "late.csv")
    with pytest.raises(DataRefused, match="must have a column 'a'"):
        PrivateTable(header, Schema({"a": NUMBER}))


def test_empty_files(tmp_path: Path) -> None:
    schema = Schema({"a": NUMBER})
    header = csv_file(tmp_path, "a,b\n", "header.csv")
    assert PrivateTable(header, schema, "add-remove").count() == 0
    with pytest.raises(DataRefused, match="at least one row under replace-one, got none"):
        PrivateTable(header, schema)
    with pytest.raises(DataRefused, match=r"must be a readable \.csv file with a header"):
        PrivateTable(csv_file(tmp_path, "", "empty.csv"), schema, "add-remove")


def test_parquet_by_both_endings_and_with_dots_in_names(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3], "a.b": [4, 5, 6], "c": [{"d": 1}] * 3})
    for ending in ("parquet", "pq", "PARQUET"):
        path = tmp_path / f"rows.{ending}"
        pq.write_table(table, path, row_group_size=2)
        assert encode(str(path), **{"a.b": NUMBER, "a": NUMBER}) == [[4, 5, 6], [1, 2, 3]]


def test_parquet_with_invalid_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": bytes_as_text(b"y\xff")}), path)
    assert labels(path) == ["y", "q"]


@pytest.mark.parametrize(
    ("data", "message", "rule"),
    [
        ({"a": [1]}, "got dict", "kind of source"),
        ([[1]], "got list", "kind of source"),
        (None, "got NoneType", "kind of source"),
        (pd.Series([1], name="a"), "got Series", "kind of source"),
        (pl.Series("a", [1]), "got Series", "kind of source"),
        (pa.array([1]), "got Int64Array", "kind of source"),
        (iter([pd.DataFrame({"a": [1]})]), "read more than once, got a list_iterator", "read once"),
        (
            pa.table({"a": [1]}).to_reader(),
            "got a RecordBatchReader, which is empty after",
            "read once",
        ),
        (np.zeros(3), r"1 columns \(a\), got shape \(3,\)", "shape"),
        (np.zeros((3, 2)), r"got shape \(3, 2\)", "shape"),
        (np.zeros((1, 1, 1)), r"got shape \(1, 1, 1\)", "shape"),
        (pd.DataFrame({"b": [1]}), "must have a column 'a', got none of that name", "missing column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "one column 'a', got 2", "duplicate column"),
        (pa.table([[1], [2]], names=["a", "a"]), "one column 'a', got 2", "duplicate column"),
        (pd.DataFrame({"a": []}), "at least one row under replace-one", "empty"),
    ],
)
def test_data_that_is_refused(data: Any, message: str, rule: str) -> None:
    with pytest.raises(DataRefused, match=message) as caught:
        PrivateTable(data, Schema({"a": NUMBER}))
    assert caught.value.rule == rule


def test_files_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema({"a": NUMBER})
    (tmp_path / "folder.csv").mkdir()
    duplicate = tmp_path / "twice.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), duplicate)
    cases: list[tuple[Path | str, str, str]] = [
        (tmp_path / "nothing.csv", "must be an existing file", "file"),
        (tmp_path / "folder.csv", r"a folder with \.parquet or \.pq files in it, got none", "file"),
        ("no\0name.csv", "must be an existing file", "file"),
        (csv_file(tmp_path, "a\n1\n", "rows.txt"), "must be a .csv or .csv.gz or .parquet", "file"),
        (csv_file(tmp_path, b"PAR1 no more", "bad.parquet"), "must be a readable", "file format"),
        (csv_file(tmp_path, b"a,\xe9\n1,2\n", "latin.csv"), "must be a readable", "file format"),
        (csv_file(tmp_path, "a,a\n1,2\n", "twice.csv"), "one column 'a', got 2", "duplicate column"),
        (duplicate, "one column 'a', got 2", "duplicate column"),
    ]
    for data, message, rule in cases:
        with pytest.raises(DataRefused, match=message) as caught:
            PrivateTable(data, schema)
        assert caught.value.rule == rule
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 64)
    for name, text in {
        "first": "a\n" + "SECRET" * 99,
        "later": "a\n" + "1\n" * 99 + "SECRET" * 99,
    }.items():
        with pytest.raises(DataRefused, match="must be a readable") as caught:
            PrivateTable(csv_file(tmp_path, text, f"{name}.csv"), schema)
        assert caught.value.__context__ is None  # it would hold the line


class Geo(pd.DataFrame):
    """A frame as geopandas has them: one with attributes, and columns, of its own."""

    _metadata = ("crs",)

    @property
    def _constructor(self) -> type:
        return Geo

    @property
    def iloc(self) -> Any:
        raise AssertionError("a subclass may do anything")


class Tinted(pl.DataFrame):
    def to_arrow(self, **options: Any) -> Any:
        raise AssertionError("a subclass may do anything")


def test_subclasses_are_read_as_the_plain_frames_they_hold() -> None:
    assert encode(Geo({"a": [1.0, 2.0]}), a=NUMBER) == [[1, 2]]
    assert encode(Tinted({"a": [1.0, 2.0]}), a=NUMBER) == [[1, 2]]


def test_a_lazy_frame_is_run_once_and_before_anything_is_spent() -> None:
    calls: list[int] = []

    def note(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(len(frame))
        return frame

    query = pl.LazyFrame({"a": [1, 2], "b": ["x", "y"]}).map_batches(note)
    assert encode(query, a=NUMBER) == [[1, 2]]
    assert len(calls) == 1
    failing = pl.LazyFrame({"a": ["1", "SECRET"]}).with_columns(pl.col("a").cast(pl.Int64))
    with pytest.raises(DataRefused, match="lazy frame that can be collected") as caught:
        PrivateTable(failing, Schema({"a": NUMBER}))
    assert caught.value.__context__ is None and "SECRET" not in str(caught.value)


def test_a_data_set_is_read_whole_before_anything_is_spent(tmp_path: Path) -> None:
    """Arrow reads a column of a CSV file as numbers because of its first lines, and fails later."""
    csv_file(tmp_path, "a,b\n1,x\n2,y\n", "0.csv")
    assert encode(ds.dataset(tmp_path, format="csv"), a=NUMBER) == [[1, 2]]
    csv_file(tmp_path, "a,b\n3,x\nSECRET,y\n", "1.csv")
    with pytest.raises(DataRefused, match="data set whose files can all be read") as caught:
        PrivateTable(ds.dataset(tmp_path, format="csv"), Schema({"a": NUMBER}))
    assert caught.value.__context__ is None and "SECRET" not in str(caught.value)
    with pytest.raises(DataRefused, match="must have a column 'c'"):
        PrivateTable(ds.dataset(tmp_path, format="csv"), Schema({"c": NUMBER}))


def test_a_data_set_keeps_the_order_of_its_files_and_takes_dots_in_names(tmp_path: Path) -> None:
    for place in range(12):
        table = pa.table({"a": [place], "a.b": [place / 2], "c": [{"d": 1}]})
        pq.write_table(table, tmp_path / f"{place:02}.parquet")
    found = encode(ds.dataset(tmp_path), **{"a.b": Number(0, 100), "a": Number(0, 100)})
    assert found == [[place / 2 for place in range(12)], list(range(12))]


def test_stata_files_have_labels_dates_and_empty_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "a": [1.5, np.nan, 3.0],
            "b": pd.Categorical(["y", "q", None]),
            "c": ["y", "", "1.50"],
            "d": pd.to_datetime(["2020-01-01", None, "2020-01-02"]),
        }
    )
    frame.to_stata(tmp_path / "rows.dta", write_index=False, convert_dates={"d": "td"})
    found = encode(tmp_path / "rows.dta", a=NUMBER, b=LABELS, c=LABELS, d=LABELS)
    assert found == encode(frame.assign(c=["y", None, "1.50"]), a=NUMBER, b=LABELS, c=LABELS, d=LABELS)


def sas_transport(rows: list[tuple[int | None, str]]) -> bytes:
    """Return a SAS transport file with a number below 16 and a text of four letters per row."""

    def header(kind: str, tail: str = "0" * 30) -> bytes:
        return f"HEADER RECORD*******{kind:<8}HEADER RECORD!!!!!!!{tail}  ".encode()

    def variable(kind: int, size: int, place: int, name: str) -> bytes:
        form = ">hhhh8s40s8shhh2s8shhl52s"
        text = name.encode().ljust(8)
        blank, none = b" " * 40, b" " * 8
        start = 0 if place == 1 else 8
        return struct.pack(
            form, kind, 0, size, place, text, blank, none, 0, 0, 0, b"", none, 0, 0, start, b""
        )

    def number(value: int | None) -> bytes:
        return b"." + bytes(7) if value is None else bytes([0x41, value << 4]) + bytes(6)

    def padded(content: bytes) -> bytes:
        return content + b" " * (-len(content) % 80)

    stamp = b"01JAN20:00:00:00"
    library = b"SAS     SAS     SASLIB  " + b"9.4     " + b"linux   " + b" " * 24 + stamp
    member = b"SAS     " + b"ROWS    " + b"SASDATA " + b"9.4     " + b"linux   " + b" " * 24 + stamp
    names = variable(1, 8, 1, "a") + variable(2, 4, 2, "b")
    body = b"".join(number(value) + text.encode().ljust(4) for value, text in rows)
    return b"".join(
        [
            header("LIBRARY"),
            padded(library),
            padded(stamp),
            header("MEMBER", "000000000000000001600000000140"),
            header("DSCRPTR"),
            padded(member),
            padded(stamp),
            header("NAMESTR", "000000000200000000000000000000"),
            padded(names),
            header("OBS"),
            padded(body),
        ]
    )


def test_sas_transport_files(tmp_path: Path) -> None:
    path = csv_file(tmp_path, sas_transport([(1, "y"), (None, ""), (7, "1.50")]), "rows.xpt")
    found = encode(path, a=NUMBER, b=LABELS)
    assert found == encode(
        pd.DataFrame({"a": [1, None, 7], "b": ["y", None, "1.5"]}), a=NUMBER, b=LABELS
    )


def test_cells_of_a_sheet_keep_their_kinds(tmp_path: Path) -> None:
    """pandas reads "NA" as missing, mends names that are there twice, and turns columns into floats."""
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "b", 2020])
    book.active.append([1, "NA", None, True])
    book.active.append(["1.5", dt.datetime(2020, 1, 1), "y", 0])
    book.active.append([None, "02134", None, None])
    book.save(tmp_path / "rows.xlsx")
    kinds = Category("q", "NA", "02134", "2020-01-01 00:00:00", 1)
    assert encode(tmp_path / "rows.xlsx", **{"a": NUMBER, "2020": kinds}) == [[1, 1.5, 5], [4, 5, 6]]
    with pytest.raises(DataRefused, match="one column 'b', got 2"):
        PrivateTable(tmp_path / "rows.xlsx", Schema({"b": kinds}))
    book.active.delete_cols(3)
    book.save(tmp_path / "once.xlsx")
    assert encode(tmp_path / "once.xlsx", b=kinds) == [[1, 3, 2]]


@pytest.mark.parametrize(
    "ending", [".dta", ".sas7bdat", ".xpt", ".xlsx", ".feather", ".arrow", ".csv.gz"]
)
def test_files_that_are_not_what_their_names_say(ending: str, tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"SECRET" * 99, f"rows{ending}")
    with pytest.raises(DataRefused, match=f"must be a readable {ending} file") as caught:
        PrivateTable(path, Schema({"a": NUMBER}))
    assert caught.value.rule == "file format" and caught.value.__context__ is None


def test_a_sheet_without_the_package_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openpyxl.Workbook().save(tmp_path / "rows.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataRefused, match=r"pip install 'discreet\[excel\]'"):
        PrivateTable(tmp_path / "rows.xlsx", Schema({"a": NUMBER}))
