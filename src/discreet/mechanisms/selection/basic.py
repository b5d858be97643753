"""Choose one or several of many candidates by private scores.

Scores are whole numbers of a lattice step, so that comparisons are exact; a neighbour moves every
score by at most ``sensitivity`` steps. Every mechanism has an event and an exact output law
(``probabilities``), so that tests and planners need no sampling. Indices break no tie by data:
equal scores are equally likely.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.flips import permute_and_flip
from discreet.mechanisms.selection.pick import FloatArray, Pick, Selection
from discreet.numerics import check_positive, check_whole, float_of_units, to_budget_units
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.randomness import IntArray, NoiseSource, SelectionLaw

_COARSE = 1_000


class _Drawn(Pick):
    """A pick whose peeling the source of noise draws at once."""

    law: ClassVar[SelectionLaw]

    def peel(self, raw_scores: IntArray, k: int, source: NoiseSource) -> FloatArray:
        """See ``Pick``; there are no gaps."""
        chosen = source.select(raw_scores, self.scale, k, self.law)
        return np.column_stack([chosen, np.full(k, np.nan)]).astype(np.float64)

    def choose(self, raw_scores: IntArray, source: NoiseSource) -> tuple[int, float]:
        """See ``Pick``; there is no gap."""
        return self.release(raw_scores, source), math.nan

    @abstractmethod
    def release(self, raw_scores: IntArray, source: NoiseSource) -> int:
        """Return the chosen index."""


class ExponentialMechanism(_Drawn):
    """Pick i with probability proportional to exp(epsilon score_i / (2 sensitivity)).

    Guarantees:
      - epsilon-differentially private and epsilon-bounded range. [exponential]
    """

    name = law = "exponential"
    spread = math.pi / math.sqrt(6)
    by_weights = True
    event_kind = BoundedRangeEvent

    @property
    def event(self) -> BoundedRangeEvent:
        """What the accountant is told."""
        return BoundedRangeEvent(self.epsilon)

    def probabilities(self, scores: IntArray) -> FloatArray:
        """Return the exact law of the chosen index."""
        steps = _scores(scores)
        weights = np.exp((steps - steps.max()) / self.scale)
        return np.asarray(weights / weights.sum())

    def release(self, raw_scores: IntArray, source: NoiseSource) -> int:
        """Return the chosen index."""
        return source.select(_scores(raw_scores), self.scale, 1, "exponential")[0]


class PermuteAndFlip(_Drawn):
    """Visit candidates in random order; take one with probability exp(eps (score - best) / (2 D)).

    Never worse than the exponential mechanism in one shot (McKenna and Sheldon 2020), dearer under
    composition.

    Guarantees:
      - epsilon-differentially private. [permute-and-flip]
    """

    name = law = "permute-and-flip"
    spread = 1.0

    @property
    def event(self) -> PureEvent:
        """What the accountant is told."""
        return PureEvent(self.epsilon, self.name)

    def probabilities(self, scores: IntArray) -> FloatArray:
        """Return the exact law of the chosen index: q_i times the integral of prod (1 - q_j t).

        The integrand is a polynomial of degree k - 1, on which Gauss quadrature is exact.
        """
        steps = _scores(scores)
        accept = np.exp((steps - steps.max()) / self.scale)
        time, weights = _unit_interval(len(accept) // 2 + 1)
        survive = 1.0 - accept[:, None] * time[None, :]
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(survive, 0.0))
        others = np.exp(logs.sum(axis=0) - logs)
        return np.asarray(accept * (others @ weights))

    @staticmethod
    def chance_of_best(behind: FloatArray, candidates: int) -> FloatArray:
        """Return the integral of (1 - accept t)^(others) over t from 0 to 1."""
        accept = np.exp(-behind)
        return np.asarray((1 - (1 - accept) ** candidates) / (candidates * accept))

    def release(self, raw_scores: IntArray, source: NoiseSource) -> int:
        """Return the chosen index."""
        return permute_and_flip(_scores(raw_scores), self.scale, source)


@dataclass(frozen=True)
class GapChoice:
    """The winner of a noisy maximum and its noisy gap to the runner-up, in whole steps."""

    index: int
    gap: int


class NoisyMax(Pick):
    """Add discrete Laplace noise to every score; report the winner and, for free, its gap.

    The noise is understood as spread evenly inside its step. It then has a density that changes by
    at most exp(1 / scale) per step, so the continuous proof (Ding et al. 2019) holds as it stands,
    without a term for ties; the gap is rounded down to whole steps afterwards. Only the order of
    equal noisy scores depends on the spread, and that order is uniform.

    Guarantees:
      - (winner, gap) together are epsilon-differentially private. [free-gap]
    """

    name = "laplace noisy max"
    spread = math.sqrt(2)
    tail = 2.0
    tells_gap = True

    @property
    def event(self) -> PureEvent:
        """What the accountant is told."""
        return PureEvent(self.epsilon, self.name)

    def probabilities(self, scores: IntArray) -> FloatArray:
        """Return the law of the winner, summed over the winner's noise (for scales up to 10^4)."""
        cutoff = math.ceil(40 * self.scale)
        noise = np.arange(-cutoff, cutoff + 1)
        weight = math.tanh(0.5 / self.scale) * np.exp(-np.abs(noise) / self.scale)
        # Spread inside the step: of two equal noisy scores each wins with probability one half, so
        # P(others below) integrates (below + t * equal) over t in [0, 1].
        time, time_weight = _unit_interval(len(scores) // 2 + 1)
        steps = _scores(scores)
        law = np.empty(len(steps))
        for i, score in enumerate(steps):
            gap = (score + noise)[:, None] - np.delete(steps, i)[None, :]
            below, equal = _laplace_below(gap, self.scale), _laplace_at(gap, self.scale)
            inside = [np.prod(below + t * equal, axis=1) for t in time]
            law[i] = float(weight @ (np.asarray(inside).T @ time_weight))
        return law

    @classmethod
    def worst_error(cls, candidates: int) -> float:
        """Return the expected greatest of all noises."""
        harmonic = math.fsum(1 / np.arange(1, min(candidates, 10**6) + 1))
        return harmonic + math.log(max(1.0, candidates / 10**6))

    def near_law(self, scores: IntArray) -> FloatArray:
        """See ``Pick``: summed over the noise, so on a lattice that is coarse enough to sum over."""
        coarse = NoisyMax(max(1, round(_COARSE * self.epsilon / 2)), self.epsilon)
        return coarse.probabilities(np.rint(scores * (coarse.scale / self.scale)).astype(int))

    def choose(self, raw_scores: IntArray, source: NoiseSource) -> tuple[int, float]:
        """See ``Pick``."""
        choice = self.release(raw_scores, source)
        return choice.index, float(choice.gap)

    def peel(self, raw_scores: IntArray, k: int, source: NoiseSource) -> FloatArray:
        """See ``Pick``."""
        left, picks = list(range(len(raw_scores))), []
        for _ in range(k):
            if len(left) == 1:  # nothing to choose from, and no gap to anybody
                picks.append((float(left.pop()), math.nan))
                continue
            place, gap = self.choose(raw_scores[left], source)
            picks.append((float(left.pop(place)), gap))
        return np.array(picks)

    def release(self, raw_scores: IntArray, source: NoiseSource) -> GapChoice:
        """Return the winner and its gap."""
        scores = _scores(raw_scores)
        check_whole("the number of candidates", len(scores), 2)
        noisy = scores + source.laplace(self.scale, len(scores))
        tied = np.flatnonzero(noisy == noisy.max())
        winner = int(tied[source.below(len(tied))])
        rivals = np.delete(noisy, winner)
        gap = int(noisy[winner] - rivals.max())
        # The winner's place inside its step is above all tied rivals' with probability 1/(1 + ties).
        spread_below = gap > 0 and source.below(1 + int(np.sum(rivals == rivals.max()))) > 0
        return GapChoice(winner, gap - int(spread_below))


@dataclass(frozen=True)
class TopK:
    """The k best, in order: peel with the exponential mechanism or permute-and-flip, epsilon / k each.

    For the exponential law, peeling equals adding one Gumbel variable per candidate once and
    reporting the k largest (Durfee and Rogers 2019), which is how it is drawn.

    Guarantees:
      - epsilon-differentially private in total; hiding the order would save nothing. [top-k]
    """

    sensitivity: int
    epsilon: float
    k: int
    law: SelectionLaw = "exponential"

    def __post_init__(self) -> None:
        check_whole("sensitivity", self.sensitivity, 1)
        check_positive("epsilon", self.epsilon)
        check_whole("k", self.k, 1)
        check_positive("epsilon / k", self._share, "Ask for a larger epsilon or a smaller k.")
        if self.law not in ("exponential", "permute-and-flip"):
            raise ArgumentError(
                f"law must be exponential or permute-and-flip, got {self.law!r}. "
                "Laplace noise drawn once does not give a private order."
            )

    @property
    def _share(self) -> float:
        """Epsilon of one step: whole units, so that k of them are never charged above epsilon."""
        return float_of_units(to_budget_units(self.epsilon) // self.k)

    @property
    def step(self) -> ExponentialMechanism | PermuteAndFlip:
        """The mechanism of one peeling step."""
        kind = ExponentialMechanism if self.law == "exponential" else PermuteAndFlip
        return kind(self.sensitivity, self._share)

    @property
    def events(self) -> tuple[BoundedRangeEvent | PureEvent, ...]:
        """What the accountant is told: one event per step."""
        return (self.step.event,) * self.k

    def probability(self, scores: IntArray, order: Sequence[int]) -> float:
        """Return the exact probability of one ordered answer."""
        left, share = list(range(len(scores))), 1.0
        if len(order) != self.k or len(set(order) & set(left)) != self.k:
            raise ArgumentError(f"order must be {self.k} different candidates, got {order!r}.")
        for index in order:
            law = self.step.probabilities(np.asarray(scores)[left])
            share *= float(law[left.index(index)])
            left.remove(index)
        return share

    def release(self, raw_scores: IntArray, source: NoiseSource) -> list[int]:
        """Return the chosen indices, best first."""
        scores = _scores(raw_scores)
        check_whole("k", self.k, 1, len(scores), "Ask for no more than there are candidates.")
        return source.select(scores, self.step.scale, self.k, self.law)


class AboveThreshold(Selection):
    """The first score that exceeds a public threshold (Dwork and Roth 2014, Algorithm 1).

    Threshold noise has scale 2 D / epsilon, every score's noise 4 D / epsilon; stops at the first
    score above, or answers None after the last.

    Guarantees:
      - epsilon-differentially private in total, however many scores are tested. [above-threshold]
    """

    name = "above threshold"

    @property
    def event(self) -> PureEvent:
        """What the accountant is told."""
        return PureEvent(self.epsilon, self.name)

    def probabilities(self, scores: IntArray, threshold: int) -> FloatArray:
        """Return the law over (first, second, ..., None), for scales up to 10^4."""
        cutoff = math.ceil(40 * self.scale)
        noise = np.arange(-cutoff, cutoff + 1)
        weight = math.tanh(0.5 / self.scale) * np.exp(-np.abs(noise) / self.scale)
        needed = (threshold + noise)[:, None] - _scores(scores)[None, :]
        below = _laplace_below(needed, 2 * self.scale)
        reached = np.cumprod(np.column_stack([np.ones(len(noise)), below]), axis=1)
        stops = reached[:, :-1] * (1.0 - below)
        return np.asarray(weight @ np.column_stack([stops, reached[:, -1]]))

    def release(self, raw_scores: IntArray, threshold: int, source: NoiseSource) -> int | None:
        """Return the index of the first score above, or None."""
        scores = _scores(raw_scores)
        check_whole("threshold", threshold, -(2**62), 2**62)
        noisy_threshold = threshold + int(source.laplace(self.scale, 1)[0])
        noisy = scores + source.laplace(2 * self.scale, len(scores))
        above = np.flatnonzero(noisy >= noisy_threshold)
        return int(above[0]) if len(above) else None


def _scores(raw_scores: IntArray) -> IntArray:
    scores = np.asarray(raw_scores)
    if scores.ndim != 1 or len(scores) == 0 or scores.dtype.kind not in "iu":
        raise ArgumentError("scores must be a non-empty vector of whole lattice steps.")
    return scores.astype(np.int64, copy=False)


def _unit_interval(count: int) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on [0, 1]: exact up to degree 2 count - 1."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _laplace_at(value: NDArray[np.int64], scale: float) -> FloatArray:
    return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(value) / scale))


def _laplace_below(value: NDArray[np.int64], scale: float) -> FloatArray:
    """Return P(Z < value) of the discrete Laplace law."""
    q = math.exp(-1.0 / scale)
    tail = np.exp(-np.abs(np.where(value > 0, value, 1 - value)) / scale) / (1 + q)
    return np.where(value > 0, 1.0 - tail, tail)
