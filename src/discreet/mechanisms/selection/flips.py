"""Permute-and-flip for many candidates at once: one exact Bernoulli variable each, all in one go.

Visiting candidates in random order and taking the first whose variable is one is the same as drawing
all variables and taking one of the ones at random. A Bernoulli(exp(-x)) variable is drawn with 16
random bits; those decide for all but one in thousands, where more bits and digits are taken until they
do. So every variable is exact although most of them are compared in floating point.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive.noise import FloatArray
from discreet.randomness import IntArray, NoiseSource, entropy_words, is_below_exp

_BITS = 16
_LOST = 1e-9
"""More than floating point loses of an exponent below 12 or of a logarithm."""


def permute_and_flip(raw_scores: IntArray, scale: float, source: NoiseSource) -> int:
    """Return an index by permute-and-flip on scores / scale.

    Guarantees:
      - The law is that of permute-and-flip, exactly. [flip-all]
    """
    if source.simulation:  # the seeded twin has no long words to give; its law is the same
        return source.select(raw_scores, scale, 1, "permute-and-flip")[0]
    behind = raw_scores.max() - raw_scores
    ones = np.flatnonzero(_bernoulli(behind, scale, source))
    return int(ones[source.below(len(ones))])


def _bernoulli(behind: IntArray, scale: float, source: NoiseSource) -> NDArray[np.bool_]:
    """Return a variable for every candidate: one with probability exp(-behind / scale)."""
    words = entropy_words(len(behind), np.uint16)
    exponent = behind / scale
    least, most = _thresholds()
    ones: NDArray[np.bool_] = exponent <= least[words]
    for i in np.flatnonzero(~ones & (exponent < most[words])):
        ones[i] = behind[i] == 0 or _decide(int(words[i]), int(behind[i]), scale, source)
    return ones


@cache
def _thresholds() -> tuple[FloatArray, FloatArray]:
    """Return, for every first word, exponents that surely give one up to, and zero from.

    A number that begins with word w lies in [w, w + 1] / 2^16: below exp(-x) if x is at most
    ln(2^16 / (w + 1)), above it if x is at least ln(2^16 / w).
    """
    bounds = _BITS * math.log(2) - np.log(np.arange(1, 2**_BITS + 1))
    return bounds - _LOST, np.concatenate([[np.inf], bounds[:-1] + _LOST])


def _decide(word: int, behind: int, scale: float, source: NoiseSource) -> bool:
    """Draw on: is a uniform number that begins with these bits below exp(-behind / scale)?"""
    return is_below_exp(word, _BITS, Fraction(behind) / Fraction(scale), source.below)
