"""How wide the band of a sum over a range is: the exact quantile where noise is whole numbers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.schema import FloatArray
from discreet.tables.histogram.range_tree import RangeTree

_SMOOTH = 20.0
"""From this deviation on, whole numbers are as good as a density."""

_ROUNDING = 1e-6
"""What floats may add to a sum of counts, in records."""


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
    reach = math.ceil(12 * std * math.sqrt(max(terms, 1)) + 40)
    offsets = np.arange(-reach, reach + 1)
    if normal:
        weights = np.exp(-0.5 * (offsets / std) ** 2)
    else:  # the deviation of discrete Laplace noise is 1 / (sqrt(2) sinh(1 / (2 scale)))
        weights = np.exp(-np.abs(offsets) * 2 * math.asinh(1 / (math.sqrt(2) * std)))
    turned = np.fft.rfft(np.fft.ifftshift(weights / weights.sum()))
    law = np.fft.fftshift(np.fft.irfft(turned**terms, len(offsets)))
    return offsets.astype(np.float64), np.maximum(law, 0.0)
