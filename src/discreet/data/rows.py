"""The one door: rows leave a ``PrivateTable`` here and nowhere else.

Its callers are the engine (for ``Session.release``) and nobody else; a lint rule keeps it so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.table import PrivateTable
from discreet.schema import FloatArray


def open_rows(
    table: PrivateTable, columns: Sequence[str], *, with_ids: bool = False
) -> Iterator[Block]:
    """Yield the named columns, encoded, in canonical blocks.

    Guarantees:
      - Equal rows in equal order give equal blocks, from any source. [lattice]
    """
    schema, names = table.schema, tuple(columns)
    id_name = schema.id if with_ids else None
    read = names or (next(iter(schema)),)  # rows without columns still have to be counted
    wanted = [*read, *([id_name] if id_name else [])]
    pending: list[tuple[FloatArray, NDArray[Any] | None]] = []
    start = waiting = 0
    for chunk in table.unseal().chunks(wanted):
        values = _encode(schema, read, chunk)[:, : len(names)]
        pending.append((values, _texts(chunk[id_name]) if id_name else None))
        waiting += len(values)
        while waiting >= BLOCK_ROWS:
            values, ids = _take(pending, BLOCK_ROWS)
            yield Block(start, names, values, ids)
            start, waiting = start + BLOCK_ROWS, waiting - BLOCK_ROWS
    if waiting:
        values, ids = _take(pending, waiting)
        yield Block(start, names, values, ids)


def _encode(schema: Any, names: tuple[str, ...], chunk: Any) -> FloatArray:
    encoded = [schema[name].encode(chunk[name]) for name in names]
    values = np.empty((len(encoded[0]), len(names)), order="F")
    for place, column in enumerate(encoded):
        values[:, place] = column
    return values


def _texts(raw: Any) -> NDArray[Any]:
    from discreet.schema.raw import as_codes, category_text

    codes = as_codes(raw)
    table = np.array([*(category_text(value) for value in codes.values), None], dtype=object)
    return np.asarray(table[codes.index])


def _take(
    pending: list[tuple[FloatArray, NDArray[Any] | None]], rows: int
) -> tuple[FloatArray, NDArray[Any] | None]:
    """Remove the first ``rows`` rows from the waiting pieces and join them."""
    taken: list[tuple[FloatArray, NDArray[Any] | None]] = []
    while rows:
        values, ids = pending.pop(0)
        if len(values) > rows:
            pending.insert(0, (values[rows:], None if ids is None else ids[rows:]))
            values, ids = values[:rows], None if ids is None else ids[:rows]
        taken.append((values, ids))
        rows -= len(values)
    joined = np.asfortranarray(np.concatenate([values for values, _ in taken]))
    joined.setflags(write=False)
    if taken[0][1] is None:
        return joined, None
    return joined, np.concatenate([ids for _, ids in taken if ids is not None])
