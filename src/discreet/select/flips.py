"""Permute-and-flip for many candidates at once: one exact coin per candidate, all in one go.

Visiting candidates in random order and taking the first whose coin shows heads is the same as tossing
every coin and taking one of the heads at random. A coin of probability exp(-x) is tossed with 16 random
bits; those decide for all but one in thousands, where more bits and digits are taken until they do. So
every coin is exact although most of them are compared in floating point.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

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
    words = _words(len(behind), source)
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
    drawn, bits = word, _BITS
    exponent = Fraction(behind) / Fraction(scale)
    while True:
        drawn, bits = drawn << 32 | source.below(1 << 32), bits + 32
        if drawn >= 1 << max(0, bits - int(exponent * 7 / 5)):  # exp(-x) < 2^(-1.4 x)
            return False
        if exponent > bits:  # all bits were zero: exp(-x) has no digit here yet
            continue
        digits = 30 + bits
        context = Context(prec=digits)
        power = context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
        value = Fraction(power) * (1 << bits)
        # Both operations are rounded to so many digits; the quotient's error is magnified by itself.
        lost = Fraction(math.ceil(exponent) + 2, 10 ** (digits - 2))
        if drawn + 1 <= value * (1 - lost):
            return True
        if drawn >= value * (1 + lost):
            return False


def _words(count: int, source: NoiseSource) -> NDArray[np.uint16]:
    """Return so many words of random bits, from one long uniform number."""
    drawn = source.below(1 << (_BITS * count))
    return np.frombuffer(drawn.to_bytes(count * _BITS // 8, "little"), dtype="<u2")
