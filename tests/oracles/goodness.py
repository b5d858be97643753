"""Goodness of fit, and what of one sample another could never have held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

FloatArray = NDArray[np.float64]

NEVER = 1e-10
"""An honest sampler falls below this p-value once in ten thousand million runs."""

_LEAST_EXPECTED = 25.0


def p_value(sample: Iterable[Hashable], law: Mapping[Hashable, float]) -> float:
    """Return the chi-square p-value; rare outcomes, and those the law does not list, share a cell."""
    seen = Counter(sample)
    size = seen.total()
    common = [outcome for outcome, share in law.items() if share * size >= _LEAST_EXPECTED]
    observed = [seen[outcome] for outcome in common]
    expected = [law[outcome] * size for outcome in common]
    rest = size - sum(expected)
    if rest >= _LEAST_EXPECTED:
        observed.append(size - sum(observed))
        expected.append(rest)
    elif size > sum(observed):  # outcomes that hardly ever happen: put them into the rarest cell
        rarest = int(np.argmin(expected))
        observed[rarest] += size - sum(observed)
        expected[rarest] += rest
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(chi2.sf(statistic, len(expected) - 1))


def fits(sample: Iterable[Hashable], law: Mapping[Hashable, float]) -> bool:
    return p_value(sample, law) > NEVER


def granularity(values: FloatArray) -> FloatArray:
    """Return, for every float, the greatest power of two of which it is a whole multiple."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    return np.ldexp((whole & -whole).astype(np.float64), exponent - 53)


def impossible_share(outputs: FloatArray, others: FloatArray, low: float, high: float) -> float:
    """Return the share of ``outputs`` in a band that lie off the lattice of ``others`` there."""
    band, other_band = (x[(np.abs(x) >= low) & (np.abs(x) < high)] for x in (outputs, others))
    assert min(len(band), len(other_band)) >= 30  # of 117 expected in the leanest case: 8 sigma
    return float(np.mean(granularity(band) < granularity(other_band).min()))
