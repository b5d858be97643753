"""Distances between exact output laws, by definition and with many digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Law = Mapping[object, float]


def as_law(probabilities: NDArray[np.float64]) -> dict[object, float]:
    return dict(enumerate(probabilities.tolist()))


def max_divergence(first: Law, second: Law, floor: float = 1e-14) -> float:
    """Return the greatest log-ratio; outcomes rarer than ``floor`` in both laws are skipped."""
    worst = 0.0
    for outcome in first.keys() | second.keys():
        p, q = first.get(outcome, 0.0), second.get(outcome, 0.0)
        if max(p, q) < floor:
            continue
        if min(p, q) <= 0.0:
            return math.inf
        worst = max(worst, abs(math.log(p / q)))
    return worst


def hockey_stick(first: list[mp.mpf], second: list[mp.mpf], epsilon: float) -> mp.mpf:
    """Return the least delta at ``epsilon``: the sum of what ``first`` has above e^eps ``second``."""
    factor = mp.e ** mp.mpf(epsilon)
    return mp.fsum(max(p - factor * q, mp.mpf(0)) for p, q in zip(first, second, strict=True))


def renyi(first: list[mp.mpf], second: list[mp.mpf], order: float) -> mp.mpf:
    """Return the Renyi divergence; order 1 is the limit, relative entropy."""
    pairs = [(p, q) for p, q in zip(first, second, strict=True) if p > 0]
    if order == 1:
        return mp.fsum(p * mp.log(p / q) for p, q in pairs)
    a = mp.mpf(order)
    return mp.log(mp.fsum(p**a * q ** (1 - a) for p, q in pairs)) / (a - 1)


ORDERS = (1, 1.0001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 1000)


def greatest_rho(first: list[mp.mpf], second: list[mp.mpf], orders: Sequence[float] = ORDERS) -> mp.mpf:
    """Return the greatest D_a / a over the orders, both ways round: the zCDP cost of the pair."""
    return max(
        renyi(p, q, order) / order for order in orders for p, q in ((first, second), (second, first))
    )
