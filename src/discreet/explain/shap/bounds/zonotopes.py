"""How long a sum of bounded multiples of given vectors can be: bounds in L1, L2 and Linf.

Attributions are linear in the values of the coalitions, and each value moves in an interval of its own.
So what one record can do to them is a *zonotope*, the set of all sums of t_k g_k with every t_k between
-1 and 1, where g_k is the operator's column of coalition k times how far that value can move.

* Linf: the greatest sum of absolute values over a coordinate; attained.
* L1: the greatest sum_k |s . g_k| over sign vectors s; tried out for a few coordinates, else from L2.
* L2: for any positive numbers e_k, Cauchy and Schwarz give

      |sum t_k g_k|^2 <= lambda (e_1 + ... + e_K),   lambda the top eigenvalue of sum g_k g_k' / e_k,

  and the best e_k lose less than a factor of sqrt(pi / 2) (Nesterov 1998). Any e_k prove a bound; a few
  steps of a fixed-point iteration find good ones.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.privacy.certificate import Bounds
from discreet.schema import FloatArray

_SIGNS_UP_TO = 12
_STEPS = 20
_SAFE = 1 + 1e-9
"""Far more than the rounding of a sum or of an eigenvalue of a well-scaled matrix of this size."""


def zonotope_bounds(generators: FloatArray) -> Bounds:
    """Return the extent of all sums of t_k g_k, abs(t_k) <= 1; ``generators`` has a column per vector.

    Guarantees:
      - Linf is exact; L1 is exact for up to 12 coordinates; L2 is an upper bound. [shap-masks]
    """
    size = len(generators)
    live = generators[:, np.any(generators != 0.0, axis=0)]
    if not live.size:
        return Bounds(0.0, 0.0, 0.0)
    l2 = greatest_length(live)
    l1 = _greatest_sum(live) if size <= _SIGNS_UP_TO else float(np.abs(live).sum())
    linf = float(np.abs(live).sum(axis=1).max())
    return Bounds(l1 * _SAFE, l2, linf * _SAFE).tightened(size)


def greatest_length(generators: FloatArray) -> float:
    """Return an upper bound on the Euclidean length of all sums of t_k g_k, abs(t_k) <= 1.

    Guarantees:
      - At most the sum of the lengths of g_k; within sqrt(pi/2) of the truth at the best
        e_k. [shap-masks]
    """
    scale = float(np.abs(generators).max())
    columns = generators / scale
    best = float(np.linalg.norm(columns, axis=0).sum())
    # The dual variable: a positive matrix of trace 1. e_k^2 = g_k' X g_k is optimal for given X.
    dual = np.eye(len(columns)) / len(columns)
    for _ in range(_STEPS):
        shares = np.sqrt(np.maximum(((dual @ columns) * columns).sum(axis=0), 0.0))
        shares = np.maximum(shares, 1e-12 * shares.max())
        moment = (columns / shares) @ columns.T
        eigenvalues, axes = np.linalg.eigh(moment)
        best = min(best, math.sqrt(max(eigenvalues[-1], 0.0) * shares.sum()))
        root = (axes * np.sqrt(np.maximum(eigenvalues, 0.0))) @ axes.T
        dual = root @ dual @ root
        dual /= np.trace(dual)
    return best * scale * _SAFE


def shifted_bounds(radius: Bounds, shift: FloatArray) -> Bounds:
    """Return the extent of a set within ``radius`` of the point ``shift``, measured from zero."""
    size = np.abs(shift)
    return Bounds(
        (radius.l1 + float(size.sum())) * _SAFE,
        (radius.l2 + float(np.linalg.norm(size))) * _SAFE,
        (radius.linf + float(size.max(initial=0.0))) * _SAFE,
    ).tightened(len(shift))


def scaled_bounds(bounds: Bounds, factor: float) -> Bounds:
    """Return the extent of the set stretched by a factor that is not negative."""
    return Bounds(bounds.l1 * factor * _SAFE, bounds.l2 * factor * _SAFE, bounds.linf * factor * _SAFE)


def least_bounds(first: Bounds, second: Bounds) -> Bounds:
    """Return what holds if both hold."""
    return Bounds(min(first.l1, second.l1), min(first.l2, second.l2), min(first.linf, second.linf))


def greatest_bounds(first: Bounds, second: Bounds) -> Bounds:
    """Return what holds if either of them holds."""
    return Bounds(max(first.l1, second.l1), max(first.l2, second.l2), max(first.linf, second.linf))


def _greatest_sum(generators: FloatArray) -> float:
    """Return the greatest sum_k |s . g_k| over all sign vectors s (s and -s give the same)."""
    size = len(generators)
    bits = np.arange(2 ** (size - 1))[:, None] >> np.arange(size)
    signs = 1.0 - 2.0 * (bits & 1)
    parts = (signs[start : start + 64] for start in range(0, len(signs), 64))
    return max(float(np.abs(part @ generators).sum(axis=1).max()) for part in parts)
