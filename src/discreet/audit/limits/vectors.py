"""Means of vectors: d numbers at once, each between -1 and 1.

Pure promises pay for every coordinate (packing), approximate ones for the root of their number
(fingerprinting). The constants are those of the proofs below.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from discreet.audit.limits.groups import group_delta, least_mean_error
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.schema import FloatArray

ErrorNorm = Literal["l1", "l2", "linf"]

_LOG_BALLS = {
    "l1": lambda d: d * math.log(2.0) - math.lgamma(d + 1),
    "l2": lambda d: 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1),
    "linf": lambda d: d * math.log(2.0),
}
"""Logarithms of the volumes of unit balls."""

_FLAT = 2.0 / 3.0
"""The mean of 1 - p^2, and twice the mean of p^2, of p uniform between -1 and 1."""


def least_packed_error(
    rows: int, columns: int, epsilon: float, delta: float = 0.0, *, norm: ErrorNorm = "l1"
) -> float:
    """Return the least mean error, in a norm, of a private mean of ``rows`` vectors.

    World w, a vector with greatest coordinate |w| <= m <= n, has ceil(|w|) records w / ceil(|w|) and
    zeros else: its mean is w / n, and so many replacements take it to the world of zeros, of law Q.
    Draw w with density c e^(-eps ceil|w|). The chance that M is within t of w, in steps of 1 / n, is

        integral of c e^(-eps ceil|w|) P_w(B_t(w)) dw <= c t^d vol(B_1) + d_m

    by P_w(B) <= e^(eps ceil|w|) Q(B) + delta_ceil|w|, with d_m the mean of the deltas, and since the
    integral of Q(B_t(w)) over all w is t^d vol(B_1). So the mean error over the worlds, and that of the
    worst, is at least the integral of 1 - d_m - c t^d vol(B_1) where it is positive:
    (1 - d_m) d / (d + 1) ((1 - d_m) / (c vol(B_1)))^(1/d). The best m is taken; n if delta is zero.
    """
    _check(rows, columns, epsilon, delta)
    shells = np.arange(1, _farthest_shell(rows, columns, epsilon) + 1, dtype=np.float64)
    worlds = _log_shells(shells, columns, epsilon)
    total = np.logaddexp.accumulate(worlds)
    lost = np.zeros(len(shells))
    if delta > 0:
        deltas = [group_delta(epsilon, delta, int(shell)) for shell in shells]
        with np.errstate(divide="ignore"):
            lost = np.exp(np.logaddexp.accumulate(worlds + np.log(deltas)) - total)
    kept = np.maximum(0.0, 1.0 - lost)
    with np.errstate(divide="ignore"):
        within = np.exp((total + np.log(kept) - _LOG_BALLS[norm](columns)) / columns)
    return float((kept * within).max()) * columns / (columns + 1) / rows


def least_coordinate_error(rows: int, columns: int, epsilon: float) -> float:
    """Return the least mean absolute error of a coordinate, on average over all, pure promises.

    The better of two: packing, and one column by itself.
    """
    packed = least_packed_error(rows, columns, epsilon, norm="l1") / columns
    return max(packed, least_mean_error(rows, epsilon))


def least_packed_root(rows: int, columns: int, epsilon: float, delta: float) -> float:
    """Return the least root mean squared error of a coordinate, on average over all.

    The mean of a length is at most the root of the mean of its square.
    """
    packed = least_packed_error(rows, columns, epsilon, delta, norm="l2")
    return packed / math.sqrt(columns)


def least_fingerprint_error(rows: int, columns: int, epsilon: float, delta: float) -> float:
    """Return the least root mean squared error of a coordinate of an (epsilon, delta)-private mean.

    Draw p_j uniform between -1 and 1 for every column and n records of independent signs with these
    means. Let M be clipped to [-1, 1], g_j(p) its mean, alpha its root mean squared error. By parts

        E[M_j sum_i (x_ij - p_j)] = E[g_j'(p_j) (1 - p_j^2)] = 2 E[p_j g_j] >= 2/3 - (2 / sqrt 3) alpha

    (the middle: p is uniform; the last: 2 p g = 2 p^2 + 2 p (g - p), E p^2 = 1/3, Cauchy-Schwarz, and
    (g - p)^2 <= E (M - mean)^2). So the scores Z_i = sum_j M_j (x_ij - p_j) have together a mean of at
    least d times that. With record i replaced by a fresh one, Z_i' has mean zero and

        E |Z_i'| <= sqrt(d) (sqrt(E[mean_j^2 (1 - p_j^2)]) + alpha),  E[...] = 2/15 + 8/(15 n)

    and E Z_i <= e^eps E Z_i'+ - e^-eps E Z_i'- + 2 d (1 + e^-eps) delta, since |Z| <= 2 d, of which the
    first two are sinh(eps) E |Z_i'|. Put together and solved for alpha. It holds for any n' <= n of the
    records, each k times (k eps and delta_k for one of them), if the others are constant: alpha is
    n' k / n times that of n', and the best n' and k are taken.

    After Bun, Ullman and Vadhan (2014), Dwork, Smith, Steinke, Ullman and Vadhan (2015).
    """
    _check(rows, columns, epsilon, delta)
    best = 0.0
    for copies in _geometric_up_to(rows):
        for signs in _geometric_up_to(rows // copies):
            found = _fingerprint(signs, columns, copies * epsilon, group_delta(epsilon, delta, copies))
            best = max(best, found * signs * copies / rows)
    return best


def least_root_mean_square(rows: int, columns: int, epsilon: float, delta: float) -> float:
    """Return the best of three: one column by itself, packing, fingerprints."""
    return max(
        least_mean_error(rows, epsilon, delta),
        least_packed_root(rows, columns, epsilon, delta),
        least_fingerprint_error(rows, columns, epsilon, delta),
    )


def _fingerprint(rows: int, columns: int, epsilon: float, delta: float) -> float:
    """Return the bound for all records at once; zero where it says nothing."""
    if epsilon > 50.0 or delta >= 1.0:
        return 0.0
    told = rows * math.sinh(epsilon) / math.sqrt(columns)
    slack = 2.0 * rows * delta * (1.0 + math.exp(-epsilon))
    spread = math.sqrt(2.0 / 15.0 + 8.0 / (15.0 * rows))
    rest = _FLAT - told * spread - slack
    return max(0.0, rest) / (2.0 / math.sqrt(3.0) + told)


def _geometric_up_to(most: int) -> list[int]:
    """Return whole numbers up to ``most``, all small ones and ever fewer of the large."""
    found, number = [], 1
    while number <= most:
        found.append(number)
        number = max(number + 1, int(number * 1.1))
    return found


def _farthest_shell(rows: int, columns: int, epsilon: float) -> int:
    """Return beyond which distance worlds add nothing any more."""
    return min(rows, math.ceil((columns + 40.0 * math.sqrt(columns) + 60.0) / epsilon))


def _log_shells(shells: FloatArray, columns: int, epsilon: float) -> FloatArray:
    """Return the logarithm of the integral of e^(-eps ceil|w|) over every shell between two cubes."""
    with np.errstate(divide="ignore"):
        inner = columns * np.log1p(-1.0 / shells)  # minus infinity for the innermost cube
    return np.asarray(-epsilon * shells + columns * np.log(2.0 * shells) + np.log(-np.expm1(inner)))


def _check(rows: int, columns: int, epsilon: float, delta: float) -> None:
    check_whole("rows", rows, 1)
    check_whole("columns", columns, 1)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
