"""Rows become codes on public cut points, and codes make the splits a tree may choose from.

A column has ascending cut points; the code of a value is the number of cuts strictly below it, so
that ``value <= cuts[i]`` says the same as ``code <= i``. Categories are cut between their codes. A
split sends left what lies in an interval of codes, ``first <= code <= last``: a beginning of the range,
or one category against the rest. A missing number is below the range, and where there may be one the
first cut tells it from all others; a missing or unlisted category is a category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.schema import MISSING, Category, Column, FloatArray, Number, Schema

IntArray = NDArray[np.int64]

CUTS = 32
"""Into so many equal parts the range of a number is cut."""

_HALVINGS = 5
"""The outermost part at either end is halved so many times: many columns pile up at an end."""


@dataclass(frozen=True, eq=False)
class CutGrid:
    """The public cut points of all features."""

    features: tuple[str, ...]
    cuts: tuple[FloatArray, ...]
    categorical: tuple[bool, ...]

    @cached_property
    def bins(self) -> IntArray:
        """The number of codes of every feature."""
        return np.array([len(points) + 1 for points in self.cuts], dtype=np.int64)

    @cached_property
    def flat(self) -> FloatArray:
        """All cut points, end to end; each feature's filled up to 2^k - 1 of them by infinity."""
        filled = [np.full(2 ** len(points).bit_length() - 1, np.inf) for points in self.cuts]
        for room, points in zip(filled, self.cuts, strict=True):
            room[: len(points)] = points
        return np.concatenate([*filled, np.empty(0)])

    @cached_property
    def starts(self) -> IntArray:
        """Where each feature's cut points begin in ``flat``, and their end."""
        return offsets([2 ** len(points).bit_length() - 1 for points in self.cuts])

    @cached_property
    def firsts(self) -> IntArray:
        """Where each feature's codes begin if all codes are laid end to end, and their end."""
        return offsets(self.bins)


@dataclass(frozen=True, eq=False)
class Splits:
    """Candidate splits, by feature: ``first <= code <= last`` goes left, ``low < value <= high``."""

    feature: IntArray
    first: IntArray
    last: IntArray
    low: FloatArray
    high: FloatArray

    def __len__(self) -> int:
        return len(self.feature)


def schema_grid(schema: Schema, features: Sequence[str], cuts: int = CUTS) -> CutGrid:
    """Return cut points from public facts: equal parts, finer at both ends, on the step grid."""
    return CutGrid(
        tuple(features),
        tuple(_column_cuts(schema, name, cuts) for name in features),
        tuple(_is_unordered(schema[name]) for name in features),
    )


def _is_unordered(column: Column) -> bool:
    return isinstance(column, Category) and not column.ordered


def replace_cuts(grid: CutGrid, schema: Schema, found: dict[str, FloatArray]) -> CutGrid:
    """Return the grid with released cut points in place of some columns' public ones."""
    cuts = list(grid.cuts)
    for name, points in found.items():
        column = schema[name]
        assert isinstance(column, Number)
        cuts[grid.features.index(name)] = _inside(points, column)
    return CutGrid(grid.features, tuple(cuts), grid.categorical)


def candidate_splits(grid: CutGrid) -> Splits:
    """Return all beginnings of every feature's codes, and every category against the rest."""
    found: list[tuple[int, int, int]] = []
    for place, (points, category) in enumerate(zip(grid.cuts, grid.categorical, strict=True)):
        found += [(place, 0, last) for last in range(len(points))]
        if category:  # the outermost ones are beginnings already, or the rest of one
            found += [(place, code, code) for code in range(1, len(points))]
    if not found:
        raise ArgumentError(
            "features must have at least one that can be split, got none with two values. "
            "Name other features, or give their schema more values."
        )
    feature, first, last = np.array(found, dtype=np.int64).T
    low = [-np.inf if a == 0 else grid.cuts[f][a - 1] for f, a, _ in found]
    high = [grid.cuts[f][b] for f, _, b in found]
    return Splits(feature.copy(), first.copy(), last.copy(), np.array(low), np.array(high))


def offsets(sizes: Sequence[int] | IntArray) -> IntArray:
    """Return where pieces of these sizes begin if laid end to end, and their end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _column_cuts(schema: Schema, name: str, cuts: int) -> FloatArray:
    column = schema[name]
    if not isinstance(column, Number):
        return np.arange(len(column) - 1, dtype=np.float64) + 0.5
    width = column.high - column.low
    halved = width / cuts * 0.5 ** np.arange(1, _HALVINGS + 1)
    ends = column.nearest(np.concatenate([column.low + halved, column.high - halved]))
    return _inside(np.concatenate([column.grid(cuts + 1), ends]), column)


def _inside(points: FloatArray, column: Number) -> FloatArray:
    """Return the different points at which some value lies above and some does not.

    Without a step nothing but the least value itself is at most the least value: a cut that many
    columns need (no gains, no children), so it is kept. Where values may be missing, so is the cut
    between them and all others.
    """
    ends = column.grid(2)
    inside = points[(points >= ends[0]) & (points < ends[-1])]
    return np.unique(np.append(inside, MISSING) if column.may_be_missing else inside)
