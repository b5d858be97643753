"""What our mechanisms attain where a lower bound is known, from their own laws: nothing is sampled."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.limits.choosing import first_gap
from discreet.mechanisms import Noise, NoiseName, count_noise, sum_noise
from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.noise import Query
from discreet.mechanisms.selection.basic import PermuteAndFlip
from discreet.mechanisms.selection.registry import pick_share
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import IntArray
from discreet.schema import FloatArray

_STEPS = 2**20
"""Lattice steps per record for selections, so many that they are as good as real scores."""

_WIDE = 60.0
"""Noise beyond so many scales has a chance below 1e-25."""


def vector_noise(
    rows: int, columns: int, epsilon: float, delta: float = 0.0, mechanism: NoiseName = "auto"
) -> Noise:
    """Return the noise on the sum of ``rows`` vectors of numbers between -1 and 1.

    It is that of ``background("mean")`` and, up to the weights, of SHAP values of a linear model.
    """
    bounds = {REPLACE_ONE: Bounds(2.0 * columns, 2.0 * math.sqrt(columns), 2.0)}
    return sum_noise(
        Certificate(("norms",), columns, bounds),
        relation=REPLACE_ONE,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=float(rows),
    )


def histogram_noise(cells: int, epsilon: float) -> Noise:
    """Return the noise on the counts of a histogram of two cells or more."""
    bounds = {REPLACE_ONE: Bounds(2.0, math.sqrt(2.0), 1.0)}
    certificate = Certificate(("histogram",), cells, bounds)
    return count_noise(certificate, relation=REPLACE_ONE, epsilon=epsilon)


def _one_count(epsilon: float) -> Query:
    bounds = {REPLACE_ONE: Bounds(1.0, 1.0, 1.0)}
    return Query(Certificate(("histogram",), 1, bounds), REPLACE_ONE, epsilon)


def count_error(epsilon: float) -> float:
    """Return the mean absolute value of the discrete Laplace noise on one count."""
    ratio = math.exp(-1.0 / LaplaceNoise.for_counts(_one_count(epsilon)).scale)
    return 2.0 * ratio / (1.0 - ratio**2)


def peeled_chance(candidates: int, gap: int, epsilon: float, k: int = 1, delta: float = 0.0) -> float:
    """Return the chance that k permute-and-flip choices, which share the promise, find the k best."""
    step = PermuteAndFlip(_STEPS, pick_share("permute-and-flip", epsilon, delta, k)[0])
    chance = 1.0
    for left in range(k, 0, -1):
        scores = np.zeros(candidates - k + left, dtype=np.int64)
        scores[:left] = gap * _STEPS
        chance *= float(step.probabilities(scores)[:left].sum())
    return chance


def sorted_chance(candidates: int, gap: int, epsilon: float, k: int = 1) -> float:
    """Return the chance that the k greatest of the noisy counts are the k best; a tie is a miss."""
    scale = 2.0 / epsilon  # a replaced record moves two cells
    wide = math.ceil(_WIDE * scale)
    places = np.arange(-wide, wide + gap + 1, dtype=np.int64)
    below = _laplace_below(places, scale) ** (candidates - k)
    above_or_here = (1.0 - _laplace_below(places - gap, scale)) ** k
    # P(the least of the best is here) times P(all others are below).
    return float(((above_or_here - np.append(above_or_here[1:], 0.0)) * below).sum())


def peeled_order_chance(candidates: int, gap: int, epsilon: float, k: int) -> float:
    """Return the chance that k permute-and-flip choices find the order of the k best."""
    step = PermuteAndFlip(_STEPS, epsilon / k)
    scores = np.zeros(candidates, dtype=np.int64)
    scores[:k] = gap * _STEPS * np.arange(k, 0, -1)
    return math.prod(float(step.probabilities(scores[place:])[0]) for place in range(k))


def sorted_order_chance(candidates: int, gap: int, epsilon: float, k: int) -> float:
    """Return the chance that the noisy counts have the k best in their order; a tie is a miss.

    ``below`` is the chance, by place, that all so far are in order and below it: first the others, then
    the k-th best, and so on up.
    """
    scale = 2.0 / epsilon
    wide = math.ceil(_WIDE * scale)
    places = np.arange(-wide, wide + k * gap + 1, dtype=np.int64)
    below = _laplace_below(places, scale) ** (candidates - k)
    for score in range(1, k + 1):
        here = math.tanh(0.5 / scale) * np.exp(-np.abs(places - score * gap) / scale)
        below = np.concatenate([[0.0], np.cumsum(here * below)])[:-1]
    return float(below[-1])


def needed_gap(
    candidates: int, epsilon: float, delta: float = 0.0, *, k: int = 1, level: float = 0.9
) -> int:
    """Return the least whole gap at which the better of ours has the k best with chance ``level``."""

    def chance(gap: int) -> float:
        peeled = peeled_chance(candidates, gap, epsilon, k, delta)
        return max(peeled, sorted_chance(candidates, gap, epsilon, k))

    return first_gap(lambda gap: chance(gap) >= level)


def needed_spacing(candidates: int, epsilon: float, *, k: int, level: float = 0.9) -> int:
    """Return the same for the order of the k best, each so far ahead of the next."""

    def chance(gap: int) -> float:
        laws = (peeled_order_chance, sorted_order_chance)
        return max(law(candidates, gap, epsilon, k) for law in laws)

    return first_gap(lambda gap: chance(gap) >= level)


def _laplace_below(places: IntArray, scale: float) -> FloatArray:
    """Return P(Z < place) of discrete Laplace noise."""
    ratio = math.exp(-1.0 / scale)
    tail = np.exp(-np.abs(np.where(places > 0, places, 1 - places)) / scale) / (1 + ratio)
    return np.where(places > 0, 1.0 - tail, tail)
