"""Arrow tables in memory, and Arrow data sets: many files read in batches as if they were one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import CHUNK_ROWS, Chunk, run_or_refuse


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
class DatasetSource:
    """An Arrow data set, in the order of its files; ``needed`` are the columns of the schema."""

    dataset: Any = field(repr=False)
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows, by reading all there is: a file that fails does so here."""
        what = "a data set whose files can all be read as its schema says, got one that fails"
        return run_or_refuse(self._count, what, rule="file format")

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of one file after the other."""
        for batch in self._batches(names):
            yield {name: from_arrow(batch.column(name)) for name in names}

    def _count(self) -> int:
        return sum(batch.num_rows for batch in self._batches(self.needed))

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        reader = self.dataset.scanner(columns=list(names), batch_size=CHUNK_ROWS, use_threads=False)
        return (batch for batch in reader.to_batches() if batch.num_rows)


def open_arrow(data: Any, names: Sequence[str]) -> ArrowSource:
    """Return the source of a table, or of anything that hands its columns over as Arrow does."""
    import pyarrow as pa

    what = f"a table that Arrow can hold, got {type(data).__name__}"
    table = run_or_refuse(lambda: pa.table(data), what, rule="kind of source")
    return ArrowSource(table, tuple(table.column_names))


def open_dataset(dataset: Any, names: Sequence[str]) -> DatasetSource:
    """Return the source of an Arrow data set."""
    return DatasetSource(dataset, tuple(dataset.schema.names), tuple(names))


def open_feather(path: Path, names: Sequence[str]) -> DatasetSource:
    """Return the source of an Arrow file (Feather is its other name), or raise ValueError."""
    import pyarrow.dataset as ds

    return open_dataset(ds.dataset(path, format="feather"), names)
