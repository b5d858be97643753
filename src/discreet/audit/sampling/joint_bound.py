"""A lower bound on epsilon from two counts at once, tighter than two intervals side by side.

Two intervals allow for the worst of both counts together, which hardly ever happens. Here both counts
are tested at once: for every share q of the event on the other side that its own count leaves possible,
and the greatest share that epsilon allows on this side, the normal scores of two exact binomial tests
are added with weights that were fixed before (Stouffer 1949). Shares q that the count rules out are
paid for by a part of the error (Berger and Boos 1994).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.audit.sampling.intervals import FloatArray, epsilon_bounds, lower_share, upper_share

_LEFT_OUT = 0.1
"""The part of the error that pays for shares which the other side's count rules out."""

_CELLS = 400
_GREATEST = 60.0

_MORE = 1.5
"""More than the share of the variance, which would be best if binomial laws were normal."""

_LEAST_WEIGHT, _GREATEST_WEIGHT = 0.05, 0.9


@dataclass(frozen=True)
class TwoCounts:
    """How often an event happened on either side.

    Args:
      hits: runs in the event on the side where it is more frequent.
      runs: all runs on that side.
      other_hits: runs in the event on the other side.
      other_runs: all runs on that side.
    """

    hits: int
    runs: int
    other_hits: int
    other_runs: int


def joint_epsilon_bound(counts: TwoCounts, *, weight: float, delta: float, error: float) -> float:
    """Return what epsilon exceeds, except with probability ``error``; zero if nothing is proven.

    Args:
      counts: of an event that was chosen without them.
      weight: of the first count in the sum of normal scores, from 0 to 1, fixed without them; best is
        its share of the variance of the logarithm of the ratio.
      delta: of the promise.
      error: the chance to be wrong.

    Guarantees:
      - For every epsilon that is true, the normal scores of the two exact tests at the true share have
        tails no heavier than independent normal ones, so that their weighted sum is as large as asked
        for with probability at most the error, less what pays for shares that are ruled out. Between
        two shares on a grid the lesser score of either end is taken.

    >>> counts = TwoCounts(500, 1000, 184, 1000)
    >>> 0.8 < joint_epsilon_bound(counts, weight=0.2, delta=0.0, error=0.05) < math.log(500 / 184)
    True
    """
    from scipy.special import ndtri

    ruled_out = _LEFT_OUT * error
    wanted = -float(ndtri(error - ruled_out))
    edges = np.linspace(
        float(lower_share(counts.other_hits, counts.other_runs, ruled_out / 2)),
        float(upper_share(counts.other_hits, counts.other_runs, ruled_out / 2)),
        _CELLS + 1,
    )
    weights = math.sqrt(weight), math.sqrt(1 - weight)
    # The other count is the more surprising, the greater its share: its lower end is the lesser score.
    other = weights[1] * _score_of_few(counts.other_hits, counts.other_runs, edges[:-1])

    def rejected(epsilon: float) -> bool:
        allowed = np.minimum(math.exp(epsilon) * edges[1:] + delta, 1.0)
        with np.errstate(invalid="ignore"):  # of two infinite scores nothing is known: not rejected
            scores = weights[0] * _score_of_many(counts.hits, counts.runs, allowed) + other
        return bool(np.all(scores >= wanted))

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, _GREATEST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def weight_for(share: float, other: float, delta: float) -> float:
    """Return a good weight for an event with about these shares."""
    over = max(share - delta, 1e-12)
    variances = share * (1 - share) / over**2, (1 - other) / max(other, 1e-12)
    part = variances[0] / (sum(variances) or 1.0)
    return min(max(_MORE * part, _LEAST_WEIGHT), _GREATEST_WEIGHT)


def epsilon_bound(counts: TwoCounts, *, weight: float, delta: float, error: float) -> float:
    """Return what epsilon exceeds, except with probability ``error``; zero if nothing is proven.

    Args:
      counts: of an event that was chosen without them.
      weight: of the first count if both are tested at once; 0 for two intervals side by side, which
        are better where one share is nearly one or zero. It must be fixed without the counts.
      delta: of the promise.
      error: the chance to be wrong.
    """
    if weight > 0:
        return joint_epsilon_bound(counts, weight=weight, delta=delta, error=error)
    sides = counts.hits, counts.runs, counts.other_hits, counts.other_runs
    return max(0.0, float(epsilon_bounds(*sides, delta=delta, error=error)))


def _score_of_many(hits: int, runs: int, shares: FloatArray) -> FloatArray:
    """Return the normal score of the chance of at least so many hits at each share."""
    from scipy.special import betainc, ndtri

    if hits == 0:
        return np.full(len(shares), -np.inf)
    return np.asarray(-ndtri(betainc(hits, runs - hits + 1, shares)))


def _score_of_few(hits: int, runs: int, shares: FloatArray) -> FloatArray:
    """Return the normal score of the chance of at most so many hits at each share."""
    from scipy.special import betaincc, ndtri

    if hits == runs:
        return np.full(len(shares), -np.inf)
    return np.asarray(-ndtri(betaincc(hits + 1, runs - hits, shares)))
