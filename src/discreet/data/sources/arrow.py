"""Arrow tables in memory, and Arrow data sets: many files read in batches as if they were one.

The workers of a cluster read files of their own, or row groups of a long one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.conversion import from_arrow
from discreet.data.sources.parquet_files import together
from discreet.data.sources.source import CHUNK_ROWS, Chunk, run_or_refuse
from discreet.data.sources.stored import StoredFile

_IN_TURN = {"batch_readahead": 1, "fragment_readahead": 1}
"""A file at a time: what is read ahead is memory, more of it the longer rows take to be used."""


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


class _Scanned(ABC):
    """Rows that Arrow scans batch by batch."""

    needed: tuple[str, ...]

    @abstractmethod
    def _scanner(self, **options: Any) -> Any:
        """Return a scanner of the rows."""

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
        options = {"batch_size": CHUNK_ROWS, "use_threads": False, **_IN_TURN}
        reader = self._scanner(columns=list(names), **options)
        return (batch for batch in reader.to_batches() if batch.num_rows)


@dataclass(frozen=True)
class DatasetSource(_Scanned):
    """An Arrow data set, in the order of its files; ``needed`` are the columns of the schema."""

    dataset: Any = field(repr=False)
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    @property
    def positional(self) -> bool:
        """Whether no file is one for records that have a value in common."""
        import pyarrow.compute as pc

        all_of_them = pc.scalar(True)
        return all(f.partition_expression.equals(all_of_them) for f in self.dataset.get_fragments())

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[DatasetPart] | None:
        """Return the files, a long one in runs of row groups; None if the data set has no files."""
        import pyarrow.dataset as ds

        if not isinstance(self.dataset, ds.FileSystemDataset) or self.dataset._scan_options:
            return None
        schema = self.dataset.schema
        pieces = [piece for file in self.dataset.get_fragments() for piece in _pieces(file)]
        return [DatasetPart(self.columns, self.needed, piece, schema) for piece in pieces]

    def states(self) -> tuple[str, ...]:
        """Return what changes if a file is written anew."""
        import pyarrow.dataset as ds

        if not isinstance(self.dataset, ds.FileSystemDataset):
            return ()
        found = self.dataset.filesystem.get_file_info(self.dataset.files)
        return tuple(f"{file.path} {file.size} {file.mtime_ns}" for file in found)

    def _scanner(self, **options: Any) -> Any:
        return self.dataset.scanner(**options)


@dataclass(frozen=True)
class DatasetPart(_Scanned):
    """A file of a data set, or some row groups of it."""

    columns: tuple[str, ...]
    needed: tuple[str, ...]
    fragment: Any = field(repr=False)
    schema: Any = field(repr=False)

    def _scanner(self, **options: Any) -> Any:
        return self.fragment.scanner(schema=self.schema, **options)


def _pieces(fragment: Any) -> list[Any]:
    """Return a file of a data set in pieces that are not too long, by row groups if it has them."""
    if not hasattr(fragment, "row_groups"):
        return [fragment]
    runs = list(together(group.num_rows for group in fragment.row_groups))
    return [fragment.subset(row_group_ids=list(run)) for run in runs] if len(runs) > 1 else [fragment]


def open_arrow(data: Any, names: Sequence[str]) -> ArrowSource:
    """Return the source of a table, or of anything that hands its columns over as Arrow does."""
    import pyarrow as pa

    what = f"a table that Arrow can hold, got {type(data).__name__}"
    table = run_or_refuse(lambda: pa.table(data), what, rule="kind of source")
    return ArrowSource(table, tuple(table.column_names))


def open_dataset(dataset: Any, names: Sequence[str]) -> DatasetSource:
    """Return the source of an Arrow data set."""
    return DatasetSource(dataset, tuple(dataset.schema.names), tuple(names))


def open_feather(file: StoredFile, names: Sequence[str]) -> DatasetSource:
    """Return the source of an Arrow file (Feather is its other name), or raise ValueError."""
    import pyarrow.dataset as ds

    path = file.absolute().path
    return open_dataset(ds.dataset(path, format="feather", filesystem=file.store), names)
