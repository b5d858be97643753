"""Curves of one group's cells: rates at every knot, lift, and how far scores are from outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.evaluation.binary.tallies import Tally
from discreet.evaluation.figures import Figure, ratio
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd


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


def rate_curve(tally: Tally, names: tuple[str, str], *, rising: bool) -> pd.DataFrame:
    """Return two rates at every knot with their intervals, from the greatest threshold on.

    Args:
      tally: the cells.
      names: of the rates.
      rising: whether both can only rise as the threshold falls; then they do.
    """
    import pandas as pd
    from scipy.optimize import isotonic_regression

    knots = tally.bins.knots[::-1]
    made: dict[str, Any] = {"threshold": [math.inf, *knots] if rising else list(knots)}
    for name in names:
        figures = [tally.metric(name, knot) for knot in knots]
        columns = {"": "value", "_low": "low", "_high": "high"}
        for suffix, part in columns.items():
            values = np.array([getattr(figure, part) for figure in figures])
            if rising:
                values = np.append(0.0, np.clip(isotonic_regression(values).x, 0.0, 1.0))
            made[name + suffix] = values
    return pd.DataFrame(made)


def lift_curve(tally: Tally) -> pd.DataFrame:
    """Return at every knot the share selected, and how much more of the class it holds."""
    import pandas as pd

    rows = []
    for knot in tally.bins.knots[::-1]:
        lift = ratio(tally.metric("precision", knot), tally.prevalence)
        selected = tally.metric("selection_rate", knot).value
        rows.append({"threshold": knot, "selection_rate": selected, **lift.to_json()})
    return pd.DataFrame(rows)


def calibration_frame(tally: Tally, bins: int) -> pd.DataFrame:
    """Return the mean score and the share of the class in bins of about equal width."""
    import pandas as pd

    rows = [
        {
            "score_low": part.low,
            "score_high": part.high,
            "score": part.score.value,
            **part.observed.to_json(),
            "records": part.size.value,
        }
        for part in calibration_bins(tally, bins)
    ]
    return pd.DataFrame(rows)
