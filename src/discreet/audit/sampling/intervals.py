"""Exact intervals for shares, and the privacy losses that they prove.

A mechanism that is (epsilon, delta)-differentially private has P(E | first) <= exp(epsilon)
P(E | second) + delta for every event E that was fixed before the samples were seen. So a lower bound on
the one share (Clopper and Pearson 1934) and an upper bound on the other bound epsilon from below
(Jagielski, Ullman and Oprea 2020).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.privacy.accounting.conversion import gaussian_delta

FloatArray = NDArray[np.float64]
Counts = Any
"""Whole numbers, or arrays of them."""


def check_confidence(confidence: object) -> None:
    """Raise unless it is a confidence that a bound can have."""
    number = float(confidence) if isinstance(confidence, Real) else math.nan
    if isinstance(confidence, bool) or not 0 < number < 1:
        raise ArgumentError(
            f"confidence must be above 0 and below 1, got {shown(confidence)}. 0.95 is usual."
        )


def lower_share(hits: Counts, runs: Counts, error: float) -> FloatArray:
    """Return what a share exceeds, except with probability ``error`` (Clopper and Pearson 1934).

    >>> round(float(lower_share(50, 100, 0.025)), 4)
    0.3983
    """
    from scipy.special import betaincinv

    hits, runs = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 0.5), runs - hits + 1, error)
    return np.where(hits > 0, found, 0.0)


def upper_share(hits: Counts, runs: Counts, error: float) -> FloatArray:
    """Return what a share does not exceed, except with probability ``error``.

    >>> round(float(upper_share(50, 100, 0.025)), 4)
    0.6017
    """
    hits, runs = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    return np.asarray(1.0 - lower_share(runs - hits, runs, error))


def epsilon_bounds(
    hits: Counts, runs: int, other_hits: Counts, other_runs: int, *, delta: float, error: float
) -> FloatArray:
    """Return what epsilon exceeds, except with probability ``error``; negative if nothing is proven.

    Args:
      hits: runs on one side that were in the event.
      runs: all runs on that side.
      other_hits: runs on the other side that were in the event.
      other_runs: all runs on that side.
      delta: of the promise.
      error: the chance to be wrong, shared evenly by the two intervals.

    Guarantees:
      - For an event that was chosen without these runs, epsilon is below the bound with probability at
        most ``error``, whatever the mechanism is.
    """
    above = lower_share(hits, runs, error / 2) - delta
    below = upper_share(other_hits, other_runs, error / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(above, 0.0)) - np.log(below))


def mu_bounds(
    hits: Counts, runs: int, other_hits: Counts, other_runs: int, *, error: float
) -> FloatArray:
    """Return what mu of Gaussian differential privacy exceeds, except with probability ``error``.

    A mu-Gaussian private mechanism has normal quantiles of the two shares at most mu apart (Dong, Roth
    and Su 2022).
    """
    from scipy.special import ndtri

    above = ndtri(lower_share(hits, runs, error / 2))
    return np.asarray(above - ndtri(upper_share(other_hits, other_runs, error / 2)))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the least epsilon at ``delta`` of the Gaussian mechanism with this mu.

    >>> round(epsilon_of_mu(1.0, 1e-5), 3)
    4.377
    """
    if mu <= 0 or gaussian_delta(0.0, 1 / mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, 1 / mu) > delta:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, 1 / mu) > delta else (low, middle)
    return low
