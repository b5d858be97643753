"""Private quantiles of a numeric column: one count per cell of a public grid, cut by halving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.quantiles import QuantileNoise, quantile_noise
from discreet.numerics import check_whole
from discreet.plans import Setting, Stage
from discreet.schema import MISSING, FloatArray, Number

CELLS = 1024
"""A quantile is one of so many points of the range (of all of a step grid, if they are fewer)."""


def cut_points(column: Number, cells: int = CELLS) -> FloatArray:
    """Return the ends of the cells in which a column is counted.

    The least value has a cell of its own, because many columns pile up there (zero gains, no
    children); every other cell holds what is above its left end and not above its right end. On a
    step grid of at most ``cells`` points every point has a cell of its own.
    """
    grid = column.grid(cells)
    return np.concatenate([grid[:1], grid])


def quantile_stage(
    name: str,
    feature: str,
    setting: Setting,
    *,
    parts: int,
    epsilon: float,
    delta: float = 0.0,
    cells: int = CELLS,
) -> Stage[QuantileNoise]:
    """Return the stage that cuts a column into parts with about as many records each.

    Its answer is the ``parts - 1`` cuts, in order and inside the column's bounds; some may be equal.
    Records without a value are in none: a neighbour has one record more, one less, or both, in all.

    Guarantees:
      - (epsilon, delta)-differentially private over all cuts. [quantiles]
    """
    column = setting.schema[feature]
    if not isinstance(column, Number):
        raise ArgumentError(
            f"feature must be a number to have quantiles, got the category {feature!r}."
        )
    check_whole("cells", cells, 2, 2**20)
    points = cut_points(column, cells)

    def index(block: Block) -> NDArray[np.int64]:
        cells = np.searchsorted(points[1:-1], block[feature], side="left")
        return np.where(block[feature] == MISSING, -1, cells)

    contribution = CellContribution((feature,), len(points) - 1, index)
    noise = quantile_noise(
        contribution.certificate,
        points.tolist(),
        parts=parts,
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
    )
    return Stage(name, contribution, noise)
