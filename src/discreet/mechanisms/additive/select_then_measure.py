"""Select, then measure: Laplace noise on a few coordinates of a sum, chosen by an earlier release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class SelectThenMeasure(WrappedNoise):
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
    ) -> SelectThenMeasure:
        """Calibrate for the coordinates of a rounded sum whose certificate is given."""
        few = certificate.restrict(len(places))
        moved = math.ceil(few.sensitivity("l1", relation) / step)
        return cls(LaplaceNoise(few, relation, epsilon, step, moved), places)

    @property
    def step(self) -> float:
        """The lattice of the sum."""
        return self.noise.step

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the values at the places with noise."""
        return self.noise.release(np.asarray(raw_steps)[list(self.places)], source)
