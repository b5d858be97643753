"""Smooth noisy max as published: none of these calibrations is private for every number of candidates.

Chaves et al. (2025): the first gap is alpha / 2 and the gap grows by exp(beta) per unit of stability.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.mechanisms.smooth.densities import (
    DEGREES,
    SIGMA,
    SmoothNoiseName,
    leader_law,
    smooth_noise,
)
from discreet.mechanisms.smooth.tables import StabilityTable, table_of


def published(noise: SmoothNoiseName, epsilon: float, delta: float = 1e-6) -> tuple[float, float]:
    """Return the first gap and beta."""
    if noise == "laplace":  # the paper's own lemma; its code halves this noise
        return epsilon / 4, epsilon / (2 * math.log(2 / delta))
    if noise == "student-t":
        beta = epsilon / (2 * (DEGREES + 1))
        alpha = 2 * math.sqrt(DEGREES) * (epsilon - beta * (DEGREES + 1)) / (DEGREES + 1)
        return alpha / 2, beta
    beta = epsilon / 2
    return math.exp(-1.5 * SIGMA**2) * (epsilon - beta / SIGMA) / 2, beta


def published_law(
    noise: SmoothNoiseName, candidates: int, epsilon: float, stability: float
) -> tuple[float, float]:
    """Return the probability of the winner and of each other candidate."""
    first, beta = published(noise, epsilon)
    gap = first * math.exp(min(beta * stability, 60.0))
    top, other = leader_law(smooth_noise(noise), candidates, np.array([gap]))
    return float(top[0]), float(other[0])


def published_table(
    noise: SmoothNoiseName, candidates: int, epsilon: float, states: int, *, beta: float | None = None
) -> StabilityTable:
    """Return the law of every stability, as the tables of our own mechanisms are."""
    first, own = published(noise, epsilon)
    gaps = first * np.exp((own if beta is None else beta) * np.arange(states))
    return table_of(candidates, leader_law(smooth_noise(noise), candidates, gaps)[1])
