"""The lattice sums are taken on: fine for the noise, coarse enough for 64 bits."""

from __future__ import annotations

import math

_FINEST = 2.0**-46
"""A step is no finer than this share of the noise, so that noise scales stay below 2^50 steps."""

_LARGEST_SUM = 2.0**61
"""A sum of contributions stays below this many steps."""


def lattice_step(noise: float, largest_sum: float) -> float:
    """Return a power of two that is fine for the noise and keeps sums inside 64 bits."""
    least = max(noise * _FINEST, largest_sum / _LARGEST_SUM)
    return math.ldexp(1.0, math.frexp(least)[1])
