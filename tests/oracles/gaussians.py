"""Gaussian and Laplace laws, continuous and discrete, with fifty digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 50


def analytic_delta(epsilon: float, multiplier: float) -> mp.mpf:
    """Return delta of continuous Gaussian noise by Balle and Wang's formula."""
    e, s = mp.mpf(epsilon), mp.mpf(multiplier)
    return mp.ncdf(1 / (2 * s) - e * s) - mp.e**e * mp.ncdf(-1 / (2 * s) - e * s)


def integrated_delta(epsilon: float, multiplier: float) -> mp.mpf:
    """Return the same delta from its definition: the integral of (p - e^eps q)+."""
    e, s = mp.mpf(epsilon), mp.mpf(multiplier)
    meets = mp.mpf(1) / 2 - e * s * s  # the densities of N(0, s) and N(1, s) times e^eps cross here

    def excess(y: mp.mpf) -> mp.mpf:
        return mp.npdf(y, 0, s) - mp.e**e * mp.npdf(y, 1, s)

    edges = [meets - 40 * s, meets - 20 * s, meets - 8 * s, meets - 3 * s, meets - s, meets]
    return mp.quad(excess, edges)


def discrete_gaussian(scale: float, reach: int) -> list[mp.mpf]:
    """Return P(k) for k from -reach to reach, normalised over the same range."""
    s = mp.mpf(scale)
    weights = [mp.e ** (-(mp.mpf(k) ** 2) / (2 * s * s)) for k in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    return [w / total for w in weights]


def discrete_laplace(scale: float, reach: int) -> list[mp.mpf]:
    """Return P(k) for k from -reach to reach."""
    t = mp.mpf(scale)
    return [mp.tanh(1 / (2 * t)) * mp.e ** (-abs(k) / t) for k in range(-reach, reach + 1)]


def shifted(law: list[mp.mpf], by: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Return a law and the law moved up by ``by``, on the points both lists cover."""
    return law[by:], law[: len(law) - by]


def product(first: list[mp.mpf], second: list[mp.mpf]) -> list[mp.mpf]:
    return [a * b for a in first for b in second]


def total_variation(sigma: float) -> mp.mpf:
    """Return the distance between the discrete Gaussian and the rounded continuous one."""
    s = mp.mpf(sigma)
    reach = math.ceil(12 * sigma)
    discrete = discrete_gaussian(sigma, reach)[reach:]
    half = mp.mpf(1) / 2
    edges = [mp.ncdf((k - half) / s) for k in range(reach + 2)]
    rounded = [b - a for a, b in itertools.pairwise(edges)]
    above = [abs(p - q) for p, q in zip(discrete, rounded, strict=True)]
    return above[0] / 2 + mp.fsum(above[1:])


def least_epsilon(delta_at: Callable[[float], mp.mpf], delta: float) -> float:
    """Return the least epsilon at which a falling delta curve is at most ``delta``."""
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high
