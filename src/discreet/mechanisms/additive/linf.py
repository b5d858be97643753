"""Noise in the shape of a box, for sums whose coordinates may all move at once, each by as much.

P(z) is proportional to exp(-max|z_i| / scale): the K-norm mechanism of Hardt and Talwar (2010) for the
largest coordinate, on a lattice. A record enters all m points of a curve, or the exchanged losses of
all m features, so that
Laplace noise grows as sqrt(2) m; this noise grows as m / sqrt(3), less than half of it for many
coordinates, and is as pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.mechanisms.additive.pure import PureNoise
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.numerics import check_positive, check_probability
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BoxNoise(PureNoise):
    """Noise of ``scale`` steps on a vector whose every coordinate moves by ``sensitivity`` steps.

    Guarantees:
      - epsilon-differentially private, exactly, on the lattice. [box]
    """

    name = "box"
    norm = "linf"

    @property
    def std(self) -> float:
        """The standard deviation of one coordinate on a fine lattice, where cubes have a gamma law."""
        size = self.certificate.size
        return self.step * self.scale * math.sqrt((size + 1) * (size + 2) / 3)

    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level.

        A coordinate is uniform up to a width with a gamma law: P(abs(Z) > h) is that of the width being
        greater, less h times the mean of its inverse there.
        """
        from scipy.optimize import brentq
        from scipy.special import gammaincc

        check_probability("level", level)
        size = self.certificate.size

        def outside(h: float) -> float:
            return float(gammaincc(size + 1, h) - h / size * gammaincc(size, h))

        if level >= 1:
            return math.inf
        most = size + 40.0 * math.sqrt(size + 1.0) - 2 * math.log(1 - level)
        steps = self.scale * float(brentq(lambda h: outside(h) - (1 - level), 0.0, most))
        return self.step * math.ceil(steps)

    @property
    def mean_greatest(self) -> float:
        """The mean of the greatest coordinate: (m - 1) / (m + 1) of half the cube's width."""
        return self.step * self.scale * (self.certificate.size - 1)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values: a uniform point of a cube of random width.

        Guarantees:
          - Cubes of half width r, drawn as (2r + 1)^m exp(-r / scale), mix to the law. [box]
        """
        steps = np.asarray(raw_steps)
        if steps.shape != (self.certificate.size,) or steps.dtype.kind not in "iu":
            raise ArgumentError("A query must be a vector of whole lattice steps.")
        half = draw_half_width(len(steps), self.scale, source)
        noise = [source.below(2 * half + 1) - half for _ in range(len(steps))]
        noisy = steps.astype(np.int64) + np.array(noise, dtype=np.int64)
        return noisy.astype(np.float64) * self.step


def draw_half_width(size: int, scale: float, source: NoiseSource) -> int:
    """Draw r with P(r) proportional to (2r + 1)^size exp(-r / scale).

    A sum of size + 1 geometric variables has (r + 1) ... (r + size) in place of the power; it is kept
    with the probability that the two differ by, nearly always on a fine lattice.

    Guarantees:
      - Exact, from whole random numbers alone. [box]
    """
    while True:
        half = int(_geometric(size + 1, scale, source).sum())
        if all(source.below(2 * (half + i)) <= 2 * half for i in range(1, size + 1)):
            return half


def _geometric(size: int, scale: float, source: NoiseSource) -> IntArray:
    """Draw numbers with P(k) proportional to exp(-k / scale): Laplace noise that is not negative."""
    found = np.zeros(0, dtype=np.int64)
    while len(found) < size:
        drawn = source.laplace(scale, 3 * size)
        found = np.concatenate([found, drawn[drawn >= 0]])
    return found[:size]


def box_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    largest_sum: float,
    batch_rows: int = 0,
) -> BoxNoise:
    """Return noise for a sum of real contributions; the terms are those of ``sum_noise``.

    Guarantees:
      - Pays one step per coordinate for the record's own rounding and one for every row of its batch.
        [lattice] [box]
    """
    check_positive("epsilon", epsilon)
    step = lattice_step(certificate.sensitivity("linf", relation) / epsilon, largest_sum)
    rounded = certify_rounded(certificate, step, batch_rows)
    moved = math.ceil(rounded.sensitivity("linf", relation) / step)
    return BoxNoise(rounded, relation, epsilon, step, moved)
