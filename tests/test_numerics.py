"""Rounding goes against us, and every check says one clear sentence."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import (
    LARGEST_UNITS,
    UNIT,
    check_choice,
    check_finite,
    check_positive,
    check_probability,
    check_whole,
    down,
    format_units,
    from_units,
    power_of_two_at_most,
    to_budget_units,
    to_units,
    up,
)

AMOUNTS = st.floats(0, 4e6, allow_nan=False)
DECIMALS = st.decimals(0, 1000, allow_nan=False, places=40)
UNIT_FRACTION = Fraction(1, 10**12)


@given(AMOUNTS)
def test_a_charge_is_rounded_up_and_a_budget_down_by_less_than_a_unit(amount: float) -> None:
    written = Fraction(repr(amount))
    assert 0 <= to_units(amount) * UNIT_FRACTION - written < UNIT_FRACTION
    assert 0 <= written - to_budget_units(amount) * UNIT_FRACTION < UNIT_FRACTION


@given(DECIMALS)
def test_long_decimals_are_rounded_once(amount: Decimal) -> None:
    assert to_units(amount) == math.ceil(Fraction(amount) / UNIT_FRACTION)
    assert to_budget_units(amount) == math.floor(Fraction(amount) / UNIT_FRACTION)


def test_a_digit_beyond_the_decimal_context_still_rounds_up() -> None:
    amount = Decimal("0.1" + "0" * 35 + "1")
    assert to_units(amount) == 100_000_000_001
    assert math.ceil(amount / UNIT) == 100_000_000_000  # the quotient in the default context


def test_units_do_not_depend_on_the_callers_decimal_context() -> None:
    with decimal.localcontext() as context:
        context.prec = 3
        assert to_units(0.123456789) == 123_456_789_000
        assert to_budget_units(0.123456789) == 123_456_789_000
        assert from_units(123_456_789_012) == Decimal("0.123456789012")
        assert format_units(123_456_789_012) == "0.123456789012"


@given(st.integers(0, LARGEST_UNITS - 1))
def test_units_survive_a_round_trip_through_decimals_and_text(units: int) -> None:
    assert to_units(from_units(units)) == to_budget_units(from_units(units)) == units
    assert Decimal(format_units(units)) == from_units(units)


def test_format_units_has_no_exponent_and_no_idle_zeros() -> None:
    assert format_units(0) == "0"
    assert format_units(10**15) == "1000"
    assert format_units(-1) == "-0.000000000001"


@pytest.mark.parametrize(
    "amount",
    [-1.0, -1e-300, math.nan, math.inf, -math.inf, 4.7e6, 10**400, True, "1", None, Decimal("NaN")],
)
def test_amounts_that_are_none_are_refused(amount: object) -> None:
    for convert in (to_units, to_budget_units):
        with pytest.raises(ArgumentError, match=r"^An .* must be .*, got .*\."):
            convert(amount)  # type: ignore[arg-type]


def test_the_greatest_amount_stays_inside_half_of_64_bits() -> None:
    greatest = Decimal(LARGEST_UNITS - 1) * UNIT
    assert to_units(greatest) == LARGEST_UNITS - 1
    with pytest.raises(ArgumentError, match="below"):
        to_units(greatest + UNIT)


@given(st.floats(-1e300, 1e300), st.integers(0, 6))
def test_up_and_down_move_by_whole_floats(value: float, ulps: int) -> None:
    assert (up(value, ulps) > value) == (ulps > 0)
    assert (down(value, ulps) < value) == (ulps > 0)
    assert down(up(value, ulps), ulps) == value


@given(st.floats(1e-150, 1e150), st.floats(1e-150, 1e150))
def test_up_covers_what_a_handful_of_operations_lose(a: float, b: float) -> None:
    exact = Fraction(a) * Fraction(b)
    assert Fraction(up(a * b)) > exact > Fraction(down(a * b))
    assert Fraction(up(math.sqrt(a) * math.sqrt(b))) ** 2 > exact
    assert Fraction(up(a / b)) * Fraction(b) > Fraction(a)


@given(st.floats(5e-324, 1e308))
def test_power_of_two_at_most(value: float) -> None:
    power = power_of_two_at_most(value)
    assert math.frexp(power)[0] == 0.5
    assert power <= value < 2 * power


NOT_NUMBERS: list[object] = [None, "1", True, [1.0], Decimal(1), 1j]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            check_positive,
            [5e-324, 1, 1.5, 1e308, np.int64(1), np.float32(0.5)],
            [0, -1.0, math.nan, math.inf, 10**400],
        ),
        (check_probability, [0, 0.0, 0.5, 1 - 1e-16], [1, 1.0, -1e-9, math.nan, math.inf]),
        (check_finite, [0, -3, 1.5, -1e308], [math.nan, math.inf, -math.inf, -(10**400)]),
    ],
)
def test_checks_of_numbers(check: object, good: list[float], bad: list[object]) -> None:
    for value in good:
        check("epsilon", value)  # type: ignore[operator]
    for value in bad + NOT_NUMBERS:
        with pytest.raises(ArgumentError) as caught:
            check("epsilon", value, "Give more.")  # type: ignore[operator]
        text = str(caught.value)
        assert text.startswith("epsilon must be ") and text.endswith(" Give more.")
        assert f"got {shown(value)}." in text and len(text) < 200


def test_check_whole() -> None:
    check_whole("k", 1, 1)
    check_whole("k", 3, 1, 3)
    for value in (0, 4, 2.0, True, "2", math.nan):
        with pytest.raises(ArgumentError, match="k must be a whole number of at least 1 and at most 3"):
            check_whole("k", value, 1, 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"k must be a whole number of at least 1, got 0\.$"):
        check_whole("k", 0, 1)


def test_check_choice() -> None:
    check_choice("law", "a", ("a", "b"))
    with pytest.raises(ArgumentError, match=r"law must be one of a, b, got 'c'\.$"):
        check_choice("law", "c", ("a", "b"))


@pytest.mark.proves("filter-basic")
@settings(max_examples=50)
@given(st.lists(AMOUNTS.filter(lambda x: x < 1), min_size=1, max_size=50))
def test_billed_charges_are_never_below_their_exact_sum(charges: list[float]) -> None:
    assert bills_enough(charges, to_units)


@pytest.mark.refutes("filter-basic")
def test_charges_rounded_down_are_caught() -> None:
    assert bills_enough([1e-13] * 5, to_units)
    assert not bills_enough([1e-13] * 5, to_budget_units)


def bills_enough(charges: list[float], bill: object) -> bool:
    charged = sum(bill(charge) for charge in charges)  # type: ignore[operator]
    return bool(charged * UNIT_FRACTION >= sum(Fraction(repr(charge)) for charge in charges))
