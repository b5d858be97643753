"""Compiled loops over records: what a model says of them, and what they add to a correction."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

LOGISTIC, SOFTMAX, CLIPPED = 0, 1, 2
"""How margins become means: of one class, of several, of a number in [-1, 1]."""


@njit(cache=True, nogil=True)
def correct(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    link: int,
    feature: int,
    centre: NDArray[np.float64],
    width: NDArray[np.float64],
    summed: bool,
    per_step: float,
    out: NDArray[np.float64],
) -> None:
    """Write every row's mean less its bin's centre, in units of the bin's width, inside the unit ball.

    Args:
      codes: the bin of every row, terms x rows.
      starts: where the bins of a term begin among all.
      scores: of all bins of all terms, bins x margins.
      intercept: of every margin.
      link: how margins become means.
      feature: the term that is corrected.
      centre: of its bins, bins x margins.
      width: of its bins.
      summed: whether the ball is that of absolute values added up, or of lengths.
      per_step: steps of the lattice in one; numbers are cut towards zero to whole steps.
      out: rows x margins.
    """
    rows = codes.shape[1]
    margins = len(intercept)
    mean = np.empty(margins)
    for i in range(rows):
        _add_up(codes, starts, scores, intercept, i, mean)
        _means(mean, link)
        bin = codes[feature, i]
        length = 0.0
        for c in range(margins):
            mean[c] = (mean[c] - centre[bin, c]) / width[bin]
            length += abs(mean[c]) if summed else mean[c] * mean[c]
        if not summed:
            length = math.sqrt(length)
        shrink = (1.0 - 1e-12) / length if length > 1.0 - 1e-12 else 1.0
        for c in range(margins):
            out[i, c] = np.trunc(mean[c] * shrink * per_step) / per_step


@njit(cache=True, nogil=True)
def expect(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    link: int,
    out: NDArray[np.float64],
) -> None:
    """Write the means that the model gives every row.

    Args:
      codes: the bin of every row, terms x rows.
      starts: where the bins of a term begin among all.
      scores: of all bins of all terms, bins x margins.
      intercept: of every margin.
      link: how margins become means.
      out: rows x margins.
    """
    for i in range(codes.shape[1]):
        _add_up(codes, starts, scores, intercept, i, out[i])
        _means(out[i], link)


@njit(cache=True, nogil=True)
def add_scores(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the sum of every row's scores.

    Args:
      codes: the bin of every row, terms x rows.
      starts: where the bins of a term begin among all.
      scores: of all bins of all terms.
      out: one number per row.
    """
    terms, rows = codes.shape
    for i in range(rows):
        total = 0.0
        for t in range(terms):
            total += scores[starts[t] + codes[t, i]]
        out[i] = total


@njit(cache=True, nogil=True)
def _add_up(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    row: int,
    out: NDArray[np.float64],
) -> None:
    """Write the margins of a row, inside of what exponentials can take."""
    for c in range(len(intercept)):
        total = intercept[c]
        for t in range(codes.shape[0]):
            total += scores[starts[t] + codes[t, row], c]
        out[c] = min(max(total, -30.0), 30.0)


@njit(cache=True, nogil=True)
def _means(margin: NDArray[np.float64], link: int) -> None:
    """Make means of margins, in place."""
    if link == 0:
        margin[0] = 1.0 / (1.0 + math.exp(-margin[0]))
    elif link == 1:
        most = margin.max()
        total = 0.0
        for c in range(len(margin)):
            margin[c] = math.exp(margin[c] - most)
            total += margin[c]
        for c in range(len(margin)):
            margin[c] /= total
    else:
        margin[0] = min(max(margin[0], -1.0), 1.0)
