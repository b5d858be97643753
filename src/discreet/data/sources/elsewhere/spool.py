"""Rows that come from elsewhere once: kept by this process alone, in an order nobody chose.

A query may give its rows in another order each time, fail because of a value, or be gone: it is run
once, while nothing is spent, and its answer is kept. What does not fit into ``IN_MEMORY`` bytes goes to
a temporary file without a name (in ``$TMPDIR``), every piece of it encrypted under a key that
exists in this process alone: nothing can be read of it when the process has ended, however it ended.

And a query chooses its order: by what a record says (ORDER BY, an index, a partition) or by accident. A
record with other values would stand elsewhere, and move those between. Claims that count on places
(batches of a model, subsets by place, partners) hold after a shuffle. Rows are dealt out to buckets at
random, and every bucket is shuffled by itself (Rao 1961, Sandelius 1962), so that one bucket has to be
in memory at a time.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np

from discreet.data.conversion import from_arrow
from discreet.data.sources.source import CHUNK_ROWS, Chunk
from discreet.randomness import entropy_words, shuffled_places
from discreet.schema.raw import RawColumn, category_text

IN_MEMORY = 64 << 20
"""So many bytes of rows stay in memory; more go to a temporary file."""

BUCKETS = 64
"""Into so many parts rows are dealt out; one of them is in memory when it is shuffled."""

_PIECE_ROWS = 8_192

Piece = tuple[int, int]
"""Where something begins in a sealed file, and how long it is."""


class SealedFile:
    """A temporary file of Arrow arrays that this process can read and no other."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._file: Any = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed with us
        weakref.finalize(self, self._file.close)
        self._cipher = AESGCM(AESGCM.generate_key(256))
        self._lock = threading.Lock()
        self._end = 0

    def put(self, columns: Sequence[Any]) -> Piece:
        """Write arrays of one length, and return where they are."""
        import pyarrow as pa

        batch = pa.record_batch(list(columns), names=[str(place) for place in range(len(columns))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        start = self._end
        # Every piece begins elsewhere, so that no number is used twice under the one key.
        sealed = self._cipher.encrypt(start.to_bytes(12, "big"), sink.getvalue().to_pybytes(), None)
        self._file.seek(start)
        self._file.write(sealed)
        self._end += len(sealed)
        return start, len(sealed)

    def get(self, piece: Piece) -> list[Any]:
        """Return the arrays of a piece."""
        import pyarrow as pa

        start, size = piece
        with self._lock:
            self._file.seek(start)
            sealed = self._file.read(size)
        opened = self._cipher.decrypt(start.to_bytes(12, "big"), sealed, None)
        with pa.ipc.open_stream(opened) as reader:
            return list(reader.read_next_batch().columns)


@dataclass(frozen=True)
class SpooledSource:
    """Rows that were read once, in a random order; ``columns`` are all that the answer has.

    ``state`` says which one of a table that has several; public.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...] = ()
    file: SealedFile | None = field(default=None, repr=False)
    parts: tuple[tuple[int, tuple[Piece, ...]], ...] = field(default=(), repr=False)
    state: str = ""

    def count(self) -> int:
        """Return the number of rows."""
        return sum(rows for rows, _ in self.parts)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows, some of every column at a time."""
        assert self.file is not None
        for _, pieces in self.parts:
            where = dict(zip(self.names, pieces, strict=True))
            yield {name: _raw(self.file.get(where[name])[0]) for name in names}


def spool(columns: Sequence[str], batches: Iterable[Any], names: Sequence[str]) -> SpooledSource:
    """Return a source of rows that come as Arrow batches of the columns in ``names``, in this order.

    Args:
      columns: all that the answer has; if one of ``names`` is not there once, nothing is read.
      batches: the rows.
      names: the columns that are kept.

    Guarantees:
      - All orders of the rows are equally likely, whatever order they came in: what is proven of
        tables whose records keep their places holds of a bag of records. [shuffled-rows]
    """
    if any(columns.count(name) != 1 for name in names):
        return SpooledSource(tuple(columns))
    file = SealedFile()
    parts: list[tuple[int, tuple[Piece, ...]]] = []
    dealt = _deal_out(batches)
    for bucket in range(BUCKETS):
        arrays = dealt.bucket(bucket, len(names))
        order = shuffled_places(len(arrays[0])) if arrays else np.empty(0, dtype=np.int64)
        for start in range(0, len(order), CHUNK_ROWS):
            places = order[start : start + CHUNK_ROWS]
            pieces = tuple(file.put([array.take(places)]) for array in arrays)
            parts.append((len(places), pieces))
    return SpooledSource(tuple(columns), tuple(names), file, tuple(parts))


class _Dealt:
    """Rows in buckets: some of every bucket in memory, the others in a sealed file."""

    def __init__(self) -> None:
        self._file = SealedFile()
        self._pieces: list[list[Piece]] = [[] for _ in range(BUCKETS)]
        self._waiting: list[list[list[Any]]] = [[] for _ in range(BUCKETS)]
        self._rows = np.zeros(BUCKETS, dtype=np.int64)

    def add(self, bucket: int, arrays: list[Any]) -> None:
        self._waiting[bucket].append(arrays)
        self._rows[bucket] += len(arrays[0])
        if self._rows[bucket] >= _PIECE_ROWS:
            self._pieces[bucket].append(self._file.put(_joined(self._waiting[bucket])))
            self._waiting[bucket], self._rows[bucket] = [], 0

    def bucket(self, bucket: int, width: int) -> list[Any]:
        """Return the columns of a bucket, none if it is empty."""
        pieces = [self._file.get(piece) for piece in self._pieces[bucket]]
        return _joined(pieces + self._waiting[bucket])


def _deal_out(batches: Iterable[Any]) -> _Dealt:
    dealt = _Dealt()
    for batch in batches:
        buckets = entropy_words(batch.num_rows, np.uint8) % np.uint8(BUCKETS)  # 64 divides 256
        order = np.argsort(buckets, kind="stable")
        cuts = np.searchsorted(buckets[order], np.arange(BUCKETS + 1))
        for bucket in np.unique(buckets).tolist():
            places = order[cuts[bucket] : cuts[bucket + 1]]
            dealt.add(bucket, [column.take(places) for column in batch.columns])
    return dealt


def _joined(pieces: list[list[Any]]) -> list[Any]:
    """Return columns whose pieces are joined."""
    return [
        _join([piece[place] for piece in pieces]) for place in range(len(pieces[0]) if pieces else 0)
    ]


def _join(arrays: list[Any]) -> Any:
    """Join arrays; of several types, as databases without fixed ones have them, value by value."""
    import pyarrow as pa

    kinds, mixed = {array.type for array in arrays if not pa.types.is_null(array.type)}, _one_by_one()
    if len(kinds) > 1:
        arrays = [a if a.type == mixed else one_by_one(a.to_pylist()) for a in arrays]
        kinds = {mixed}
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([array.cast(kind) for array in arrays], kind).combine_chunks()


def one_by_one(values: Iterable[Any]) -> Any:
    """Return values of several kinds as an array that tells which are floats, decimals and bytes.

    Ids of persons may be decimals, to their last digit, but no floats; all else is as it is written.
    """
    import pyarrow as pa

    return pa.array([_marked(value) for value in values], _one_by_one())


def _marked(value: Any) -> dict[str, str | None] | None:
    kind = next((name for name, (kind, _, _) in _KINDS.items() if isinstance(value, kind)), _TEXT)
    written = category_text(value) if kind == _TEXT else _KINDS[kind][1](value)
    if written is not None and not _is_encodable(written):
        kind, written = "bytes", written.encode("utf-8", "surrogatepass").hex()
    return None if written is None else {_KIND: kind, _WRITTEN: written}


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a letter, which no Arrow array of texts can hold
        return False
    return True


def _one_by_one() -> Any:
    import pyarrow as pa

    return pa.struct([(_KIND, pa.string()), (_WRITTEN, pa.string())])


def _raw(array: Any) -> RawColumn:
    """Return an array of ours as a raw column."""
    if array.type != _one_by_one():
        return from_arrow(array)
    found = (
        None if value is None else _KINDS[value[_KIND]][2](value[_WRITTEN])
        for value in array.to_pylist()
    )
    return np.fromiter(found, dtype=object, count=len(array))


_TEXT, _KIND, _WRITTEN = "text", "discreet kind", "discreet written"

_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "float": (float, repr, float),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    _TEXT: (str, str, str),
}
"""Kinds that are told apart: how they are written, and read back."""
