"""Parquet files, read in batches: whole, or some row groups by each worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import CHUNK_ROWS, Chunk
from discreet.data.sources.stored import StoredFile
from discreet.schema.raw import Codes, RawColumn

PARQUET = (".parquet", ".pq")
"""How names of Parquet files end."""

PART_ROWS = 2**18
"""Row groups are read together until they have so many rows: to begin a part costs time."""


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or some of its row groups, read in batches.

    ``keys`` are columns that the file lacks and its folders have a value of (``parquet_folders``).
    """

    file: StoredFile
    columns: tuple[str, ...]
    groups: tuple[int, ...] | None = None
    keys: tuple[tuple[str, str | None], ...] = field(default=(), repr=False)

    positional = True

    def count(self) -> int:
        """Return the number of rows, from the file's footer."""
        found = _footer(self.file)
        if self.groups is None:
            return int(found.num_rows)
        return sum(int(found.row_group(group).num_rows) for group in self.groups)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of the file."""
        import pyarrow.parquet as parquet

        keys = dict(self.keys)
        own = [name for name in names if name not in keys]
        wanted: dict[str, Any] = {} if self.groups is None else {"row_groups": list(self.groups)}
        with self.file.opened() as place, parquet.ParquetFile(place) as file:
            read = file.iter_batches(CHUNK_ROWS, columns=own, use_threads=False, **wanted)
            for batch in read:
                found = {name: from_arrow(batch.column(name)) for name in own}
                yield found | {name: _constant(keys[name], batch) for name in names if name in keys}

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[ParquetSource]:
        """Return successive row groups of the file."""
        found = _footer(self.file)
        rows = [found.row_group(group).num_rows for group in range(found.num_row_groups)]
        return [replace(self, groups=groups) for groups in together(rows)]

    def states(self) -> tuple[str, ...]:
        """Return what changes if the file is written anew."""
        return (self.file.state(),)


def together(rows: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Yield which successive row groups make a part, from their lengths.

    >>> list(together([2**17, 2**17, 2**19, 5]))
    [(0, 1), (2,), (3,)]
    """
    run: list[int] = []
    waiting = 0
    for group, count in enumerate(rows):
        run.append(group)
        waiting += count
        if waiting >= PART_ROWS:
            yield tuple(run)
            run, waiting = [], 0
    if run:
        yield tuple(run)


def open_parquet(file: StoredFile, names: Sequence[str]) -> ParquetSource:
    """Return the source of a Parquet file, or raise ValueError."""
    return ParquetSource(file.absolute(), tuple(_footer(file).schema.to_arrow_schema().names))


def _constant(value: str | None, batch: Any) -> RawColumn:
    """Return a column with the value of a folder in every row."""
    index = np.full(batch.num_rows, -1 if value is None else 0, dtype=np.int64)
    return Codes(index, [] if value is None else [value])


def _footer(file: StoredFile) -> Any:
    """Return the footer, or raise if it is not one or speaks of bytes that the file lacks."""
    import pyarrow.parquet as parquet

    with file.opened() as place:
        found = parquet.read_metadata(place)
    size = file.size
    for place in range(found.num_row_groups):
        group = found.row_group(place)
        for column in (group.column(number) for number in range(group.num_columns)):
            start = column.dictionary_page_offset or column.data_page_offset
            if not 0 < start <= start + column.total_compressed_size <= size:
                raise ValueError("a column ends behind the file")
    return found
