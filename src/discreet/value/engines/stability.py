"""How far one record moves the score of a refitted model: stability of penalised linear fits.

A coalition of k records is fitted by minimising (1/k) sum l(x.w; y) + lambda |w|^2, where l is convex
in x.w with slope at most L, and rows have norm at most kappa. With scikit-learn's C or alpha held fixed
lambda falls like 1/k and nothing decays with the size of the coalition; so C is 1 / (2 lambda k), alpha
is lambda k. An intercept that is not penalised has no such bound: it becomes a constant column.

Reference: Bousquet, Elisseeff (2002), "Stability and Generalization", whose removal keeps the factor
1/m; ours rescales it, which doubles the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, up
from discreet.schema import FloatArray

Bound = Callable[[Any], FloatArray]


@dataclass(frozen=True)
class Stability:
    """Bounds on what one record does to a utility, by the size k of the coalition.

    Attributes:
      removal: bounds abs(v(C + i) - v(C)) for C of k records.
      replacement: bounds abs(v(C) - v(C')) for C of k records, one of which is another in C'.
      claimed: whether they are a caller's claim instead of a proof.
    """

    removal: Bound
    replacement: Bound
    claimed: bool = False


def stable_fits(
    *,
    l2_penalty: float,
    lipschitz: float,
    row_clip: float,
    score_lipschitz: float,
    width: float,
    tolerance: float = 0.0,
) -> Stability:
    """Return the stability of a mean score of a penalised linear model.

    Args:
      l2_penalty: lambda, in the mean of losses.
      lipschitz: L, greatest slope of the loss in x.w.
      row_clip: kappa, greatest norm of a row, constant column included.
      score_lipschitz: greatest slope of the score of one test row in x.w.
      width: of the range of scores; no bound exceeds it.
      tolerance: how far fitted weights may be from the minimum.

    Guarantees:
      - Replacing one of k records moves the weights by at most G / (lambda k), adding one by at most
        G / (lambda (k + 1)), G = L kappa, and a score by its slope times kappa times that.
        [stability-replace]
    """
    for name, value in (("l2_penalty", l2_penalty), ("row_clip", row_clip), ("width", width)):
        check_positive(name, value)
    per_distance, moved = score_lipschitz * row_clip, lipschitz * row_clip / l2_penalty

    def capped(distance: FloatArray) -> FloatArray:
        # Both fits are within the tolerance of their minima.
        return np.minimum(width, up(1.0) * per_distance * (distance + 2 * tolerance))

    def removal(size: Any) -> FloatArray:
        k = np.asarray(size, dtype=np.float64)
        # The value of nobody is a number of its own, not a fit.
        return np.where(k > 0, capped(moved / (k + 1)), width)

    def replacement(size: Any) -> FloatArray:
        k = np.asarray(size, dtype=np.float64)
        return np.where(k > 0, capped(moved / np.maximum(k, 1.0)), 0.0)

    return Stability(removal, replacement)


def least_squares_slope(l2_penalty: float, row_clip: float, target_clip: float) -> float:
    """Return the greatest slope of the squared error where the fit can be.

    The minimum is no worse than w = 0, so |w|^2 <= B^2 / lambda for targets within [-B, B].
    """
    return 2 * (target_clip + row_clip * greatest_weights(l2_penalty, target_clip))


def greatest_weights(l2_penalty: float, target_clip: float) -> float:
    """Return a bound on the norm of least-squares weights."""
    return target_clip / float(np.sqrt(l2_penalty))


def claimed_stability(removal: Bound, replacement: Bound) -> Stability:
    """Return a stability that the caller vouches for: nothing here can check it."""
    for name, bound in (("removal", removal), ("replacement", replacement)):
        said = np.asarray(bound(np.arange(1.0, 5.0)), dtype=np.float64)
        if said.shape != (4,) or not (np.isfinite(said) & (said >= 0)).all():
            raise ArgumentError(
                f"{name} must return a finite bound of at least 0 for every size, got {said!r}."
            )
    return Stability(removal, replacement, claimed=True)
