"""The same rows in every kind of source."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import feather

from discreet.data.blocks import Block
from discreet.data.rows import open_rows
from discreet.data.table import PrivateTable
from discreet.schema import Category, Number, Schema
from discreet.schema.raw import category_text

Rows = dict[str, list[Any]]

SCHEMA = Schema(
    {
        "age": Number(18, 90, step=1, missing=False),
        "income": Number(0, 1e5, missing=1e4),
        "home": Category("rent", 'my "own"', "a,b", "two\nlines", "名", unknown="a,b"),
        "zip": Category("x", "02134", "1.50", missing=False, other=False),
        "paid": Category(0, 1, missing=False, other=False),
        "owed": Number(-10, 10, missing=False),
        "level": Category(0, 1, 2, unknown=2),
    },
    target="paid",
    id="who",
)


def make_rows(count: int, seed: int = 0) -> Rows:
    """Return rows with missing, unknown and wild values in every column."""
    draw = np.random.default_rng(seed)

    def pick(values: list[Any]) -> list[Any]:
        return [values[i] for i in draw.integers(0, len(values), count)]

    wild = [float("nan"), float("inf"), float("-inf"), -0.0, 0.1, 1e300, 5e-324, None]
    smooth = draw.uniform(-1e4, 2e5, count).tolist()
    return {
        "age": pick([None, -5, 18, 40, 41, 90, 2**62]),
        "income": [s if k else w for s, w, k in zip(smooth, pick(wild), pick([0, 1, 1]), strict=True)],
        "home": pick([None, "rent", 'my "own"', "a,b", "two\nlines", "名", "castle", "Rent", "NaN"]),
        "zip": pick(["02134", "2134", "1.50", "1.5", "abc", None]),
        "paid": pick([True, False, None]),
        "owed": pick([Decimal("0.30"), Decimal("-9.99"), Decimal("99.00"), Decimal("1.10"), None]),
        "level": pick([0, 1, 2, 3, 2**53 + 1]),
        "who": [f"person {i // 2}" for i in range(count)],
    }


def as_pandas(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})


def as_plain_pandas(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows)


def as_nullable_pandas(rows: Rows) -> pd.DataFrame:
    kinds = {
        "age": "Int64",
        "income": "Float64",
        "home": "string",
        "zip": "category",
        "paid": "boolean",
        "level": "int64",
    }
    return as_pandas(rows).astype(kinds)


def as_arrow_pandas(rows: Rows) -> pd.DataFrame:
    table = as_arrow(rows)
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, strict=False)


def as_categorical_polars(rows: Rows) -> pl.DataFrame:
    texts = pl.Enum(["02134", "2134", "1.50", "1.5", "abc"])
    return as_polars(rows).with_columns(pl.col("home").cast(pl.Categorical), pl.col("zip").cast(texts))


def as_arrow(rows: Rows) -> pa.Table:
    return pa.table(rows)


def as_odd_arrow(rows: Rows) -> pa.Table:
    """Views, large strings, dictionaries with unsigned indices, in chunks that fit nothing."""
    half = len(rows["home"]) // 3
    columns = {name: pa.array(values) for name, values in rows.items()}
    columns["zip"] = pa.chunked_array(
        [
            columns["zip"][:half].cast(pa.string_view()),
            columns["zip"][half:].cast(pa.string_view()),
        ]
    )
    encoded = [columns["home"][:half].dictionary_encode(), columns["home"][half:].dictionary_encode()]
    columns["home"] = pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(part.indices.cast(pa.uint8()), part.dictionary)
            for part in encoded
        ]
    )
    columns["who"] = columns["who"].cast(pa.large_string())
    columns["owed"] = columns["owed"].cast(pa.decimal256(30, 5))
    return pa.table(columns)


def as_array(rows: Rows) -> np.ndarray:
    """Return an object array, columns in the schema's order and the id last."""
    return as_pandas(rows)[[*SCHEMA, "who"]].to_numpy(dtype=object)


def write_csv(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))  # None is written as an empty field
    return path


def write_parquet(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(as_arrow(rows), path, row_group_size=max(1, len(rows["age"]) // 3))
    return path


def write_folder(rows: Rows, folder: Path) -> Path:
    """Return a folder of three files, the second of which is all texts."""
    table, third = as_arrow(rows), len(rows["age"]) // 3
    inner = folder / "rows" / "later"
    inner.mkdir(parents=True)
    pq.write_table(table.slice(0, third), folder / "rows" / "a.parquet")
    texts = [pa.array([category_text(v) for v in column.to_pylist()]) for column in table.columns]
    second = pa.table(texts, names=table.column_names).slice(third, third)
    pq.write_table(second, folder / "rows" / "b.pq")
    pq.write_table(table.slice(2 * third), inner / "c.parquet")
    (folder / "rows" / "_SUCCESS").touch()
    (folder / "rows" / ".hidden.parquet").touch()
    return folder / "rows"


def put_elsewhere(rows: Rows, folder: Path) -> str:
    """Return the address of a folder in an object store."""
    store = MemoryFileSystem()
    address = f"memory://{folder}/rows"
    store.put(str(write_folder(rows, folder)), f"{folder}/rows", recursive=True)
    return address


def write_feather(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.arrow"
    feather.write_feather(as_arrow(rows), path, chunksize=max(1, len(rows["age"]) // 5))
    return path


def write_packed(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(write_csv(rows, folder).read_bytes()))
    return path


def write_excel(rows: Rows, folder: Path) -> Path:
    """Return a sheet; what its cells cannot hold, as 17 digits or infinities, is written as texts."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(list(rows))
    for row in zip(*rows.values(), strict=True):
        sheet.append([_cell(value) for value in row])
    book.save(folder / "rows.xlsx")
    return folder / "rows.xlsx"


def _cell(value: Any) -> Any:
    wild = isinstance(value, float) and not (math.isfinite(value) and float(f"{value:.15g}") == value)
    return str(value) if wild or isinstance(value, Decimal) else value


def as_dataset(rows: Rows) -> Any:
    return ds.dataset([as_odd_arrow(rows)])


def as_batch(rows: Rows) -> pa.RecordBatch:
    return pa.record_batch(rows)


def as_capsule(rows: Rows) -> Any:
    """Return something of which nothing is known but that it can hand over Arrow's columns."""

    class Unknown:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return as_arrow(rows).__arrow_c_stream__(requested_schema)

    return Unknown()


IN_MEMORY: dict[str, Callable[[Rows], Any]] = {
    "pandas": as_pandas,
    "plain pandas": as_plain_pandas,
    "nullable pandas": as_nullable_pandas,
    "arrow pandas": as_arrow_pandas,
    "polars": as_polars,
    "categorical polars": as_categorical_polars,
    "pyarrow": as_arrow,
    "odd pyarrow": as_odd_arrow,
    "numpy": as_array,
    "lazy polars": lambda rows: as_polars(rows).lazy(),
    "narwhals": lambda rows: nw.from_native(as_polars(rows)),
    "data set": as_dataset,
    "record batch": as_batch,
    "capsule": as_capsule,
}
FILES: dict[str, Callable[[Rows, Path], Path | str]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "parquet folder": write_folder,
    "object store": put_elsewhere,
    "feather": write_feather,
    "csv.gz": write_packed,
    "excel": write_excel,
}
KINDS = (*IN_MEMORY, *FILES)


def make_source(kind: str, rows: Rows, folder: Path) -> Any:
    return IN_MEMORY[kind](rows) if kind in IN_MEMORY else FILES[kind](rows, folder)


def read_blocks(data: Any, schema: Schema = SCHEMA, *, ids: bool = True) -> list[Block]:
    table = PrivateTable(data, schema, "add-remove")
    return list(open_rows(table, list(schema), with_ids=ids))


def encode(data: Any, ids: str | None = None, **columns: Any) -> list[list[float]]:
    """Return the encoded columns of a source as lists."""
    schema = Schema(columns, id=ids)
    blocks = read_blocks(data, schema, ids=False)
    return [np.concatenate([block[name] for block in blocks]).tolist() for name in columns]
