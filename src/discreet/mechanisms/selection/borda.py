"""Borda counts: points by the rankings of subsets, and private choices by their sum.

A ranking gives M items the points 0, ..., M - 1, the best item most; tied items share what they would
get together. Points with ties are means of points without, so they move no further.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): the exact sensitivity,
floor(M^2 / 2) in L1, where the paper has ceil(M^2 / 2) + M and its code M^2 + M; for the top few a
selection, which needs the greatest move of one item only; Gaussian noise in L2 where a delta is given.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray, Noise
from discreet.mechanisms.additive.registry import NOISES, NoiseName, sum_noise
from discreet.mechanisms.selection.basic import NoisyMax
from discreet.mechanisms.selection.ranking import RANKINGS, RankingName, RankingNoise, ranking_noise
from discreet.numerics import check_choice, check_whole, up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import RELATIONS, Relation

BordaMechanism = NoiseName | Literal["exponential", "permute-and-flip"]
BORDA_MECHANISMS = ("auto", *NOISES, *(name for name in RANKINGS[1:] if name not in NOISES))
MOST_ITEMS = 10_000


def borda_points(scores: FloatArray) -> FloatArray:
    """Return the points of every item; NaN means unranked: below all others, and tied.

    >>> borda_points(np.array([0.1, 7.0, np.nan, 0.1])).tolist()
    [1.5, 3.0, 0.0, 1.5]
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    order = np.sort(known)
    below = np.searchsorted(order, known, side="left")
    at_most = np.searchsorted(order, known, side="right")
    return np.asarray((below + at_most - 1) / 2.0)


def points_region(items: int) -> Box:
    """Return where the points of a ranking lie."""
    return Box(0.0, items - 1.0)


def certify_points(items: int) -> Certificate:
    """Certify the sum of the points of rankings of which one is replaced by another.

    Guarantees:
      - L1 floor(M^2 / 2), L2 sqrt(M (M^2 - 1) / 3), Linf M - 1, attained by the reversed ranking; under
        both relations, and with ties. [borda]
    """
    check_whole("items", items, 2, MOST_ITEMS)
    squares = items * (items**2 - 1) // 3  # a whole number: three successive ones are multiplied
    moved = Bounds(float(items**2 // 2), up(math.sqrt(squares), 1), float(items - 1))
    return Certificate(("borda",), items, dict.fromkeys(RELATIONS, moved))


def borda_noise(
    certificate: Certificate,
    *,
    rankings: int,
    k: int,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: BordaMechanism = "auto",
) -> Noise | RankingNoise:
    """Return what makes sums of points private: noise on every item's, or picks by them.

    Args:
      certificate: of the sum of points.
      rankings: how many there are.
      k: how many items are wanted.
      relation: the neighbouring relation.
      epsilon: the promise.
      delta: zero for a pure promise.
      mechanism: the law of noise on all points (the order is then free); ``exponential`` or
        ``permute-and-flip`` for k picks; ``auto`` takes what loses least.

    Guarantees:
      - The sum of points has the certificate, whatever is done with it. [borda]
    """
    check_choice("mechanism", mechanism, BORDA_MECHANISMS)
    largest = rankings * (certificate.size - 1.0)

    def on_points(law: NoiseName) -> Noise:
        return sum_noise(
            certificate,
            relation=relation,
            epsilon=epsilon,
            delta=delta,
            mechanism=law,
            largest_sum=largest,
        )

    def by_picks(law: RankingName) -> RankingNoise:
        return ranking_noise(
            certificate,
            relation=relation,
            epsilon=epsilon,
            delta=delta,
            k=k,
            mechanism=law,
            largest_sum=largest,
        )

    if mechanism == "exponential" or mechanism == "permute-and-flip":
        return by_picks(mechanism)
    if mechanism != "auto":
        return on_points(mechanism)
    compared: tuple[Noise | RankingNoise, ...] = (by_picks("auto"), on_points("auto"))
    return min(compared, key=lambda noise: expected_loss(noise, certificate.size))


def expected_loss(noise: Noise | RankingNoise, items: int) -> float:
    """Return how many points below the best a choice is on average, near the worst case; a guide.

    Noise on points is taken for Laplace noise of the same standard deviation.
    """
    if isinstance(noise, RankingNoise):
        return noise.std
    return noise.std / math.sqrt(2.0) * NoisyMax.worst_loss(items)
