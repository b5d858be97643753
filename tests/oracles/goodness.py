"""Goodness of fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from scipy.stats import chi2

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
