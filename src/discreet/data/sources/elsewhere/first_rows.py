"""The first rows of a table, for the draft of a schema; never for anybody but the owner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.data.sources.elsewhere.lakes import lake_at
from discreet.data.sources.elsewhere.queries import SqlQuery, first_answers
from discreet.data.sources.opening import FILES
from discreet.data.sources.package_files import READERS
from discreet.data.sources.parquet_files import PARQUET
from discreet.data.sources.stored import StoredFile, find_file, find_files
from discreet.errors import ArgumentError


def first_rows(data: str, query: str | None, rows: int) -> Any:
    """Return a pandas frame of the first rows of a file, a data set or a query's answer."""
    if query is not None:
        return first_answers(SqlQuery(data, query), rows)
    try:
        return _first_of(data, rows)
    except FileNotFoundError:
        raise ArgumentError(
            f"data must be an existing file or folder, got {data}. Check the path."
        ) from None
    except (OSError, ValueError, UnicodeError) as error:
        raise ArgumentError(
            f"data must be a readable file of one of {', '.join(FILES)}, or a folder of Parquet files, "
            f"got {data} ({type(error).__name__})."
        ) from None


def _first_of(data: str, rows: int) -> Any:
    file = find_file(data)
    if file is not None:
        with file.opened() as place:
            return _first_of_file(file, place, rows)
    found = find_files(data, PARQUET)
    if found is None or not found[1]:
        raise FileNotFoundError(data)
    if lake_at(data) is not None:
        raise ArgumentError(
            f"data must be rows of one kind of file, got the Delta or Iceberg table {data}. Draft the "
            "schema from one of the Parquet files in it."
        )
    return _first_of_files(found[0], found[1], rows)


def _first_of_file(file: StoredFile, place: Any, rows: int) -> Any:
    import pandas as pd

    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz")):  # as texts: numbers would lose leading zeros
        packed = "gzip" if name.endswith(".gz") else None
        options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "compression": packed}
        return pd.read_csv(place, nrows=rows, na_values=[""], **options)
    if name.endswith((".feather", ".arrow")):
        return pd.read_feather(place).head(rows)
    return READERS.get(Path(name).suffix, pd.read_parquet)(place).head(rows)


def _first_of_files(root: str, files: list[StoredFile], rows: int) -> Any:
    import pyarrow.dataset as ds

    paths = [file.path for file in files]
    options: dict[str, Any] = {"partitioning": "hive", "partition_base_dir": root}
    return ds.dataset(paths, filesystem=files[0].store, **options).head(rows).to_pandas()
