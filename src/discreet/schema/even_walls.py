"""Where values lie among edges on an even grid: by arithmetic, with the answers of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_NEAR = 2.0**-20
"""How far right of its whole number an edge is placed, in units of the grid, and half of it besides."""

_MOST = 2**16
"""The most units of a grid: beyond, a table of them no longer stays near the processor."""


@dataclass(frozen=True)
class EvenWalls:
    """Cells whose edges stand on a grid of walls that are equally far apart.

    Subtraction and multiplication are monotone in floats: a value right of an edge, or at it, is not
    placed left of where that edge is placed. All edges are placed little right of whole numbers, which
    is tried out, so the whole part of a place is the cell, or one too many where little is left. There
    values are compared with the edges themselves.

    >>> EvenWalls.under(0.0, 4.0, np.array([1.0, 3.0]), 1.0).find(np.array([0.5, 1.0, 2.9, 3.0, 4.0]))
    array([0, 1, 1, 2, 2])
    """

    start: float
    stop: float
    zero: float
    per_unit: float
    edges: FloatArray
    cells: NDArray[np.int64] | None
    """The cell of every unit; None if each is one."""

    @classmethod
    def under(
        cls, start: float, stop: float, inner: FloatArray, unit: float | None
    ) -> EvenWalls | None:
        """Return the grid on which the ``inner`` edges stand, or None if they stand on none.

        ``unit`` is the distance of its walls; None if every one of them is an edge.
        """
        outer = np.concatenate([[start], inner, [stop]])
        with np.errstate(all="ignore"):  # where bounds are as wide as floats go, nothing fits
            width = outer[-1] - outer[0]
            per_unit = (len(inner) + 1 if unit is None else np.rint(width / unit)) / width
            zero = start - _NEAR / per_unit
            placed = (outer - zero) * per_unit - _NEAR
            walls = np.rint(placed)
            fit = np.all(np.abs(placed - walls) <= _NEAR / 2)
        plain = np.array_equal(walls, np.arange(len(walls)))
        if not fit or not (plain or walls[-1] <= _MOST):
            return None
        cells = None if plain else np.searchsorted(walls[1:-1], np.arange(walls[-1] + 1), side="right")
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        return cls(start, stop, float(zero), float(per_unit), edges, cells)

    @property
    def near(self) -> float:
        """How little right of a whole number a place is, where its value is compared with the edge."""
        return 2 * _NEAR

    def find(self, values: FloatArray) -> NDArray[np.int64]:
        """Return how many of the inner edges are left of each value, or at it."""
        places = values.clip(self.start, self.stop)
        places -= self.zero
        places *= self.per_unit
        whole = np.floor(places)
        places -= whole
        near = np.flatnonzero(places < self.near)
        cells: NDArray[np.int64] = whole.astype(np.int64)
        if self.cells is not None:
            cells = self.cells[cells]
        if len(near) * 8 > len(values):
            cells -= values < self.edges[cells]
        else:
            cells[near] -= values[near] < self.edges[cells[near]]
        return cells
