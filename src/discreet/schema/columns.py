"""What is publicly known of one column: its range or its values.

A column object clips, encodes, yields grids and bins, draws public test values and prints itself.
Encoding is total: every value has exactly one treatment, which never depends on other rows.

| value | in a ``Number`` | in a ``Category`` |
|---|---|---|
| below / above the range, -inf / inf | the nearer end of the range | - |
| between two points of the step grid | the nearer point | - |
| NaN, null, not a number | missing | missing |
| not among the values | - | other |

*Missing* and *other* are values of their own, with reserved codes: encoded rows hold no NaN, and no
record is counted as something it is not. A column that says it has none reserves no code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.plain import Brief
from discreet.schema.bins import MISSING, MISSING_LABEL, OTHER_LABEL, Bins, FloatArray
from discreet.schema.raw import Codes, RawColumn, as_codes, as_floats, category_text, plain_text

Scalar = str | int | float | bool

_DRAWN_MISSING = 1 / 16
"""The share of public test values that are missing, in columns where values may be."""

_LEAST_ULPS = 16
"""A step spans at least so many floats, so that every point finds back to itself."""


@dataclass(frozen=True, repr=False)
class Number(Brief):
    """A numeric column with public bounds.

    Args:
      low: least value; lower ones are raised to it.
      high: greatest value; higher ones are lowered to it.
      step: distance of the values if they lie on a grid ``low, low + step, ...`` (1 for integers).
      missing: True if values may be missing, which then is a value of its own; False if none is, so
        that a stray one becomes the middle of the range; or the number that missing ones become.
      unit: what the numbers are measured in, for people.
      label: what the column is, for people.
      read_from_data: the names of bounds a draft took from rows; such a schema protects nothing.

    >>> Number(0, 10, step=1).grid(5).tolist()
    [0.0, 2.0, 5.0, 8.0, 10.0]
    """

    low: float
    high: float
    step: float | None = None
    missing: bool | float = True
    read_from_data: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str | None = field(default=None, kw_only=True, compare=False)
    label: str | None = field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        for name in ("low", "high", "step", "missing"):
            value = getattr(self, name)
            if (value is None and name == "step") or (isinstance(value, bool) and name == "missing"):
                continue
            object.__setattr__(self, name, _finite(name, value))
        object.__setattr__(self, "read_from_data", tuple(self.read_from_data))
        _check_words(unit=self.unit, label=self.label)
        if not self.low < self.high:
            raise SchemaError(f"high must be above low={self.low:g}, got {self.high:g}.")
        if not math.isfinite(self.high - self.low) or self.low <= MISSING:
            raise SchemaError(
                f"low and high - low must be finite, low above {MISSING:g}, got {self.low:g} and "
                f"{self.high:g}."
            )
        finest = _LEAST_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        if self.step is not None and not finest <= self.step <= self.high - self.low:
            raise SchemaError(
                f"step must be at most high - low and at least {finest:g}, where floats of this size "
                f"can be told apart, got {self.step:g}. Leave it out for a continuous column."
            )
        filled = not isinstance(self.missing, bool)
        if filled and not self.low <= self.missing <= self.high:
            raise SchemaError(
                f"missing must be True, False or lie between low and high, got {self.missing:g}."
            )

    @property
    def may_be_missing(self) -> bool:
        """Whether missing is a value of its own."""
        return self.missing is True

    @property
    def fill(self) -> float:
        """What stands in for a missing value where a number is needed."""
        filled = not isinstance(self.missing, bool)
        return self.missing if filled else self.low / 2 + self.high / 2

    def encode(self, values: RawColumn) -> FloatArray:
        """Return floats inside the bounds, or the code of a missing one, for every value."""
        numbers = self.numbers(values)
        encoded, absent = self.nearest(numbers), np.isnan(numbers)
        if absent.any():
            encoded[absent] = MISSING if self.may_be_missing else self.nearest(np.array([self.fill]))
        return encoded

    def numbers(self, values: RawColumn) -> FloatArray:
        """Return values as numbers, inside the bounds or not; NaN where one is none."""
        return as_floats(values)

    def show(self, number: float) -> str:
        """Return an encoded value as a text for people."""
        return f"{number:.12g}"

    def nearest(self, numbers: FloatArray) -> FloatArray:
        """Return the encoded values nearest to numbers as models see them; none is missing."""
        inside = np.clip(numbers, self.low, self.high)
        if self.step is None:
            return np.add(inside, 0.0, out=inside)  # one zero, whatever sign it came with
        np.divide(np.subtract(inside, self.low, out=inside), self.step, out=inside)
        np.minimum(np.rint(inside, out=inside), self.step_count - 1, out=inside)
        # As ``_at``, to the last bit; every array that is not made saves a walk through memory.
        inside *= self.step
        inside += self.low
        return np.minimum(inside, self.high, out=inside)

    def grid(self, resolution: int) -> FloatArray:
        """Return at most ``resolution`` points across the range, on the step grid if there is one."""
        if self.step is None:
            return np.linspace(self.low, self.high, resolution)
        steps = self.step_count
        chosen = np.unique(np.rint(np.linspace(0, steps - 1, min(resolution, steps))))
        return self._at(chosen)

    def bins(self, count: int) -> Bins:
        """Return at most ``count`` cells of equal width; a step grid's cells hold whole points.

        One more is for missing values, if there may be any.
        """
        labels, edges = self._parts(count)
        if not self.may_be_missing:
            return Bins(tuple(labels), tuple(edges.tolist()), unit=self.step)
        return Bins((*labels, MISSING_LABEL), tuple(edges.tolist()), reserved=1, unit=self.step)

    def _parts(self, count: int) -> tuple[list[str], FloatArray]:
        if self.step is None:
            edges = np.linspace(self.low, self.high, count + 1)
            labels = [f"[{self.show(a)}, {self.show(b)})" for a, b in pairwise(edges.tolist())]
            labels[-1] = labels[-1][:-1] + "]"
            return labels, edges
        starts = np.unique(np.linspace(0, self.step_count, min(count, self.step_count) + 1).astype(int))
        labels = [self._steps_label(a, b - 1) for a, b in pairwise(starts.tolist())]
        return labels, self.low + self.step * (starts - 0.5)

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Draw public test values: uniform over the range or the step grid, the ends included.

        Some are missing if values may be.
        """
        if self.step is None:
            values = generator.uniform(self.low, self.high, size)
        else:
            values = self._at(generator.integers(0, self.step_count, size))
        if self.may_be_missing:
            values[generator.random(size) < _DRAWN_MISSING] = MISSING
        values[: min(2, size)] = self.nearest(np.array([self.low, self.high]))[:size]
        return values

    def landmarks(self) -> FloatArray:
        """Return the least, the greatest and a middle value, and a missing one if there may be."""
        marks = self.nearest(np.array([self.low, self.high, self.low / 2 + self.high / 2]))
        return np.append(marks, MISSING) if self.may_be_missing else marks

    def decode(self, encoded: FloatArray) -> NDArray[Any]:
        """Return the values as a frame holds them: numbers, NaN where missing."""
        return np.where(encoded == MISSING, np.nan, encoded) if self.may_be_missing else encoded

    @cached_property
    def step_count(self) -> int:
        """The number of points of the step grid."""
        assert self.step is not None
        # As written: (0.3 - 0) / 0.1 is 3, which it is not in floats. What the three numbers lost
        # when they became floats is less than four of the last digits of the greater bound.
        lost = 4 * math.ulp(max(abs(self.low), abs(self.high)))
        width = Fraction(self.high) - Fraction(self.low) + Fraction(lost)
        return math.floor(width / Fraction(self.step)) + 1

    def _at(self, steps: NDArray[Any]) -> FloatArray:
        """Return the values of steps; rounding may not lift the last one above the range."""
        assert self.step is not None
        return np.minimum(self.low + self.step * steps, self.high)

    def _steps_label(self, first: int, last: int) -> str:
        low, high = (self.show(value) for value in self._at(np.array([first, last])).tolist())
        return low if first == last else f"{low} to {high}"


@dataclass(frozen=True, init=False, repr=False)
class Category(Brief):
    """A column with a public list of values, encoded as 0, 1, 2, ...

    Unlisted values are encoded as *other*, after the values, and missing ones as *missing*, last.

    Args:
      values: the allowed values, in order, one by one or as a list; texts, numbers or truth values.
      unknown: what missing and unlisted values become, if they shall not be values of their own.
      missing: False if no value is missing; a stray one counts as *other*.
      other: False if all values are listed; a stray one counts as *missing*. If neither is reserved,
        strays become the first value.
      ordered: True if the values have an order, the listed one: trees cut it in two, not one value out.
      label: what the column is, for people.
      read_from_data: ``("values",)`` if a draft took them from rows; such a schema protects nothing.

    >>> home = Category("rent", "own")
    >>> home.encode(np.array(["own", "castle", None], dtype=object)).tolist()
    [1.0, 2.0, 3.0]
    >>> home.labels
    ('rent', 'own', '(other)', '(missing)')
    """

    values: tuple[Scalar, ...]
    unknown: Scalar | None
    missing: bool
    other: bool
    ordered: bool
    read_from_data: tuple[str, ...]
    label: str | None = field(default=None, compare=False)

    def __init__(
        self,
        *values: Any,
        unknown: Scalar | None = None,
        missing: bool = True,
        other: bool = True,
        ordered: bool = False,
        label: str | None = None,
        read_from_data: tuple[str, ...] = (),
    ) -> None:
        if len(values) == 1 and isinstance(values[0], list | tuple | np.ndarray):
            values = tuple(values[0])
        if not values:
            raise SchemaError("Category must have at least one value, got none.")
        named = tuple(_scalar(value) for value in values)
        if len(set(map(_plain, named))) < len(named):
            raise SchemaError(
                "The values of a Category must differ when written out and, if they are numbers, as "
                "floats, got two alike. Put a letter in front of them, in the data too, or merge them."
            )
        if {OTHER_LABEL, MISSING_LABEL} & set(map(str, named)):
            raise SchemaError(
                f"A category must not be called {OTHER_LABEL} or {MISSING_LABEL}: these are the names "
                "of cells for values that are not listed or not there. Leave it out."
            )
        if unknown is not None and unknown not in named:
            raise SchemaError(f"unknown must be one of the values, got {unknown!r}.")
        _check_words(label=label)
        for name, flag in (("missing", missing), ("other", other), ("ordered", ordered)):
            if not isinstance(flag, bool | np.bool_):
                raise SchemaError(f"{name} must be True or False for a category, got {flag!r}.")
        object.__setattr__(self, "values", named)
        object.__setattr__(self, "unknown", None if unknown is None else named[named.index(unknown)])
        object.__setattr__(self, "missing", bool(missing) and unknown is None)
        object.__setattr__(self, "other", bool(other) and unknown is None)
        object.__setattr__(self, "ordered", bool(ordered))
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "read_from_data", tuple(read_from_data))

    def __len__(self) -> int:
        """The number of codes: of the values and of what is reserved."""
        return len(self.values) + self.reserved

    @property
    def reserved(self) -> int:
        """The number of codes after the values: of unlisted and of missing ones."""
        return int(self.other) + int(self.missing)

    @property
    def may_be_missing(self) -> bool:
        """Whether missing is a value of its own."""
        return self.missing

    @property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return len(self) - 1 if self.reserved else self._stray

    @property
    def other_code(self) -> int:
        """The code of an unlisted value."""
        return len(self.values) if self.reserved else self._stray

    @property
    def fill(self) -> float:
        """What stands in for a missing or unlisted value where one of the values is needed."""
        return float(self._stray)

    @property
    def _stray(self) -> int:
        return 0 if self.unknown is None else self.values.index(self.unknown)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as texts for people, and the names of what is reserved."""
        names = ((OTHER_LABEL, self.other), (MISSING_LABEL, self.missing))
        return (*map(str, self.values), *(label for label, there in names if there))

    def encode(self, values: RawColumn) -> FloatArray:
        """Return the code of every value."""
        codes: Codes = as_codes(values)
        table = self._table()
        # One lookup per distinct value; the last slot serves index -1, which means missing.
        lookup = [*(self._code(table, _plain(value)) for value in codes.values), self.missing_code]
        return np.asarray(lookup, dtype=np.float64)[codes.index]

    def _table(self) -> dict[str | None, int]:
        return {_plain(value): code for code, value in enumerate(self.values)}

    def _code(self, table: dict[str | None, int], text: str | None) -> int:
        if text is None:
            return self.missing_code
        found = self._listed(table, text)
        return self.other_code if found is None else found

    def _listed(self, table: dict[str | None, int], text: str) -> int | None:
        return table.get(text)

    def code_of(self, value: Scalar) -> int | None:
        """Return the code of a value that is listed; None for others."""
        return self._listed(self._table(), _plain(value) or "")

    def grid(self, resolution: int) -> FloatArray:
        """Return all codes: a category's grid is its values whatever the resolution."""
        return np.arange(len(self), dtype=np.float64)

    def bins(self, count: int) -> Bins:
        """Return one cell per code."""
        return Bins(self.labels, reserved=self.reserved)

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Draw public test codes; few of them reserved ones."""
        codes = generator.integers(0, len(self.values), size).astype(np.float64)
        if self.reserved:
            rare = generator.random(size) < _DRAWN_MISSING
            codes[rare] = generator.integers(len(self.values), len(self), int(rare.sum()))
        return codes

    def landmarks(self) -> FloatArray:
        """Return all codes."""
        return self.grid(len(self))

    def decode(self, encoded: FloatArray) -> NDArray[Any]:
        """Return the original values of codes; None where missing, a text of its own for others."""
        kinds = {type(value) for value in self.values}
        plain = kinds in ({int}, {float}, {bool}) and not self.reserved
        names = [*self.values, *([OTHER_LABEL] * self.other), *([None] * self.missing)]
        table = np.empty(len(names), dtype=kinds.pop() if plain else object)
        table[:] = names
        return table[encoded.astype(np.int64)]


Column = Number | Category


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SchemaError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"{name} must be finite, got {number!r}. Give a public bound.")
    return number


def _scalar(value: Any) -> Scalar:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float | bool) or plain != plain:
        raise SchemaError(f"A category must be a text, number or truth value, got {value!r}.")
    if category_text(plain) is None:
        raise SchemaError("A category must be short enough to be written out, got a longer number.")
    return plain


def _plain(value: Any) -> str | None:
    return plain_text(category_text(value))


def _check_words(**words: Any) -> None:
    for name, word in words.items():
        if word is not None and not isinstance(word, str):
            raise SchemaError(f"{name} must be a text, got {word!r}.")
