"""Permute-and-flip for many candidates at once: one exact coin per candidate, all in one go.

Visiting candidates in random order and taking the first whose coin shows heads is the same as tossing
every coin and taking one of the heads at random. A coin of probability exp(-x) is tossed with 16 random
bits; those decide for all but one in thousands, where more bits and digits are taken until they do. So
every coin is exact although most of them are compared in floating point.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive.noise import FloatArray
from discreet.randomness import IntArray, NoiseSource, entropy_words, toss_on

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
    heads = np.flatnonzero(_toss(behind, scale, source))
    return int(heads[source.below(len(heads))])


def _toss(behind: IntArray, scale: float, source: NoiseSource) -> NDArray[np.bool_]:
    """Return a coin for every candidate: heads with probability exp(-behind / scale)."""
    words = entropy_words(len(behind), np.uint16)
    exponent = behind / scale
    least, most = _thresholds()
    heads: NDArray[np.bool_] = exponent <= least[words]
    for i in np.flatnonzero(~heads & (exponent < most[words])):
        heads[i] = behind[i] == 0 or _decide(int(words[i]), int(behind[i]), scale, source)
    return heads


@cache
def _thresholds() -> tuple[FloatArray, FloatArray]:
    """Return, for every first word, exponents that surely show heads up to, and tails from.

    A number that begins with word w lies in [w, w + 1] / 2^16: below exp(-x) if x is at most
    ln(2^16 / (w + 1)), above it if x is at least ln(2^16 / w).
    """
    bounds = _BITS * math.log(2) - np.log(np.arange(1, 2**_BITS + 1))
    return bounds - _LOST, np.concatenate([[np.inf], bounds[:-1] + _LOST])


def _decide(word: int, behind: int, scale: float, source: NoiseSource) -> bool:
    """Toss on: whether a uniform number that begins with these bits is below exp(-behind / scale)."""
    return toss_on(word, _BITS, Fraction(behind) / Fraction(scale), source.below)
