"""Noise added to sums: Laplace and Gaussian laws on a public lattice.

A query arrives as whole numbers of a lattice step, noise is a whole number of steps, the sum is
released times the step. Counts have step 1 (discrete Laplace and discrete Gaussian); real-valued
sums have a step so fine that the noise is the Laplace or the Gaussian for every purpose but one:
no output of a table is impossible for its neighbour. [lattice]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.additive.linf import BoxNoise, box_noise
from discreet.mechanisms.additive.pure import PureNoise
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.numerics import check_choice, check_positive, check_probability, check_whole, up
from discreet.privacy.accounting import (
    CountGaussianEvent,
    GaussianEvent,
    count_gaussian_scale,
    gaussian_multiplier,
)
from discreet.privacy.accounting.discrete import lattice_slack
from discreet.privacy.certificate import NORMS, Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource, check_scale

FloatArray = NDArray[np.float64]
NoiseName = Literal["auto", "laplace", "gaussian"]


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

    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level."""
        check_probability("level", level)
        # P(abs(Z) > k) = 2 q^(k+1) / (1 + q) with q = exp(-1 / scale)
        steps = -self.scale * math.log((1 - level) * (1 + math.exp(-1.0 / self.scale)) / 2) - 1
        return self.step * max(0, math.ceil(steps))

    def probabilities(self, offsets: IntArray) -> FloatArray:
        """Return the exact law of the noise at whole steps."""
        return math.tanh(0.5 / self.scale) * np.exp(-np.abs(offsets) / self.scale)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values."""
        noisy = _whole(raw_steps) + source.laplace(self.scale, len(raw_steps))
        return noisy.astype(np.float64) * self.step


@dataclass(frozen=True)
class GaussianNoise:
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

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_positive("step", self.step)
        check_scale(self.scale)
        if not self._covers_certificate():
            raise CertificateError(f"{self.event} speaks of less than the certificate's bounds.")

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

    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level."""
        from scipy.special import ndtri

        check_probability("level", level)
        if isinstance(self.event, GaussianEvent):
            return self.step * math.ceil(self.scale * float(ndtri(0.5 + level / 2)))
        offsets = np.arange(math.ceil(14 * self.scale) + 2)
        inside = np.cumsum(self.probabilities(offsets) * np.where(offsets == 0, 1.0, 2.0))
        return self.step * int(np.searchsorted(inside, level))

    def probabilities(self, offsets: IntArray) -> FloatArray:
        """Return the exact law of the noise at whole steps."""
        reach = math.ceil(14 * self.scale) + 2
        if self.scale > 2.0**20:  # Poisson summation: the integral and the sum agree to exp(-10^12)
            weight = math.sqrt(2 * math.pi) * self.scale
        else:
            weight = math.fsum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.scale) ** 2))
        return np.exp(-0.5 * (offsets / self.scale) ** 2) / weight

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values."""
        noisy = _whole(raw_steps) + source.gaussian(self.scale, len(raw_steps))
        return noisy.astype(np.float64) * self.step


Noise = LaplaceNoise | GaussianNoise | BoxNoise


def count_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> Noise:
    """Return noise for whole counts: discrete Laplace, or discrete Gaussian if delta allows.

    ``auto`` takes the one with the smaller standard deviation.
    """
    # Whole counts move by a whole number, so what a bound has beyond one is rounding.
    moved = max(1, math.floor(certificate.sensitivity("l1", relation)))

    def laplace() -> Noise:
        return LaplaceNoise(certificate, relation, epsilon, 1.0, moved)

    def gaussian() -> Noise:
        if moved > 2 or certificate.sensitivity("linf", relation) >= 2:
            raise ArgumentError("Discrete Gaussian noise needs counts of which two move by one.")
        scale = count_gaussian_scale(epsilon, delta, moved)
        event = CountGaussianEvent(scale, moved)
        return GaussianNoise(certificate, relation, epsilon, delta, 1.0, scale, event)

    return _less_noisy(mechanism, epsilon, delta, laplace, gaussian)


def sum_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
    largest_sum: float,
    batch_rows: int = 0,
    joint: bool = False,
) -> Noise:
    """Return noise for a sum of real contributions, rounded row by row to a lattice.

    Args:
      certificate: bounds on the exact sum.
      relation: the neighbouring relation.
      epsilon: the promise.
      delta: zero for a pure promise.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the smaller standard deviation.
      largest_sum: no coordinate of the sum exceeds this in absolute value (public).
      batch_rows: rows whose rounding may flip with a record: those that share a model call with it.
      joint: whether ``auto`` may take noise in the shape of a box, on all coordinates at once: half the
        width of Laplace noise where a record moves many coordinates as far as any.

    Guarantees:
      - The certificate that is used is that of the rounded sum: one step per coordinate for the
        record's own rounding and one for every row of its batch. [lattice]
    """
    check_positive("largest_sum", largest_sum)
    check_whole("batch_rows", batch_rows, 0)

    def laplace() -> Noise:
        step = lattice_step(certificate.sensitivity("l1", relation) / epsilon, largest_sum)
        rounded = certify_rounded(certificate, step, batch_rows)
        moved = math.ceil(rounded.sensitivity("l1", relation) / step)
        return LaplaceNoise(rounded, relation, epsilon, step, moved)

    def gaussian() -> Noise:
        ideal = certificate.sensitivity("l2", relation) * gaussian_multiplier(epsilon, delta)
        step = lattice_step(ideal, largest_sum)
        rounded = certify_rounded(certificate, step, batch_rows)
        moved = up(rounded.sensitivity("l2", relation) / step)
        slack = lattice_slack(ideal / step, certificate.size)
        multiplier = gaussian_multiplier(epsilon, delta, slack)
        event = GaussianEvent(multiplier, slack)
        return GaussianNoise(rounded, relation, epsilon, delta, step, up(moved * multiplier), event)

    def pure() -> Noise:
        if not joint or mechanism != "auto":
            return laplace()
        box = box_noise(
            certificate,
            relation=relation,
            epsilon=epsilon,
            largest_sum=largest_sum,
            batch_rows=batch_rows,
        )
        return min((laplace(), box), key=lambda noise: noise.std)

    return _less_noisy(mechanism, epsilon, delta, pure, gaussian)


def _less_noisy(
    mechanism: str,
    epsilon: float,
    delta: float,
    laplace: Callable[[], Noise],
    gaussian: Callable[[], Noise],
) -> Noise:
    check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    if mechanism == "gaussian" and delta == 0:
        raise ArgumentError(
            "delta must be positive for the Gaussian mechanism, got 0. "
            "Give a delta, or use mechanism='laplace'."
        )
    if mechanism == "laplace" or delta == 0:
        return laplace()
    if mechanism == "gaussian":
        return gaussian()
    try:
        return min((laplace(), gaussian()), key=lambda noise: noise.std)
    except ArgumentError:  # this query has no Gaussian noise: too much moves, or delta is too small
        return laplace()


def _whole(raw_steps: IntArray) -> IntArray:
    steps = np.asarray(raw_steps)
    if steps.ndim != 1 or steps.dtype.kind not in "iu":
        raise ArgumentError("A query must be a vector of whole lattice steps.")
    return steps.astype(np.int64, copy=False)
