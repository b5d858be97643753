"""``col``: how conditions are written in Python; and how they are read back from JSON."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import as_list, shown
from discreet.errors import ArgumentError
from discreet.schema.columns import Scalar
from discreet.schema.conditions.comparisons import ORDERS, Among, Missing, Ordered
from discreet.schema.conditions.condition import Both, Condition, Either, Joined, Not

_DEEPEST = 50


@dataclass(frozen=True, eq=False)
class col:
    """A column to make a condition of.

    Args:
      name: of the column.

    >>> str((col("age") >= 65) & ~col("home").isin("own", "free"))
    "age >= 65 and not (home in ('own', 'free'))"
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(f"name must be the name of a column, got {shown(self.name)}.")

    def __ge__(self, value: Any) -> Condition:
        return self.compared(">=", value)

    def __gt__(self, value: Any) -> Condition:
        return self.compared(">", value)

    def __le__(self, value: Any) -> Condition:
        return self.compared("<=", value)

    def __lt__(self, value: Any) -> Condition:
        return self.compared("<", value)

    def __eq__(self, value: Any) -> Condition:  # type: ignore[override]
        return self.isin((_plain(value),))

    def __ne__(self, value: Any) -> Condition:  # type: ignore[override]
        return ~self.isin((value,))

    __hash__ = None  # type: ignore[assignment]

    def compared(self, order: str, value: Any) -> Condition:
        """Return the condition that it is on one side of a value, by one of >=, >, <=, <."""
        return Ordered(self.name, order, _plain(value))

    def isin(self, *values: Any) -> Condition:
        """Return the condition that it is one of some values, given one by one or as a list."""
        alone = len(values) == 1 and np.iterable(values[0]) and not isinstance(values[0], str)
        listed = as_list("values", values[0] if alone else values)
        if not listed:
            raise ArgumentError("values must be one or more, got none.")
        return Among(self.name, tuple(_plain(value) for value in listed))

    def between(self, low: Any, high: Any) -> Condition:
        """Return the condition that it is at least ``low`` and at most ``high``."""
        return Both((self >= low, self <= high))

    def is_missing(self) -> Condition:
        """Return the condition that its value is missing."""
        return Missing(self.name)


def settled(condition: Condition) -> Condition:
    """Return a condition as its plain data says it: what is asked is what a plan's key is made of."""
    try:
        return condition_from_json(condition.to_json())
    except RecursionError:
        raise _too_deep() from None


def condition_from_json(plain: Any, depth: int = 0) -> Condition:
    """Return the condition that ``to_json`` wrote."""
    if depth > _DEEPEST:
        raise _too_deep()
    if not isinstance(plain, Mapping):
        raise _unreadable(plain)
    parts = dict(plain)
    kinds: dict[str, type[Joined]] = {"all": Both, "any": Either}
    for name, kind in kinds.items():
        if set(parts) == {name} and isinstance(parts[name], list) and len(parts[name]) > 1:
            return kind(tuple(condition_from_json(term, depth + 1) for term in parts[name]))
    if set(parts) == {"not"}:
        return Not(condition_from_json(parts["not"], depth + 1))
    return _atom(parts)


def _atom(plain: Mapping[str, Any]) -> Condition:
    if not isinstance(plain.get("column"), str):
        raise _unreadable(plain)
    column, kind, rest = col(plain["column"]), plain.get("is"), set(plain) - {"column", "is"}
    if kind == "missing" and not rest:
        return column.is_missing()
    if kind == "in" and rest == {"values"} and isinstance(plain["values"], list):
        return column.isin(plain["values"])
    if isinstance(kind, str) and kind in ORDERS and rest == {"value"}:
        return column.compared(kind, plain["value"])
    raise _unreadable(plain)


def _too_deep() -> ArgumentError:
    return ArgumentError(
        f"where must have at most {_DEEPEST} conditions inside of each other, got more. Use isin for "
        "many values, and join conditions side by side."
    )


def _unreadable(plain: Any) -> ArgumentError:
    return ArgumentError(
        f"where must be a condition such as \"age >= 65 and sex == 'F'\", got {shown(plain)}."
    )


def _plain(value: Any) -> Scalar:
    """Return what a column is compared with as plain data: dates as texts."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()  # finer ones would become whole numbers
    if isinstance(value, dt.date):
        return value.isoformat()
    found = value.item() if isinstance(value, np.generic) else value
    if isinstance(found, str | bool) or _is_finite(found):
        plain: Scalar = found + 0.0 if isinstance(found, float) else found  # one zero
        return plain
    raise ArgumentError(
        f"A column must be compared with a text, a truth value, a date or a finite number, got "
        f"{shown(value)}. Ask for missing values by is_missing()."
    )


def _is_finite(value: Any) -> bool:
    """Return whether a value is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(float(value))
    except OverflowError:
        return False
