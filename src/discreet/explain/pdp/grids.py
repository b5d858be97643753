"""Where partial dependence is drawn: points from the schema, or private quantiles."""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.plans import Setting, Stage
from discreet.plans.stages.quantiles import quantile_stage
from discreet.schema import MISSING, Category, Column, FloatArray, Number


def public_grid(column: Column, resolution: int, grid: str) -> FloatArray | None:
    """Return the points the schema gives, or None if they must be private quantiles.

    A category has all of its values and a short step grid all of its points, which are public.
    """
    if isinstance(column, Category) or grid == "uniform" or resolution < 3:
        return column.grid(resolution)
    steps = column.grid(resolution + 1)
    return steps if len(steps) <= resolution else None


def with_missing(column: Column, grid: FloatArray) -> FloatArray:
    """Return the points of a curve: those of its grid, and one more for a number that is missing."""
    return np.append(grid, MISSING) if isinstance(column, Number) and column.may_be_missing else grid


def grid_stage(
    feature: str, setting: Setting, resolution: int, *, epsilon: float, delta: float
) -> Stage[QuantileNoise]:
    """Return the stage that chooses the inner points of a grid.

    Guarantees:
      - (epsilon, delta)-differentially private; what is drawn at the points has bounds that hold for
        any points. [quantiles] [pdp]
    """
    return quantile_stage(
        f"grid of {feature}", feature, setting, parts=resolution - 1, epsilon=epsilon, delta=delta
    )


def quantile_grid(column: Number, cuts: FloatArray, resolution: int) -> FloatArray:
    """Return the range's ends and the cuts; where cuts are equal, the widest gaps are halved instead.

    >>> from discreet.schema import Number
    >>> quantile_grid(Number(0, 100), np.array([0.0, 0.0, 20.0]), 5).tolist()
    [0.0, 20.0, 40.0, 60.0, 100.0]
    """
    points = np.unique(np.concatenate([column.grid(2), cuts]))
    while len(points) < resolution:
        left = int(np.argmax(np.diff(points)))
        middle = column.nearest(points[left : left + 1] / 2 + points[left + 1 : left + 2] / 2)
        points = np.insert(points, left + 1, middle)
    return points
