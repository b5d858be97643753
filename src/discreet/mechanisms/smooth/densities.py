"""The law of a noisy maximum of 0/1 utilities, by quadrature: one is ahead, all others are tied.

A smooth noisy maximum (Chaves et al. 2025) adds noise of a data-dependent scale to utilities that are
one for the winner and zero for everybody else. Its law depends on the table through one number only,
the gap in units of noise. Quadrature is a tool of design here: what is released is drawn from whole
weights that were checked exactly (see ``smooth_tables``); an error of it costs accuracy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_whole

FloatArray = NDArray[np.float64]
SmoothNoiseName = Literal["student-t", "laplace", "laplace-log-normal"]
SMOOTH_NOISES: tuple[SmoothNoiseName, ...] = ("student-t", "laplace", "laplace-log-normal")

DEGREES = 3
"""Degrees of freedom of Student's T, as in the paper."""

SIGMA = 0.7
"""Shape of the Laplace-log-normal law: about what the authors' equation gives at beta = epsilon / 2."""

_PANEL_NODES = 12
_NARROW, _WIDE, _CHANGE = 0.2, 0.75, 5.0
"""Panels are narrow where a maximum of many light-tailed noises lies, on the scale of asinh."""

_TAIL = 24.0
"""Nodes lie so far beyond the gap on the scale of asinh: what is left out is below exp(-3 * 24)."""


@dataclass(frozen=True)
class SmoothNoise:
    """A symmetric noise law: its density, and its tail P(Z > z) for z >= 0."""

    name: SmoothNoiseName
    density: Callable[[FloatArray], FloatArray]
    tail: Callable[[FloatArray], FloatArray]

    def log_below(self, z: FloatArray) -> FloatArray:
        """Return ln P(Z < z)."""
        tail = np.maximum(self.tail(np.abs(z)), 1e-300)
        return np.where(z > 0, np.log1p(-tail), np.log(tail))


@lru_cache(maxsize=8)
def smooth_noise(name: SmoothNoiseName) -> SmoothNoise:
    """Return a noise law by its name."""
    check_choice("noise", name, SMOOTH_NOISES)
    if name == "student-t":
        return SmoothNoise(name, _student_density, _student_tail)
    if name == "laplace":
        return SmoothNoise(name, lambda z: 0.5 * np.exp(-np.abs(z)), lambda z: 0.5 * np.exp(-z))
    return SmoothNoise(name, *_laplace_log_normal())


def leader_law(noise: SmoothNoise, candidates: int, gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for every gap, the probability of the leader and that of each other candidate.

    p_top(g) = int f(z) F(z + g)^(m - 1) dz and p_other(g) = int f(z) F(z)^(m - 2) F(z - g) dz, each
    by itself: the second as a difference from one would lose its digits.
    """
    check_whole("candidates", candidates, 2)
    gaps = np.asarray(gaps, dtype=np.float64)
    if gaps.ndim != 1 or not np.all(gaps > 0):
        raise ArgumentError("gaps must be a vector of positive numbers.")
    top, other = np.empty(len(gaps)), np.empty(len(gaps))
    for i, gap in enumerate(gaps.tolist()):
        z, weight = line_nodes((0.0, gap))
        measure = weight * noise.density(z)
        below, behind = noise.log_below(z), noise.log_below(z - gap)
        other[i] = measure @ np.exp((candidates - 2) * below + behind)
        # The mirror image of the same nodes: f is symmetric, so F(z + g) is taken at -z.
        top[i] = measure @ np.exp((candidates - 1) * noise.log_below(gap - z))
    return top, other


def line_nodes(centres: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights on the whole line, dense around every centre (ascending)."""
    spread = math.asinh(centres[-1] - centres[0]) + _TAIL
    outer, weight = _panels(spread)
    pieces = [(centres[0] - np.sinh(outer), weight * np.cosh(outer))]
    for left, right in pairwise(centres):
        part, share = _panels(math.asinh((right - left) / 2))
        part, share = np.sinh(part), share * np.cosh(part)
        pieces += [(left + part, share), (right - part, share)]
    pieces.append((centres[-1] + np.sinh(outer), weight * np.cosh(outer)))
    places, weights = zip(*pieces, strict=True)
    return np.concatenate(places), np.concatenate(weights)


def _panels(length: float) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on panels that fill [0, length]."""
    change = min(length, _CHANGE)
    narrow = np.linspace(0.0, change, max(1, math.ceil(change / _NARROW)) + 1)
    wide = np.linspace(change, length, math.ceil((length - change) / _WIDE) + 1)
    edges = np.concatenate([narrow, wide[1:]])
    unit, weight = _legendre()
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + unit * width).ravel(), (weight * width).ravel()


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _student_density(z: FloatArray) -> FloatArray:
    constant = 2 / (math.pi * math.sqrt(3))  # three degrees of freedom
    return np.asarray(constant * (1 + z * z / 3) ** -2)


def _student_tail(z: FloatArray) -> FloatArray:
    """P(Z > z): theta = atan(sqrt(3) / z), (theta - sin(theta) cos(theta)) / pi; a series far out."""
    theta = np.arctan2(math.sqrt(3), z)
    exact = (theta - 0.5 * np.sin(2 * theta)) / math.pi
    # theta - sin(2 theta)/2 = (2/3) theta^3 (1 - theta^2/5 + 2 theta^4/105 - theta^6/945 + ...)
    t2 = theta * theta
    series = 2 / 3 * theta * t2 * (1 - t2 / 5 + 2 * t2**2 / 105 - t2**3 / 945 + 2 * t2**4 / 51975)
    return np.asarray(np.where(theta < 0.1, series / math.pi, exact))


def _laplace_log_normal() -> tuple[Callable[..., FloatArray], Callable[..., FloatArray]]:
    """Return density and tail of Laplace times exp(sigma N): a mixture over N, then splines."""
    from scipy.interpolate import CubicSpline

    normal = np.linspace(-9.0, 9.0, 361)
    share = np.exp(-0.5 * normal**2)
    share /= share.sum()
    rate = np.exp(-SIGMA * normal)
    grid = np.linspace(0.0, 40.0, 4001)
    z = np.sinh(grid)[:, None]
    log_tail = np.log(np.maximum(0.5 * np.exp(-z * rate) @ share, 1e-300))
    log_density = np.log(np.maximum(0.5 * (np.exp(-z * rate) * rate) @ share, 1e-300))
    tail, density = CubicSpline(grid, log_tail), CubicSpline(grid, log_density)

    def at(spline: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
        return lambda z: np.exp(spline(np.arcsinh(np.minimum(np.abs(z), 1e17))))

    return at(density), at(tail)
