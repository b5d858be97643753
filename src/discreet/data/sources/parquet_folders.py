"""Parquet data sets: the files of a folder or of a pattern as one table, read where they are.

Files are read one after the other, in the order of their names, each by itself: a column that is of
whole numbers in one file and of floats or texts in another is read value by value as if it were in one.
Only footers are read when the data set is opened; a release reads the columns it needs, a batch at a
time.

In a Hive layout (``year=2024/part-0.parquet``) folders hold the values of columns that files lack. A
value then decides in which file a record is, so places of rows are not kept (``positional``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.data.sources.parquet_files import PARQUET, ParquetSource, open_parquet
from discreet.data.sources.source import Chunk, run_or_refuse
from discreet.data.sources.stored import StoredFile, find_files
from discreet.errors import DataRefused

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_FOOTERS_AT_ONCE = 8


@dataclass(frozen=True)
class ParquetFolder:
    """The Parquet files of a folder or of a pattern, as one table.

    Args:
      files: one source each, in the order of their names.
      columns: those that all files have, by themselves or by their folders.
      place: the folder or pattern, to look again.
    """

    files: tuple[ParquetSource, ...]
    columns: tuple[str, ...]
    place: str | Path = field(repr=False)

    @property
    def positional(self) -> bool:
        """Whether no value decides in which file a row is."""
        return not any(file.keys for file in self.files)

    def count(self) -> int:
        """Return the number of rows, from the footers."""
        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
            return sum(pool.map(ParquetSource.count, self.files))

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of one file after the other."""
        for file in self.files:
            yield from file.chunks(names)

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[ParquetSource]:
        """Return the files, a long one in runs of row groups: whoever can open them can read one."""
        return [part for file in self.files for part in file.partitions(names, client)]

    def states(self) -> tuple[str, ...]:
        """Return what changes if a file comes, goes or is written anew."""
        found = find_files(self.place, PARQUET)
        return () if found is None else tuple(f"{file.path} {file.state()}" for file in found[1])


def open_folder(
    place: str | Path, root: str, files: Sequence[StoredFile], names: Sequence[str]
) -> ParquetFolder:
    """Return the source of a data set of Parquet files; each must have the columns that are named."""
    if not files:
        raise DataRefused(
            f"data must be a folder with {' or '.join(PARQUET)} files in it, got none in {place}.",
            rule="file",
        )
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        opened = tuple(pool.map(lambda file: _open_one(file, root, names), files))
    columns = [name for name in opened[0].columns if all(name in file.columns for file in opened)]
    return ParquetFolder(opened, tuple(columns), place)


def _open_one(file: StoredFile, root: str, names: Sequence[str]) -> ParquetSource:
    what = f"a folder of readable Parquet files, got {_told(file, root)}, which is none"
    bare = run_or_refuse(lambda: open_parquet(file, names), what, rule="file format")
    keys = tuple((key, value) for key, value in _keys_of(file, root) if key not in bare.columns)
    columns = (*bare.columns, *(key for key, _ in keys))
    for name in names:
        if columns.count(name) != 1:
            raise DataRefused(
                f"data must have one column {name!r} in every file, got {_told(file, root)} "
                f"with {columns.count(name)} of that name. Mend the file or take it out of the folder.",
                column=name,
                rule="missing column",
            )
    return replace(bare, columns=columns, keys=keys)


def _keys_of(file: StoredFile, root: str) -> Iterator[tuple[str, str | None]]:
    for folder in file.path[len(root) :].strip("/").split("/")[:-1]:
        key, sign, value = folder.partition("=")
        if sign:
            yield unquote(key), None if value == _NO_VALUE else unquote(value)


def _told(file: StoredFile, root: str) -> str:
    """Return where a file is in its folder, without the values that folders may have for names."""
    inner = file.path[len(root) :].strip("/").split("/")
    return "/".join(f"{part.partition('=')[0]}=…" if "=" in part else part for part in inner)
