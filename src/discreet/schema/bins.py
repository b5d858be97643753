"""Cells of a column, and the codes and names of what is missing or not listed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.schema.even_walls import EvenWalls

FloatArray = NDArray[np.float64]

MISSING = -sys.float_info.max
"""The code of a missing number: below every range, finite, and the same in all columns."""

MISSING_LABEL, OTHER_LABEL = "(missing)", "(other)"
"""The names of cells that hold missing and unlisted values."""


@dataclass(frozen=True)
class Bins:
    """A public partition of a column: ``labels`` name the cells, ``edges`` divide a number's range.

    The last ``reserved`` cells are those of missing and unlisted values. Edges that lie on a grid
    finer than themselves, as those of cells that hold whole steps, say so by its ``unit``.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None
    reserved: int = 0
    unit: float | None = field(default=None, kw_only=True, compare=False)

    def __len__(self) -> int:
        return len(self.labels)

    def index(self, encoded: FloatArray) -> NDArray[np.int64]:
        """Return the cell of each encoded value."""
        if self.edges is None:
            return encoded.astype(np.int64)
        cells = self._find(encoded)
        if self.reserved:
            cells[encoded == MISSING] = len(self) - 1
        return cells

    def _find(self, encoded: FloatArray) -> NDArray[np.int64]:
        """Return where values lie among the edges: by arithmetic if they are evenly apart."""
        if self.walls is None:
            return np.searchsorted(self._inner, encoded, side="right")
        return self.walls.find(encoded)

    @cached_property
    def _inner(self) -> FloatArray:
        assert self.edges is not None
        return np.asarray(self.edges[1:-1])

    @cached_property
    def walls(self) -> EvenWalls | None:
        """The grid of walls that the edges stand on; None if they do not."""
        if self.edges is None:
            return None
        return EvenWalls.under(self.edges[0], self.edges[-1], self._inner, self.unit)
