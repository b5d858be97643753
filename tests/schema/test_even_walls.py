"""Cells found by arithmetic are those a search finds, at every edge and beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.schema import MISSING, Bins, FloatArray, Number
from discreet.schema.even_walls import EvenWalls
from tests.schema.strategies import hostile, numbers


def telling_values(bins: Bins, column: Number) -> FloatArray:
    """Return all edges, the floats on both sides of them, and values of the column."""
    edges = np.asarray(bins.edges)
    beside = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]
    return np.concatenate([*beside, column.draw(np.random.default_rng(0), 200), [MISSING]])


def searched(bins: Bins, values: FloatArray) -> FloatArray:
    assert bins.edges is not None
    cells = np.searchsorted(bins.edges[1:-1], values, side="right")
    return np.where(values == MISSING, len(bins) - 1, cells) if bins.reserved else cells


@hostile
@given(numbers(), st.integers(1, 300))
@example(Number(0, 1, missing=False), 30)
@example(Number(0, 168, step=1), 30)  # cells of five and six steps
@example(Number(1e15, 1e15 + 7), 30)  # edges that floats cannot place evenly
@example(Number(0, 1e-320, missing=False), 3)
@example(Number(-1e308, 7e307), 1000)
def test_cells_are_those_of_a_search(column: Number, count: int) -> None:
    bins = column.bins(count)
    values = telling_values(bins, column)
    for seen in (values, values[: len(values) // 3 * 3 : 3], np.repeat(values[-201:], 9)):
        assert bins.index(seen).tolist() == searched(bins, seen).tolist()


@pytest.mark.parametrize(
    ("column", "even"),
    [
        (Number(0, 1), True),
        (Number(0, 168, step=1), True),
        (Number(0, 9.9, step=0.1), True),
        (Number(-250_000.5, 1e7), True),
        (Number(1e15, 1e15 + 7), False),
    ],
)
def test_where_arithmetic_serves(column: Number, even: bool) -> None:
    assert (column.bins(30).walls is not None) == even


def test_edges_beside_their_walls_are_searched() -> None:
    edges = np.array([1.0, 2.001, 3.0])
    assert EvenWalls.under(0.0, 4.0, edges, None) is None
    assert Bins(("a", "b", "c", "d"), (0.0, *edges.tolist(), 4.0)).index(np.array([2.0005])) == [1]
