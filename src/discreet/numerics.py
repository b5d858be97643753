"""Checks of arguments, and arithmetic that is rounded against ourselves.

A privacy cost may be overstated by a rounding, never understated. ``up`` and ``down`` name the
direction; budgets are whole numbers of ``UNIT`` so that a sum of charges has no rounding at all.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection
from decimal import Context, Decimal
from numbers import Integral, Real

from discreet.arguments import shown
from discreet.errors import ArgumentError

UNIT = Decimal("1e-12")
"""One unit of a budget. Charges are rounded up to a whole number of units, budgets down."""

_UNITS_PER_ONE = 10**12

_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})?")
_EXACT = Context(prec=60)
"""Wide enough for every amount, whatever precision the caller's thread has set."""

UNIT_ROUNDOFF = 2.0**-53
"""What rounding to a float may change, relatively."""

LARGEST_UNITS = 2**62
"""Amounts stay below this, so that two of them add up inside a 64-bit column."""

LARGEST_AMOUNT = LARGEST_UNITS // _UNITS_PER_ONE


def up(value: float, ulps: int = 4) -> float:
    """Return ``value`` moved up by a few floats: more than a handful of operations can lose."""
    for _ in range(ulps):
        value = math.nextafter(value, math.inf)
    return value


def down(value: float, ulps: int = 4) -> float:
    """Return ``value`` moved down by a few floats."""
    for _ in range(ulps):
        value = math.nextafter(value, -math.inf)
    return value


def to_units(amount: float | Decimal) -> int:
    """Return a charge as whole units, rounded up.

    >>> to_units(0.1)
    100000000000
    >>> to_units(1e-13)
    1
    """
    return _whole_units(amount, upwards=True)


def to_budget_units(amount: float | Decimal) -> int:
    """Return a budget as whole units, rounded down.

    >>> to_budget_units(1e-13)
    0
    """
    return _whole_units(amount, upwards=False)


def from_units(units: int) -> Decimal:
    """Return whole units as an exact decimal.

    >>> from_units(100000000000) == Decimal("0.1")
    True
    """
    return _EXACT.multiply(Decimal(units), UNIT)


def format_units(units: int) -> str:
    """Return whole units as a plain decimal text without an exponent.

    >>> format_units(1), format_units(3000000000000)
    ('0.000000000001', '3')
    """
    return format(from_units(units).normalize(_EXACT), "f")


def parse_units(text: object) -> int:
    """Return the whole units of a decimal text that ``format_units`` wrote.

    >>> parse_units("0.000000000001"), parse_units(format_units(3 * 10**12))
    (1, 3000000000000)

    Raises:
      ValueError: if it is no such text.
    """
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise ValueError(f"an amount, which holds {shown(text)}")
    return int(_EXACT.multiply(Decimal(text), Decimal(_UNITS_PER_ONE)))


def power_of_two_at_most(value: float) -> float:
    """Return the largest power of two that does not exceed a positive number.

    >>> power_of_two_at_most(0.3), power_of_two_at_most(4.0)
    (0.25, 4.0)
    """
    return math.ldexp(0.5, math.frexp(value)[1])


def check_positive(name: str, value: object, hint: str = "") -> None:
    """Raise unless ``value`` is a finite positive number."""
    if not 0 < _as_float(value) <= sys.float_info.max:
        raise ArgumentError(_sentence(name, "a positive finite number", value, hint))


def check_positive_or_auto(name: str, value: object, hint: str = "") -> None:
    """Raise unless ``value`` is a finite positive number or ``auto``."""
    if not (isinstance(value, str) and value == "auto"):
        check_positive(name, value, hint or f"Or use {name}='auto'.")


def float_of_units(units: int) -> float:
    """Return the greatest float near ``units`` that is charged as no more than them."""
    amount = float(from_units(units))
    while to_units(amount) > units:
        amount = down(amount, 1)
    return amount


def check_finite(name: str, value: object, hint: str = "") -> None:
    """Raise unless ``value`` is a finite number."""
    if not abs(_as_float(value)) <= sys.float_info.max:
        raise ArgumentError(_sentence(name, "a finite number", value, hint))


def check_probability(name: str, value: object, hint: str = "") -> None:
    """Raise unless ``0 <= value < 1``."""
    if not 0 <= _as_float(value) < 1:
        raise ArgumentError(_sentence(name, "at least 0 and below 1", value, hint))


def check_whole(name: str, value: object, low: int, high: int | None = None, hint: str = "") -> None:
    """Raise unless ``value`` is a whole number between ``low`` and ``high``."""
    allowed = f"a whole number of at least {low}" + ("" if high is None else f" and at most {high}")
    whole = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if whole is None or whole < low or (high is not None and whole > high):
        raise ArgumentError(_sentence(name, allowed, value, hint))


def check_choice(name: str, value: object, allowed: Collection[str], hint: str = "") -> None:
    """Raise unless ``value`` is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(_sentence(name, "one of " + ", ".join(allowed), value, hint))


def _as_float(value: object) -> float:
    """Return a number of any kind, numpy's too, as a float; NaN, which no check lets pass, if none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _sentence(name: str, constraint: str, value: object, hint: str) -> str:
    return f"{name} must be {constraint}, got {shown(value)}." + (f" {hint}" if hint else "")


def _whole_units(amount: float | Decimal, *, upwards: bool) -> int:
    if not isinstance(amount, Decimal):
        check_finite("An amount", amount)
        amount = Decimal(repr(float(amount)))
    if not amount.is_finite() or amount < 0:
        raise ArgumentError(f"An amount must be finite and not negative, got {amount}.")
    # Integers, not decimals: a decimal quotient is rounded before it could be rounded up.
    numerator, denominator = amount.as_integer_ratio()
    whole, rest = divmod(numerator * _UNITS_PER_ONE, denominator)
    units = whole + int(upwards and rest > 0)
    if units >= LARGEST_UNITS:
        raise ArgumentError(
            f"An epsilon, rho or delta must be below {LARGEST_AMOUNT}, got {amount}. "
            "Give a smaller one: so much protects nobody."
        )
    return units
