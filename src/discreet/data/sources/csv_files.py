"""CSV files, packed or not: every field is read as bytes, so that none can stop the reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import Chunk, run_or_refuse
from discreet.data.sources.stored import StoredFile

LONGEST_LINE = 8 << 20
"""The most bytes one line of a CSV file may have, and how many are read at once."""


@dataclass(frozen=True)
class CsvSource:
    """A CSV file with a header, read in batches; lines with a wrong number of fields are skipped."""

    file: StoredFile
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of well-formed rows (one pass over the file)."""
        size = LONGEST_LINE >> 20
        what = f"a readable CSV file with a header and lines of at most {size} MB, got {self.file}"
        return run_or_refuse(self._count, what, rule="file format")

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield batches of the file."""
        for batch in self._batches(names):
            yield {name: from_arrow(batch.column(name)) for name in names}

    def states(self) -> tuple[str, ...]:
        """Return what changes if the file is written anew."""
        return (self.file.state(),)

    def _count(self) -> int:
        return sum(batch.num_rows for batch in self._batches(self.columns[:1]))

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
        with _open(self.file, alone=len(self.columns) == 1, convert_options=convert) as reader:
            yield from reader


def open_csv(file: StoredFile, names: Sequence[str]) -> CsvSource:
    """Return the source of a CSV file, or raise ValueError."""
    with _open(file, alone=False) as reader:
        found = tuple(reader.schema.names)
    if len(found) == 1:
        with _open(file, alone=True) as reader:  # its header is the very first line
            found = tuple(reader.schema.names)
    return CsvSource(file, found)


@contextmanager
def _open(file: StoredFile, *, alone: bool, **options: Any) -> Iterator[Any]:
    """Open a file; where a column stands alone an empty line is a row whose value is missing."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(
        newlines_in_values=True,
        ignore_empty_lines=not alone,
        invalid_row_handler=lambda row: "skip",
    )
    read = csv.ReadOptions(block_size=LONGEST_LINE, use_threads=False)
    packed = "gzip" if file.name.lower().endswith(".gz") else None
    with (
        file.opened() as place,
        pa.input_stream(place, compression=packed) as stream,
        csv.open_csv(stream, read_options=read, parse_options=parse, **options) as reader,
    ):
        yield reader
