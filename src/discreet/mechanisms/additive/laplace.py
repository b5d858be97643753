"""The Laplace mechanism on a lattice: discrete Laplace noise on counts and on sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from discreet.mechanisms.additive.noise import FloatArray, whole_steps
from discreet.mechanisms.additive.pure import PureNoise
from discreet.numerics import check_probability
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class LaplaceNoise(PureNoise):
    """Discrete Laplace noise of ``scale`` steps on a query that moves by ``sensitivity`` steps in L1.

    Guarantees:
      - epsilon-differentially private, exactly, on the lattice. [laplace]
    """

    name = "laplace"
    norm = "l1"

    @property
    def std(self) -> float:
        """The standard deviation of one released value."""
        # Beyond 700 noise is never seen, and the hyperbolic sine is no float.
        return self.step / (math.sqrt(2.0) * math.sinh(min(0.5 / self.scale, 700.0)))

    @property
    def mean_deviation(self) -> float:
        """The mean absolute value of the noise, in standard deviations, on a fine lattice."""
        return math.sqrt(0.5)

    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level."""
        check_probability("level", level)
        # P(abs(Z) > k) = 2 q^(k+1) / (1 + q) with q = exp(-1 / scale)
        steps = -self.scale * math.log((1 - level) * (1 + math.exp(-1.0 / self.scale)) / 2) - 1
        return self.step * max(0, math.ceil(steps))

    def half_width_of_two(self, weight: float, level: float) -> float:
        """Return the quantile of the sum of two noises; the law of such a sum has a closed form."""
        if weight == 0:
            return self.half_width(level)
        scale = self.scale * self.step
        low, high = 0.0, 2 * (1 + weight) * self.half_width(level)
        for _ in range(100):
            middle = (low + high) / 2
            too_near = tail_of_two(middle / scale, weight) > 1 - level
            low, high = (middle, high) if too_near else (low, middle)
        return high

    def mean_greatest(self, size: int) -> float:
        """Return a bound on the mean of the greatest of so many noises: their absolute values'."""
        return self.mean_farthest(size)

    def mean_farthest(self, size: int) -> float:
        """Return the mean of the greatest absolute value, because absolute values are exponential."""
        return self.std / math.sqrt(2) * sum(1 / i for i in range(1, size + 1))

    def probabilities(self, offsets: IntArray) -> FloatArray:
        """Return the exact law of the noise at whole steps."""
        return math.tanh(0.5 / self.scale) * np.exp(-np.abs(offsets) / self.scale)

    def simulate(self, generator: Generator, draws: int, size: int) -> FloatArray:
        """Return noises as differences of geometric variables."""
        success, shape = -math.expm1(-1.0 / self.scale), (draws, size)
        moved = generator.geometric(success, shape) - generator.geometric(success, shape)
        return np.asarray(self.step * moved, dtype=np.float64)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values."""
        noisy = whole_steps(raw_steps) + source.laplace(self.scale, len(raw_steps))
        return noisy.astype(np.float64) * self.step


def tail_of_two(distance: float, weight: float) -> float:
    """Return P(abs(X + weight Y) > distance) for two Laplace variables of scale one.

    >>> round(tail_of_two(0.0, 0.5), 12), tail_of_two(1.0, 0.0) == math.exp(-1)
    (1.0, True)
    """
    if weight == 0:
        return math.exp(-distance)
    if abs(weight - 1) < 1e-3:  # the limit for equal scales, taken at the greater one
        scale = max(weight, 1.0)
        return (1 + distance / (2 * scale)) * math.exp(-distance / scale)
    near, far = math.exp(-distance / weight), math.exp(-distance)
    return (far - weight**2 * near) / (1 - weight**2)
