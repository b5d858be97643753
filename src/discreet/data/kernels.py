"""The compiled loop that adds up what records contribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit


@njit(cache=True, nogil=True)
def round_and_add(
    values: NDArray[np.float64],
    low: float,
    high: float,
    fill: float,
    per_step: float,
    totals: NDArray[np.int64],
) -> None:
    """Clip every value, round it to whole steps, add each column's steps to ``totals``."""
    rows, size = values.shape
    for j in range(size):
        total = np.int64(0)
        for i in range(rows):
            value = values[i, j]
            if value != value:
                value = fill
            value = min(max(value, low), high)
            total += np.int64(np.rint(value * per_step))
        totals[j] += total
