"""Fine grids: inside the bounds, ordered, whole step grids, every order of magnitude, short numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from discreet.schema import Number
from discreet.schema.fine_grid import fine_grid

COLUMNS = [
    Number(0, 1, missing=False),
    Number(-1e7, 1e7, missing=False),
    Number(5, 6, missing=False),
    Number(-3, -1, missing=False),
    Number(0, 1e7, step=1, missing=False),
    Number(1e15, 1e15 + 2, missing=False),
    Number(0, 5e-324, missing=False),
    Number(-1e308, 0, missing=False),
    Number(0, 1.7e308, missing=False),
    Number(-1e-300, 1e-290, missing=False),
]


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_values_are_inside_in_order_and_hold_the_ends(column: Number) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid = fine_grid(column)
    assert np.all(np.diff(grid.values) > 0) and len(grid.values) < 2**20
    assert grid.values[0] == column.low and grid.values[-1] == column.high
    assert grid.weights.min() >= 1 and grid.weights.sum() * 64 < 2**53
    assert np.array_equal(column.encode(grid.values), grid.values)


def test_short_step_grids_are_taken_whole_and_evenly() -> None:
    grid = fine_grid(Number(0, 100, step=1, missing=False))
    assert np.array_equal(grid.values, np.arange(101)) and set(grid.weights.tolist()) == {1}
    long = fine_grid(Number(0, 200_000, step=1, missing=False))
    assert len(long.values) == 200_001


def test_short_numbers_are_there_and_weigh_more() -> None:
    grid = fine_grid(Number(0, 1e6, missing=False))
    for value, weight in [(20_000.0, 10_000), (0.2, 10_000), (45.0, 1_000), (45.6, 100), (4567.0, 10)]:
        place = np.searchsorted(grid.values, value * (1 - 1e-12))
        assert grid.values[place] == pytest.approx(value, rel=1e-12) and grid.weights[place] == weight
    assert np.max(np.diff(grid.values)) <= 20  # and nowhere is it coarser than its even steps
