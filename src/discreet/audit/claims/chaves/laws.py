"""The published calibrations, and what they lose: laws by quadrature, nothing is drawn.

One candidate is ahead of all others, which are tied; the law depends on the gap in units of noise. The
published first gap is alpha / 2 at a local sensitivity of one.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.mechanisms.smooth.densities import (
    DEGREES,
    SIGMA,
    FloatArray,
    SmoothNoiseName,
    leader_law,
    smooth_noise,
)

DELTA = 1e-6
"""As in the authors' code; the paper names none."""


def published(noise: SmoothNoiseName, epsilon: float, delta: float = DELTA) -> tuple[float, float]:
    """Return alpha and beta as the paper and the works it cites have them."""
    if noise == "laplace":
        return epsilon / 2, epsilon / (2 * math.log(2 / delta))
    if noise == "student-t":
        return epsilon * math.sqrt(DEGREES) / (DEGREES + 1), epsilon / (2 * (DEGREES + 1))
    beta = epsilon / 2
    return math.exp(-1.5 * SIGMA**2) * (epsilon - beta / SIGMA), beta


def step_losses(noise: SmoothNoiseName, candidates: int, gaps: FloatArray, after: FloatArray) -> float:
    """Return the greatest log-ratio between the laws at each gap and at the gap after an edit."""
    law = smooth_noise(noise)
    top, other = leader_law(law, candidates, gaps)
    top_after, other_after = leader_law(law, candidates, after)
    ratios = np.log(np.concatenate([top / top_after, other / other_after]))
    return float(np.abs(ratios).max())


def walk_loss(noise: SmoothNoiseName, candidates: int, gaps: FloatArray) -> float:
    """Return the greatest log-ratio between the laws at neighbouring gaps."""
    laws = np.log(leader_law(smooth_noise(noise), candidates, gaps))
    return float(np.abs(np.diff(laws, axis=1)).max())


def step_delta(
    noise: SmoothNoiseName, candidates: int, epsilon: float, gaps: FloatArray, after: FloatArray
) -> float:
    """Return the least delta with which every such step keeps epsilon."""
    law, factor = smooth_noise(noise), math.exp(epsilon)
    laws = leader_law(law, candidates, gaps), leader_law(law, candidates, after)
    found = 0.0
    for (top, other), (top_after, other_after) in (laws, laws[::-1]):
        rise = np.maximum(top - factor * top_after, 0.0)
        rise += (candidates - 1) * np.maximum(other - factor * other_after, 0.0)
        found = max(found, float(rise.max()))
    return found


def slid_and_dilated(alpha: float, beta: float, gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gaps of two neighbours between which utilities slide and all noises dilate.

    Four tables in a row, x, y, w, v. From x to y the utility of the first candidate falls by s and
    those of all others rise by s; y and w are equal; from w to v a utility moves by s exp(2 beta).
    So the smooth sensitivity is s at x and s exp(beta) at y. With noise of 2 S / alpha the gap falls
    by alpha in units of noise, and is divided by exp(beta).
    """
    return gaps + alpha, gaps * math.exp(-beta)


def winner_chance(
    noise: SmoothNoiseName, candidates: int, epsilon: float, stability: float, beta: float | None = None
) -> float:
    """Return the published chance of the winner at some stability.

    Args:
      noise: its name.
      candidates: how many there are; all but the winner are tied.
      epsilon: the budget.
      stability: the power k of S = exp(-beta k).
      beta: the admissible one if None; sections 6 and 7 have epsilon in its place.
    """
    alpha, admissible = published(noise, epsilon)
    power = (admissible if beta is None else beta) * stability
    gap = alpha / 2 * math.exp(min(power, 60.0))
    return float(leader_law(smooth_noise(noise), candidates, np.array([gap]))[0][0])
