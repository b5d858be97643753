"""Counts of one column at several widths, so that wide ranges need few noisy numbers.

A tree of counts has one level per block width: cells of width 1, blocks of B, blocks of B B', ... Its
levels are nested, so least squares has a closed form: with Pi_j the projection onto vectors that are
constant on the blocks of level j, the normal matrix is the sum of B_j Pi_j, and on the details of a
level (Pi_j minus the projection of the next wider level: Haar's wavelets, for halves) it is the number
lambda_j, the sum of the widths up to B_j. References: Hay, Rastogi, Miklau, Suciu (2010); Xiao, Wang,
Gehrke (2010) for wavelets; Qardaji, Yang, Li (2013) for wide branching.

The result keeps the widths, so that every range that is asked for later gets the error of its own sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans.results.result import Histogram
from discreet.plans.results.scalar import Scalar
from discreet.randomness import IntArray, public_generator
from discreet.schema import FloatArray

_RANGES = 2_000
_SEED = 0

_SMOOTH = 20.0
"""From this deviation on, whole numbers are as good as a density."""

_ROUNDING = 1e-6
"""What floats may add to a sum of counts, in records."""


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


@lru_cache(maxsize=1024)
def range_half_width(
    tree: RangeTree, start: int, end: int, *, block_std: float, normal: bool, level: float
) -> float:
    """Return the distance within which the sum over cells start .. end - 1 is kept at this level.

    One level of counts has whole noise, whose law is taken as it is while it is narrow; sums of many
    numbers, and noise on several levels, which is finer than whole numbers, are close to a density.

    Guarantees:
      - At least the level, exactly, for one level of whole counts below 20 deviations. [range-tree]
    """
    std = block_std * math.sqrt(float(tree.variance(np.array([start]), np.array([end]))[0]))
    inside, outside = end - start, tree.cells - (end - start) if tree.known_total else 0
    widest = block_std * math.sqrt(max(inside, outside))
    if len(tree.widths) > 1 or widest > _SMOOTH or std == 0:
        return std * band_factor(level, normal)
    share = inside / tree.cells if tree.known_total else 0.0
    own, own_law = _sum_law(inside, block_std, normal)
    other, other_law = _sum_law(outside, block_std, normal)
    distance = np.abs((1 - share) * own[:, None] - share * other).ravel()
    order = np.argsort(distance)
    kept = np.searchsorted(np.cumsum(np.outer(own_law, other_law).ravel()[order]), level)
    return float(distance[order[min(int(kept), len(order) - 1)]]) + _ROUNDING


def band_factor(level: float, normal: bool) -> float:
    """Return how many standard deviations a band has.

    A sum of Laplace noises is between one of them, which is taken, and a Gaussian.
    """
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2)) if normal else -math.log(1 - level) / math.sqrt(2)


def _sum_law(terms: int, std: float, normal: bool) -> tuple[FloatArray, FloatArray]:
    """Return the law of the sum of so many whole noises, as values and their probabilities."""
    cutoff = math.ceil(12 * std * math.sqrt(max(terms, 1)) + 40)
    offsets = np.arange(-cutoff, cutoff + 1)
    if normal:
        weights = np.exp(-0.5 * (offsets / std) ** 2)
    else:  # the deviation of discrete Laplace noise is 1 / (sqrt(2) sinh(1 / (2 scale)))
        weights = np.exp(-np.abs(offsets) * 2 * math.asinh(1 / (math.sqrt(2) * std)))
    turned = np.fft.rfft(np.fft.ifftshift(weights / weights.sum()))
    law = np.fft.fftshift(np.fft.irfft(turned**terms, len(offsets)))
    return offsets.astype(np.float64), np.maximum(law, 0.0)


@dataclass(frozen=True)
class RangeHistogram(Histogram):
    """Counts of one column that were released for ranges: ``range`` adds them up with their error.

    Attributes:
      widths: the widths of the blocks that were counted, in cells, widest first.
      block_std: standard deviation of the noise on a block.
      known_total: whether the number of records is public, and the counts add up to it.
      normal: whether the noise is Gaussian.
    """

    widths: tuple[int, ...]
    block_std: float
    known_total: bool
    normal: bool

    def fits_together(self) -> bool:
        """Return whether the cells are those of one column, and the blocks made of them."""
        # A list of one level or several, each of whole blocks: as ``RangeTree`` lays them out.
        widths = zip(self.widths, self.widths[1:], strict=False)
        return (
            super().fits_together()
            and len(self.columns) == 1
            and len(self.widths) > 0
            and self.widths[-1] == 1
            and all(wide > narrow for wide, narrow in widths)
        )

    def range(self, low: Any, high: Any) -> Scalar:
        """Return the number of records in all cells from the one with ``low`` to that with ``high``.

        Args:
          low: a number, or for a category the name of a value.
          high: the same; its cell is included.

        >>> cells = (("a", "b", "c"),), (None,), (4.0, 2.0, 1.0)
        >>> counts = RangeHistogram(("x",), *cells, 1.0, 2.0, 0.95, (1,), 1.0, False, True)
        >>> counts.range("a", "b").value, round(counts.range("a", "b").noise_std, 3)
        (6.0, 1.414)
        """
        first, last = self._cell("low", low), self._cell("high", high)
        if first > last:
            raise ArgumentError(f"high must not be below low, got {low!r} and {high!r}.")
        tree = RangeTree(len(self.counts), self.widths, self.known_total)
        variance = tree.variance(np.array([first]), np.array([last + 1]))
        std = self.block_std * math.sqrt(float(variance[0]))
        return Scalar(
            name=f"records with {self.columns[0]} in {self._span(first, last)}",
            value=math.fsum(self.counts[first : last + 1]),
            half_width=range_half_width(
                tree,
                first,
                last + 1,
                block_std=self.block_std,
                normal=self.normal,
                level=self.level,
            ),
            level=self.level,
            noise_std=std,
            unit="records",
            range=(0.0, None),
            method="tree" if len(self.widths) > 1 else "cells",
            why=f"{len(self.widths)} levels of counts",
            compared=(),
        )

    def _cell(self, name: str, value: Any) -> int:
        labels, edges = self.labels[0], self.edges[0]
        if edges is None and str(value) in labels:
            return labels.index(str(value))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if edges is None or not number or not edges[0] <= value <= edges[-1]:
            ends = f"{labels[0]} to {labels[-1 if edges is None else len(edges) - 2]}"
            raise ArgumentError(f"{name} must lie in the cells {ends}, got {value!r}.")
        return int(np.searchsorted(np.asarray(edges[1:-1]), value, side="right"))

    def _span(self, first: int, last: int) -> str:
        labels = self.labels[0]
        return labels[first] if first == last else f"{labels[first]} to {labels[last]}"
