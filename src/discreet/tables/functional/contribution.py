"""What a record adds to a mean curve, and the way back from noisy sums to curves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.compiling import njit
from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.numerics import up
from discreet.privacy.certificate import Ball
from discreet.schema import MISSING, FloatArray, Schema
from discreet.tables.functional.kernels import NoiseShape, Spectrum

_PUBLIC_ROWS = 256
_ROOM = 1 + 1e-9
"""Covers rounding in the matrices; the engine clips to the ball itself."""


@dataclass(frozen=True)
class MeanCurveForm:
    """A mean curve made ready: the middle of the bounds, the longest curve, kernel and penalty."""

    columns: tuple[str, ...]
    middle: FloatArray
    longest: float
    spectrum: Spectrum
    rho: float
    noise: NoiseShape

    @cached_property
    def contribution(self) -> VectorContribution:
        """Every record's coefficients, in units of the noise; zero if a point of it is missing.

        Guarantees:
          - Inside a ball of the longest curve times the greatest of ``gains``. [rkhs-mean]
          - Zero is in the ball: a record outside the part moves the sum no farther. [part]
        """
        to_noise = np.ascontiguousarray(self.spectrum.to_noise(self.rho, self.noise))
        radius = up(self.longest * float(np.linalg.norm(to_noise, 2)) * _ROOM)

        def compute(block: Block) -> FloatArray:
            curves = block.narrow(self.columns).values
            whole = np.all(curves != MISSING, axis=1)
            curves = np.where(whole[:, None], curves, self.middle)
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
        drawn = schema.draw(_PUBLIC_ROWS)[:, places]
        curves = np.where(drawn == MISSING, self.middle, drawn) - self.middle
        lengths = np.linalg.norm(curves * self.spectrum.roots, axis=1, keepdims=True)
        kept = np.minimum(1.0, self.longest / np.maximum(lengths, 1e-300))
        return float(np.abs((1 - kept) * curves).mean(axis=0).max())

    def truncation(self, whole: Spectrum) -> float:
        """Return the greatest length of what the terms left out may hold."""
        left_out = whole.shares(self.rho)[len(self.spectrum.eigenvalues) :]
        return self.longest * float(np.max(left_out, initial=0.0))


@njit(cache=True, nogil=True)
def curve_coefficients(
    curves: FloatArray, middle: FloatArray, roots: FloatArray, longest: float, to_noise: FloatArray
) -> FloatArray:
    """Return every record's coefficients, its curve shortened to ``longest`` before.

    Adds in the order of the points for every record alike, so that what a record adds depends on its
    own row alone, to the last bit.
    """
    rows, points = curves.shape
    terms = to_noise.shape[0]
    found = np.zeros((rows, terms))
    curve = np.empty(points)
    for i in range(rows):
        square = 0.0
        for t in range(points):
            curve[t] = (curves[i, t] - middle[t]) * roots[t]
            square += curve[t] * curve[t]
        length = np.sqrt(square)
        shrink = 1.0 if length <= longest else longest / length
        for j in range(terms):
            total = 0.0
            for t in range(points):
                total += to_noise[j, t] * curve[t]
            found[i, j] = shrink * total
    return found
