"""Total variation from public shares, as whole numbers: the one number that noise is added to.

With the reference's shares written as w_j / W in whole numbers, the records that would have to move
are sum_j max(W c_j - n w_j, 0) / W: no rounding happens before the noise's own lattice. That number
moves by little, where the distance itself, a share of n, has no bound if n is private and small.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms import Noise
from discreet.mechanisms.additive.wrapped import CountsNoise
from discreet.numerics import up
from discreet.plans import Setting
from discreet.plans.stages.sums import records_noise
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.tables.histogram.plan import whole_counts

PARTS = 2**24
"""W: shares of the reference are whole numbers of this many parts."""


def whole_shares(counts: FloatArray) -> IntArray:
    """Return the shares of a reference in whole parts; equal ones if it holds nothing.

    >>> (whole_shares(np.array([3.0, 1.0, -2.0])) * 4 // PARTS).tolist()
    [3, 1, 0]
    """
    kept = np.maximum(counts, 0.0)
    kept = kept if kept.sum() > 0 else np.ones(len(kept))
    return whole_counts(kept / kept.sum() * PARTS, PARTS)


def records_off(counts: IntArray, shares: IntArray) -> Fraction:
    """Return n times the total variation of counts from shares, exactly.

    Guarantees:
      - Moves by at most 1 if a record is replaced, and by at most 1 minus the least share if one is
        added or removed. [drift]

    >>> records_off(np.array([3, 1]), whole_shares(np.array([1.0, 1.0])))
    Fraction(1, 1)
    """
    whole = np.asarray(counts, dtype=np.int64)
    above = np.maximum(PARTS * whole - int(whole.sum()) * shares, 0)
    return Fraction(int(above.sum()), PARTS)


def certify_distance(shares: IntArray) -> Certificate:
    """Certify ``records_off``.

    Guarantees:
      - 1 under replace-one, 1 minus the least share under add-remove, in every norm. [drift]
    """
    added = up(1.0 - int(shares.min()) / PARTS)
    return Certificate(
        ("drift",), 1, {REPLACE_ONE: Bounds(1.0, 1.0, 1.0), ADD_REMOVE: Bounds(added, added, added)}
    )


@dataclass(frozen=True)
class DistanceNoise(CountsNoise):
    """Noise on how many records would have to move, a number that is computed from counts.

    Args:
      noise: on the number, rounded to the noise's lattice.
      shares: of the reference, in whole parts.

    Guarantees:
      - As private as ``noise``, which pays for one rounding. [drift] [lattice]
    """

    noise: Noise
    shares: tuple[int, ...]

    @classmethod
    def of(cls, shares: IntArray, setting: Setting, **promise: Any) -> DistanceNoise:
        """Calibrate for a promise: ``epsilon``, ``delta`` and ``mechanism``."""
        noise = records_noise(certify_distance(shares), setting, **promise)
        return cls(noise, tuple(shares.tolist()))

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the number of records with noise."""
        raw_off = records_off(np.asarray(raw_counts), np.array(self.shares))
        raw_steps = np.array([round(raw_off / Fraction(self.noise.step))], dtype=np.int64)
        return self.noise.release(raw_steps, source)
