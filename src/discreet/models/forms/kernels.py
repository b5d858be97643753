"""Compiled predictions that depend on their own row alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

_FAR = 300.0
"""Two exponentials of at most this size have a product inside the range of floats."""


@njit(cache=True, nogil=True)
def linear_scores(
    columns: NDArray[np.float64], weights: NDArray[np.float64], intercept: float
) -> NDArray[np.float64]:
    """Return intercept + row . weights, adding in column order; ``columns`` has one row per feature."""
    width, rows = columns.shape
    scores = np.empty(rows)
    for i in range(rows):
        scores[i] = intercept
    for j in range(width):
        weight = weights[j]
        for i in range(rows):
            scores[i] += weight * columns[j, i]
    return scores


@njit(cache=True, nogil=True)
def shifted_logistic(
    scores: NDArray[np.float64], shifts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write 1 / (1 + exp(-(score + shift))) for every pair; ``out`` has a row per shift.

    Exponentials are taken once per side, except where one of the sides is too far out for that.
    """
    size, rows = out.shape
    factors = np.empty(rows)
    near = True
    for i in range(rows):
        near = near and abs(scores[i]) <= _FAR
        factors[i] = np.exp(-min(max(scores[i], -_FAR), _FAR))
    for t in range(size):
        if abs(shifts[t]) <= _FAR:
            factor = np.exp(-shifts[t])
            for i in range(rows):
                out[t, i] = 1.0 / (1.0 + factors[i] * factor)
        if abs(shifts[t]) > _FAR or not near:
            for i in range(rows):
                if abs(shifts[t]) > _FAR or abs(scores[i]) > _FAR:
                    out[t, i] = 1.0 / (1.0 + np.exp(-(scores[i] + shifts[t])))


@njit(cache=True, nogil=True)
def shifted_identity(
    scores: NDArray[np.float64], shifts: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write score + shift for every pair; ``out`` has a row per shift."""
    size, rows = out.shape
    for t in range(size):
        for i in range(rows):
            out[t, i] = scores[i] + shifts[t]
