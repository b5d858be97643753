"""Which coordinates are large: propose-test-release of a support.

The question "which |s_i| exceed a public threshold" has one answer for all neighbours of most tables,
namely when every score is farther from the threshold than a record can move it. The mechanism tests
that, privately, and answers exactly if the test passes - or not at all.

Deviations from Alissaiei (2026): no assumption that a neighbour changes the support by at most one
coordinate; the distance is measured, in records, from the Linf bound, which holds for every model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.numerics import check_positive, check_probability, check_whole, up
from discreet.privacy.accounting import ApproximateEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class SupportTest:
    """Release the coordinates whose absolute value exceeds a threshold, or nothing.

    With D the steps a record moves a coordinate by, and m the least distance of a score to half a
    step above the threshold, at least ceil(m / D) - 1 records must change before the support does.
    That number plus discrete Laplace noise of scale 1 / epsilon must exceed ``limit``.

    Guarantees:
      - (epsilon, delta)-differentially private. [ptr]
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    step: float
    threshold: int

    name = "propose-test-release"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("delta", self.delta, "A support is exact when it is released: give a delta.")
        check_probability("delta", self.delta)
        check_whole("threshold", self.threshold, 0)

    @property
    def sensitivity(self) -> int:
        """How many steps a record moves a score by."""
        return max(1, math.ceil(self.certificate.sensitivity("linf", self.relation) / self.step))

    @property
    def events(self) -> tuple[ApproximateEvent]:
        """What the accountant is told."""
        return (ApproximateEvent(self.epsilon, self.delta, self.name),)

    @property
    def limit(self) -> int:
        """The least whole number that noise alone exceeds with probability at most delta."""
        q = math.exp(-self.epsilon)
        # P(Z > t) = q^(t + 1) / (1 + q)
        t = math.ceil(up(-math.log(self.delta * (1 + q)) / self.epsilon)) - 1
        return max(t, 0)

    @property
    def std(self) -> float:
        """The distance from the threshold, in values, from which a support passes half of the time."""
        return (self.limit + 1) * self.sensitivity * self.step

    def distance(self, raw_steps: IntArray) -> int:
        """Return how many records must change before the support can."""
        twice = 2 * np.abs(np.asarray(raw_steps, dtype=np.int64)) - (2 * self.threshold + 1)
        return -(-int(np.abs(twice).min()) // (2 * self.sensitivity)) - 1

    def pass_probability(self, raw_steps: IntArray) -> float:
        """Return the exact probability of an answer."""
        q, needed = math.exp(-self.epsilon), self.limit + 1 - self.distance(raw_steps)
        # P(Z >= m) for a discrete Laplace variable
        return q**needed / (1 + q) if needed > 0 else 1 - q ** (1 - needed) / (1 + q)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return one for every coordinate above and zero for the others, or all NaN."""
        noise = int(source.laplace(up(1.0 / self.epsilon), 1)[0])
        if self.distance(raw_steps) + noise <= self.limit:
            return np.full(len(raw_steps), np.nan)
        return (np.abs(raw_steps) > self.threshold).astype(np.float64)
