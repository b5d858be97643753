"""Curves of one group's cells as frames: rates at every knot, lift, and calibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.evaluation.binary.calibration import calibration_bins
from discreet.evaluation.binary.tallies import Tally
from discreet.evaluation.figures import ratio

if TYPE_CHECKING:
    import pandas as pd


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
