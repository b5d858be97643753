"""From noisy sums to noisy means, when the number of records is public and when it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms import Noise
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray


@dataclass(frozen=True)
class NoisyMean:
    """Noisy means, the interval of all means the noise allows, and the noise's size."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    std: float

    @property
    def half_width(self) -> float:
        """The greatest distance from a value to an end of its interval."""
        return float(np.max(np.maximum(self.high - self.values, self.values - self.low)))

    @property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The intervals as plain numbers: their lower ends, their upper ends."""
        return tuple(self.low.tolist()), tuple(self.high.tolist())

    def within(self, low: FloatArray | float, high: FloatArray | float) -> NoisyMean:
        """Return the means and their intervals clipped to where the exact means are known to lie.

        Guarantees:
          - No mean is further from the exact one than before, and an interval that held it still does:
            clipping to an interval moves no number away from one inside. [feasible]
        """
        values, below, above = (np.clip(x, low, high) for x in (self.values, self.low, self.high))
        return NoisyMean(values, below, above, self.std)

    def moved(self, by: FloatArray, wider: FloatArray | float = 0.0) -> NoisyMean:
        """Return all of it moved, with intervals that reach further."""
        return NoisyMean(self.values + by, self.low + by - wider, self.high + by + wider, self.std)


def noisy_mean(
    noisy_sums: FloatArray,
    noise: Noise,
    *,
    rows: int | None,
    noisy_size: float | None = None,
    size_noise: Noise | None = None,
    region: Box,
    level: float,
    summed: bool = False,
) -> NoisyMean:
    """Divide noisy sums by the number of records, public (``rows``) or noisy itself.

    Args:
      noisy_sums: released sums, measured from the middle of ``region``.
      noise: on the sums.
      rows: the public number of records, or None.
      noisy_size: the released number of records, if it is private.
      size_noise: on ``noisy_size``.
      region: where a mean lies.
      level: the intervals hold with this probability, each of them.
      summed: whether a value is a sum of several noisy ones, with weights of length one.
    """
    half_width = noise.half_width_of_sums if summed else noise.half_width
    if rows is not None:
        size, size_band, sum_band = float(rows), 0.0, half_width(level)
    else:
        assert noisy_size is not None and size_noise is not None
        size, size_band = noisy_size, size_noise.half_width(0.5 + level / 2)
        sum_band = half_width(0.5 + level / 2)
    middle = region.low / 2 + region.high / 2
    mean, std = middle + noisy_sums / max(size, 1.0), noise.std / max(size, 1.0)
    if size - size_band <= 0:
        whole = [np.full(len(mean), end) for end in region.limits]
        return NoisyMean(mean, whole[0], whole[1], std)
    low, high = quotient_ends(noisy_sums, sum_band, size, size_band)
    return NoisyMean(mean, middle + low, middle + high, std)


def quotient_ends(
    sums: FloatArray, sum_band: float | FloatArray, size: float, size_band: float
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest quotient of sums and a size known to within bands.

    The size must exceed its band.
    """
    ends = [(sums + a) / (size + b) for a in (-sum_band, sum_band) for b in (-size_band, size_band)]
    return np.min(ends, axis=0), np.max(ends, axis=0)
