"""The exact loss of discrete Gaussian noise on counts, and its distance from the continuous one."""

from __future__ import annotations

import math

import numpy as np

from discreet.numerics import up

LARGEST_SUMMED_SCALE = 2.0**14
"""Above this scale the exact sum is not formed and the caller's zCDP bound serves."""

_CUTOFF = 14.0
"""Sums run over this many standard deviations; the rest weighs less than exp(-98)."""


def count_gaussian_delta(epsilon: float, scale: float, moves: int) -> float:
    """Return delta when ``moves`` (1 or 2) counts with discrete Gaussian noise move by one each.

    With K the sum of the noises of the moved counts, the log-ratio is (moves - 2 K) / (2 scale^2).
    For two moves P(K) is proportional to exp(-K^2 / (4 scale^2)) times a factor of K's parity.

    Guarantees:
      - The exact value, plus what floats and the cut tail can hide. [gauss-counts]
    """
    if scale > LARGEST_SUMMED_SCALE:
        return 1.0
    cutoff = math.ceil(_CUTOFF * scale * math.sqrt(moves)) + moves + 1
    total = np.arange(-cutoff, cutoff + 1, dtype=np.float64)
    log_weights = -(total**2) / (2 * moves * scale**2)
    if moves == 2:
        log_weights += np.where(total % 2 == 0, _log_theta(scale, 0.0), _log_theta(scale, 0.5))
    weights = np.exp(log_weights)
    loss = (moves - 2 * total) / (2 * scale**2)
    loss += 1e-15 * np.abs(loss)  # where epsilon meets a loss, its last bits decide
    kept = weights * -np.expm1(np.minimum(epsilon - loss, 0.0))
    share = math.fsum(kept.tolist()) / math.fsum(weights.tolist())
    return min(1.0, up(share * (1 + 1e-12)) + 1e-40)


def lattice_slack(sigma: float, size: int) -> float:
    """Return the total variation distance between discrete and rounded continuous Gaussian noise.

    ``sigma`` is in lattice steps, at least 4; the bound is for ``size`` independent coordinates.

    Guarantees:
      - At most size / (10 sigma^2). [gauss-lattice]
    """
    if sigma < 4:
        return math.inf
    return up(size / (10.0 * sigma * sigma))


def _log_theta(scale: float, offset: float) -> float:
    """Return log of the sum over integers k of exp(-(k - offset)^2 / scale^2)."""
    cutoff = math.ceil(_CUTOFF * scale) + 2
    squares = ((np.arange(-cutoff, cutoff + 1, dtype=np.float64) - offset) / scale) ** 2
    least = float(squares.min())
    return math.log(math.fsum(np.exp(least - squares).tolist())) - least
