"""Numbers and categories: every value has one treatment, whatever it is and whatever is beside it."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import SchemaError
from discreet.schema import MISSING, Bins, Category, Column, Number
from tests.schema.strategies import (
    FloatOnly,
    Grumpy,
    categories,
    column,
    columns,
    hostile,
    hostile_values,
    numbers,
)


def one(field: Column, value: Any) -> float:
    return float(field.encode(column([value]))[0])


@hostile
@given(columns, st.lists(hostile_values, max_size=8))
@example(
    Category("a", "None", missing=False, other=False), [None, [1]]
)  # a list beside it once turned None into a text
@example(
    Category("a", "(1.0,)", missing=False, other=False), [(1,), (1.0,)]
)  # equal tuples were taken for the same text
@example(
    Category("a", "1", missing=False, other=False), [b"1.0", FloatOnly(1.0), Grumpy()]
)  # each of them once raised
def test_a_value_is_encoded_alone(field: Column, values: list[Any]) -> None:
    together = field.encode(column(values))
    assert together.dtype == np.float64
    assert together.tolist() == [one(field, value) for value in values]


@hostile
@given(numbers(), st.lists(hostile_values, min_size=1, max_size=8))
@example(Number(0, 0.3, step=0.1, missing=False), [0.3])  # once 0.30000000000000004
def test_numbers_stay_inside(field: Number, values: list[Any]) -> None:
    encoded = field.encode(column(values))
    absent = (encoded == MISSING) & field.may_be_missing
    assert np.all(absent | ((field.low <= encoded) & (encoded <= field.high)))
    assert field.encode(field.decode(encoded)).tobytes() == encoded.tobytes()


@hostile
@given(categories(), st.lists(hostile_values, min_size=1, max_size=8))
def test_categories_are_codes(field: Category, values: list[Any]) -> None:
    encoded = field.encode(column(values))
    assert set(encoded.tolist()) <= set(range(len(field)))
    assert field.encode(field.decode(encoded)).tolist() == encoded.tolist()


@hostile
@given(numbers(), st.lists(st.floats(), min_size=1, max_size=8))
def test_numbers_take_the_nearest_step_of_the_clipped_value(field: Number, values: list[float]) -> None:
    for value, encoded in zip(values, field.encode(np.array(values)).tolist(), strict=True):
        if math.isnan(value) and field.may_be_missing:
            assert encoded == MISSING
            continue
        filled = field.fill if math.isnan(value) else value
        clipped = Fraction(min(max(filled, field.low), field.high))
        if field.step is None:
            assert Fraction(encoded) == clipped
            continue
        step = Fraction(field.step)
        last = len_of_steps(field) - 1
        nearest = min(round((clipped - Fraction(field.low)) / step), last)
        distance = abs(Fraction(field.low) + nearest * step - clipped)
        assert abs(abs(Fraction(encoded) - clipped) - distance) <= step / 10**6


def len_of_steps(field: Number) -> int:
    return 0 if field.step is None else math.floor((field.high - field.low) / field.step + 1e-6) + 1


@pytest.mark.parametrize(
    ("field", "points"),
    [
        (Number(0, 0.3, step=0.1, missing=False), [0, 0.1, 0.2, 0.3]),
        (
            Number(1_000_000, 1_000_000.7, step=0.1, missing=False),
            [1_000_000 + k / 10 for k in range(8)],
        ),
        (Number(0, 5, step=5 / 7, missing=False), [k * 5 / 7 for k in range(8)]),
        (Number(0, 10, step=3, missing=False), [0, 3, 6, 9]),
        (Number(0, 11, step=3, missing=False), [0, 3, 6, 9]),
        (Number(-1, 1, step=2, missing=False), [-1, 1]),
        (Number(0, 1, step=1, missing=False), [0, 1]),
    ],
)
def test_step_grids_have_the_points_that_were_written(field: Number, points: list[float]) -> None:
    grid = field.grid(100)
    assert grid == pytest.approx(points, rel=1e-12)
    assert grid.max() <= field.high
    assert field.encode(np.array(points)).tolist() == grid.tolist()
    assert field.encode(grid).tolist() == grid.tolist()
    assert set(field.draw(np.random.default_rng(1), 50).tolist()) == set(grid.tolist())


@hostile
@given(numbers(), st.integers(1, 30))
def test_grids_lie_on_encoded_values(field: Number, resolution: int) -> None:
    grid = field.grid(resolution)
    assert 1 <= len(grid) <= resolution
    assert np.all(np.diff(grid) > 0)
    assert field.encode(grid).tolist() == grid.tolist()


def test_long_step_grids_end_in_the_range() -> None:
    field = Number(0, 1e13, step=1, missing=False)  # a tolerance of 1e-12 once added ten points
    assert field.grid(3).tolist() == [0, 5e12, 1e13]
    assert Number(0, 1e13 + 0.5, step=1, missing=False).grid(2).tolist() == [0, 1e13]


@hostile
@given(numbers(), st.integers(1, 30), st.lists(st.floats(), max_size=10))
def test_every_value_falls_in_one_bin(field: Number, count: int, values: list[float]) -> None:
    bins = field.bins(count)
    cells = len(bins) - bins.reserved
    assert 1 <= cells <= count and bins.reserved == field.may_be_missing
    assert bins.edges is not None and len(bins.edges) == cells + 1
    assert np.all(np.diff(bins.edges) > 0)
    encoded = field.encode(np.array([*values, field.low, field.high]))
    assert np.array_equal(bins.index(encoded) == cells, encoded == MISSING)
    there = encoded[encoded != MISSING]
    index = bins.index(there)
    assert index.min() == 0 and index.max() == cells - 1
    edges = np.array(bins.edges)
    inside = (edges[index] <= there) & ((there < edges[index + 1]) | (index == cells - 1))
    assert np.all(inside)


@hostile
@given(numbers().filter(lambda field: field.step is not None), st.integers(1, 30))
def test_bins_of_a_step_grid_hold_whole_steps(field: Number, count: int) -> None:
    grid = field.grid(min(len_of_steps(field), 3_000))
    bins = field.bins(count)
    filled = np.bincount(bins.index(field.encode(grid)), minlength=len(bins) - bins.reserved)
    if len(grid) == len_of_steps(field):
        assert filled.min() >= 1 and filled.max() - filled.min() <= 1
        edges = np.array(bins.edges)
        distance = np.abs(edges[:, None] - grid[None, :]).min()
        assert distance > 0.4 * field.step  # type: ignore[operator]


def test_bins_have_labels_that_differ() -> None:
    assert Number(0, 10, missing=False).bins(2).labels == ("[0, 5)", "[5, 10]")
    assert Number(1_000_000, 1_000_003, missing=False).bins(3).labels == (
        "[1000000, 1000001)",
        "[1000001, 1000002)",
        "[1000002, 1000003]",
    )
    assert Number(0, 0.5, step=0.1, missing=False).bins(3).labels == (
        "0 to 0.1",
        "0.2 to 0.3",
        "0.4 to 0.5",
    )
    assert Number(2_000_000, 2_000_002, step=1, missing=False).bins(9).labels == (
        "2000000",
        "2000001",
        "2000002",
    )


def test_bins_of_a_category_are_its_values() -> None:
    field = Category("rent", 1, "x", missing=False, other=False)
    assert field.bins(2) == Bins(("rent", "1", "x"))
    assert field.bins(2).index(np.array([2.0, 0.0])).tolist() == [2, 0]
    assert field.grid(2).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (math.nan, 5.0),
        (None, 5.0),
        ("abc", 5.0),
        (dt.date(2020, 1, 1), 5.0),
        (np.datetime64("2020-01-01", "ns"), 5.0),
        (2 + 0j, 5.0),
        (Decimal("sNaN"), 5.0),
        (math.inf, 10.0),
        (-math.inf, 0.0),
        (10**400, 10.0),
        (-(10**400), 0.0),
        (Fraction(10**400), 5.0),
        ("1e400", 10.0),
        (" 7 ", 7.0),
        (b"7.5", 7.5),
        (b"\xff", 5.0),
        (True, 1.0),
        ("True", 1.0),
        (" false", 0.0),
        (Decimal("0.3"), 0.3),
        (np.float32(0.5), 0.5),
        (FloatOnly(3.5), 3.5),
    ],
)
def test_what_numbers_read(value: Any, encoded: float) -> None:
    assert one(Number(0, 10, missing=False), value) == encoded


@pytest.mark.parametrize(
    ("array", "encoded"),
    [
        (np.array([True, False]), [1, 0]),
        (np.array([3, 200], dtype=np.uint8), [3, 10]),
        (np.array(["4", "x"]), [4, 5]),
        (np.array([b"4", b"x"]), [4, 5]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[ns]"), [5, 5]),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), [5]),
        (np.array([3], dtype="timedelta64[ns]"), [5]),
        (np.array([2 + 1j]), [5]),
        (np.array([np.longdouble("1e4000"), np.longdouble("0.5")]), [10, 0.5]),
        (np.array([2.5], dtype=np.float16), [2.5]),
        (np.array([(1, 2)], dtype="i4,i4"), [5]),
        (np.array([]), []),
    ],
)
def test_numbers_of_every_dtype(array: np.ndarray, encoded: list[float]) -> None:
    assert Number(0, 10, missing=False).encode(array).tolist() == encoded


@pytest.mark.parametrize(
    ("array", "values", "codes"),
    [
        (np.array([True, False]), (0, 1), [1, 0]),
        (np.array([2, 1], dtype=np.uint8), ("x", "1", 2.0), [2, 1]),
        (np.array([0.5, np.nan, 1.0]), ("x", 0.5, 1), [1, 0, 2]),
        (np.array(["b", "q"]), ("a", "b"), [1, 0]),
        (np.array([b"b", b"\xff"]), ("a", "b", "�"), [1, 2]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[ns]"), ("a", "2020-01-01 00:00:00"), [1, 0]),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), ("a", "2020-01-01"), [1]),
        (np.array([1, 2], dtype="timedelta64[ns]"), ("a", "0:00:00"), [1, 1]),
        (np.array([1 + 0j]), ("a", "1"), [0]),
        (np.array([np.longdouble(2)]), ("a", 2), [1]),
        (np.array([(1, 2)], dtype="i4,i4"), ("a", "(1, 2)"), [1]),
        (np.array([], dtype=object), ("a",), []),
    ],
)
def test_categories_of_every_dtype(
    array: np.ndarray, values: tuple[Any, ...], codes: list[int]
) -> None:
    assert Category(*values, missing=False, other=False).encode(array).tolist() == codes


@pytest.mark.parametrize(
    ("values", "value", "found"),
    [
        (("x", 1), "1.0", 1),  # a file may write whole numbers with a point
        (("x", "1"), 1.0, "1"),
        (("x", "02134"), "02134", "02134"),
        (("x", "02134"), 2134, "02134"),  # a frame may have read the text as a number
        ((False, True), "true", True),
        ((False, True), "TRUE", True),
        ((0, 1), "True", 1),
        (("False", "True"), True, "True"),
        (("x", 2**60 + 1), 2**60 + 1, 2**60 + 1),
        (("x", 2**60 + 1), float(2**60), 2**60 + 1),  # what a frame makes of it if one is missing
        (("x", 2**60 + 1), Decimal(2**60 + 1), 2**60 + 1),
        (("x", 0.1), Decimal("0.10"), 0.1),
        (("x", 0.1), "1e-1", 0.1),
        (("x", math.inf), "inf", math.inf),
        (("x", "Infinity"), math.inf, "Infinity"),
        (("x", "nan"), math.nan, "x"),  # missing is not a text
        (("x", "None"), None, "x"),
        (("x", "nan"), "nan", "nan"),
        (("x", ""), "", ""),
    ],
)
def test_what_categories_read(values: tuple[Any, ...], value: Any, found: Any) -> None:
    field = Category(*values, missing=False, other=False)
    assert field.values[int(one(field, value))] == found


def test_missing_and_unknown_can_be_chosen() -> None:
    assert one(Number(0, 10, missing=2), None) == 2
    assert one(Number(0, 10, step=4, missing=9), math.nan) == 8  # the nearest point
    assert Number(-4, 10, missing=False).fill == 3
    field = Category("a", "b", unknown="b")
    assert [one(field, value) for value in ("a", "b", "c", None)] == [0, 1, 1, 1]


def test_zero_has_one_sign() -> None:
    assert math.copysign(1, one(Number(-1, 1, missing=False), -0.0)) == 1
    assert math.copysign(1, one(Number(-1, 1, step=1, missing=False), -0.0)) == 1


@pytest.mark.parametrize(
    "field",
    [
        Number(0, 1, missing=False),
        Number(0, 10, step=3, missing=False),
        Category("a", "b", "c", missing=False, other=False),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 2, 30])
def test_public_draws_are_encoded_values(field: Column, size: int) -> None:
    drawn = field.draw(np.random.default_rng(0), size)
    assert len(drawn) == size
    assert field.encode(field.decode(drawn)).tolist() == drawn.tolist()
    if isinstance(field, Number) and size >= 2:
        assert drawn[:2].tolist() == field.encode(np.array([field.low, field.high])).tolist()


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((1, 2), np.int64),
        ((0.5, 1.5), np.float64),
        ((False, True), np.bool_),
        (("a", "b"), object),
        ((1, "b"), object),
        ((1, 2.5), object),
    ],
)
def test_decoding_gives_the_values_a_model_knows(values: tuple[Any, ...], dtype: Any) -> None:
    decoded = Category(*values, missing=False, other=False).decode(np.array([1.0, 0.0]))
    assert decoded.dtype == dtype
    assert decoded.tolist() == [values[1], values[0]]
    assert Number(0, 9, missing=False).decode(np.array([3.0])).tolist() == [3]


def test_scalars_of_numpy_are_taken() -> None:
    field = Category(*np.array([3, 4]), missing=False, other=False)
    assert field == Category(3, 4, missing=False, other=False) and type(field.values[0]) is int
    assert Number(np.int64(1), np.float32(2), missing=False) == Number(1.0, 2.0, missing=False)
    assert len(field) == 2 and field.labels == ("3", "4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", 1), "low must be a number, got 'a'"),
        ((True, 2), "low must be a number, got True"),
        ((0, np.complex128(1)), "high must be a number"),
        ((0, math.inf), "high must be finite, got inf"),
        ((math.nan, 1), "low must be finite, got nan"),
        ((0, 10**400), "high must be finite"),
        ((1, 1), "high must be above low=1, got 1"),
        ((-1e308, 1e308), "high - low must be finite"),
        ((0, 1, 0), "step must be at most high - low and at least"),
        ((0, 1, -1), "got -1. Leave it out"),
        ((0, 1, 2), "got 2. Leave it out"),
        ((0, 1, 1e-300), "where floats of this size can be told apart"),
        ((1e16, 1e16 + 100, 1), "where floats of this size can be told apart"),
        ((0, 1, None, 2), "missing must be True, False or lie between low and high, got 2"),
        ((0, 1, None, math.nan), "missing must be finite"),
    ],
)
def test_numbers_that_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Number(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ((), {}, "at least one value"),
        ((None,), {}, "must be a text, number or truth value, got None"),
        ((math.nan,), {}, "must be a text, number or truth value, got nan"),
        ((["a"], "b"), {}, "must be a text, number or truth value"),
        (("a", "(missing)"), {}, "must not be called (other) or (missing)"),
        (("a",), {"missing": "a"}, "missing must be True or False for a category, got 'a'"),
        ((dt.date(2020, 1, 1),), {}, "must be a text, number or truth value"),
        ((10**5000,), {}, "must be short enough to be written out"),
        ((1, "1"), {}, "must differ when written out"),
        ((1, True), {}, "must differ when written out"),
        ((2**53, 2**53 + 1), {}, "as floats, got two alike"),
        ((str(2**53), str(2**53 + 1)), {}, "as floats, got two alike"),
        (("1", "01"), {}, "as floats, got two alike"),
        ((True, "true"), {}, "as floats, got two alike"),
        (("inf", "Infinity"), {}, "as floats, got two alike"),
        (("a",), {"unknown": "b"}, "unknown must be one of the values, got 'b'"),
    ],
)
def test_categories_that_are_refused(
    values: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Category(*values, **options)
    assert message in str(caught.value)


MISSED = Category("F", "M")


def test_missing_and_unlisted_values_are_values_of_their_own() -> None:
    assert one(Number(0, 100), None) == one(Number(0, 100), "n/a") == MISSING
    assert [one(MISSED, value) for value in ("M", "X", None, math.nan)] == [1, 2, 3, 3]
    assert [one(Category("no", "yes"), value) for value in (True, False)] == [2, 2]
    assert MISSED.decode(np.arange(4.0)).tolist() == ["F", "M", "(other)", None]
    assert np.isnan(Number(0, 9).decode(np.array([MISSING, 3.0]))).tolist() == [True, False]
    assert Category(["F", "M"]) == MISSED


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, [2, 3]),
        ({"missing": False}, [2, 2]),
        ({"other": False}, [2, 2]),
        ({"missing": False, "other": False}, [0, 0]),
        ({"unknown": "M"}, [1, 1]),
    ],
)
def test_strays_go_to_the_cell_that_is_there(options: dict[str, Any], codes: list[int]) -> None:
    assert [one(Category("F", "M", **options), value) for value in ("X", None)] == codes


def test_public_rows_hold_what_is_reserved() -> None:
    generator = np.random.default_rng(3)
    assert MISSING in Number(0, 1).draw(generator, 200)
    assert MISSING not in Number(0, 1, missing=False).draw(generator, 200)
    assert set(MISSED.draw(generator, 400).tolist()) == {0, 1, 2, 3}
    assert Number(0, 1).landmarks().tolist() == [0, 1, 0.5, MISSING]


def test_the_least_float_is_no_bound() -> None:
    with pytest.raises(SchemaError, match="low above"):
        Number(MISSING, 0)
