"""One count and one mean: what neighbours at a distance cost, step by step.

Neighbours of neighbours are alike too: if k steps take one table to another, a private mechanism M has
P(M(D') in A) <= e^(k epsilon) P(M(D) in A) + delta_k. All bounds of this package start here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.numerics import check_positive, check_probability, check_whole
from discreet.schema import FloatArray

_LONGEST_CHAIN = 500
"""Tables of a chain whose Bayes risk is computed; a longer one would change the third digit."""

_LARGEST_EXPONENT = 700.0


def group_delta(epsilon: float, delta: float, steps: int) -> float:
    """Return delta_k of tables that are ``steps`` replacements apart.

    P_k <= e^eps P_(k-1) + delta, applied k times, adds up to delta (e^(k eps) - 1) / (e^eps - 1).

    >>> group_delta(1.0, 0.0, 9), group_delta(1.0, 1e-6, 1)
    (0.0, 1e-06)
    """
    if delta == 0.0 or steps <= 1:
        return delta * steps
    if steps * epsilon > _LARGEST_EXPONENT:
        return math.inf
    return delta * math.expm1(steps * epsilon) / math.expm1(epsilon)


def two_point_error(epsilon: float, delta: float, steps: int) -> float:
    """Return the least chance to mistake one of two tables for the other, the worse of both.

    Let A be the event that table k is guessed, p_0 = P_0(A) and p_k = P_k(not A). Then
    1 - p_k <= e^(k eps) p_0 + delta_k and 1 - p_0 <= e^(k eps) p_k + delta_k; the sum of both says
    p_0 + p_k >= 2 (1 - delta_k) / (1 + e^(k eps)), so that the greater is at least half of it.

    >>> round(two_point_error(1.0, 0.0, 1), 4)
    0.2689
    """
    if steps * epsilon > _LARGEST_EXPONENT:
        return 0.0
    return max(0.0, 1.0 - group_delta(epsilon, delta, steps)) / (1.0 + math.exp(steps * epsilon))


def least_count_error(rows: int, epsilon: float, delta: float = 0.0) -> float:
    """Return the least mean absolute error of one count among ``rows`` records, in the worst case.

    Pure promises: for every prior the geometric mechanism, read in the light of it, has the least Bayes
    risk (Ghosh, Roughgarden and Sundararajan 2012), and the worst case is no better
    than the mean over a prior. The prior here is uniform on a chain of tables with counts 0, ..., m.

    With a delta: of a table x uniform on the chain, |M - x| > t for all t below k/2 if M is on the
    wrong side of the middle between x and the table k steps away. For each of the m + 1 - k pairs the
    two chances add up to 2 (1 - delta_k) / (1 + e^(k eps)) (``two_point_error``), so that

        E |M - x| = integral of P(|M - x| > t) dt >= sum over k of (1 - k / (m + 1)) two_point_error(k).

    Args:
      rows: n; a count lies between 0 and n.
      epsilon: of the promise.
      delta: of the promise.
    """
    _check(rows, epsilon, delta)
    if delta == 0.0:
        return _geometric_risk(min(rows, _LONGEST_CHAIN), epsilon)
    steps = range(1, min(rows, math.ceil(_LARGEST_EXPONENT / epsilon), 10**6) + 1)
    return math.fsum((1 - k / (rows + 1)) * two_point_error(epsilon, delta, k) for k in steps)


def least_mean_error(rows: int, epsilon: float, delta: float = 0.0) -> float:
    """Return the least mean absolute error of the mean of ``rows`` numbers between -1 and 1.

    Numbers that are -1 or 1 have the mean 2 (count of ones) / n - 1.
    """
    return 2.0 * least_count_error(rows, epsilon, delta) / rows


@lru_cache(maxsize=64)
def _geometric_risk(longest: int, epsilon: float) -> float:
    """Return the Bayes risk of the geometric mechanism under the uniform prior on 0, ..., longest.

    Outputs beyond an end say of x what the end itself says, so that the law may be cut off there.
    """
    counts = np.arange(longest + 1, dtype=np.float64)
    joint = _cut_geometric(counts, epsilon) / (longest + 1)
    away = np.abs(counts[:, None] - counts[None, :])
    return float((away @ joint).min(axis=0).sum())


def _cut_geometric(counts: FloatArray, epsilon: float) -> FloatArray:
    """Return P(output | count), one row per count, what lies beyond the ends moved to them."""
    ratio = math.exp(-epsilon)
    law = ratio ** np.abs(counts[:, None] - counts[None, :]) * (1 - ratio) / (1 + ratio)
    law[:, 0] /= 1 - ratio
    law[:, -1] /= 1 - ratio
    return np.asarray(law)


def _check(rows: int, epsilon: float, delta: float) -> None:
    check_whole("rows", rows, 1)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
