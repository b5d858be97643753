"""Where rows come from: data frames, arrays, files and Dask data frames larger than memory.

A source knows its column names and yields chunks of raw columns in row order. What it yields never
raises because of a value; encoding (``schema``) gives every value its one treatment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discreet.data.conversion import from_arrow, from_pandas
from discreet.data.state import quietly
from discreet.errors import DataRefused
from discreet.schema.raw import RawColumn

CHUNK_ROWS = 65_536
LONGEST_LINE = 8 << 20
"""The most bytes one line of a CSV file may have, and how many are read at once."""

Chunk = dict[str, RawColumn]


class Source(Protocol):
    """Rows in order, chunk by chunk."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    def count(self) -> int:
        """Return the number of rows."""

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the named raw columns of successive rows."""


def open_source(data: Any, column_names: Sequence[str]) -> Source:
    """Return the source of a data frame, an array (columns in ``column_names`` order) or a path."""
    if isinstance(data, str | Path):
        return _file_source(Path(data))
    if isinstance(data, np.ndarray):
        return _array_source(data, column_names)
    kind = f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
    if kind == "pandas.DataFrame":
        return PandasSource(data, tuple(str(name) for name in data.columns))
    if kind == "polars.DataFrame":
        return _polars_source(data, column_names)
    if kind == "pyarrow.Table":
        return ArrowSource(data, tuple(data.column_names))
    if kind == "dask.DataFrame":
        return _dask_source(data, column_names)
    if kind == "polars.LazyFrame":
        raise DataRefused("data must be an eager frame, got a lazy one. Collect it first.", rule="kind")
    raise DataRefused(
        "data must be a pandas, polars or Dask frame, a pyarrow table, a numpy array or the path of a "
        f"CSV or Parquet file, got {type(data).__name__}.",
        rule="kind of source",
    )


@dataclass(frozen=True)
class PandasSource:
    """A pandas data frame in memory."""

    frame: Any = field(repr=False)
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the frame."""
        places = {name: self.columns.index(name) for name in names}
        for start in range(0, len(self.frame), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            yield {name: from_pandas(self.frame.iloc[rows, i]) for name, i in places.items()}


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional numpy array in memory."""

    array: np.ndarray[Any, Any] = field(repr=False)
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.array)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the array."""
        for start in range(0, len(self.array), CHUNK_ROWS):
            part = self.array[start : start + CHUNK_ROWS]
            yield {name: part[:, self.columns.index(name)] for name in names}


@dataclass(frozen=True)
class ArrowSource:
    """A pyarrow table in memory (polars frames arrive here without a copy)."""

    table: Any = field(repr=False)
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.table.num_rows)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the table."""
        for start in range(0, self.table.num_rows, CHUNK_ROWS):
            part = self.table.slice(start, CHUNK_ROWS)
            yield {name: from_arrow(part.column(name).combine_chunks()) for name in names}


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, read in batches."""

    path: Path
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows, from the file's footer."""
        import pyarrow.parquet as parquet

        return int(parquet.read_metadata(self.path).num_rows)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of the file."""
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=list(names), use_threads=False):
                yield {name: from_arrow(batch.column(name)) for name in names}


@dataclass(frozen=True)
class CsvSource:
    """A CSV file with a header, read in batches; lines with a wrong number of fields are skipped."""

    path: Path
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of well-formed rows (one pass over the file)."""
        try:
            return sum(batch.num_rows for batch in self._batches(self.columns[:1]))
        except (OSError, ValueError):
            pass  # refused below: raised here, the refusal would carry the text of a line
        raise _unreadable(self.path)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of the file."""
        for batch in self._batches(names):
            yield {name: from_arrow(batch.column(name)) for name in names}

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        # Bytes, not texts or numbers: a field that is not valid must not stop the reader.
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            include_columns=list(names),
            strings_can_be_null=True,
            null_values=[""],
        )
        with _open_csv(self.path, alone=len(self.columns) == 1, convert_options=convert) as file:
            yield from file


def _open_csv(path: Path, *, alone: bool, **options: Any) -> Any:
    """Open a file; where a column stands alone an empty line is a row whose value is missing."""
    from pyarrow import csv

    parse = csv.ParseOptions(
        newlines_in_values=True,
        ignore_empty_lines=not alone,
        invalid_row_handler=lambda row: "skip",
    )
    read = csv.ReadOptions(block_size=LONGEST_LINE, use_threads=False)
    return csv.open_csv(path, read_options=read, parse_options=parse, **options)


@dataclass(frozen=True)
class DaskSource:
    """A Dask data frame: pandas frames in the order of their partitions, one at a time.

    A partition may have its columns in another order than the frame says, or others beside them:
    they are found by name in each. ``needed`` are those every partition must have once.
    """

    frame: Any = field(repr=False)
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows, counted where the partitions are."""
        import pandas as pd

        def look(part: Any) -> Any:
            return pd.Series([(len(part), [str(name) for name in part.columns])])

        try:
            lazy = self.frame.map_partitions(look, meta=pd.Series([], dtype=object))
            found = list(_computed(lazy))
        except Exception:  # refused below: raised here, the refusal could carry a value
            found = None
        if found is None:
            raise DataRefused(
                "data must be a Dask frame that can be computed, got one that fails.",
                rule="computation",
            )
        for _, names in found:
            _check_partition(names, self.needed)
        return sum(int(rows) for rows, _ in found)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of one partition after the other."""
        wanted = self.frame[[self.frame.columns[self.columns.index(name)] for name in names]]
        for place in range(wanted.npartitions):
            part = _computed(wanted.partitions[place])
            columns = tuple(str(name) for name in part.columns)
            _check_partition(columns, names)
            yield from PandasSource(part, columns).chunks(names)


def _check_partition(columns: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if columns.count(name) != 1:
            raise DataRefused(
                f"data must have one column {name!r} in every partition, got one with "
                f"{columns.count(name)} of that name. Mend the files it is read from.",
                column=name,
                rule="partition",
            )


def _computed(lazy: Any) -> Any:
    """Run what the owner built; what it prints or warns could hold a row."""
    with quietly():
        return lazy.compute()


def _file_source(path: Path) -> Source:
    if not path.is_file():
        raise DataRefused(f"data must be an existing file, got {path}.", rule="file")
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".pq"):
        raise DataRefused(f"data must be a .csv or .parquet file, got {path.name!r}.", rule="file")
    names = _csv_names(path) if kind == ".csv" else _parquet_names(path)
    if names is None:
        raise _unreadable(path)
    return CsvSource(path, names) if kind == ".csv" else ParquetSource(path, names)


def _csv_names(path: Path) -> tuple[str, ...] | None:
    try:
        with _open_csv(path, alone=False) as file:
            names = tuple(file.schema.names)
        if len(names) == 1:
            with _open_csv(path, alone=True) as file:  # its header is the very first line
                names = tuple(file.schema.names)
    except (OSError, ValueError):
        return None
    return names


def _parquet_names(path: Path) -> tuple[str, ...] | None:
    import pyarrow.parquet as parquet

    try:
        return tuple(parquet.read_schema(path).names)
    except (OSError, ValueError):
        return None


def _unreadable(path: Path) -> DataRefused:
    return DataRefused(
        "data must be a readable Parquet file, or a CSV file with a header and lines of at most "
        f"{LONGEST_LINE >> 20} MB, got {path}.",
        rule="file format",
    )


def _array_source(array: np.ndarray[Any, Any], names: Sequence[str]) -> ArraySource:
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataRefused(
            f"data must be an array with {len(names)} columns ({', '.join(names)}), "
            f"got shape {array.shape}.",
            rule="shape",
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(object), None)
    return ArraySource(np.asarray(array), tuple(names))


def _dask_source(frame: Any, names: Sequence[str]) -> DaskSource:
    kind = type(frame._meta).__module__.split(".")[0]
    if kind != "pandas":
        raise DataRefused(
            f"data must be a Dask frame of pandas partitions, got {kind} ones. "
            "Convert it with to_backend('pandas').",
            rule="kind of source",
        )
    return DaskSource(frame, tuple(str(name) for name in frame.columns), tuple(names))


def _polars_source(frame: Any, names: Sequence[str]) -> ArrowSource:
    for name in names:
        if str(frame.schema.get(name)) == "Object":
            raise DataRefused(
                f"column {name!r} must have a kind that Arrow knows, got Python objects.",
                column=name,
                rule="kind of column",
            )
    native = frame.select([name for name in names if name in frame.columns]).to_arrow()
    return ArrowSource(native, tuple(native.column_names))
