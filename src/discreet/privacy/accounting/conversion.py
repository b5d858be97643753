"""From noise to (epsilon, delta) and back: the curves behind calibration.

Every function returns a bound that errs towards more loss. References: Balle and Wang (2018),
Theorem 8 [gauss-analytic]; Canonne, Kamath, Steinke (2020), Corollary 13 [zcdp-conversion] and
Theorem 15 (discrete Gaussian vectors) [gauss-zcdp].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.numerics import check_positive, down, up

_RELATIVE_ERROR = 1e-12
"""Relative error allowed for the special functions below: far out in the tails, where they are
worst, they lose 5e-13."""

_LEAST = 1e-300
"""No delta of noise is stated below this, where floats run out of digits."""


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """Return delta of Gaussian noise with standard deviation ``multiplier`` times the L2 bound.

    Guarantees:
      - Continuous Gaussian noise is (epsilon, delta)-differentially private. [gauss-analytic]
    """
    from scipy.special import log_ndtr, ndtr

    near = 0.5 / multiplier - epsilon * multiplier
    far = -0.5 / multiplier - epsilon * multiplier
    first = float(ndtr(near))
    second = math.exp(min(epsilon + float(log_ndtr(far)), 0.0))
    return min(1.0, max(first - second, 0.0) + _RELATIVE_ERROR * first + _LEAST)


def gaussian_deltas(epsilons: NDArray[np.float64], multiplier: float) -> NDArray[np.float64]:
    """Return what ``gaussian_delta``, of which proofs are read, does for every epsilon at once."""
    from scipy.special import log_ndtr, ndtr

    near = 0.5 / multiplier - epsilons * multiplier
    far = -0.5 / multiplier - epsilons * multiplier
    first = ndtr(near)
    second = np.exp(np.minimum(epsilons + log_ndtr(far), 0.0))
    found: NDArray[np.float64] = np.maximum(first - second, 0.0) + _RELATIVE_ERROR * first + _LEAST
    return np.minimum(found, 1.0)


def zcdp_delta(epsilon: float, rho: float) -> float:
    """Return delta of a rho-zCDP mechanism at ``epsilon``.

    Guarantees:
      - Any mechanism that is rho-zCDP is (epsilon, delta)-differentially private. [zcdp-conversion]
    """
    if rho == 0:
        return 0.0
    orders, excess, excess_logs, rest = _orders()
    logs = excess * (orders * rho - epsilon) - excess_logs + rest
    return min(1.0, math.exp(min(float(logs.min()), 0.0)) * (1 + _RELATIVE_ERROR) + _LEAST)


@lru_cache(maxsize=1)
def _orders() -> tuple[NDArray[np.float64], ...]:
    """Return Rényi orders and what the conversion needs of them besides rho and epsilon.

    Every order above 1 gives a valid bound, so a fine grid of them needs no optimality.
    """
    orders = 1.0 + np.geomspace(1e-6, 1e8, 4000)
    excess = orders - 1.0
    return orders, excess, np.log(excess), orders * np.log1p(-1.0 / orders)


def zcdp_epsilon(delta: float, rho: float) -> float:
    """Return the least epsilon (rounded up) at which a rho-zCDP mechanism has ``delta``."""
    check_positive("delta", delta)
    high = 1.0
    while zcdp_delta(high, rho) > delta:
        high *= 2
    return _least(lambda epsilon: zcdp_delta(epsilon, rho) <= delta, 0.0, high)


@lru_cache(maxsize=1024)
def rho_worth(rho: float, delta: float) -> float:
    """Return the epsilon that a rho is worth at ``delta``, taken by itself; rounded up.

    Guarantees:
      - Whatever is rho-zCDP is (epsilon, delta)-differentially private. [zcdp-conversion]
    """
    return 0.0 if rho == 0 else zcdp_epsilon(delta, rho)


@lru_cache(maxsize=1024)
def zcdp_budget(epsilon: float, delta: float) -> float:
    """Return a rho (rounded down) whose composition keeps (epsilon, delta)."""
    low, high = 0.0, epsilon
    for _ in range(200):
        middle = 0.5 * (low + high)
        if zcdp_delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return max(down(low), 0.0)


def pure_rho(epsilon: float) -> float:
    """Return the zCDP cost of any pure mechanism: epsilon * tanh(epsilon / 2) [pure-zcdp]."""
    return up(epsilon * math.tanh(epsilon / 2))


def bounded_range_rho(epsilon: float) -> float:
    """Return the zCDP cost of the exponential mechanism: epsilon^2 / 8 [exponential-zcdp]."""
    return up(epsilon * epsilon / 8)


def pure_delta(epsilon: float, pure: float) -> float:
    """Return delta at ``epsilon`` of any mechanism that is ``pure``-differentially private."""
    if epsilon >= pure:
        return 0.0
    # Randomised response dominates every pure mechanism (Kairouz, Oh, Viswanath 2015, Lemma 2.5).
    return up(-math.expm1(epsilon - pure) / (1.0 + math.exp(-pure)))


def _least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """Bisect for the least value that is enough; the returned value itself was tested."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
