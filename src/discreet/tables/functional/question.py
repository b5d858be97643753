"""What a record adds to a mean curve, and the way back from noisy sums to curves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.numerics import up
from discreet.privacy.certificate import Ball
from discreet.schema import FloatArray, Schema
from discreet.tables.functional.kernels import NoiseShape, Spectrum
from discreet.tables.functional.rows import curve_coefficients

_PUBLIC_ROWS = 256
_ROOM = 1 + 1e-9
"""Covers rounding in the matrices; the engine clips to the ball itself."""


@dataclass(frozen=True)
class Question:
    """A mean curve made ready: the middle of the bounds, the longest curve, kernel and penalty."""

    columns: tuple[str, ...]
    middle: FloatArray
    longest: float
    spectrum: Spectrum
    rho: float
    noise: NoiseShape

    @cached_property
    def contribution(self) -> VectorContribution:
        """Every record's coefficients, in units of the noise.

        Guarantees:
          - Inside a ball of the longest curve times the greatest gain. [rkhs-mean]
        """
        to_noise = np.ascontiguousarray(self.spectrum.to_noise(self.rho, self.noise))
        radius = up(self.longest * float(np.linalg.norm(to_noise, 2)) * _ROOM)

        def compute(block: Block) -> FloatArray:
            curves = block.narrow(self.columns).values
            found: FloatArray = curve_coefficients(
                curves, self.middle, self.spectrum.roots, self.longest, to_noise
            )
            return found

        return VectorContribution(
            self.columns, len(to_noise), Ball(radius, "l2"), fill=0.0, compute=compute, calls=None
        )

    @cached_property
    def to_points(self) -> FloatArray:
        """The matrix from noisy coefficients to curves."""
        return self.spectrum.from_noise(self.rho, self.noise)

    def clip_bias(self, schema: Schema) -> float:
        """Return how far shortening moves a point of curves drawn from the schema, on average."""
        places = [schema.position(name) for name in self.columns]
        curves = schema.draw(_PUBLIC_ROWS)[:, places] - self.middle
        lengths = np.linalg.norm(curves * self.spectrum.roots, axis=1, keepdims=True)
        kept = np.minimum(1.0, self.longest / np.maximum(lengths, 1e-300))
        return float(np.abs((1 - kept) * curves).mean(axis=0).max())

    def truncation(self, whole: Spectrum) -> float:
        """Return the greatest length of what the terms left out may hold."""
        left_out = whole.shares(self.rho)[len(self.spectrum.eigenvalues) :]
        return self.longest * float(np.max(left_out, initial=0.0))
