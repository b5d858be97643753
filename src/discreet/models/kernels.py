"""Compiled predictions that depend on their own row alone."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_FAR = 300.0
"""Two exponentials of at most this size have a product inside the range of floats."""


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
    """Write 1 / (1 + exp(-(score + shift))) for every pair.

    Exponentials are taken once per side, except where one of the sides is too far out for that.
    """
    rows, size = out.shape
    near = np.abs(shifts) <= _FAR
    factors = np.exp(-np.where(near, shifts, 0.0))
    for i in range(rows):
        score = scores[i]
        if abs(score) <= _FAR:
            factor = np.exp(-score)
            for t in range(size):
                if near[t]:
                    out[i, t] = 1.0 / (1.0 + factor * factors[t])
                else:
                    out[i, t] = 1.0 / (1.0 + np.exp(-(score + shifts[t])))
        else:
            for t in range(size):
                out[i, t] = 1.0 / (1.0 + np.exp(-(score + shifts[t])))


@njit(cache=True, nogil=True)
def shifted_identity(
    scores: NDArray[np.float64], shifts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write score + shift for every pair."""
    rows, size = out.shape
    for i in range(rows):
        for t in range(size):
            out[i, t] = scores[i] + shifts[t]
