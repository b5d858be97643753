"""Single comparisons of a column: with an end, with some values, with nothing at all."""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.schema.bins import MISSING, OTHER_LABEL, FloatArray
from discreet.schema.columns import Category, Column, Number, Scalar
from discreet.schema.conditions.condition import Condition, Encoded, Truth
from discreet.schema.dates import Date
from discreet.schema.schema import Schema

ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    ">=": np.greater_equal,
    ">": np.greater,
    "<=": np.less_equal,
    "<": np.less,
}


@dataclass(frozen=True)
class Ordered(Condition):
    """A number, a date or a value of an ordered category, compared with another."""

    column: str
    order: str
    value: Scalar

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def check(self, schema: Schema) -> None:
        """Raise unless some value of the column can fulfil it."""
        column, value = schema[self.column], self._bound(schema)
        last = len(column.values) - 1.0 if isinstance(column, Category) else column.high
        first = 0.0 if isinstance(column, Category) else column.low
        order = ORDERS[self.order]
        if not (order(first, value) or order(last, value)):
            raise ArgumentError(
                f"where must be something that a value of {self.column!r} can be, got {self}; values "
                f"are from {_show(column, first)} to {_show(column, last)}. Compare with one of them."
            )

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return which values are on this side; what is missing or not listed has no side."""
        encoded, column = rows[self.column], schema[self.column]
        known = encoded < len(column.values) if isinstance(column, Category) else encoded != MISSING
        holds = ORDERS[self.order](encoded, self._bound(schema))
        return known & holds, known & ~holds

    def turns(self, schema: Schema) -> list[float]:
        """Return the value it is compared with."""
        return [self._bound(schema)]

    def to_json(self) -> dict[str, Any]:
        """Return column, order and value."""
        return {"column": self.column, "is": self.order, "value": self.value}

    def understood(self, schema: Schema) -> str:
        """Return it with the least or greatest value of the column that is meant."""
        column, value = schema[self.column], self._bound(schema)
        if isinstance(column, Number) and column.step is not None:
            steps = (value - column.low) / column.step
            up = self.order in (">=", "<")
            value = column.low + column.step * (math.ceil(steps) if up else math.floor(steps))
        return f"{self.column} {self.order} {_show(column, value)}"

    def __str__(self) -> str:
        return f"{_called(self.column)} {self.order} {self.value!r}"

    def _bound(self, schema: Schema) -> float:
        column = schema[self.column]
        if isinstance(column, Category):
            if not column.ordered:
                raise ArgumentError(
                    f"where must compare {self.column!r} by ==, != or isin, got {self}. It is a "
                    "category without an order."
                )
            return float(_known(self.column, column, self.value, column.code_of(self.value)))
        return _number(self.column, column, self.value)


@dataclass(frozen=True)
class Among(Condition):
    """One of some values."""

    column: str
    values: tuple[Scalar, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def check(self, schema: Schema) -> None:
        """Raise unless every value can be one of the column."""
        column = schema[self.column]
        encoded = self._encoded(schema)
        if isinstance(column, Number) and not np.array_equal(column.nearest(encoded), encoded):
            raise ArgumentError(
                f"where must name values that {self.column!r} can have, from "
                f"{_show(column, column.low)} to {_show(column, column.high)}"
                f"{'' if column.step is None else f' in steps of {column.step:g}'}, got {self}. "
                "Use >= and <= for a range."
            )

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return which values are among these; of what is missing nothing is known."""
        encoded, column = rows[self.column], schema[self.column]
        known = np.ones(len(encoded), dtype=bool)
        if column.may_be_missing:
            absent = column.missing_code if isinstance(column, Category) else MISSING
            known = encoded != absent
        found = np.isin(encoded, self._encoded(schema))
        return known & found, known & ~found

    def turns(self, schema: Schema) -> list[float]:
        """Return the values."""
        return [float(value) for value in self._encoded(schema)]

    def to_json(self) -> dict[str, Any]:
        """Return column and values."""
        return {"column": self.column, "is": "in", "values": list(self.values)}

    def understood(self, schema: Schema) -> str:
        """Return it with the values as the schema writes them."""
        column = schema[self.column]
        named = [_show(column, code) for code in self._encoded(schema).tolist()]
        return f"{self.column} is {' or '.join(named)}"

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{_called(self.column)} == {self.values[0]!r}"
        return f"{_called(self.column)} in {self.values!r}"

    def _encoded(self, schema: Schema) -> FloatArray:
        column, read = schema[self.column], _code
        if isinstance(column, Number):
            return np.array([_number(self.column, column, value) for value in self.values])
        return np.array([read(self.column, column, value) for value in self.values], dtype=np.float64)


@dataclass(frozen=True)
class Missing(Condition):
    """A value that is not there; never unknown."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def check(self, schema: Schema) -> None:
        """Raise if no value of the column is missing."""
        if not schema[self.column].may_be_missing:
            raise ArgumentError(
                f"where must ask for missing values of a column that may have some, got "
                f"{self.column!r}, of which the schema says that none is missing. Leave it out."
            )

    def truth(self, schema: Schema, rows: Encoded) -> Truth:
        """Return which values are missing, and which are not."""
        column = schema[self.column]
        code = column.missing_code if isinstance(column, Category) else MISSING
        absent = rows[self.column] == code
        return absent, ~absent

    def turns(self, schema: Schema) -> list[float]:
        """No number turns it."""
        return []

    def to_json(self) -> dict[str, Any]:
        """Return the column."""
        return {"column": self.column, "is": "missing"}

    def understood(self, schema: Schema) -> str:
        """Return it in words."""
        return f"{self.column} is missing"

    def __str__(self) -> str:
        return f"col({self.column!r}).is_missing()"


def _number(name: str, column: Number, value: Scalar) -> float:
    number = math.nan
    if isinstance(column, Date):
        number = column.read(value)
    elif not isinstance(value, str | bool):
        number = float(value)
    if math.isnan(number):
        kind = "a date" if isinstance(column, Date) else "a number"
        raise ArgumentError(f"where must compare {name!r} with {kind}, got {shown(value)}.")
    return number


def _code(name: str, column: Category, value: Scalar) -> int:
    unlisted = column.other and value == OTHER_LABEL
    return _known(name, column, value, column.other_code if unlisted else column.code_of(value))


def _known(name: str, column: Category, value: Scalar, found: int | None) -> int:
    if found is None:
        known = ", ".join(map(repr, column.values[:10])) + (", …" if len(column.values) > 10 else "")
        raise ArgumentError(
            f"where must compare {name!r} with values of the schema ({known}), got {shown(value)}."
        )
    return found


def _show(column: Column, code: float) -> str:
    return column.labels[int(code)] if isinstance(column, Category) else column.show(code)


def _called(name: str) -> str:
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f"col({name!r})"
