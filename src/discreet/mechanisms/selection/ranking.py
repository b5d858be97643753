"""Rank candidates by the absolute value of noisy sums: picks, and what was picked.

A stage adds up one vector of ``groups`` x ``candidates`` coordinates; every group (a query, say) is
ranked by itself. Scores are absolute values of whole lattice steps, so a record that moves every
coordinate by D moves every score by at most D (the reverse triangle inequality).

Peeling with the exponential law is one shot of Gumbel noise (Durfee and Rogers 2019) and drawn so.
Picks that happen together are charged together: by the sum of their epsilons, or, where a delta is
given, by the sum of their rhos - then ``m`` exponential mechanisms of epsilon s each cost m s^2 / 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.mechanisms.additive.linf import BoxNoise
from discreet.mechanisms.additive.noise import LaplaceNoise, Noise
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.mechanisms.selection.basic import (
    ExponentialMechanism,
    FloatArray,
    NoisyMax,
    PermuteAndFlip,
)
from discreet.numerics import (
    check_choice,
    check_positive,
    check_probability,
    check_whole,
    float_of_units,
    to_budget_units,
)
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.accounting.conversion import bounded_range_rho, pure_rho, zcdp_budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource

RankingName = Literal["auto", "exponential", "permute-and-flip", "laplace"]
RANKINGS = ("auto", "exponential", "permute-and-flip", "laplace")
OrderName = RankingName | Literal["sorted"]
ORDERS = (*RANKINGS, "sorted")

_SPREAD = {"exponential": math.pi / math.sqrt(6), "permute-and-flip": 1.0, "laplace": math.sqrt(2)}
"""Standard deviation of the noise a pick puts on a score, in noise scales."""

SORTED_WEIGHT = 0.9
"""Noise on all sums counts this much of its width beside that of a pick, whose tail is longer; the
benchmark ``shap_order`` found it on ten tables, each left out in turn."""

_COARSE = 1_000
Pick = ExponentialMechanism | PermuteAndFlip | NoisyMax
_KINDS: dict[str, type[Pick]] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "laplace": NoisyMax,
}


@dataclass(frozen=True)
class RankingNoise:
    """Pick ``k`` of every group's candidates, best first, by peeling.

    ``share`` is the epsilon of one pick; ``release`` returns groups x k x 2: the index and, for the
    Laplace mechanism, the noisy lead over the candidates that were left (else NaN).

    Guarantees:
      - (epsilon, delta)-differentially private over all groups and picks. [top-k] [free-gap]
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    step: float
    groups: int
    k: int
    share: float
    kind: str

    @property
    def name(self) -> str:
        """The law of a pick."""
        return self.kind

    @property
    def pick(self) -> Pick:
        """The mechanism of one pick, on whole steps."""
        moved = math.ceil(self.certificate.sensitivity("linf", self.relation) / self.step)
        return _KINDS[self.kind](moved, self.share)

    @property
    def events(self) -> tuple[BoundedRangeEvent | PureEvent, ...]:
        """What the accountant is told: one event per pick."""
        return (self.pick.event,) * (self.groups * self.k)

    @property
    def candidates(self) -> int:
        """The number of candidates of one group."""
        return self.certificate.size // self.groups

    @property
    def std(self) -> float:
        """How far below the best a pick is on average, in the worst case."""
        return self.step * self.pick.scale * worst_loss(self.kind, self.candidates)

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on one score."""
        return self.step * self.pick.scale * _SPREAD[self.kind]

    def scores(self, raw_steps: IntArray) -> IntArray:
        """Return the scores of every group."""
        return np.abs(raw_steps).reshape(self.groups, self.candidates)

    def first_law(self, raw_steps: IntArray) -> FloatArray:
        """Return the law of every group's first pick, groups x candidates; for the curator."""
        return np.stack([self._law(scores) for scores in self.scores(raw_steps)])

    def _law(self, raw_scores: IntArray) -> FloatArray:
        if self.kind != "laplace":
            return self.pick.probabilities(raw_scores)
        # Summed over the noise, so on a lattice that is coarse enough to sum over.
        coarse = NoisyMax(max(1, round(_COARSE * self.share / 2)), self.share)
        return coarse.probabilities(np.rint(raw_scores * (coarse.scale / self.pick.scale)).astype(int))

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the picks of every group."""
        return np.stack([self._ranked(scores, source) for scores in self.scores(raw_steps)])

    def _ranked(self, raw_scores: IntArray, source: NoiseSource) -> FloatArray:
        if self.kind != "laplace":
            law: Literal["exponential", "permute-and-flip"] = self.kind  # type: ignore[assignment]
            chosen = source.select(raw_scores, self.pick.scale, self.k, law)
            return np.column_stack([chosen, np.full(self.k, np.nan)]).astype(np.float64)
        left, picks = list(range(len(raw_scores))), []
        for _ in range(self.k):
            if len(left) == 1:  # nothing to choose from, and nobody to lead
                picks.append((float(left.pop()), math.nan))
                continue
            choice = NoisyMax(self.pick.sensitivity, self.share).release(raw_scores[left], source)
            picks.append((float(left.pop(choice.index)), choice.gap * self.step))
        return np.array(picks)


def ranking_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    groups: int = 1,
    k: int = 1,
    mechanism: RankingName = "auto",
    largest_sum: float,
    batch_rows: int = 0,
) -> RankingNoise:
    """Return the mechanism that ranks every group of a sum of real contributions.

    Args:
      certificate: bounds on the exact sum of ``groups`` x candidates coordinates.
      relation: the neighbouring relation.
      epsilon: the promise for all picks together.
      delta: zero for a pure promise.
      groups: how many vectors are ranked.
      k: picks per group.
      mechanism: the law of a pick; ``auto`` takes the one that loses least in the worst case.
      largest_sum: no coordinate of the sum exceeds this in absolute value (public).
      batch_rows: rows whose rounding may flip with a record: those that share a model call with it.

    Guarantees:
      - The certificate in use is that of the rounded sum. [lattice]
    """
    check_choice("mechanism", mechanism, RANKINGS)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_whole("k", k, 1, certificate.size // groups, "Ask for no more than there are candidates.")
    kinds = ("exponential", "permute-and-flip") if mechanism == "auto" else (mechanism,)
    linf = certificate.sensitivity("linf", relation)
    found = []
    for kind in kinds:
        share, spent = pick_share(kind, epsilon, delta, groups * k)
        step = lattice_step(2 * linf / share, largest_sum)
        rounded = certify_rounded(certificate, step, batch_rows)
        found.append(RankingNoise(rounded, relation, epsilon, spent, step, groups, k, share, kind))
    return min(found, key=lambda noise: noise.std)


def sorting_is_better(picks: RankingNoise, sums_std: float) -> bool:
    """Return whether sorting noisy sums finds the first k more often than picks do: a public rule.

    Picks need noise for one coordinate, but k times as much of it; noise on all sums needs a bound on
    all coordinates, once. Whichever puts less noise on a score is taken.
    """
    return SORTED_WEIGHT * sums_std < picks.spread


def mean_greatest(noise: Noise, size: int) -> float:
    """Return a bound on the mean of the greatest absolute noise on so many sums."""
    if isinstance(noise, LaplaceNoise):  # absolute values are exponential
        return noise.std / math.sqrt(2) * sum(1 / i for i in range(1, size + 1))
    if isinstance(noise, BoxNoise):  # at most half the width of the cube
        return noise.step * noise.scale * (noise.certificate.size + 1)
    return noise.std * math.sqrt(2 * math.log(2 * size))


def pick_share(kind: str, epsilon: float, delta: float, picks: int) -> tuple[float, float]:
    """Return the epsilon of one of several picks that together keep the promise, and delta's use.

    Guarantees:
      - picks * share <= epsilon, or the sum of rhos converts to (epsilon, delta). [top-k]
    """
    pure = float_of_units(to_budget_units(epsilon) // picks)
    check_positive("epsilon of one pick", pure, "Ask for a larger epsilon or for fewer picks.")
    if delta == 0 or picks == 1:
        return pure, 0.0
    rho = zcdp_budget(epsilon, delta) / picks * (1 - 1e-9)
    cost = bounded_range_rho if kind == "exponential" else pure_rho
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= rho else (low, middle)
    return (low, delta) if low > pure else (pure, 0.0)


@lru_cache(maxsize=256)
def worst_loss(kind: str, candidates: int) -> float:
    """Return the greatest expected distance from the best, in noise scales, over two-level scores.

    One candidate is best and the others are equally far behind: the worst case of the exponential
    mechanism and of permute-and-flip (McKenna and Sheldon 2020, Proposition 4); a guide for the
    Laplace law, whose tail is twice as heavy.
    """
    if candidates == 1:
        return 0.0
    behind = np.linspace(0.0, 4.0 + 2.0 * math.log(candidates), 400)
    if kind == "permute-and-flip":
        accept = np.exp(-behind)
        # P(best) is the integral of (1 - accept t)^(others) dt.
        best = (1 - (1 - accept) ** candidates) / (candidates * accept)
    else:
        best = 1 / (1 + (candidates - 1) * np.exp(-behind))
    return float(np.max(behind * (1 - best)))
