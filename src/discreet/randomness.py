"""The only source of randomness: exact noise for releases, a seeded twin for simulation.

A release draws from ``SystemNoise``: OpenDP's samplers, which work in exact rational arithmetic on
entropy of the operating system, so that no output of one table is impossible for its neighbour.
``SimulatedNoise`` follows the same laws from a seed; whatever it touches is stamped ``simulation``
and carries no privacy, because anyone with the seed can subtract the noise.

Randomness that protects nobody (probe rows, example data) comes from ``public_generator``.

References: Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy";
McKenna, Sheldon (2020), "Permute-and-Flip"; OpenDP >= 0.16.
"""

from __future__ import annotations

import math
import secrets
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_whole

IntArray = NDArray[np.int64]
SelectionLaw = Literal["exponential", "permute-and-flip"]

LARGEST_SCALE = 2.0**50
"""Integer noise is drawn exactly up to this scale; far above it 64 bits would cut it off."""

_ROUNDED_NORMAL_FROM = 2.0**10


class NoiseSource(Protocol):
    """Where noise comes from. Scales are in whole steps of the caller's lattice."""

    simulation: bool

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw integers with P(k) proportional to exp(-abs(k)/scale)."""

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw integers with P(k) proportional to exp(-k^2/(2 scale^2))."""

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Draw k distinct indices by peeling; each step follows ``law`` on scores / scale."""

    def below(self, count: int) -> int:
        """Draw a uniform whole number from 0 to count - 1."""


class SystemNoise:
    """Exact noise from operating-system entropy: the source of every real release."""

    simulation = False

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Laplace noise."""
        check_scale(scale)
        dp = _opendp()
        return _drawn(dp.make_laplace(_integers(), dp.l1_distance(T="i64"), scale=scale), size)

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Gaussian noise."""
        check_scale(scale)
        dp = _opendp()
        return _drawn(dp.make_gaussian(_integers(), dp.l2_distance(T="f64"), scale=scale), size)

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Peel k indices with OpenDP's exact comparisons."""
        dp = _opendp()
        # OpenDP names the law by the measure it is best in: Gumbel noise (exponential mechanism)
        # for zero-concentrated, exponential noise (permute-and-flip) for max divergence.
        exponential = law == "exponential"
        measure = dp.zero_concentrated_divergence() if exponential else dp.max_divergence()
        measurement = dp.make_noisy_top_k(
            _integers(), dp.linf_distance(T="i64"), measure, k=k, scale=scale
        )
        return [int(index) for index in measurement(scores.tolist())]

    def below(self, count: int) -> int:
        """Draw a uniform whole number."""
        return secrets.randbelow(count)


class SimulatedNoise:
    """The same laws from a seed, for tests and studies. Not private."""

    simulation = True

    def __init__(self, seed: int) -> None:
        check_whole("seed", seed, 0)
        self._generator = np.random.default_rng(seed)

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw the difference of two geometric variables."""
        check_scale(scale)
        success = -math.expm1(-1.0 / scale)
        first, second = self._generator.geometric(success, (2, size))
        return np.asarray(first - second, dtype=np.int64)

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw from the table of the law, or, where no table is needed, a rounded normal."""
        check_scale(scale)
        if scale >= _ROUNDED_NORMAL_FROM:
            return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)
        reach = math.ceil(12 * scale) + 1
        support = np.arange(-reach, reach + 1)
        weights = np.exp(-0.5 * (support / scale) ** 2)
        return self._generator.choice(support, size=size, p=weights / weights.sum())

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Peel k indices: Gumbel noise for exponential, exponential noise for permute-and-flip."""
        draw = self._generator.gumbel if law == "exponential" else self._generator.exponential
        left = list(range(len(scores)))
        chosen = []
        for _ in range(k):
            noisy = scores[left] / scale + draw(size=len(left))
            chosen.append(left.pop(int(np.argmax(noisy))))
        return chosen

    def below(self, count: int) -> int:
        """Draw a seeded whole number."""
        return int(self._generator.integers(0, count))


def check_scale(scale: float) -> None:
    """Raise unless integer noise of this scale can be drawn exactly."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ArgumentError(
            f"A noise scale must be positive and at most 2^50 steps, got {scale!r}. "
            "Ask for a larger epsilon."
        )


def noise_source(seed: int | None) -> NoiseSource:
    """Return the exact source, or the seeded twin if a seed is given."""
    return SystemNoise() if seed is None else SimulatedNoise(seed)


def public_generator(seed: int) -> np.random.Generator:
    """Return a generator for choices that are public and touch no private value."""
    return np.random.default_rng(seed)


def _drawn(measurement: Any, size: int) -> IntArray:
    return np.asarray(measurement([0] * size), dtype=np.int64)


def _integers() -> Any:
    dp = _opendp()
    return dp.vector_domain(dp.atom_domain(T="i64"))


@cache
def _opendp() -> SimpleNamespace:
    """Import the parts in use; ``opendp.prelude`` takes ten times as long."""
    from opendp import domains, measurements, measures, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return SimpleNamespace(
        make_laplace=measurements.make_laplace,
        make_gaussian=measurements.make_gaussian,
        make_noisy_top_k=measurements.make_noisy_top_k,
        vector_domain=domains.vector_domain,
        atom_domain=domains.atom_domain,
        l1_distance=metrics.l1_distance,
        l2_distance=metrics.l2_distance,
        linf_distance=metrics.linf_distance,
        max_divergence=measures.max_divergence,
        zero_concentrated_divergence=measures.zero_concentrated_divergence,
    )
