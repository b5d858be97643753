"""Areas under curves: how often a record of the class has the higher score, and average precision.

Both look at the order of records. Of records in one bin it is not known; the bin's two cells tell where
its records are on average. An area is a sum over pairs of cells, which has its variance; average
precision is none, and its interval is that of its slopes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluation.bins import SplitBins
from discreet.evaluation.figures import Figure, Spread, ratio_figure
from discreet.schema import FloatArray

if TYPE_CHECKING:
    from discreet.evaluation.binary.tallies import Tally

_WITHIN = 33
_BESIDE = 1.125
"""Hats spread records over a bin to either side. Of records in cells beside each other so much is
counted in order, more than all, which takes back what the spreading hides."""


def pair_order(bins: SplitBins) -> FloatArray:
    """Return how surely a record of one cell (rows) has a higher score than one of another.

    In one bin means of positions t and u tell the share of pairs in order: one half + t - u, exactly so
    if densities are lines. That is a sum over its cells in which the second is a whole pair and a half
    ahead of the first.
    """
    apart = np.arange(bins.size)[:, None] - np.arange(bins.size)[None, :]
    order = np.sign(apart) / 2 + 0.5
    if bins.shared:
        return np.where(np.abs(apart) == 1, 0.5 + (_BESIDE - 0.5) * apart, order)
    own = np.arange(bins.size) // 2
    return np.where(own[:, None] == own[None, :], 0.5 + apart, order)


def roc_area(tally: Tally) -> Figure:
    """Return how often a record of the class has a higher score than another."""
    others, own = tally.cells
    order = pair_order(tally.bins)
    over, under = order @ others, own @ order
    negatives, positives = float(others.sum()), float(own.sum())
    ones = np.ones(len(own))
    x, y = np.stack([under, over]), np.stack([positives * ones, negatives * ones])
    each = tally.groups * tally.noise.std**2
    size = len(own)
    noise = (
        tally.covariance(x, x) + each**2 * float(np.sum(order**2)),
        tally.covariance(x, y) + each**2 * size**2 / 2,
        tally.covariance(y, y) + each**2 * size**2,
    )
    return ratio_figure(
        float(own @ over),
        negatives * positives if min(negatives, positives) > 0 else 0.0,
        noise=noise,
        sampling=_pair_spread(tally, order),
        z=tally.z,
        z_sampling=tally.z_sampling,
        binning=_pair_ends(tally, order),
    )


def _pair_spread(tally: Tally, order: FloatArray) -> Spread:
    """Return the variance of sums over pairs of drawn records (DeLong 1988), by the area."""
    others, own = tally.counts
    over, under = order @ others, own @ order
    n, p = float(others.sum()), float(own.sum())
    sums = (
        float(own @ over**2 + others @ under**2),
        float(n * (own @ over) + p * (others @ under)),
        p * n**2 + n * p**2,
    )
    return lambda r: sums[0] - 2 * r * sums[1] + r * r * sums[2]


def _pair_ends(tally: Tally, order: FloatArray) -> tuple[float, float]:
    """Return how far below and above an area may be for what bins leave open."""
    low, high = tally.bins.spans
    surely = (low[:, None] >= high[None, :]).astype(float)
    maybe = 1.0 - (high[:, None] <= low[None, :])
    others, own = tally.counts
    pairs = float(others.sum() * own.sum())
    if pairs <= 0:
        return 0.5, 0.5
    found, least, most = (float(own @ each @ others) / pairs for each in (order, surely, maybe))
    return max(found - least, 0.0), max(most - found, 0.0)


def average_precision(tally: Tally) -> Figure:
    """Return the mean precision at the scores of the class's records.

    Noise and sampling move it by its slopes; bins by as much as there is between records of the class
    coming first in each and coming last.
    """
    whole = Figure(0.5, 0.0, 1.0, 0.5, 0.0, 0.0, tally.level)
    own = np.stack([np.zeros(tally.bins.size), np.ones(tally.bins.size)])
    positives = float(tally.counts[1].sum())
    if positives <= tally.z * math.sqrt(tally.covariance(own, own)):
        return whole
    others, ours = (_steps(tally.bins, row)[::-1] for row in tally.counts)
    value, slopes = _likely_precision(others, ours)
    slopes = np.stack([_to_cells(tally.bins, row[::-1]) for row in slopes])
    least, most = _precision_ends(tally.bins, others, ours)
    noise = tally.z * math.sqrt(max(tally.covariance(slopes, slopes), 0.0))
    sampling = tally.z_sampling * math.sqrt(float(np.sum(tally.counts * slopes**2)))
    half, binning = math.hypot(noise, sampling), max(value - least, most - value, 0.0)
    return Figure(
        value, min(least, value) - half, max(most, value) + half, noise, sampling, binning, tally.level
    ).within(0.0, 1.0)


def _steps(bins: SplitBins, row: FloatArray) -> FloatArray:
    """Return the records of every bin; of every cell where bins share theirs."""
    return row if bins.shared else np.asarray(row.reshape(-1, 2).sum(axis=1))


def _to_cells(bins: SplitBins, steps: FloatArray) -> FloatArray:
    return steps if bins.shared else np.repeat(steps, 2)


def _likely_precision(others: FloatArray, ours: FloatArray) -> tuple[float, FloatArray]:
    """Return average precision if both outcomes are mixed evenly in every step, and its slopes.

    Args:
      others: of every step, the highest scores first.
      ours: the same of the class.
    """
    t = ((np.arange(_WITHIN) + 0.5) / _WITHIN)[None, :]
    total = float(ours.sum())
    above = np.maximum(_before(ours + others)[:, None] + t * (ours + others)[:, None], 1e-9)
    precision = (_before(ours)[:, None] + t * ours[:, None]) / above
    value = float(ours @ precision.mean(axis=1)) / total
    rises, falls = (ours[:, None] * each / above for each in (1 - precision, -precision))
    of_ours = precision.mean(axis=1) - value + (t * rises).mean(axis=1) + _after(rises.mean(axis=1))
    of_others = (t * falls).mean(axis=1) + _after(falls.mean(axis=1))
    return value, np.stack([of_others, of_ours]) / total


def _precision_ends(bins: SplitBins, others: FloatArray, ours: FloatArray) -> tuple[float, float]:
    """Return average precision with the class last and first in every step, as far as steps overlap."""
    t = ((np.arange(_WITHIN) + 0.5) / _WITHIN)[None, :]
    beside = 1 if bins.shared else 0
    ends = []
    for true, false in ((-beside, beside + 1), (beside + 1, -beside)):
        hits = np.maximum(_ahead(ours, true) - (ours if true > 0 else 0.0), 0.0)
        missed = _ahead(others, false)[:, None]
        found = hits[:, None] + t * ours[:, None]
        shares = found / np.maximum(found + missed, 1e-9)
        ends.append(float(ours @ shares.mean(axis=1)) / float(ours.sum()))
    return ends[0], ends[1]


def _ahead(row: FloatArray, more: int) -> FloatArray:
    """Return how many records are before every step, or before one so many steps further."""
    sums = np.append(0.0, np.cumsum(row))
    return np.asarray(sums[np.clip(np.arange(len(row)) + more, 0, len(row))])


def _before(row: FloatArray) -> FloatArray:
    return _ahead(row, 0)


def _after(row: FloatArray) -> FloatArray:
    return np.asarray(row.sum() - np.cumsum(row))
