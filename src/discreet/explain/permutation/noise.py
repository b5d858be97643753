"""Noise on importances, which are differences of noisy sums, and rankings by sums of either sign."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from discreet.mechanisms import Noise, RankingNoise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.plans import Stage
from discreet.privacy.certificate import Norm
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
        return self.stage.noise.half_width_of_two(self._shared, level) * _HAIR

    def importances(self, noisy_sums: FloatArray) -> FloatArray:
        """Return noisy sums of importances."""
        if self.weight is None:
            return noisy_sums
        return np.asarray(noisy_sums[:-1] - noisy_sums[-1] / self.weight)


def loss_weight(moved: int, features: int, norm: Norm) -> float:
    """Return the weight of the loss with which importances have the least noise.

    With weight w noise that is calibrated in L1 is (a m + w) sqrt(1 + 1/w^2), least at w^3 = a m; in L2
    sqrt((a^2 m + w^2)(1 + 1/w^2)), least at w^4 = a^2 m; in Linf the greater of a and w times
    sqrt(1 + 1/w^2), least at w = a. [pfi-loss-once]
    """
    least = {
        "l1": float((moved * features) ** (1 / 3)),
        "l2": math.sqrt(moved * math.sqrt(features)),
        "linf": float(moved),
    }
    return least[norm]


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

    tells_gap = False

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
        return self.noise.mean_greatest(self.certificate.size)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the first places, as ``RankingNoise`` does; there are no gaps."""
        noisy = self.noise.release(raw_steps, source)
        order = np.argsort(-noisy, kind="stable")[: self.k]
        return np.column_stack([order, np.full(self.k, np.nan)])[None, :, :]


Order = SignedRanking | SortedNoise
