"""Noise on importances, which are differences of noisy sums, and rankings by sums of either sign."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from discreet.mechanisms import LaplaceNoise, Noise, RankingNoise
from discreet.mechanisms.additive.linf import BoxNoise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.plans import Stage
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

_HAIR = 1 + 1e-9


@dataclass(frozen=True)
class Difference:
    """Noise on importances: on a feature's own coordinate, and on the loss they all share.

    ``weight`` is that of the loss, None if differences were summed.
    """

    stage: Stage[Noise]
    weight: float | None

    @property
    def std(self) -> float:
        """The standard deviation of one importance, times the number of records."""
        return self.stage.noise.std * math.sqrt(1 + self._shared**2)

    @property
    def _shared(self) -> float:
        return 0.0 if self.weight is None else 1 / self.weight

    def half_width(self, level: float) -> float:
        """Return h such that an importance is within h of the exact one with probability level."""
        noise, shared = self.stage.noise, self._shared
        if shared == 0 or not isinstance(noise, LaplaceNoise):
            # Gaussian noises add up to Gaussian noise.
            return noise.half_width(level) * math.sqrt(1 + shared**2) * _HAIR
        scale = noise.scale * noise.step
        low, high = 0.0, 2 * (1 + shared) * noise.half_width(level)
        for _ in range(100):
            middle = (low + high) / 2
            too_near = _laplace_tail(middle / scale, shared) > 1 - level
            low, high = (middle, high) if too_near else (low, middle)
        return high * _HAIR

    def importances(self, noisy_sums: FloatArray) -> FloatArray:
        """Return noisy sums of importances."""
        if self.weight is None:
            return noisy_sums
        return np.asarray(noisy_sums[:-1] - noisy_sums[-1] / self.weight)


def _laplace_tail(distance: float, shared: float) -> float:
    """Return P(abs(X + shared Y) > distance) for two Laplace variables of scale one.

    >>> round(_laplace_tail(0.0, 0.5), 12), _laplace_tail(1.0, 0.0) == math.exp(-1)
    (1.0, True)
    """
    if shared == 0:
        return math.exp(-distance)
    if abs(shared - 1) < 1e-3:  # the limit for equal scales, taken at the greater one
        scale = max(shared, 1.0)
        return (1 + distance / (2 * scale)) * math.exp(-distance / scale)
    near, far = math.exp(-distance / shared), math.exp(-distance)
    return (far - shared**2 * near) / (1 - shared**2)


def loss_weight(exchanged: int, features: int, mechanism: str) -> float:
    """Return the weight of the loss with which importances have the least noise.

    With weight w the noise is (a m + w) sqrt(1 + 1/w^2) for Laplace, least at w^3 = a m, and
    sqrt((a^2 m + w^2)(1 + 1/w^2)) for Gaussian noise, least at w^4 = a^2 m. [pfi-loss-once]
    """
    if mechanism == "laplace":
        return float((exchanged * features) ** (1 / 3))
    return math.sqrt(exchanged * math.sqrt(features))


class SignedRanking(RankingNoise):
    """Picks the greatest sums, whatever their sign.

    Guarantees:
      - Scores are the sums themselves, so they move by no more. [pfi-ranking]
    """

    @classmethod
    def of(cls, noise: RankingNoise) -> SignedRanking:
        """Return the same calibration with signs."""
        return cls(**{part.name: getattr(noise, part.name) for part in fields(noise)})

    def scores(self, raw_steps: IntArray) -> IntArray:
        """Return the scores of every group."""
        return np.asarray(raw_steps).reshape(self.groups, self.candidates)


@dataclass(frozen=True)
class SortedNoise(WrappedNoise):
    """The order of noisy sums: cheaper than picks if most of the order is wanted.

    Guarantees:
      - As private as the noise; the order of released numbers costs nothing. [pfi-ranking]
    """

    noise: Noise
    k: int

    kind = "sorted"

    @property
    def name(self) -> str:
        """How the order was found."""
        return f"sorted {self.noise.name}"

    @property
    def step(self) -> float:
        """The lattice of the sums."""
        return self.noise.step

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on one score."""
        return self.noise.std

    @property
    def std(self) -> float:
        """How far below the best the first is on average, at most: the mean of the greatest noise."""
        size = self.certificate.size
        if isinstance(self.noise, BoxNoise):
            return self.noise.mean_greatest
        if isinstance(self.noise, LaplaceNoise):  # no greater than that of exponential variables
            return self.noise.std / math.sqrt(2) * sum(1 / i for i in range(1, size + 1))
        return self.noise.std * math.sqrt(2 * math.log(max(size, 2)))

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the first places, as ``RankingNoise`` does; there are no leads."""
        noisy = self.noise.release(raw_steps, source)
        order = np.argsort(-noisy, kind="stable")[: self.k]
        return np.column_stack([order, np.full(self.k, np.nan)])[None, :, :]


Order = SignedRanking | SortedNoise
