"""Measure what was picked: Laplace noise on a few coordinates of a sum, chosen after a release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray, LaplaceNoise
from discreet.privacy.accounting import PureEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class PickedNoise:
    """The values of a sum at ``places`` (which are public by now), with Laplace noise.

    Guarantees:
      - epsilon-differentially private, whatever earlier release chose the places: they are fixed
        when this one runs, and any so many coordinates have the restricted bound. [laplace]
    """

    noise: LaplaceNoise
    places: tuple[int, ...]

    @classmethod
    def of(
        cls,
        certificate: Certificate,
        places: tuple[int, ...],
        *,
        relation: Relation,
        epsilon: float,
        step: float,
    ) -> PickedNoise:
        """Calibrate for the coordinates of a rounded sum whose certificate is given."""
        few = certificate.restrict(len(places))
        moved = math.ceil(few.sensitivity("l1", relation) / step)
        return cls(LaplaceNoise(few, relation, epsilon, step, moved), places)

    name = "laplace"
    delta = 0.0

    @property
    def certificate(self) -> Certificate:
        """What was proven of the places."""
        return self.noise.certificate

    @property
    def epsilon(self) -> float:
        """The promise."""
        return self.noise.epsilon

    @property
    def step(self) -> float:
        """The lattice of the sum."""
        return self.noise.step

    @property
    def std(self) -> float:
        """The standard deviation of one released value."""
        return self.noise.std

    @property
    def events(self) -> tuple[PureEvent]:
        """What the accountant is told."""
        return (self.noise.event,)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the values at the places with noise."""
        return self.noise.release(np.asarray(raw_steps)[list(self.places)], source)
