"""A record's curve as coefficients in units of the noise: the inner loop."""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.schema import FloatArray


@njit(cache=True, nogil=True)
def curve_coefficients(
    curves: FloatArray, middle: FloatArray, roots: FloatArray, longest: float, to_noise: FloatArray
) -> FloatArray:
    """Return every record's coefficients, its curve shortened to ``longest`` before.

    Adds in the order of the points for every record alike, so that what a record adds depends on its
    own row alone, to the last bit.
    """
    rows, points = curves.shape
    terms = to_noise.shape[0]
    found = np.zeros((rows, terms))
    curve = np.empty(points)
    for i in range(rows):
        square = 0.0
        for t in range(points):
            curve[t] = (curves[i, t] - middle[t]) * roots[t]
            square += curve[t] * curve[t]
        length = np.sqrt(square)
        shrink = 1.0 if length <= longest else longest / length
        for j in range(terms):
            total = 0.0
            for t in range(points):
                total += to_noise[j, t] * curve[t]
            found[i, j] = shrink * total
    return found
