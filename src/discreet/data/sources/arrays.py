"""Two-dimensional numpy arrays, whose columns are in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.data.sources.source import CHUNK_ROWS, Chunk
from discreet.errors import DataRefused
from discreet.schema.bins import FloatArray


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional numpy array in memory."""

    array: np.ndarray[Any, Any] = field(repr=False)
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.array)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the array."""
        for start in range(0, len(self.array), CHUNK_ROWS):
            part = self.array[start : start + CHUNK_ROWS]
            yield {name: part[:, self.columns.index(name)] for name in names}

    def lying(self, name: str) -> FloatArray | None:
        """Return a column as it lies in memory; None if that is not one float after the other."""
        found = self.array[:, self.columns.index(name)]
        return found if found.dtype == np.float64 and found.flags.c_contiguous else None


def open_array(array: np.ndarray[Any, Any], names: Sequence[str]) -> ArraySource:
    """Return the source of an array; masked values are missing, subclasses are plain arrays."""
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataRefused(
            f"data must be an array with {len(names)} columns ({', '.join(names)}), "
            f"got shape {array.shape}.",
            rule="shape",
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(object), None)
    return ArraySource(np.asarray(array), tuple(names))
