"""How far apart two exact laws are: delta at an epsilon, and epsilon at a delta.

The delta of a pair at epsilon is the greatest P(S) - exp(epsilon) Q(S) over all sets S of outcomes (the
hockey-stick divergence). A best set holds the outcomes with the greatest ratios P / Q. So one sort of
the outcomes answers every question without a search: delta(epsilon) is read off at the outcomes whose
log-ratio exceeds epsilon, and epsilon(delta) is the greatest log((P(S) - delta) / Q(S)) over the sets
that sorting makes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.errors import ArgumentError

FloatArray = NDArray[np.float64]
Law = FloatArray | Sequence[float] | Mapping[Hashable, float]
"""Probabilities of outcomes in a fixed order, or by outcome."""

ROUNDING = 1e-12
"""Probabilities are sums and integrals in floating point: a delta of so little is none."""

_MASS = 1e-6
"""A law may leave out so much: what lies beyond the window on which noise is laid out."""


class PrivacyProfile:
    """The whole delta(epsilon) curve of one law against another, in this direction.

    Args:
      first: the law whose sets are likelier.
      second: the law they are compared with, over the same outcomes.
      pair: the inputs the two laws are of.
    """

    def __init__(self, first: FloatArray, second: FloatArray, pair: tuple[Any, Any] = ("", "")) -> None:
        possible = first > 0
        p, q = first[possible], second[possible]
        with np.errstate(divide="ignore"):
            loss = np.log(p) - np.log(q)
        order = np.argsort(-loss, kind="stable")
        self.pair = pair
        self._loss = loss[order]
        self._first = np.concatenate([[0.0], np.cumsum(p[order])])
        self._second = np.concatenate([[0.0], np.cumsum(q[order])])

    @property
    def said(self) -> str:
        """The pair, in words."""
        return f"{shown(self.pair[0])} against {shown(self.pair[1])}"

    def deltas(self, epsilons: FloatArray) -> FloatArray:
        """Return delta at each epsilon."""
        above = np.searchsorted(-self._loss, -epsilons, side="left")
        factor = np.exp(np.minimum(epsilons, 700.0))  # beyond this no product is a float
        return np.asarray(np.maximum(self._first[above] - factor * self._second[above], 0.0))

    def delta(self, epsilon: float) -> float:
        """Return delta at one epsilon."""
        return float(self.deltas(np.array([epsilon]))[0])

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the least epsilon at this delta, but for outcomes that are rarer than rounding."""
        left = self._first[1:] - (delta + ROUNDING)
        some = left > 0
        if not some.any():
            return 0.0
        with np.errstate(divide="ignore"):
            return max(0.0, float(np.max(np.log(left[some]) - np.log(self._second[1:][some]))))


def both_directions(
    first: Law, second: Law, pair: tuple[Any, Any] = ("", "")
) -> tuple[PrivacyProfile, PrivacyProfile]:
    """Return the profiles of two laws, each against the other; raise if they are no laws.

    >>> one, other = both_directions([0.75, 0.25], [0.25, 0.75])
    >>> round(math.exp(one.epsilon()), 6), round(other.delta(0.0), 6)
    (3.0, 0.5)
    """
    p, q = aligned(first, second)
    return PrivacyProfile(p, q, pair), PrivacyProfile(q, p, pair[::-1])


def aligned(first: Law, second: Law) -> tuple[FloatArray, FloatArray]:
    """Return two laws over the same outcomes; what a mapping leaves out is impossible."""
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        raise ArgumentError(
            "law must return probabilities for every input or a mapping for every input, got one of "
            "each. Return the same kind always."
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outcomes = list(dict.fromkeys([*first, *second]))
        first = [first.get(outcome, 0.0) for outcome in outcomes]
        second = [second.get(outcome, 0.0) for outcome in outcomes]
    p, q = as_probabilities(first), as_probabilities(second)
    if len(p) != len(q):
        raise ArgumentError(
            f"law must have as many outcomes for both neighbours, got {len(p)} and {len(q)}. "
            "Return a mapping of outcomes to probabilities if they differ."
        )
    return p, q


def as_probabilities(law: object) -> FloatArray:
    """Return a law as a flat vector, or raise with what is wrong with it."""
    try:
        found = np.asarray(law, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ArgumentError(
            f"law must return probabilities or a mapping of outcomes to them, got {shown(law)}."
        ) from None
    if found.size == 0 or not np.isfinite(found).all() or found.min() < 0:
        raise ArgumentError(
            f"law must return finite probabilities of at least 0, got {shown(found.tolist())}."
        )
    total = math.fsum(found.tolist())
    if abs(total - 1.0) > _MASS:
        raise ArgumentError(
            f"law must return probabilities that add up to one, got {total:.6g}. Lay out all outcomes, "
            "and sum those beyond a window up in one."
        )
    return found
