"""What all selections by scores have in common, and what one has to say of itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.numerics import check_positive, check_whole, up
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.accounting.conversion import bounded_range_rho, pure_rho
from discreet.randomness import IntArray, NoiseSource

FloatArray = NDArray[np.float64]

_RHOS: dict[type[BoundedRangeEvent] | type[PureEvent], Callable[[float], float]] = {
    BoundedRangeEvent: bounded_range_rho,
    PureEvent: pure_rho,
}


@dataclass(frozen=True)
class Selection:
    """A mechanism that picks an index: its sensitivity in steps and its epsilon."""

    sensitivity: int
    epsilon: float

    def __post_init__(self) -> None:
        check_whole("sensitivity", self.sensitivity, 1)
        check_positive("epsilon", self.epsilon)

    @property
    def scale(self) -> float:
        """The noise scale in steps: twice the sensitivity, because scores may move apart."""
        return up(2 * self.sensitivity / self.epsilon)


class Pick(Selection, ABC):
    """A selection that stays near the best score, whatever the scores are; ``registry`` knows all.

    ``spread`` is the standard deviation of the noise on a score, in noise scales; ``tail`` how much
    farther it goes than a Gumbel variable; ``tells_gap`` whether the winner's noisy gap is told as
    well; ``by_weights`` whether a candidate is chosen in proportion to a weight of its own.
    """

    name: ClassVar[str]
    spread: ClassVar[float]
    tail: ClassVar[float] = 1.0
    tells_gap: ClassVar[bool] = False
    by_weights: ClassVar[bool] = False
    event_kind: ClassVar[type[BoundedRangeEvent] | type[PureEvent]] = PureEvent

    @property
    @abstractmethod
    def event(self) -> BoundedRangeEvent | PureEvent:
        """What the accountant is told."""

    @classmethod
    def rho(cls, epsilon: float) -> float:
        """Return the zCDP cost of a pick."""
        return _RHOS[cls.event_kind](epsilon)

    @staticmethod
    def chance_of_best(behind: FloatArray, candidates: int) -> FloatArray:
        """Return the chance of a best candidate all others are equally far ``behind``, in scales."""
        return np.asarray(1 / (1 + (candidates - 1) * np.exp(-behind)))

    @classmethod
    def worst_loss(cls, candidates: int) -> float:
        """Return the greatest expected distance from the best, in noise scales, over two-level scores.

        One candidate is best and the others are equally far behind: the worst case of the exponential
        mechanism and of permute-and-flip (McKenna and Sheldon 2020, Proposition 4); a guide for the
        Laplace law, whose tail is twice as heavy.
        """
        return _worst_loss(cls, candidates)

    @classmethod
    def worst_error(cls, candidates: int) -> float:
        """Return a bound on the expected distance from the best, in noise scales, over all scores."""
        return cls.worst_loss(candidates)

    @abstractmethod
    def probabilities(self, scores: IntArray) -> FloatArray:
        """Return the exact law of the chosen index."""

    def near_law(self, scores: IntArray) -> FloatArray:
        """Return the law of the chosen index, near enough to be looked at; for the curator."""
        return self.probabilities(scores)

    @abstractmethod
    def choose(self, raw_scores: IntArray, source: NoiseSource) -> tuple[int, float]:
        """Return the chosen index and its noisy gap in steps, NaN if it is not told."""

    @abstractmethod
    def peel(self, raw_scores: IntArray, k: int, source: NoiseSource) -> FloatArray:
        """Return k indices, best first, each with its noisy gap in steps to those that were left."""


@lru_cache(maxsize=256)
def _worst_loss(law: type[Pick], candidates: int) -> float:
    if candidates == 1:
        return 0.0
    behind = np.linspace(0.0, 4.0 + 2.0 * math.log(candidates), 400)
    best = law.chance_of_best(behind, candidates)
    return float(np.max(behind * (1 - best)))
