"""CSV files, packed or not: every field is read as bytes, so that none can stop the reader."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

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
            columns = map(_as_written, batch.columns)
            yield {name: from_arrow(column) for name, column in zip(names, columns, strict=True)}

    def states(self) -> tuple[str, ...]:
        """Return what changes if the file is written anew."""
        return (self.file.state(),)

    def _count(self) -> int:
        return sum(batch.num_rows for batch in self._batches(self.columns[:1]))

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        spread = [name.encode().decode("latin-1") for name in names]
        # Bytes, not texts or numbers: a field that is not valid must not stop the reader.
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(spread, pa.binary()),
            include_columns=spread,
            strings_can_be_null=True,
            null_values=[""],
        )
        with _open(self.file, alone=len(self.columns) == 1, convert_options=convert) as reader:
            yield from reader


def open_csv(file: StoredFile, names: Sequence[str]) -> CsvSource:
    """Return the source of a CSV file, or raise ValueError."""
    with _open(file, alone=False) as reader:
        found = reader.schema.names
    if len(found) == 1:
        with _open(file, alone=True) as reader:  # its header is the very first line
            found = reader.schema.names
    return CsvSource(file, tuple(name.encode("latin-1").decode() for name in found))


class _Spread:
    """The bytes of a file, each beyond ASCII written as the letter that Latin-1 has for it.

    Arrow decodes a line with a wrong number of fields before it asks whether to skip it, and stops at
    one that is no UTF-8. So that no row decides whether a table is accepted, all of it is.
    """

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._rest, self._begun = stream, b"", False

    def read(self, size: int) -> Any:
        """Return a buffer of so many bytes, fewer only at the end.

        Arrow takes what it is given for a block, and stops at a line that lies in three of them.
        """
        while len(self._rest) < size:
            found = self._stream.read_buffer(size) if self._begun else self._first(size)
            ascii_only = np.frombuffer(found, np.int8).min(initial=0) >= 0
            if ascii_only and not self._rest and len(found) == size:
                return found
            if not len(found):
                break
            self._rest += bytes(found) if ascii_only else bytes(found).decode("latin-1").encode()
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def _first(self, size: int) -> bytes:
        """Return the first bytes, without a mark that the file is UTF-8.

        A header that nothing follows, as nobody is in the table, ends like every header.
        """
        self._begun, found = True, b""
        while more := self._stream.read(len(BOM_UTF8) - len(found)):
            found += more
        found = found.removeprefix(BOM_UTF8)
        while len(found) < size and (more := self._stream.read(size - len(found))):
            found += more
        bare = 0 < len(found) < size and b"\n" not in found and b"\r" not in found
        return bytes(found + b"\n" * bare)


def _as_written(spread: Any) -> Any:
    """Return the bytes of a column as the file has them."""
    import pyarrow as pa

    column = pa.concat_arrays([spread])  # from its beginning
    known, ends, bytes_ = column.buffers()
    found = np.frombuffer(bytes_ or b"", np.uint8)
    first = found >= _FIRST  # of the two bytes of a letter; the second tells the lower six bits
    if not first.any():
        return column
    found = found.copy()
    found[1:][found[:-1] == _FIRST + 1] |= 0x40
    places = np.frombuffer(ends, np.int32)[: len(column) + 1]
    moved = places - np.concatenate(([0], np.cumsum(first)))[places]
    parts = [known, pa.py_buffer(moved.astype(np.int32)), pa.py_buffer(found[~first].tobytes())]
    return pa.Array.from_buffers(column.type, len(column), parts)


_FIRST = 0xC2
"""The first byte of the letters of Latin-1 beyond ASCII; that of their second half is the next."""


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
        csv.open_csv(_Spread(stream), read_options=read, parse_options=parse, **options) as reader,
    ):
        yield reader
