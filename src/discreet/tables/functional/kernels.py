"""Kernels of smooth curves, and the shrinking operator that goes with each. Not private.

A curve observed at m public points is a vector x with the inner product <x, y> = sum_t w_t x_t y_t of
quadrature. A kernel has on these points the eigenpairs (lambda_j, e_j) of its integral operator; with
a penalty rho > 0 a mean curve is shrunk to sum_j lambda_j / (lambda_j + rho) <x, e_j> e_j. Everything
privacy needs is exact for the points themselves, whatever a continuous kernel would have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_positive
from discreet.schema import FloatArray

KernelName = Literal["wiener", "exponential", "matern", "gaussian"]
KERNELS: tuple[KernelName, ...] = get_args(KernelName)

NoiseShape = Literal["white", "process"]
"""Noise alike on every coefficient, or a random path with the kernel as its covariance."""

_NOTHING = 1e-12
"""Eigenvalues below this share of the greatest are rounding."""


@dataclass(frozen=True)
class Spectrum:
    """A kernel on public points.

    Attributes:
      roots: square roots of the quadrature weights, one per point.
      eigenvalues: of the integral operator, greatest first.
      basis: orthonormal in the plain inner product of ``roots * x``, one column each.
    """

    roots: FloatArray
    eigenvalues: FloatArray
    basis: FloatArray

    def shares(self, rho: float | FloatArray) -> FloatArray:
        """Return lambda / (lambda + rho): what shrinking leaves of each coefficient."""
        return np.asarray(self.eigenvalues / (self.eigenvalues + rho))

    def gains(self, rho: float, noise: NoiseShape) -> FloatArray:
        """Return by how much every coefficient is multiplied before noise is added."""
        if noise == "white":
            return np.ones(len(self.eigenvalues))
        return self.shares(rho) / np.sqrt(self.eigenvalues)

    def keep(self, terms: int) -> Spectrum:
        """Return the first ``terms`` eigenpairs alone."""
        return Spectrum(self.roots, self.eigenvalues[:terms], self.basis[:, :terms])

    def to_noise(self, rho: float, noise: NoiseShape) -> FloatArray:
        """Return the matrix from weighted curves to coefficients in units of the noise."""
        return np.asarray(self.gains(rho, noise)[:, None] * self.basis.T)

    def from_noise(self, rho: float, noise: NoiseShape) -> FloatArray:
        """Return the matrix from such coefficients to shrunk curves at the points."""
        back = self.shares(rho) / self.gains(rho, noise)
        return np.asarray(self.basis * back / self.roots[:, None])


def spectrum(
    points: Sequence[float], kernel: KernelName, lengthscale: float, smoothness: float
) -> Spectrum:
    """Return the eigenpairs of a kernel over points scaled to the unit interval."""
    t = np.asarray(points, dtype=np.float64)
    with np.errstate(all="ignore"):  # what is not finite is refused below
        step = (t[-1] - t[0]) / (len(t) - 1)
        # The path of a Wiener process starts at zero; a step before the first point lets it move.
        scaled = (t - t[0] + step) / (t[-1] - t[0] + step)
        roots = np.sqrt(_trapezoid(scaled))
        covariance = covariances(scaled, kernel, lengthscale, smoothness)
    if not np.isfinite(covariance).all():
        raise ArgumentError(
            "points and lengthscale must leave finite distances between points, got "
            f"{shown(points)} and {lengthscale!r}. Use another unit."
        )
    values, vectors = np.linalg.eigh(roots[:, None] * covariance * roots[None, :])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int(np.sum(values > _NOTHING * values[0]))
    return Spectrum(roots, values[:kept].copy(), vectors[:, :kept].copy())


def covariances(t: FloatArray, kernel: KernelName, lengthscale: float, smoothness: float) -> FloatArray:
    """Return the kernel between all points."""
    check_choice("kernel", kernel, KERNELS)
    check_positive("lengthscale", lengthscale, "It is a share of the span of the points.")
    check_positive("smoothness", smoothness)
    apart = np.abs(t[:, None] - t[None, :]) / lengthscale
    if kernel == "wiener":
        return np.asarray(np.minimum(t[:, None], t[None, :]))
    if kernel == "exponential":
        return np.asarray(np.exp(-apart))
    if kernel == "gaussian":
        return np.asarray(np.exp(-(apart**2) / 2))
    if smoothness == 1.5:
        far = math.sqrt(3) * apart
        return np.asarray((1 + far) * np.exp(-far))
    if smoothness == 2.5:
        far = math.sqrt(5) * apart
        return np.asarray((1 + far + far**2 / 3) * np.exp(-far))
    raise ArgumentError(
        f"smoothness must be 1.5 or 2.5 for a Matern kernel, got {smoothness!r}. "
        "Use kernel='exponential' for 0.5 and kernel='gaussian' for the smoothest."
    )


def best_penalty(found: Spectrum, shape: NoiseShape, noise: float, size: float) -> float:
    """Return the penalty with the least expected error of a curve that is spread as the kernel is.

    Args:
      found: the kernel.
      shape: of the noise.
      noise: standard deviation of the noise for greatest ``gains`` of one.
      size: expected length of the mean curve, measured from the middle of the bounds.
    """
    values = found.eigenvalues
    penalties = float(values[0]) * np.logspace(-8, 3, 111)
    spread = size**2 / float(values.sum())

    def error(rho: float) -> float:
        shares, gains = found.shares(rho), found.gains(rho, shape)
        left = float(np.sum((shares / gains) ** 2)) * float(gains.max()) ** 2
        return spread * float(np.sum(values * (1 - shares) ** 2)) + noise**2 * left

    return float(min(penalties.tolist(), key=error))


def _trapezoid(t: FloatArray) -> FloatArray:
    gaps = np.diff(t)
    return np.asarray((np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2)
