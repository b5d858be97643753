"""Parquet files, read in batches: whole, or some row groups by each worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import CHUNK_ROWS, Chunk

PART_ROWS = 2**18
"""Row groups are read together until they have so many rows: to begin a part costs time."""


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file, or some of its row groups, read in batches."""

    path: Path
    columns: tuple[str, ...]
    groups: tuple[int, ...] | None = None

    positional = True

    def count(self) -> int:
        """Return the number of rows, from the file's footer."""
        import pyarrow.parquet as parquet

        found = parquet.read_metadata(self.path)
        if self.groups is None:
            return int(found.num_rows)
        return sum(int(found.row_group(group).num_rows) for group in self.groups)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of the file."""
        import pyarrow.parquet as parquet

        wanted: dict[str, Any] = {} if self.groups is None else {"row_groups": list(self.groups)}
        with parquet.ParquetFile(self.path) as file:
            read = file.iter_batches(CHUNK_ROWS, columns=list(names), use_threads=False, **wanted)
            for batch in read:
                yield {name: from_arrow(batch.column(name)) for name in names}

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[ParquetSource]:
        """Return successive row groups of the file."""
        import pyarrow.parquet as parquet

        found = parquet.read_metadata(self.path)
        rows = [found.row_group(group).num_rows for group in range(found.num_row_groups)]
        return [replace(self, groups=groups) for groups in together(rows)]


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


def open_parquet(path: Path, names: Sequence[str]) -> ParquetSource:
    """Return the source of a Parquet file, or raise ValueError."""
    import pyarrow.parquet as parquet

    return ParquetSource(path.absolute(), tuple(parquet.read_schema(path).names))
