"""How far probabilities are from what happened, by bins of scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.evaluation.binary.tallies import Tally
from discreet.evaluation.figures import Figure
from discreet.schema import FloatArray


@dataclass(frozen=True)
class CalibrationBin:
    """One bin of a calibration curve: its ends, the mean score in it, and the share of the class."""

    low: float
    high: float
    score: Figure
    observed: Figure
    size: Figure


def _wide_bins(tally: Tally, count: int) -> list[tuple[float, float, FloatArray]]:
    """Return bins of about equal width between knots, and what of every cell is in each."""
    bins, knots = tally.bins, np.asarray(tally.bins.knots)
    wanted = np.linspace(knots[0], knots[-1], count + 1)
    edges = sorted({int(np.argmin(np.abs(knots - edge))) for edge in wanted})
    found = []
    for first, last in pairwise(edges):
        inside = np.zeros(bins.bins)
        inside[first:last] = 1.0
        found.append((float(knots[first]), float(knots[last]), bins.by_cell(inside, inside)))
    return found


def calibration_bins(tally: Tally, count: int) -> list[CalibrationBin]:
    """Return the mean score and the share of the class in bins of about equal width."""
    made = []
    zeros, centres = np.zeros(tally.bins.size), tally.bins.centres
    for low, high, inside in _wide_bins(tally, count):
        whole = np.stack([inside, inside])
        observed = tally.share(np.stack([zeros, inside]), whole)
        score = tally.share(np.stack([inside * centres] * 2), whole, range_=(low, high))
        made.append(CalibrationBin(low, high, score, observed, tally.weighted_size(whole)))
    return made


def calibration_error(tally: Tally, count: int) -> Figure:
    """Return the expected calibration error over bins of about equal width.

    Noise makes distances longer, never shorter, on average; what that adds is taken off the value, and
    the interval goes as far down as it could have been.
    """
    terms = [_miss(tally, inside) for *_, inside in _wide_bins(tally, count)]
    missed, noise, sampling = (np.array(part) for part in zip(*terms, strict=True))
    size = tally.size
    if size.low <= 0:
        return Figure(0.5, 0.0, 1.0, 0.5, 0.0, 0.0, tally.level)
    z = tally.z
    plain = float(np.abs(missed).sum())
    longer = float(_folded_excess(missed, noise).sum())
    both = np.hypot(noise, sampling)
    down, up = _slack(both, z)
    binning = _left_open(tally)
    value = min(max(plain - longer, 0.0) / size.value, 1.0)
    low = (plain - down) / size.high - binning
    high = (plain + up) / max(size.low, 1.0) + binning
    noisy, sampled = (sum(_slack(part, z)) / 2 / size.value for part in (noise, sampling))
    return Figure(value, low, high, noisy, sampled, binning, tally.level).within(0.0, 1.0)


def _miss(tally: Tally, inside: FloatArray) -> tuple[float, float, float]:
    """Return by how many records a bin's scores missed its outcomes, with the noise's deviation.

    Last: the deviation that the choice of records gives it.
    """
    weights = np.stack([-tally.bins.centres, 1 - tally.bins.centres]) * inside
    noise = math.sqrt(max(tally.covariance(weights, weights), 0.0))
    sampling = math.sqrt(float(np.sum(tally.counts * weights**2)))
    return float(np.sum(weights * tally.cells)), noise, sampling


_FAR = 40.0
"""Deviations beyond which nothing is folded."""


def _folded_excess(means: FloatArray, stds: FloatArray) -> FloatArray:
    """Return by how much a distance is longer, on average, for normal noise on what it is taken of."""
    from scipy.special import ndtr

    safe = np.maximum(stds, 1e-300)
    ratio = np.minimum(np.abs(means) / safe, _FAR)
    return np.asarray(
        safe * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) - 2 * np.abs(means) * ndtr(-ratio)
    )


def _slack(stds: FloatArray, z: float) -> tuple[float, float]:
    """Return how far the sum of distances may be below and above what was found."""
    spread = z * float(np.linalg.norm(stds))
    return spread + math.sqrt(2 / math.pi) * float(stds.sum()), spread


def _left_open(tally: Tally) -> float:
    """Return how far hats may move the error: scores in a cell are not all at its knot."""
    if not tally.bins.shared:
        return 0.0
    gaps = np.diff(tally.bins.knots)
    wider = np.maximum(np.append(gaps, 0.0), np.append(0.0, gaps))
    total = float(tally.counts.sum())
    return float(np.sum(tally.counts * wider) / 2 / total) if total > 0 else 0.5
