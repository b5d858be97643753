"""Parquet files, read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import CHUNK_ROWS, Chunk


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


def open_parquet(path: Path, names: Sequence[str]) -> ParquetSource:
    """Return the source of a Parquet file, or raise ValueError."""
    import pyarrow.parquet as parquet

    return ParquetSource(path, tuple(parquet.read_schema(path).names))
