"""Canonical blocks of encoded rows: the unit in which rows are read, computed and shipped."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import FloatArray

BLOCK_ROWS = 8_192
"""Rows per canonical block. Blocks start at multiples of it, whatever the source or the workers."""


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


@dataclass
class KeptRows:
    """Encoded blocks that one release has read, so that its later stages need not encode them again.

    They are dropped with it. Tables beyond ``room`` numbers are read anew each time. Every worker of a
    cluster keeps those of its own parts, under the ``token`` of the release.
    """

    room: int = 2**24
    blocks: dict[tuple[tuple[str, ...], bool, int], list[Block]] = field(default_factory=dict)
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
