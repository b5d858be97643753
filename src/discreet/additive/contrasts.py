"""What is asked of a feature's bins: smooth contrasts, whole numbers with columns of known length.

Instead of counts x of bins, A x is released. For ordered bins the rows of A are cosines, slow ones
weighted up: a smooth curve is seen through few of them. A record in bin b moves A x by the column of b,
so every column is brought to length one: no bin pays for another's. Entries are whole multiples of a
power of two, and A x is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.additive.coding import Feature
from discreet.randomness import IntArray
from discreet.schema import FloatArray

Norm = Literal["l1", "l2"]

_TOTAL = 0.3
"""The weight of a feature's total beside its contrasts, where one is asked for."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """A matrix of whole multiples of ``unit``: one column per bin."""

    whole: IntArray
    unit: float

    @cached_property
    def matrix(self) -> FloatArray:
        """The matrix as numbers."""
        return np.asarray(self.whole * self.unit, dtype=np.float64)

    @property
    def rows(self) -> int:
        """How many contrasts there are."""
        return len(self.whole)


def feature_contrasts(
    feature: Feature, decay: float, unit: float, *, norm: Norm, total: bool = False
) -> Contrasts:
    """Return the contrasts of a feature: cosines over ordered bins, cells against the mean for others.

    Args:
      feature: its bins.
      decay: how strongly slow cosines are weighted up.
      unit: of the entries; a power of two.
      norm: in which every column is at most one long.
      total: whether the sum of all bins is one of the contrasts.
    """
    matrix = _unit_columns(feature, decay, norm)
    if total:
        matrix = np.vstack([matrix, np.full((1, feature.size), _TOTAL)])
    return whole_contrasts(matrix, unit, norm)


def pair_contrasts(
    first: Feature, second: Feature, decay: float, unit: float, *, norm: Norm
) -> Contrasts:
    """Return the contrasts of two features' cells, row by row: products of the contrasts of both.

    A product of columns of length one has length one, in either norm.
    """
    parts = [_unit_columns(feature, decay, norm) for feature in (first, second)]
    return whole_contrasts(np.asarray(np.kron(*parts), dtype=np.float64), unit, norm)


def _unit_columns(feature: Feature, decay: float, norm: Norm) -> FloatArray:
    """Return cosines over ordered bins and cells for others, every column one long."""
    parts = [part for part in (_cosines(feature.ordered, decay), _cells(feature)) if part.size]
    matrix = _diagonal(parts)
    return np.asarray(matrix / np.maximum(_lengths(matrix, norm), 1e-300))


def whole_contrasts(matrix: FloatArray, unit: float, norm: Norm) -> Contrasts:
    """Return a matrix with columns of length at most one, entries rounded towards zero.

    Guarantees:
      - Rounding towards zero makes no entry longer, and a hair is left for floats: columns of whole
        numbers are at most one long. [additive-counts]
    """
    scaled = matrix / np.maximum(_lengths(matrix, norm), 1e-300) * (1 - 1e-9)
    return Contrasts(np.trunc(scaled / unit).astype(np.int64), unit)


def tree_contrasts(feature: Feature) -> tuple[Contrasts, list[int]]:
    """Return counts of nested ranges of a number's fine cells, each a part of the one above, as rows.

    The sizes of the levels are told; what stands for itself is counted at the end.
    """
    cells = feature.ordered
    sizes = [level for level in (4, 16, 64) if level < cells] + [cells]
    place = np.arange(cells)
    levels = [(np.arange(size)[:, None] == place * size // cells).astype(np.int64) for size in sizes]
    matrix = _diagonal([np.vstack(levels).astype(float), np.eye(feature.own)])
    return Contrasts(matrix.astype(np.int64), 1.0), sizes


def top_down(noisy: FloatArray, sizes: list[int], noise_std: float) -> FloatArray:
    """Return counts of the finest ranges, from noisy ones of all levels: each divides its parent's.

    What cannot be told from noise is taken for empty, and where nothing can, all are alike.
    """
    counts, start, parents = np.ones(1), 0, 1
    for size in sizes:
        level = np.maximum(noisy[start : start + size] - noise_std, 0.0)
        parent = np.arange(size) * parents // size
        total = np.bincount(parent, weights=level, minlength=parents)
        alike = np.bincount(parent, minlength=parents)
        shares = np.where(total[parent] > 0, level / np.maximum(total[parent], 1e-9), 1 / alike[parent])
        counts, start, parents = counts[parent] * shares, start + size, size
    return counts


def cosines(bins: int) -> FloatArray:
    """Return the cosines over so many bins, the slowest first, of mean square one."""
    place = (np.arange(bins) + 0.5) / bins
    return math.sqrt(2) * np.cos(np.pi * np.arange(1, bins)[:, None] * place)


def _cosines(bins: int, decay: float) -> FloatArray:
    if bins <= 1:
        return np.ones((bins, bins))
    speed = np.maximum(np.arange(1, bins), 2.0)
    return speed[:, None] ** (-decay / 2) * cosines(bins)


def _cells(feature: Feature) -> FloatArray:
    """Return cells against their mean, or those that stand for themselves beside ordered ones."""
    size = feature.own
    return np.eye(size) if feature.ordered or size <= 1 else np.eye(size) - 1 / size


def _diagonal(parts: list[FloatArray]) -> FloatArray:
    matrix = np.zeros((sum(len(part) for part in parts), sum(part.shape[1] for part in parts)))
    row = column = 0
    for part in parts:
        matrix[row : row + len(part), column : column + part.shape[1]] = part
        row, column = row + len(part), column + part.shape[1]
    return matrix


def _lengths(matrix: FloatArray, norm: Norm) -> FloatArray:
    return np.asarray(np.linalg.norm(matrix, ord=1 if norm == "l1" else 2, axis=0))
