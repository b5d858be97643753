"""Laplace noise on counts that add up to a public number: drawn so that it adds up to nothing.

Neighbours under replace-one have counts with one sum, so only vectors with that sum are answered. Among
those noise z has probability proportional to exp(-|z|_1 / scale), as without the condition: the
K-norm mechanism (Hardt and Talwar 2010) on the lattice of differences. Counts then have the right sum
without being mended, and less noise each: nearly half of it for two cells, a seventh less variance for
twenty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from discreet.errors import CertificateError
from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.noise import FloatArray, Noise, whole_steps
from discreet.numerics import check_whole
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource, is_below_exp

MOST_CELLS = 256
"""A draw is kept with probability 0.56 / sqrt(cells): of more cells it would take too many."""

_FINE = 128.0
"""From this scale on the law is that of a finer lattice, but for its unit."""

_TAIL = 40.0
"""Tables of the law hold so many scales: exp(-40) is left out."""

_LOST = 1e-12
"""More than floating point loses of exp(-x), relatively, wherever 32 bits can tell it from zero."""


@dataclass(frozen=True)
class BalancedLaplaceNoise(LaplaceNoise):
    """Discrete Laplace noise on whole counts with the public sum ``total``, given that it adds up to 0.

    Guarantees:
      - epsilon-differentially private, exactly, for neighbours whose counts have one sum. [balanced]
    """

    total: int = 0

    independent = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("total", self.total, 0)
        if not _one_sum(self.relation) or self.step != 1:
            raise CertificateError("Balanced noise needs whole counts with a public sum.")

    @property
    def std(self) -> float:
        """The standard deviation of one released count."""
        law, unit = self._law
        return unit * math.sqrt(2 * float(law @ np.arange(len(law)) ** 2))

    def half_width(self, level: float) -> float:
        """Return h such that a released count is within h of the exact one with probability level."""
        law, unit = self._law
        beyond = 2 * (np.cumsum(law[::-1])[::-1] - law)
        steps = int(np.argmax(beyond <= 1 - level)) if level < 1 else len(law)
        return float(steps) if unit == 1 else float(math.ceil((steps + 1) * unit))

    def half_width_of_sums(self, level: float) -> float:
        """Return such an h for all sums with weights of length one.

        A condition makes nothing more likely than by one over its own probability.
        """
        law = _of_sums(self.certificate.size, min(self.scale, _FINE), 0)
        chance = float(law[0]) * min(1.0, _FINE / self.scale)
        return super().half_width(1 - (1 - level) * chance)

    def half_width_of_two(self, weight: float, level: float) -> float:
        """Return such an h for one released count plus ``weight`` times another."""
        return Noise.half_width_of_two(self, weight, level)

    def probabilities(self, offsets: IntArray) -> FloatArray:
        """Return the law of the noise of one count."""
        law = _of_one(self.certificate.size, self.scale)
        return law[np.minimum(np.abs(offsets), len(law) - 1)]

    def simulate(self, generator: Generator, draws: int, size: int) -> FloatArray:
        """Return draws of all counts at once, from independent ones that are kept if they add up."""
        found = np.zeros((0, size))
        while len(found) < draws:
            tried = super().simulate(generator, 4 * draws, size)
            tried[:, -1] = -tried[:, :-1].sum(axis=1)
            kept = generator.random(len(tried)) < np.exp(-np.abs(tried[:, -1]) / self.scale)
            found = np.concatenate([found, tried[kept]])
        return found[:draws]

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the counts with noise; the last one is what the public sum leaves of the others.

        Guarantees:
          - Whatever the counts of neighbours are, they are taken to have one sum. [balanced]
        """
        counts = np.array(whole_steps(raw_steps))
        counts[-1] = self.total - counts[:-1].sum()
        return (counts + draw_balanced(self.scale, len(counts), source)).astype(np.float64)

    @property
    def _law(self) -> tuple[FloatArray, float]:
        """The law of the noise of one count from zero on, and what its places are multiplied by."""
        unit = max(1.0, self.scale / _FINE)
        return _of_one(self.certificate.size, self.scale / unit), unit


def _one_sum(relation: Relation) -> bool:
    """Say whether neighbours have as many whole records."""
    return Relation(relation).rows_public and Relation(relation).whole


def balanced(noise: Noise, total: int | None) -> Noise:
    """Return noise on whole counts as it is, or balanced where that can be had.

    Args:
      noise: on the counts of cells of which every record is in one.
      total: the number of records, None if it is private.
    """
    certificate = noise.certificate
    fits = type(noise) is LaplaceNoise and noise.step == 1 and certificate.size <= MOST_CELLS
    if total is None or not fits or not _one_sum(noise.relation):
        return noise
    assert isinstance(noise, LaplaceNoise)
    proven = replace(certificate, statements=(*certificate.statements, "balanced"))
    given = (noise.relation, noise.epsilon, noise.step, noise.sensitivity)
    return BalancedLaplaceNoise(proven, *given, total=total)


def draw_balanced(scale: float, size: int, source: NoiseSource) -> IntArray:
    """Draw integers that add up to zero, P(z) proportional to exp(-|z|_1 / scale).

    All but the last are drawn independently, and are kept with the probability that the last one needs.

    Guarantees:
      - Exact, from whole random numbers alone; how long it takes says nothing of the counts. [balanced]
    """
    tries = max(1, round(2 * min(scale, 1.0) * math.sqrt(size)))
    while True:
        drawn = source.laplace(scale, tries * (size - 1)).reshape(tries, size - 1)
        for row, last in zip(drawn, (-drawn.sum(axis=1)).tolist(), strict=True):
            if _is_kept(abs(last), scale, source):
                return np.append(row, last)


def _is_kept(distance: int, scale: float, source: NoiseSource) -> bool:
    """Draw a Bernoulli(exp(-distance / scale)) variable; what 32 bits leave open is drawn on."""
    word, wanted = source.below(1 << 32), math.exp(-distance / scale) * 2.0**32
    if word + 1 <= wanted * (1 - _LOST):
        return True
    if 0 < word >= wanted * (1 + _LOST):
        return False
    return is_below_exp(word, 32, Fraction(distance) / Fraction(scale), source.below)


@lru_cache(maxsize=64)
def _of_one(size: int, scale: float) -> FloatArray:
    """Return the probabilities of 0, 1, ... as the noise of one count, which is symmetric."""
    places = np.arange(math.ceil(_TAIL * scale) + 2)
    law = np.exp(-places / scale) * np.maximum(_of_sums(size - 1, scale, len(places)), 0.0)[places]
    found: FloatArray = law / (2 * law.sum() - law[0])
    found.setflags(write=False)
    return found


def _of_sums(size: int, scale: float, places: int) -> FloatArray:
    """Return the probabilities of 0, 1, ... as the sum of independent noises, by Fourier's series."""
    needed = 8 + 2 * places + _TAIL * scale * (1 + math.sqrt(size))
    grid = 1 << math.ceil(math.log2(needed))
    q = math.exp(-1 / scale)
    waves = (1 - q) ** 2 / (1 - 2 * q * np.cos(2 * np.pi * np.arange(grid // 2 + 1) / grid) + q**2)
    return np.fft.irfft(waves**size, grid)
