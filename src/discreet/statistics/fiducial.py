"""Intervals of what is computed from noisy sums: by drawing the noise again.

The exact sums are the noisy ones less noise whose law is public. So the exact statistic is spread, as
far as anybody can know, as the statistic of the noisy sums less fresh draws of that noise, and its
interval lies between quantiles of those. That is exact for what is linear in the sums, and close to it
where noise is small beside them; a hundredth is added to the level for what is not.
"""

from __future__ import annotations

import numpy as np

from discreet.mechanisms import Noise
from discreet.randomness import public_generator
from discreet.schema import FloatArray

DRAWS = 2_000
_SEED = 16
_MARGIN = 0.01
_FEW = 0.01
"""More draws than this share without a statistic, and nothing is known of it."""


def plausible_sums(noisy_sums: FloatArray, noise: Noise, draws: int = DRAWS) -> FloatArray:
    """Return sums that may be the exact ones, drawn with a public seed."""
    drawn = noise.simulate(public_generator(_SEED), draws, len(noisy_sums))
    return np.asarray(noisy_sums - drawn)


def ends_of(draws: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return between which ends statistics lie; infinite where too many draws have none."""
    outside = (1 - level - _MARGIN) / 2
    lost = np.isnan(draws).mean(axis=0) > _FEW
    known = np.where(np.isnan(draws), 0.0, draws)
    low, high = np.quantile(known, [outside, 1 - outside], axis=0)
    return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)


def ends_of_all(values: FloatArray, draws: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return ends between which all statistics lie at once: their deviations are measured alike."""
    lost = np.isnan(draws).mean(axis=0) > _FEW
    known = np.where(np.isnan(draws), values, draws)
    spread = np.maximum(known.std(axis=0), np.finfo(float).tiny)
    farthest = np.quantile(np.max(np.abs(known - values) / spread, axis=1), level + _MARGIN)
    half = np.where(lost, np.inf, farthest * spread)
    return values - half, values + half
