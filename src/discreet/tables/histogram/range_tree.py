"""Counts at several widths, so that wide ranges need few noisy numbers.

A tree of counts has one level per block width: cells of width 1, blocks of B, blocks of B B', ... Its
levels are nested, so least squares has a closed form: with Pi_j the projection onto vectors that are
constant on the blocks of level j, the normal matrix is the sum of B_j Pi_j, and on the details of a
level (Pi_j minus the projection of the next wider level: Haar's wavelets, for halves) it is the number
lambda_j, the sum of the widths up to B_j. References: Hay, Rastogi, Miklau, Suciu (2010); Xiao, Wang,
Gehrke (2010) for wavelets; Qardaji, Yang, Li (2013) for wide branching.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray

_RANGES = 2_000
_SEED = 0


@dataclass(frozen=True)
class RangeTree:
    """Levels of blocks over ``cells`` cells.

    Args:
      cells: how many cells there are.
      widths: the blocks' widths, widest first; the last is 1, and each is a multiple of the next.
      known_total: whether the sum of all cells is public.
    """

    cells: int
    widths: tuple[int, ...]
    known_total: bool

    @property
    def padded(self) -> int:
        """The cells of a whole number of the widest blocks."""
        return -(-self.cells // self.widths[0]) * self.widths[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of blocks of every level."""
        return tuple(-(-self.cells // width) for width in self.widths)

    @property
    def weights(self) -> list[int]:
        """The numbers lambda_j, widest level first."""
        return list(accumulate(reversed(self.widths)))[::-1]

    def estimate(self, noisy_blocks: FloatArray, total: float | None) -> FloatArray:
        """Return the counts of the cells that fit all noisy blocks best.

        Guarantees:
          - Least squares over all levels, and exactly the public total if there is one. [range-tree]
        """
        support = np.zeros(self.padded)
        for level, width in zip(self._levels(noisy_blocks), self.widths, strict=True):
            spread = np.zeros(self.padded // width)
            spread[: len(level)] = level
            support += np.repeat(spread, width)
        below = np.full(self.padded, support.mean() if self.known_total else 0.0)
        found = np.full(self.padded, 0.0 if total is None else total / self.padded)
        for width, weight in zip(self.widths, self.weights, strict=True):
            here = np.repeat(support.reshape(-1, width).mean(axis=1), width)
            found, below = found + (here - below) / weight, here
        return found[: self.cells]

    def variance(self, starts: IntArray, ends: IntArray) -> FloatArray:
        """Return the variance of the sum over cells start .. end - 1, for noise of variance one.

        Guarantees:
          - The sum over levels of the squared details of the range over lambda_j. [range-tree]
        """
        starts, ends = np.asarray(starts), np.asarray(ends)
        length = (ends - starts).astype(np.float64)
        below = length**2 / self.padded if self.known_total else np.zeros(len(length))
        found = np.zeros(len(length))
        for width, weight in zip(self.widths, self.weights, strict=True):
            first, last = starts // width, (ends - 1) // width
            head, tail = (first + 1) * width - starts, ends - last * width
            inside = (last - first - 1) * float(width)
            here = np.where(first == last, length**2 / width, inside + (head**2 + tail**2) / width)
            found, below = found + (here - below) / weight, here
        return np.maximum(found, 0.0)

    def mean_variance(self) -> float:
        """Return the variance of a range, on average over ranges drawn evenly."""
        ends = np.sort(public_generator(_SEED).integers(0, self.cells + 1, (_RANGES, 2)), axis=1)
        drawn = ends[ends[:, 0] < ends[:, 1]]
        return float(self.variance(drawn[:, 0], drawn[:, 1]).mean())

    def _levels(self, noisy_blocks: FloatArray) -> list[FloatArray]:
        return np.split(noisy_blocks, list(accumulate(self.sizes))[:-1])


def candidate_trees(cells: int, known_total: bool) -> list[RangeTree]:
    """Return the plain histogram, and trees of two levels and more with even branching."""
    trees = []
    for levels in range(1, max(2, math.ceil(math.log2(max(cells, 2))) + 1)):
        branching = max(2, math.ceil(round(cells ** (1 / levels), 9)))
        widths = tuple(branching**power for power in reversed(range(levels)))
        if widths[0] < max(cells, 2):
            trees.append(RangeTree(cells, widths, known_total))
    return trees
