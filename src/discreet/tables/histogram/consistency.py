"""Free post-processing of noisy counts: none negative, all whole, the right sum."""

from __future__ import annotations

import numpy as np

from discreet.randomness import IntArray
from discreet.schema import FloatArray


def onto_total(noisy_counts: FloatArray, total: float) -> FloatArray:
    """Return the nearest counts, along the last axis, that are not negative and sum to ``total``.

    Guarantees:
      - Never further from the true counts, in the sum of squares, than the noisy ones were, if the true
        total is known. [histogram-total]

    >>> onto_total(np.array([5.0, 2.0, -3.0]), 5.0).tolist()
    [4.0, 1.0, 0.0]
    """
    ordered = -np.sort(-noisy_counts, axis=-1)
    above = np.cumsum(ordered, axis=-1) - total
    shifts = above / np.arange(1, noisy_counts.shape[-1] + 1)
    kept = np.sum(ordered > shifts, axis=-1, keepdims=True)
    shift = np.take_along_axis(shifts, np.maximum(kept, 1) - 1, axis=-1)
    return np.maximum(noisy_counts - shift, 0.0)


def whole_counts(counts: FloatArray, total: int) -> IntArray:
    """Round counts that sum to a whole total so that they still do: the largest remainders go up.

    >>> whole_counts(np.array([1.5, 0.25, 0.25]), 2).tolist()
    [2, 0, 0]
    """
    whole = np.floor(counts).astype(np.int64)
    missing = total - int(whole.sum())
    raised = np.argsort(whole - counts, kind="stable")[: max(missing, 0)]
    whole[raised] += 1
    return whole
