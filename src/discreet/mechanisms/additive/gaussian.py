"""The Gaussian mechanism on a lattice: discrete Gaussian noise on counts and on sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.additive.noise import FloatArray, Noise, Query, whole_steps
from discreet.mechanisms.lattice import SHARE, certify_rounded, lattice_step
from discreet.numerics import check_positive, check_probability, up
from discreet.privacy.accounting import (
    CountGaussianEvent,
    GaussianEvent,
    count_gaussian_scale,
    gaussian_multiplier,
)
from discreet.privacy.accounting.discrete import lattice_slack
from discreet.privacy.accounting.joint import joint_epsilon
from discreet.privacy.certificate import NORMS, Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource, check_scale


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Discrete Gaussian noise of ``scale`` steps; ``event`` says what neighbours may differ in.

    Guarantees:
      - (epsilon, delta)-differentially private: on a fine lattice by the analytic condition plus
        the lattice's term [gauss-lattice], on counts by the exact sum. [gauss-counts]
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    step: float
    scale: float
    event: GaussianEvent | CountGaussianEvent

    name = "gaussian"
    norm = "l2"
    needs_delta = True
    normal = True

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_positive("step", self.step)
        check_scale(self.scale)
        if not self._covers_certificate():
            raise CertificateError(f"{self.event} speaks of less than the certificate's bounds.")

    @classmethod
    def for_counts(cls, query: Query) -> GaussianNoise:
        """Calibrate for whole counts, of which two move by one at most."""
        moved = max(1, math.floor(query.sensitivity("l1")))
        if moved > 2 or query.sensitivity("linf") >= 2:
            raise ArgumentError("Discrete Gaussian noise needs counts of which two move by one.")
        epsilon, delta = query.epsilon, query.delta
        scale = count_gaussian_scale(epsilon, delta, moved)
        event = CountGaussianEvent(scale, moved)
        return cls(query.certificate, query.relation, epsilon, delta, 1.0, scale, event)

    @classmethod
    def for_shares(cls, query: Query) -> GaussianNoise:
        """See ``Noise``."""
        return cls._on_lattice(query, SHARE, query.certificate)

    @classmethod
    def for_sums(cls, query: Query) -> GaussianNoise:
        """See ``Noise``."""
        ideal = query.sensitivity(cls.norm) * gaussian_multiplier(query.epsilon, query.delta)
        step = lattice_step(ideal, query.largest_sum)
        return cls._on_lattice(query, step, certify_rounded(query.certificate, step, query.batch_rows))

    @classmethod
    def _on_lattice(cls, query: Query, step: float, rounded: Certificate) -> GaussianNoise:
        epsilon, delta = query.epsilon, query.delta
        ideal = query.sensitivity(cls.norm) * gaussian_multiplier(epsilon, delta)
        moved = up(rounded.sensitivity(cls.norm, query.relation) / step)
        slack = lattice_slack(ideal / step, query.moved_coordinates)
        multiplier = gaussian_multiplier(epsilon, delta, slack)
        event = GaussianEvent(multiplier, slack)
        return cls(rounded, query.relation, epsilon, delta, step, up(moved * multiplier), event)

    @classmethod
    def of_rho(cls, query: Query, rho: float) -> GaussianNoise:
        """Return noise of so much rho for sums: a stage of a plan whose stages are promised together.

        The epsilon of the query is not looked at; the noise has one at which it keeps the delta.

        Guarantees:
          - The discrete law has no more than ``rho`` under zCDP. [gauss-zcdp]
        """
        multiplier = up(math.sqrt(0.5 / rho))
        ideal = query.sensitivity(cls.norm) * multiplier
        if query.largest_sum:
            step = lattice_step(ideal, query.largest_sum)
            rounded = certify_rounded(query.certificate, step, query.batch_rows)
        else:
            step, rounded = SHARE, query.certificate
        event = GaussianEvent(multiplier, lattice_slack(ideal / step, query.moved_coordinates))
        scale = up(up(rounded.sensitivity(cls.norm, query.relation) / step) * multiplier)
        epsilon = joint_epsilon([event], query.delta)
        return cls(rounded, query.relation, epsilon, query.delta, step, scale, event)

    def _covers_certificate(self) -> bool:
        l1, l2, linf = (self.certificate.sensitivity(n, self.relation) for n in NORMS)
        if isinstance(self.event, GaussianEvent):
            return self.event.multiplier * l2 <= self.scale * self.step
        enough = self.event.scale <= self.scale and math.floor(l1) <= self.event.moves
        return enough and self.step == 1 and linf < 2

    @property
    def events(self) -> tuple[GaussianEvent | CountGaussianEvent]:
        """The one event, as a stage tells it."""
        return (self.event,)

    @property
    def std(self) -> float:
        """The standard deviation of one released value (the discrete law's is never greater)."""
        return self.step * self.scale

    @property
    def mean_deviation(self) -> float:
        """The mean absolute value of the noise, in standard deviations."""
        return math.sqrt(2 / math.pi)

    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level."""
        from scipy.special import ndtri

        check_probability("level", level)
        if isinstance(self.event, GaussianEvent):
            return self.step * math.ceil(self.scale * float(ndtri(0.5 + level / 2)))
        offsets = np.arange(math.ceil(14 * self.scale) + 2)
        inside = np.cumsum(self.probabilities(offsets) * np.where(offsets == 0, 1.0, 2.0))
        return self.step * int(np.searchsorted(inside, level))

    def mean_greatest(self, size: int) -> float:
        """Return a bound on the mean of the greatest of so many noises."""
        return self.std * math.sqrt(2 * math.log(max(size, 2)))

    def mean_farthest(self, size: int) -> float:
        """Return a bound on the mean of the greatest absolute value of so many noises."""
        return self.std * math.sqrt(2 * math.log(2 * size))

    def probabilities(self, offsets: IntArray) -> FloatArray:
        """Return the exact law of the noise at whole steps."""
        cutoff = math.ceil(14 * self.scale) + 2
        if self.scale > 2.0**20:  # Poisson summation: the integral and the sum agree to exp(-10^12)
            weight = math.sqrt(2 * math.pi) * self.scale
        else:
            weight = math.fsum(np.exp(-0.5 * (np.arange(-cutoff, cutoff + 1) / self.scale) ** 2))
        return np.exp(-0.5 * (offsets / self.scale) ** 2) / weight

    def simulate(self, generator: Generator, draws: int, size: int) -> FloatArray:
        """Return rounded normal variables."""
        return self.step * np.rint(generator.normal(0.0, self.scale, (draws, size)))

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values."""
        noisy = whole_steps(raw_steps) + source.gaussian(self.scale, len(raw_steps))
        return noisy.astype(np.float64) * self.step
