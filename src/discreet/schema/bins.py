"""Cells of a column, and the codes and names of what is missing or not listed."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MISSING = -sys.float_info.max
"""The code of a missing number: below every range, finite, and the same in all columns."""

MISSING_LABEL, OTHER_LABEL = "(missing)", "(other)"
"""The names of cells that hold missing and unlisted values."""


@dataclass(frozen=True)
class Bins:
    """A public partition of a column: ``labels`` name the cells, ``edges`` divide a number's range.

    The last ``reserved`` cells are those of missing and unlisted values.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None
    reserved: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def index(self, encoded: FloatArray) -> NDArray[np.int64]:
        """Return the cell of each encoded value."""
        if self.edges is None:
            return encoded.astype(np.int64)
        cells = np.searchsorted(np.asarray(self.edges[1:-1]), encoded, side="right")
        return np.where(encoded == MISSING, len(self) - 1, cells) if self.reserved else cells
