"""The exponential mechanism over many candidates of which long stretches have one score.

A run is a stretch of candidates with one score; the law is that of the exponential mechanism over all
of them, P(run) proportional to size * exp(-behind / scale), and nothing is ever laid out one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.randomness import IntArray, NoiseSource, below_any, is_below_exp

RADIUS = _SHELLS = 64
"""Runs that are at least so many scales behind are proposed together."""

_MARGIN = 1e-9
"""More than floating point loses of a quotient below the number of shells."""


def run_law(scores: IntArray, sizes: IntArray, scale: float) -> FloatArray:
    """Return the exact law of the run that is chosen."""
    weights = sizes * np.exp((scores - scores.max()) / scale)
    return np.asarray(weights / weights.sum())


def draw_run(raw_scores: IntArray, sizes: IntArray, scale: float, source: NoiseSource) -> int:
    """Return a run by the exponential mechanism over all candidates of all runs.

    Guarantees:
      - The law is that of the exponential mechanism, exactly. [runs]
    """
    behind = raw_scores.max() - raw_scores
    shell = np.minimum(np.maximum(behind / scale - _MARGIN, 0.0), _SHELLS).astype(np.int64)
    mass = np.bincount(shell, weights=sizes, minlength=_SHELLS + 1).astype(np.int64)
    # A shell k has weight (3/8)^k, a little more than exp(-k), in whole numbers.
    weights = [int(m) * 3**k * 8 ** (_SHELLS - k) for k, m in enumerate(mass)]
    while True:
        k = _proposed(weights, source)
        members = np.flatnonzero(shell == k)
        upto = np.cumsum(sizes[members])
        place = below_any(int(upto[-1]), source)
        run = int(members[np.searchsorted(upto, place, side="right")])
        if _accepted(Fraction(int(behind[run])) / Fraction(scale), k, source):
            return run


def draw_candidate(
    raw_best: IntArray,
    sizes: IntArray,
    raw_score: Callable[[int, int], int],
    scale: float,
    source: NoiseSource,
) -> tuple[int, int]:
    """Return a run and a place in it, where a run has the best score that any of its candidates has.

    A candidate that is behind the best of its run is kept with the chance exp(-behind / scale); else
    all is drawn anew.

    Guarantees:
      - The law is that of the exponential mechanism over the candidates' own scores, exactly. [runs]
    """
    while True:
        run = draw_run(raw_best, sizes, scale, source)
        place = source.below(int(sizes[run]))
        behind = int(raw_best[run]) - raw_score(run, place)
        if is_below_exp(0, 0, Fraction(behind) / Fraction(scale), source.below):
            return run, place


def _proposed(weights: list[int], source: NoiseSource) -> int:
    place = below_any(sum(weights), source)
    for k, weight in enumerate(weights):
        if place < weight:
            return k
        place -= weight
    raise AssertionError("a number below the sum lies below one of its parts")


def _accepted(behind: Fraction, k: int, source: NoiseSource) -> bool:
    """Return true with probability exp(-behind) / (3/8)^k.

    A uniform number below 3/8 begins with the bits 000, 001 or 010; it is below 1/e with probability
    (8/3)/e. So many of them as shells were passed, and one more for what is left of the exponent.
    """
    passed = all(is_below_exp(source.below(3), 3, Fraction(1), source.below) for _ in range(k))
    return passed and is_below_exp(0, 0, behind - k, source.below)
