"""The K-norm (L-infinity) mechanism, for sums whose coordinates may all move at once, each by as much.

P(z) is proportional to exp(-max|z_i| / scale): the K-norm mechanism of Hardt and Talwar (2010) for the
largest coordinate, on a lattice. A record enters all m points of a curve, or the permuted losses of
all m features, so that Laplace noise grows as sqrt(2) m; this noise grows as m / sqrt(3), less than
half of it for many coordinates, and is as pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from discreet.errors import ArgumentError
from discreet.mechanisms.additive.noise import FloatArray, whole_steps
from discreet.mechanisms.additive.pure import PureNoise
from discreet.numerics import check_probability
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ADD_REMOVE, Relation
from discreet.randomness import IntArray, NoiseSource

_FINE = 2**10
"""Steps per scale and coordinate from which on a half width is nearly always drawn at once."""

_NODES = 4_000

_MANY = 2**12
"""Coordinates up to which the finest lattice holds the noise, which grows with their number."""

_WIDEST = 2.0**61
"""Half widths stay below so many steps on average, so that noise and sum fit into 64 bits."""


@dataclass(frozen=True)
class LinfNoise(PureNoise):
    """Noise of ``scale`` steps on a vector whose every coordinate moves by ``sensitivity`` steps.

    Guarantees:
      - epsilon-differentially private, exactly, on the lattice. [box]
    """

    name = "linf"
    norm = "linf"
    independent = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale * self.parts * (self.certificate.size + 1) > _WIDEST:
            raise ArgumentError(
                f"epsilon must leave the noise on {self.certificate.size} numbers inside 64 bits, "
                f"got {self.epsilon!r}. Use a larger one, or another mechanism."
            )

    @classmethod
    def moved(cls, certificate: Certificate, relation: Relation) -> float:
        """Return how far neighbours are from each other; groups, each with a cube of its own, add up.

        Guarantees:
          - A record that leaves a group and comes into another moves the points of two cubes. [groups]
        """
        within = super().moved(certificate, relation)
        touched = Relation(relation).groups_touched
        if touched == 1:
            return within
        return max(within, touched * certificate.sensitivity("linf", ADD_REMOVE))

    @classmethod
    def coarsening(cls, size: int) -> float:
        """Return a factor for vectors so long that half widths would leave 64 bits."""
        return max(1.0, size / _MANY)

    @property
    def parts(self) -> int:
        """The power of two that steps are divided into to draw the noise: 1 on a fine lattice."""
        short = _FINE * self.certificate.size / self.scale
        return 1 if short <= 1 else 2 ** math.ceil(math.log2(short))

    @property
    def std(self) -> float:
        """The standard deviation of one coordinate on a fine lattice, where cubes have a gamma law."""
        size = self.certificate.size
        std = self.step * self.scale * math.sqrt((size + 1) * (size + 2) / 3)
        return std if self.parts == 1 else math.hypot(std, self.step / math.sqrt(12))

    @property
    def mean_deviation(self) -> float:
        """The mean absolute value of the noise, in standard deviations, on a fine lattice."""
        size = self.certificate.size
        return math.sqrt(0.75 * (size + 1) / (size + 2))

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

    def half_width_of_sums(self, level: float) -> float:
        """Return h for all sums with weights of length one; such a sum is no longer uniform.

        Inside a cube of half width r it is sub-Gaussian as a normal variable of variance r^2 / 3 is:
        P(abs(sum) > h) <= 2 exp(-3 h^2 / (2 r^2)), of which the mean over the gamma law of r is taken.
        """
        from scipy.optimize import brentq
        from scipy.special import gammaln

        alone, size = self.half_width(level), self.certificate.size
        if size == 1:
            return alone
        widest = size + 40.0 * math.sqrt(size + 1.0) - 2 * math.log(1 - level)
        widths = np.linspace(0.0, widest, _NODES + 1)[1:]
        law = np.exp(size * np.log(widths) - widths - gammaln(size + 1)) * (widest / _NODES)

        def outside(h: float) -> float:
            return float(law @ np.minimum(1.0, 2 * np.exp(-1.5 * (h / widths) ** 2)))

        steps = self.scale * float(brentq(lambda h: outside(h) - (1 - level), 0.0, 2 * widest))
        return max(alone, self.step * math.ceil(steps))

    def mean_greatest(self, size: int) -> float:
        """Return the mean of the greatest of all coordinates: (m - 1) / (m + 1) of half the width."""
        return self.step * self.scale * (self.certificate.size - 1)

    def mean_farthest(self, size: int) -> float:
        """Return the mean of half the cube's width, which no coordinate exceeds."""
        return self.step * self.scale * (self.certificate.size + 1)

    def simulate(self, generator: Generator, draws: int, size: int) -> FloatArray:
        """Return uniform points of cubes whose width has a gamma law."""
        half = generator.gamma(size + 1, self.scale, (draws, 1))
        return self.step * np.rint(generator.uniform(-1.0, 1.0, (draws, size)) * half)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values: a uniform point of a cube of random width.

        Noise on counts, whose lattice is coarse, is drawn on a finer one and rounded afterwards.

        Guarantees:
          - Cubes of half width r, drawn as (2r + 1)^m exp(-r / scale), mix to the law. [box]
        """
        steps, parts = whole_steps(raw_steps), self.parts
        if len(steps) > self.certificate.size:
            raise ArgumentError(
                "A query must be a vector of whole lattice steps, no longer than its certificate's."
            )
        half = draw_half_width(len(steps), self.scale * parts, source)
        noise = [source.below(2 * half + 1) - half for _ in range(len(steps))]
        if parts > 1:
            noise = [(2 * drawn + parts) // (2 * parts) for drawn in noise]
        noisy = steps + np.array(noise, dtype=np.int64)
        return noisy.astype(np.float64) * self.step


def draw_half_width(size: int, scale: float, source: NoiseSource) -> int:
    """Draw r with P(r) proportional to (2r + 1)^size exp(-r / scale).

    A sum of size + 1 geometric variables has (r + 1) ... (r + size) in place of the power; it is kept
    with the probability that the two differ by, nearly always on a fine lattice.

    Guarantees:
      - Exact, from whole random numbers alone. [box]
    """
    while True:
        half: int = sum(_geometric(size + 1, scale, source).tolist())  # 64 bits would wrap
        if all(source.below(2 * (half + i)) <= 2 * half for i in range(1, size + 1)):
            return half


def _geometric(size: int, scale: float, source: NoiseSource) -> IntArray:
    """Draw numbers with P(k) proportional to exp(-k / scale): Laplace noise that is not negative."""
    found = np.zeros(0, dtype=np.int64)
    while len(found) < size:
        drawn = source.laplace(scale, 3 * size)
        found = np.concatenate([found, drawn[drawn >= 0]])
    return found[:size]
