"""What is publicly known of one column: its range or its values.

A column object clips, encodes, yields grids and bins, draws public test values and prints itself.
Encoding is total: every value has exactly one treatment, which never depends on other rows.

| value | in a ``Number`` | in a ``Category`` |
|---|---|---|
| below / above the range, -inf / inf | the nearer end of the range | - |
| between two points of the step grid | the nearer point | - |
| NaN, null, not a number | ``missing`` (the middle of the range) | ``unknown`` (the first value) |
| not among the values | - | ``unknown`` (the first value) |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.schema.raw import Codes, RawColumn, as_codes, as_floats, category_text, plain_text

FloatArray = NDArray[np.float64]
Scalar = str | int | float | bool

_LEAST_ULPS = 16
"""A step spans at least so many floats, so that every point finds back to itself."""


@dataclass(frozen=True)
class Bins:
    """A public partition of a column: ``labels`` name the cells, ``edges`` divide a number's range."""

    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def index(self, encoded: FloatArray) -> NDArray[np.int64]:
        """Return the cell of each encoded value."""
        if self.edges is None:
            return encoded.astype(np.int64)
        return np.searchsorted(np.asarray(self.edges[1:-1]), encoded, side="right")


@dataclass(frozen=True)
class Number:
    """A numeric column with public bounds.

    Args:
      low: least value; lower ones are raised to it.
      high: greatest value; higher ones are lowered to it.
      step: distance of the values if they lie on a grid ``low, low + step, ...`` (1 for integers).
      missing: what NaN and null become; the middle of the range if not given.
      read_from_data: the names of bounds a draft took from rows; such a schema protects nothing.

    >>> Number(0, 10, step=1).grid(5).tolist()
    [0.0, 2.0, 5.0, 8.0, 10.0]
    """

    low: float
    high: float
    step: float | None = None
    missing: float | None = None
    read_from_data: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("low", "high", "step", "missing"):
            value = getattr(self, name)
            if value is None and name in ("step", "missing"):
                continue
            object.__setattr__(self, name, _finite(name, value))
        object.__setattr__(self, "read_from_data", tuple(self.read_from_data))
        if not self.low < self.high:
            raise SchemaError(f"high must be above low={self.low:g}, got {self.high:g}.")
        if not math.isfinite(self.high - self.low):
            raise SchemaError(f"high - low must be finite, got {self.low:g} and {self.high:g}.")
        finest = _LEAST_ULPS * math.ulp(max(abs(self.low), abs(self.high)))
        if self.step is not None and not finest <= self.step <= self.high - self.low:
            raise SchemaError(
                f"step must be at most high - low and at least {finest:g}, where floats of this size "
                f"can be told apart, got {self.step:g}. Leave it out for a continuous column."
            )
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise SchemaError(f"missing must lie between low and high, got {self.missing:g}.")

    @property
    def fill(self) -> float:
        """What a missing value becomes."""
        return self.low / 2 + self.high / 2 if self.missing is None else self.missing

    def encode(self, values: RawColumn) -> FloatArray:
        """Return floats inside the bounds, one for every value."""
        numbers = as_floats(values)
        inside = np.clip(np.where(np.isnan(numbers), self.fill, numbers), self.low, self.high)
        if self.step is None:
            return inside + 0.0  # one zero, whatever sign it came with
        return self._at(np.minimum(np.rint((inside - self.low) / self.step), self._step_count - 1))

    def grid(self, resolution: int) -> FloatArray:
        """Return at most ``resolution`` points across the range, on the step grid if there is one."""
        if self.step is None:
            return np.linspace(self.low, self.high, resolution)
        steps = self._step_count
        chosen = np.unique(np.rint(np.linspace(0, steps - 1, min(resolution, steps))))
        return self._at(chosen)

    def bins(self, count: int) -> Bins:
        """Return at most ``count`` cells of equal width; a step grid's cells hold whole points."""
        if self.step is None:
            edges = np.linspace(self.low, self.high, count + 1)
            labels = [f"[{_show(a)}, {_show(b)})" for a, b in _pairs(edges)]
            labels[-1] = labels[-1][:-1] + "]"
            return Bins(tuple(labels), tuple(edges.tolist()))
        starts = np.unique(
            np.linspace(0, self._step_count, min(count, self._step_count) + 1).astype(int)
        )
        labels = [self._steps_label(a, b - 1) for a, b in _pairs(starts)]
        return Bins(tuple(labels), tuple((self.low + self.step * (starts - 0.5)).tolist()))

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Draw public test values: uniform over the range or the step grid, the ends included."""
        if self.step is None:
            values = generator.uniform(self.low, self.high, size)
        else:
            values = self._at(generator.integers(0, self._step_count, size))
        values[: min(2, size)] = self.encode(np.array([self.low, self.high]))[:size]
        return values

    def landmarks(self) -> FloatArray:
        """Return the least, the greatest and a middle value."""
        return self.encode(np.array([self.low, self.high, self.low / 2 + self.high / 2]))

    def decode(self, encoded: FloatArray) -> NDArray[Any]:
        """Return the values as a model was trained on them: numbers are their own encoding."""
        return encoded

    @property
    def _step_count(self) -> int:
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
        low, high = (_show(value) for value in self._at(np.array([first, last])).tolist())
        return low if first == last else f"{low} to {high}"


@dataclass(frozen=True, init=False)
class Category:
    """A column with a public list of values, encoded as 0, 1, 2, ...

    Args:
      values: the allowed values, in order; texts, numbers or truth values.
      unknown: what any other value becomes; the first value if not given.
      read_from_data: ``("values",)`` if a draft took them from rows; such a schema protects nothing.

    >>> Category("rent", "own").encode(np.array(["own", "castle", None], dtype=object)).tolist()
    [1.0, 0.0, 0.0]
    """

    values: tuple[Scalar, ...]
    unknown: Scalar
    read_from_data: tuple[str, ...]

    def __init__(
        self,
        *values: Scalar,
        unknown: Scalar | None = None,
        read_from_data: tuple[str, ...] = (),
    ) -> None:
        if not values:
            raise SchemaError("Category must have at least one value, got none.")
        values = tuple(_scalar(value) for value in values)
        if len(set(map(_plain, values))) < len(values):
            raise SchemaError(
                "The values of a Category must differ when written out and, if they are numbers, as "
                "floats, got two alike. Put a letter in front of them, in the data too, or merge them."
            )
        if unknown is not None and unknown not in values:
            raise SchemaError(f"unknown must be one of the values, got {unknown!r}.")
        default = 0 if unknown is None else values.index(unknown)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "unknown", values[default])
        object.__setattr__(self, "read_from_data", tuple(read_from_data))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as texts for people."""
        return tuple(str(value) for value in self.values)

    def encode(self, values: RawColumn) -> FloatArray:
        """Return the code of every value."""
        codes: Codes = as_codes(values)
        default = self.values.index(self.unknown)
        table = {_plain(value): code for code, value in enumerate(self.values)}
        # One lookup per distinct value; the last slot serves index -1, which means missing.
        lookup = [*(table.get(_plain(value), default) for value in codes.values), default]
        return np.asarray(lookup, dtype=np.float64)[codes.index]

    def grid(self, resolution: int) -> FloatArray:
        """Return all codes: a category's grid is its values whatever the resolution."""
        return np.arange(len(self.values), dtype=np.float64)

    def bins(self, count: int) -> Bins:
        """Return one cell per value."""
        return Bins(self.labels)

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Draw public test codes."""
        return generator.integers(0, len(self.values), size).astype(np.float64)

    def landmarks(self) -> FloatArray:
        """Return all codes."""
        return self.grid(len(self))

    def decode(self, encoded: FloatArray) -> NDArray[Any]:
        """Return the original values of codes."""
        kinds = {type(value) for value in self.values}
        kind: Any = kinds.pop() if kinds in ({int}, {float}, {bool}) else object
        return np.array(self.values, dtype=kind)[encoded.astype(np.int64)]


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


def _show(number: float) -> str:
    return f"{number:.12g}"


def _pairs(values: NDArray[Any]) -> list[tuple[Any, Any]]:
    return list(zip(values[:-1].tolist(), values[1:].tolist(), strict=True))
