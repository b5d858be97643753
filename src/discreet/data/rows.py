"""The one door: rows leave a ``PrivateTable`` here and nowhere else.

Its callers are the engine (for ``Session.release``), the check of a table against its schema (for
``Session.check``, the curator's) and nobody else; a lint rule keeps it so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS, Block, KeptRows, PackedBlock, packed_bytes, plain_bytes
from discreet.data.table import PrivateTable
from discreet.schema import FloatArray, Number, Schema
from discreet.schema.raw import RawColumn

_FEW = 4
"""Rows that take this part of the room, or less, are kept as they are: there is nothing to unpack."""

_Piece = tuple[list[FloatArray], NDArray[Any] | None]
"""Encoded columns of some rows, and their ids."""


def open_raw(table: PrivateTable) -> Iterator[tuple[str, RawColumn]]:
    """Yield the columns of the schema as they came, chunk by chunk, for the curator's check."""
    for chunk in table.unseal().chunks(list(table.schema)):
        yield from chunk.items()


def open_ids(table: PrivateTable, column: str) -> Iterator[RawColumn]:
    """Yield the column that names persons as it came, for the curator's check."""
    for chunk in table.unseal().chunks([column]):
        yield chunk[column]


def open_rows(
    table: PrivateTable,
    columns: Sequence[str],
    *,
    with_ids: bool = False,
    kept: KeptRows | None = None,
) -> Iterator[Block]:
    """Yield the named columns, encoded, in canonical blocks.

    Guarantees:
      - Equal rows in equal order give equal blocks, from any source. [lattice]
    """
    key = tuple(columns), with_ids, table.start
    if kept is not None and key in kept.blocks:
        for own in kept.blocks[key]:
            yield own if isinstance(own, Block) else own.unpack(table.schema)
        return
    rows = table.rows_read()
    plain, needed = (
        rows * size(table.schema, key[0], table.shares_records) for size in (plain_bytes, packed_bytes)
    )
    packing = kept is None or plain > kept.room // _FEW
    needed = needed if packing else plain
    keeping = kept is not None and bool(columns) and needed <= kept.room
    fresh: list[Block | PackedBlock] = []
    for block in _read(table, columns, with_ids):
        if keeping:
            fresh.append(PackedBlock.of(block, table.schema) if packing else block)
        yield block
    if kept is not None and keeping:
        kept.blocks[key] = fresh
        kept.room -= needed


def read_names(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """Return what is read for some columns: rows without columns still have to be counted."""
    return tuple(names) or (next(iter(schema)),)


def open_numbers(table: PrivateTable, columns: Sequence[str]) -> Iterator[dict[str, FloatArray]]:
    """Yield numbers of the named columns as they came, not yet brought inside their bounds."""
    seen = 0
    for chunk in _lying(table, columns) or table.unseal().chunks(list(columns)):
        found = {name: _number(table, name).numbers(chunk[name]) for name in columns}
        rows = len(found[columns[0]])
        places = table.places_between(seen, seen + rows)
        seen += rows
        yield found if places is None else {name: own[places] for name, own in found.items()}


def _lying(table: PrivateTable, columns: Sequence[str]) -> list[dict[str, RawColumn]]:
    """Return all rows in one piece where nothing has to be copied for that; else nothing."""
    look = getattr(table.unseal(), "lying", None)
    if look is None:
        return []
    found = {name: look(name) for name in columns}
    whole = {name: own for name, own in found.items() if own is not None}
    return [dict(whole)] if len(whole) == len(found) else []


def _number(table: PrivateTable, name: str) -> Number:
    column = table.schema[name]
    assert isinstance(column, Number)
    return column


def _read(table: PrivateTable, columns: Sequence[str], with_ids: bool) -> Iterator[Block]:
    """Yield blocks from the source."""
    schema, names = table.schema, tuple(columns)
    id_name = (schema.read_besides or (None,))[0] if with_ids else None
    read = read_names(schema, names)
    wanted = [*read, *([id_name] if id_name else [])]
    pending: list[_Piece] = []
    start, waiting, seen = table.start, 0, 0
    for chunk in table.unseal().chunks(wanted):
        encoded = [schema[name].encode(chunk[name]) for name in read]
        ids = _texts(chunk[id_name]) if id_name else None
        places = table.places_between(seen, seen + len(encoded[0]))
        seen += len(encoded[0])
        if places is not None:
            encoded, ids = [column[places] for column in encoded], None if ids is None else ids[places]
        pending.append((encoded, ids))
        waiting += len(encoded[0])
        while waiting >= BLOCK_ROWS:
            values, ids = _take(pending, len(names), BLOCK_ROWS)
            yield Block(start, names, values, ids, table.units_between(start, start + BLOCK_ROWS))
            start, waiting = start + BLOCK_ROWS, waiting - BLOCK_ROWS
    if waiting:
        values, ids = _take(pending, len(names), waiting)
        yield Block(start, names, values, ids, table.units_between(start, start + waiting))


def _texts(raw: Any) -> NDArray[Any]:
    from discreet.schema.raw import as_codes, category_text

    codes = as_codes(raw)
    table = np.array([*(category_text(value) for value in codes.values), None], dtype=object)
    return np.asarray(table[codes.index])


def _take(pending: list[_Piece], width: int, rows: int) -> tuple[FloatArray, NDArray[Any] | None]:
    """Remove the first ``rows`` rows from the waiting pieces and join them, column by column."""
    if width == 1 and len(pending[0][0][0]) >= rows:
        return _take_one(pending, rows)
    joined, texts = np.empty((rows, width), order="F"), []
    filled = 0
    while filled < rows:
        columns, ids = pending.pop(0)
        count = min(len(columns[0]), rows - filled)
        for place in range(width):
            joined[filled : filled + count, place] = columns[place][:count]
        texts += [] if ids is None else [ids[:count]]
        if count < len(columns[0]):
            rest = [column[count:] for column in columns]
            pending.insert(0, (rest, None if ids is None else ids[count:]))
        filled += count
    joined.setflags(write=False)
    return joined, np.concatenate(texts) if texts else None


def _take_one(pending: list[_Piece], rows: int) -> tuple[FloatArray, NDArray[Any] | None]:
    """Take rows of one column from one piece as they lie there: nothing is copied."""
    (column,), ids = pending.pop(0)
    if len(column) > rows:
        pending.insert(0, ([column[rows:]], None if ids is None else ids[rows:]))
    taken = column[:rows, None]
    taken.setflags(write=False)
    return taken, None if ids is None else ids[:rows]
