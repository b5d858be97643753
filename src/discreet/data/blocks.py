"""Canonical blocks of encoded rows: the unit in which rows are read, computed, shipped and kept.

Rows are kept for later stages: few of them as they are, more in as few bytes as the schema allows. A
category has a known list of codes, and so has a number with a step: their columns are kept as places in
that list, one or two bytes each instead of eight, and come back to the last bit. How many bytes a row
takes is public: the schema says it, and no value does.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import MISSING, Category, Column, FloatArray, Schema

BLOCK_ROWS = 8_192
"""Rows per canonical block. Blocks start at multiples of it, whatever the source or the workers."""

_MOST_PLACES = 2**16
_UNIT_BYTES = 4
"""What a part of a record takes, where rows share one."""


@dataclass(frozen=True)
class Block:
    """Encoded values of successive rows: one column of ``values`` per name; nobody may change them.

    ``units`` are the parts of a record that every row counts where the rows of a person share one.
    """

    start: int
    names: tuple[str, ...]
    values: FloatArray
    ids: NDArray[Any] | None = None
    units: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> FloatArray:
        return self.values[:, self.names.index(name)]

    def narrow(self, names: tuple[str, ...]) -> Block:
        """Return the block with these columns alone, in this order."""
        if names == self.names:
            return self
        places = [self.names.index(name) for name in names]
        values = np.asfortranarray(self.values[:, places])
        values.setflags(write=False)
        return Block(self.start, names, values, self.ids, self.units)

    def rows(self, start: int, stop: int) -> Block:
        """Return some successive rows of the block."""
        if start == 0 and stop >= len(self):
            return self
        ids, units = (None if kept is None else kept[start:stop] for kept in (self.ids, self.units))
        return Block(self.start + start, self.names, self.values[start:stop], ids, units)

    def __repr__(self) -> str:
        return f"Block({len(self)} sealed rows from {self.start})"


@dataclass(frozen=True, eq=False)
class Places:
    """All encoded values of a column, ``low``, ``low`` + ``step``, ...; one below comes last."""

    values: FloatArray
    low: float
    step: float
    kind: type[np.unsignedinteger[Any]]

    def pack(self, encoded: FloatArray) -> NDArray[Any]:
        """Return the place of every value."""
        places = np.rint((np.maximum(encoded, self.low) - self.low) / self.step)
        places[encoded < self.low] = len(self.values) - 1
        return places.astype(self.kind)


@lru_cache(maxsize=512)
def column_places(column: Column) -> Places | None:
    """Return the places of a column; None if it takes any value, or too many.

    A schema takes no step of which floats lose much beside the range, so rounding finds every place.
    """
    if isinstance(column, Category):
        values, step = np.arange(len(column), dtype=np.float64), 1.0
    elif column.step is not None and column.step_count < _MOST_PLACES:
        values, step = column.grid(column.step_count), column.step
        values = np.append(values, MISSING) if column.may_be_missing else values
    else:
        return None
    if len(values) > _MOST_PLACES:
        return None
    kind = np.uint8 if len(values) <= 2**8 else np.uint16
    return Places(values, float(values[0]), step, kind)


def plain_bytes(schema: Schema, names: tuple[str, ...], shared: bool = False) -> int:
    """Return how many bytes a row takes as it is."""
    return 8 * len(names) + _UNIT_BYTES * shared


def packed_bytes(schema: Schema, names: tuple[str, ...], shared: bool = False) -> int:
    """Return how many bytes a row takes if it is packed."""
    found = map(column_places, (schema[name] for name in names))
    return sum(8 if p is None else np.dtype(p.kind).itemsize for p in found) + _UNIT_BYTES * shared


@dataclass(frozen=True)
class PackedBlock:
    """A block with every column as few bytes as the schema allows."""

    block: Block
    columns: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, block: Block, schema: Schema) -> PackedBlock:
        """Return a block packed; what is left of it are its facts."""
        columns = []
        for place, name in enumerate(block.names):
            known, own = column_places(schema[name]), block.values[:, place]
            columns.append(own.copy() if known is None else known.pack(own))
        bare = Block(block.start, block.names, block.values[:0].copy(), block.ids, block.units)
        return cls(bare, tuple(columns))

    def unpack(self, schema: Schema) -> Block:
        """Return the block as it was, to the last bit."""
        bare = self.block
        rows = len(self.columns[0]) if self.columns else 0
        values = np.empty((rows, len(bare.names)), order="F")
        for place, (name, own) in enumerate(zip(bare.names, self.columns, strict=True)):
            known = column_places(schema[name])
            if known is None:
                values[:, place] = own
            else:
                np.take(known.values, own, out=values[:, place], mode="clip")
        values.setflags(write=False)
        return Block(bare.start, bare.names, values, bare.ids, bare.units)


@dataclass
class KeptRows:
    """Encoded blocks that one release has read, so that its later stages need not encode them again.

    They are dropped with it. Few are kept as they are, more are packed; beyond ``room`` bytes they are
    read anew each time. Every worker of a cluster keeps those of its own parts, under the ``token`` of
    the release.
    """

    room: int = 2**28
    blocks: dict[tuple[tuple[str, ...], bool, int], list[Block | PackedBlock]] = field(
        default_factory=dict
    )
    token: str = field(default_factory=lambda: secrets.token_hex(16))


_SHELVES: dict[str, KeptRows] = {}
_MOST_SHELVES = 4
"""Releases of which a worker keeps rows; those of a client that vanished are dropped in the end."""


def shelf(token: str | None) -> KeptRows | None:
    """Return what this worker keeps of a release; None if it shall keep nothing."""
    if token is None:
        return None
    found = _SHELVES.setdefault(token, KeptRows(token=token))
    for old in list(_SHELVES)[:-_MOST_SHELVES]:
        drop_shelf(old)
    return found


def drop_shelf(token: str) -> None:
    """Drop what this worker kept of a release."""
    _SHELVES.pop(token, None)
