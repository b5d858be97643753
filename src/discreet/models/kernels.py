"""Compiled predictions that depend on their own row alone."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def linear_scores(
    columns: NDArray[np.float64], weights: NDArray[np.float64], intercept: float
) -> NDArray[np.float64]:
    """Return intercept + row . weights, adding in column order for every row alike."""
    rows, width = columns.shape
    scores = np.full(rows, intercept)
    for j in range(width):
        weight = weights[j]
        for i in range(rows):
            scores[i] += weight * columns[i, j]
    return scores


@njit(cache=True, nogil=True)
def shifted_logistic(
    scores: NDArray[np.float64], shifts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write 1 / (1 + exp(-(score + shift))) for every pair; exponentials are taken once per side."""
    rows, size = out.shape
    factors = np.exp(-np.clip(shifts, -300.0, 300.0))
    for i in range(rows):
        factor = np.exp(-min(max(scores[i], -300.0), 300.0))
        for t in range(size):
            out[i, t] = 1.0 / (1.0 + factor * factors[t])


@njit(cache=True, nogil=True)
def shifted_identity(
    scores: NDArray[np.float64], shifts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write score + shift for every pair."""
    rows, size = out.shape
    for i in range(rows):
        for t in range(size):
            out[i, t] = scores[i] + shifts[t]
