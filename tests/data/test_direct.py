"""One loop over numbers as they came adds up what encoded, clipped and rounded blocks do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import CellContribution, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.blocks import Block
from discreet.data.direct import direct_count, direct_sum
from discreet.privacy.certificate import Box
from discreet.schema import Bins, Category, FloatArray, Number, Schema
from tests.schema.strategies import hostile, numbers

COLUMNS = [
    Number(0, 1, missing=False),
    Number(-3, 7, missing=2.5),
    Number(0, 90, step=1, missing=False),
    Number(0, 0.3, step=0.1, missing=0.2),
]


def contribution(column: Number) -> VectorContribution:
    """Return the value, clipped to the upper three quarters of the range, from its middle."""
    box = Box(column.low + (column.high - column.low) / 4, column.high)
    middle = box.low / 2 + box.high / 2
    region = Box(box.low - middle, box.high - middle)

    def compute(block: Block) -> FloatArray:
        return (np.clip(block["x"], *box.limits) - middle)[:, None]

    direct = direct_sum(column, box, middle, region)
    return VectorContribution(("x",), 1, region, 0.0, compute, calls=None, direct=direct)


def squares(column: Number) -> VectorContribution:
    """Return the square of how far the place of a value is from a third of its range."""
    box, region = Box(column.low, column.high), Box(0.0, 0.5)

    def compute(block: Block) -> FloatArray:
        places = np.clip((np.clip(block["x"], *box.limits) - box.low) * (1.0 / box.width), 0.0, 1.0)
        return ((places - 1 / 3) ** 2)[:, None]

    direct = direct_sum(column, box, 1 / 3, region, places=True, square=True)
    return VectorContribution(("x",), 1, region, 0.0, compute, calls=None, direct=direct)


def both_sums(data: object, column: Number, places: list[int] | None = None) -> list[list[int]]:
    """Return the sums of values and squares, by one loop and by blocks."""
    table = PrivateTable(data, Schema({"x": column}))
    table = table if places is None else table.at(places)
    sums: list[list[int]] = [[], []]
    for fast in (contribution(column), squares(column)):
        step = fast.region.magnitude / 2**20
        for own, way in zip(sums, (fast, replace(fast, direct=None)), strict=True):
            own += add_up(table, [Summand(way, step)])[0].tolist()
    return sums


@hostile
@given(numbers(), st.lists(st.floats(), min_size=1, max_size=8))
def test_one_loop_gives_the_integers_of_the_long_way(column: Number, values: list[float]) -> None:
    if not column.may_be_missing and column.high - column.low > 1e-290:
        fast, slow = both_sums(np.array(values)[:, None], column)
        assert fast == slow


@pytest.mark.parametrize("column", COLUMNS)
def test_every_source_gives_the_same_integers(column: Number) -> None:
    draw = np.random.default_rng(0)
    values = draw.uniform(column.low - 1, column.high + 1, 70_001)
    values[:7] = [np.nan, np.inf, -np.inf, -0.0, column.low, column.high, 1e300]
    frames = [
        pd.DataFrame({"x": values}),
        pd.DataFrame({"x": values.astype(object)}),
        np.asfortranarray(np.column_stack([values])),
        np.repeat(values[:, None], 2, axis=1)[:, :1],
    ]
    found = [both_sums(frame, column) for frame in frames]
    assert all(sums == found[0] for sums in found) and found[0][0] == found[0][1]
    fast, slow = both_sums(frames[0], column, places=list(range(0, 70_001, 3)))
    assert fast == slow != found[0][0]


def test_a_column_with_missing_values_takes_the_long_way() -> None:
    assert direct_sum(Number(0, 1), Box(0, 1), 0.5, Box(-1, 1)) is None


def both_counts(data: object, column: Number, cells: int) -> list[list[int]]:
    """Return the counts of cells, by one loop and by blocks."""
    table, bins = PrivateTable(data, Schema({"x": column})), column.bins(cells)
    direct = direct_count(column, bins)
    assert direct is not None
    way = CellContribution(("x",), len(bins), lambda block: bins.index(block["x"]), direct=direct)
    return [add_up(table, [Summand(one, 1.0)])[0].tolist() for one in (way, replace(way, direct=None))]


@pytest.mark.parametrize("cells", [1, 7, 30, 1_000])
@pytest.mark.parametrize("column", [*COLUMNS, Number(0, 90, step=7), Number(-0.3, 0.7)])
def test_one_loop_counts_what_the_long_way_counts(column: Number, cells: int) -> None:
    edges = np.asarray(column.bins(cells).edges)
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    draw = np.random.default_rng(1).uniform(column.low - 1, column.high + 1, 3_001)
    strange = [np.nan, np.inf, -np.inf, -0.0, 1e300, -1.7976931348623157e308]
    values = np.concatenate([near, strange, draw])
    fast, slow = both_counts(pd.DataFrame({"x": values}), column, cells)
    assert fast == slow and sum(fast) == len(values)


@hostile
@given(numbers(), st.lists(st.floats(), min_size=1, max_size=8))
def test_one_loop_counts_every_column(column: Number, values: list[float]) -> None:
    if direct_count(column, column.bins(5)) is not None:
        fast, slow = both_counts(np.array(values)[:, None], column, 5)
        assert fast == slow


def test_steps_too_fine_for_the_quick_sum_are_added_all_the_same() -> None:
    column, region = Number(0, 1, missing=False), Box(-0.5, 0.5)
    direct = direct_sum(column, Box(0, 1), 0.5, region)
    assert direct is not None
    values = np.random.default_rng(2).random(100)
    exact = sum(int(np.rint((value - 0.5) * 2.0**54)) for value in values)
    assert direct.add(values, 2.0**-54).tolist() == [exact]


def test_categories_and_uneven_cells_are_counted_the_long_way() -> None:
    assert direct_count(Category("a", "b"), Category("a", "b").bins(2)) is None
    assert direct_count(Number(0, 1), Bins(("low", "high"), (0.0, 0.3, 1.0))) is None
