"""Rank candidates by the absolute value of noisy sums: picks, and what was selected.

A stage adds up one vector of ``groups`` x ``candidates`` coordinates; every group (a query, say) is
ranked by itself. Scores are absolute values of whole lattice steps, so a record that moves every
coordinate by D moves every score by at most D (the reverse triangle inequality).

Peeling with the exponential law is one shot of Gumbel noise (Durfee and Rogers 2019) and drawn so.
Picks that happen together are charged together: by the sum of their epsilons, or, where a delta is
given, by the sum of their rhos - then ``m`` exponential mechanisms of epsilon s each cost m s^2 / 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.mechanisms.additive.registry import NOISES, NoiseName
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.mechanisms.selection.pick import FloatArray, Pick
from discreet.mechanisms.selection.registry import ON_SCORES, pick_share, tells_gap
from discreet.numerics import (
    check_choice,
    check_positive,
    check_probability,
    check_whole,
)
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource

RankingName = Literal["auto", "exponential", "permute-and-flip", "laplace"]
SortedName = Literal["sorted", "sorted laplace", "sorted linf", "sorted gaussian"]
OrderName = RankingName | SortedName

# Picks add up, so those whose cost adds up best come first.
RANKINGS = ("auto", *sorted(ON_SCORES, key=lambda name: ON_SCORES[name].rho(1.0)))

SORTED: Mapping[str, NoiseName] = {"sorted": "auto", **{f"sorted {law}": law for law in NOISES}}
"""Orders of noisy sums, with the noise of each."""

ORDERS = (*RANKINGS, *SORTED)

SORTED_WEIGHT = 0.9
"""Noise on all sums counts this much of its width beside that of a pick, whose tail is longer; the
benchmark ``shap_order`` found it on ten tables, each left out in turn."""


@dataclass(frozen=True)
class RankingNoise:
    """Pick ``k`` of every group's candidates, best first, by peeling.

    ``share`` is the epsilon of one pick; ``release`` returns groups x k x 2: the index and, for the
    Laplace mechanism, the noisy gap to the candidates that were left (else NaN).

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
        return ON_SCORES[self.kind](moved, self.share)

    @property
    def tells_gap(self) -> bool:
        """Whether noisy gaps are told as well."""
        return self.pick.tells_gap

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
        return self.step * self.pick.scale * self.pick.worst_loss(self.candidates)

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on one score."""
        return self.step * self.pick.scale * self.pick.spread

    def scores(self, raw_steps: IntArray) -> IntArray:
        """Return the scores of every group."""
        return np.abs(raw_steps).reshape(self.groups, self.candidates)

    def first_law(self, raw_steps: IntArray) -> FloatArray:
        """Return the law of every group's first pick, groups x candidates; for the curator."""
        return np.stack([self.pick.near_law(scores) for scores in self.scores(raw_steps)])

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the picks of every group."""
        picks = [self.pick.peel(scores, self.k, source) for scores in self.scores(raw_steps)]
        return np.asarray(np.stack(picks) * np.array([1.0, self.step]))


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
    kinds = [name for name in RANKINGS[1:] if not tells_gap(name)]
    linf = certificate.sensitivity("linf", relation)
    found = []
    for kind in kinds if mechanism == "auto" else [mechanism]:
        share, spent = pick_share(kind, epsilon, delta, groups * k)
        step = lattice_step(2 * linf / share, largest_sum)
        rounded = certify_rounded(certificate, step, batch_rows)
        found.append(RankingNoise(rounded, relation, epsilon, spent, step, groups, k, share, kind))
    return min(found, key=lambda noise: noise.std)


def as_picks(mechanism: OrderName) -> RankingName | None:
    """Return the law of picks that was asked for, None for an order of noisy sums."""
    return None if mechanism in SORTED else mechanism  # type: ignore[return-value]  # the others


def sorting_is_better(picks: RankingNoise, sums_std: float) -> bool:
    """Return whether sorting noisy sums finds the first k more often than picks do: a public rule.

    Picks need noise for one coordinate, but k times as much of it; noise on all sums needs a bound on
    all coordinates, once. Whichever puts less noise on a score is taken.
    """
    return SORTED_WEIGHT * sums_std < picks.spread
