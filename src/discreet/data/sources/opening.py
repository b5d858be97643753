"""Which source reads a caller's data: found by what the data can do, not by what its type is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.sources.arrays import open_array
from discreet.data.sources.arrow import open_arrow, open_dataset, open_feather
from discreet.data.sources.csv_files import LONGEST_LINE, open_csv
from discreet.data.sources.dask_frames import open_dask
from discreet.data.sources.elsewhere.lakes import (
    is_delta,
    is_iceberg,
    lake_at,
    open_delta,
    open_iceberg,
)
from discreet.data.sources.elsewhere.queries import SqlQuery, open_duckdb, open_query
from discreet.data.sources.elsewhere.spark import is_spark, open_spark
from discreet.data.sources.package_files import READERS, open_package
from discreet.data.sources.pandas_frames import open_pandas
from discreet.data.sources.parquet_files import PARQUET, open_parquet
from discreet.data.sources.parquet_folders import open_folder
from discreet.data.sources.polars_frames import open_lazy_polars, open_polars
from discreet.data.sources.source import Source, run_or_refuse
from discreet.data.sources.stored import StoredFile, find_file, find_files
from discreet.errors import DataRefused

Opener = Callable[[Any, Sequence[str]], Source]

FILES: dict[str, Opener] = {
    ".csv": open_csv,
    ".csv.gz": open_csv,
    **dict.fromkeys(PARQUET, open_parquet),
    ".feather": open_feather,
    ".arrow": open_feather,
    **dict.fromkeys(READERS, open_package),
}
"""What opens a file, by how its name ends."""


def open_source(data: Any, column_names: Sequence[str]) -> Source:
    """Return the source of a frame, an array (columns in ``column_names`` order) or a path."""
    import narwhals as nw

    data = nw.to_native(data, pass_through=True)
    if isinstance(data, str | Path):
        return _open_place(data, column_names)
    if isinstance(data, np.ndarray):
        return open_array(data, column_names)
    for is_one, opener in _FRAMES.items():
        if getattr(nw.dependencies, is_one)(data):
            return opener(data, column_names)
    for is_kind, opener in _TABLES.items():
        if is_kind(data):
            return opener(data, column_names)
    if hasattr(type(data), "__next__"):
        raise DataRefused(
            f"data must be something that can be read more than once, got a {type(data).__name__}, "
            "which is empty after the first time. Read it into a table, or give the file's path.",
            rule="read once",
        )
    if _is_arrow(data):
        return open_arrow(data, column_names)
    raise DataRefused(
        "data must be a pandas, polars, Arrow, Dask or Spark frame, an Arrow data set, a Delta or "
        "Iceberg table, a DuckDB relation, a query of a database (SqlQuery), a numpy array or the path "
        "of a file "
        f"({', '.join(FILES)}) or of a folder of Parquet files, got {type(data).__name__}.",
        rule="kind of source",
    )


def is_frame(data: Any) -> bool:
    """Say whether rows in memory have column names."""
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(data))


_FRAMES: dict[str, Opener] = {
    "is_pandas_dataframe": open_pandas,
    "is_polars_dataframe": open_polars,
    "is_polars_lazyframe": open_lazy_polars,
    "is_pyarrow_table": open_arrow,
    "is_dask_dataframe": open_dask,
    "is_duckdb_relation": open_duckdb,
}
"""What opens a frame, by the question of narwhals that it answers with yes; subclasses do too."""


def _is_query(data: Any) -> bool:
    return isinstance(data, SqlQuery)


def _is_dataset(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("scanner", "count_rows", "schema"))


_TABLES: dict[Callable[[Any], bool], Opener] = {
    _is_query: open_query,
    is_spark: open_spark,
    is_delta: open_delta,
    is_iceberg: open_iceberg,
    _is_dataset: open_dataset,
}
"""What opens a table that lives elsewhere."""


def _is_arrow(data: Any) -> bool:
    """Say whether something hands its columns over as Arrow does."""
    return any(hasattr(data, f"__arrow_c_{shape}__") for shape in ("stream", "array"))


def _open_place(place: str | Path, names: Sequence[str]) -> Source:
    """Return the source of a file, of a folder of them, or of those that a pattern means."""
    what = f"at a place that can be reached, got {place}"
    file = run_or_refuse(lambda: find_file(place), what, rule="file")
    if file is not None:
        return _open_file(file, names)
    lake = run_or_refuse(lambda: lake_at(place), what, rule="file")
    if lake is not None:
        return lake(names)
    found = run_or_refuse(lambda: find_files(place, PARQUET), what, rule="file")
    if found is None:
        raise DataRefused(
            f"data must be an existing file or folder, got {place}. Check the path.", rule="file"
        )
    return open_folder(place, *found, names)


def _open_file(file: StoredFile, names: Sequence[str]) -> Source:
    ending = next((end for end in FILES if file.name.lower().endswith(end)), None)
    if ending is None:
        raise DataRefused(f"data must be a {' or '.join(FILES)} file, got {file.name!r}.", rule="file")
    what = f"a readable {ending} file{_MORE.get(ending, '')}, got {file}"
    return run_or_refuse(lambda: FILES[ending](file, names), what, rule="file format")


_MORE = dict.fromkeys(
    (".csv", ".csv.gz"), f" with a header and lines of at most {LONGEST_LINE >> 20} MB"
)
