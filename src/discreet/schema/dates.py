"""Columns of dates and times: numbers of days, weeks, months or years on a grid, shown as dates.

| step | a model that sees numbers sees | shown as |
|---|---|---|
| minute, hour | whole minutes, hours since 1970-01-01 00:00 | 2020-01-31 14:05, 2020-01-31 14:00 |
| day | whole days since 1970-01-01 | 2020-01-31 |
| week | the same, of the first day of the week; weeks begin on the weekday of ``low`` | 2020-01-27 |
| month | whole months since January 1970 | 2020-01 |
| year | the year | 2020 |

To plans a date is such a number, with a public range and step. A time counts for the minute, day, month
it lies in: it is rounded down, and one beyond the range becomes the nearer end.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.schema.bins import MISSING, FloatArray
from discreet.schema.columns import Number
from discreet.schema.instants import DateArray, Instants, in_zone, inside_calendar, read_clock
from discreet.schema.raw import RawColumn, as_codes, as_floats, category_text

STEPS = {"minute": "m", "hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}
"""The steps of dates, and numpy's names of them."""

_FIRST_YEAR = 1970
_DAYS_OF_A_WEEK = 7.0


@dataclass(frozen=True, init=False, repr=False)
class Date(Number):
    """A column of dates or times with public bounds.

    Args:
      low: the earliest, as a date, a time or an ISO text; earlier ones become it.
      high: the latest; later ones become it.
      step: the finest unit that is told apart: "minute", "hour", "day", "week", "month" or "year".
      zone: by whose clocks times with a time zone are read, as "Europe/Vienna"; times without one
        are taken as these clocks' own. If not given, every time counts as it is written.
      format: how texts write dates if not as ISO says, as "%d.%m.%Y" (that of ``strptime``).
      missing: True if dates may be missing, which then is a value of its own; False if none is, so
        that a stray one becomes the middle of the range; or the date that missing ones become.
      label: what the column is, for people.
      read_from_data: the names of bounds a draft took from rows; such a schema protects nothing.

    >>> Date("2020-01-01", "2021-12-31", step="month").bins(2).labels
    ('2020-01 to 2020-12', '2021-01 to 2021-12', '(missing)')
    """

    every: str = "day"
    zone: str | None = None
    format: str | None = None

    def __init__(
        self,
        low: Any,
        high: Any,
        step: str = "day",
        *,
        zone: str | None = None,
        format: str | None = None,
        missing: Any = True,
        label: str | None = None,
        read_from_data: tuple[str, ...] = (),
    ) -> None:
        if step not in STEPS:
            raise SchemaError(f"step must be one of {', '.join(STEPS)} for a date, got {step!r}.")
        _check_texts(zone, format)
        object.__setattr__(self, "every", step)
        object.__setattr__(self, "zone", zone)
        object.__setattr__(self, "format", format)
        first, last = self._bound("low", low), self._bound("high", high)
        if not first < last:
            raise SchemaError(f"high must be a later {step} than low={low}, got {high}.")
        filled = missing if isinstance(missing, bool) else self._bound("missing", missing)
        width = _DAYS_OF_A_WEEK if step == "week" else 1.0
        if last - first < width:
            raise SchemaError(f"high must be at least a week after low={low}, got {high}.")
        super().__init__(first, last, width, filled, read_from_data=read_from_data, label=label)

    def __repr__(self) -> str:
        more = {"zone": self.zone, "format": self.format}
        told = [repr(self.show(self.low)), repr(self.show(self.high)), f"step={self.every!r}"]
        told += [f"{name}={value!r}" for name, value in more.items() if value is not None]
        told += [] if self.missing is True else [f"missing={self.shown_missing!r}"]
        told += [f"read_from_data={self.read_from_data!r}"] if self.read_from_data else []
        return f"Date({', '.join(told)})"

    @property
    def shown_missing(self) -> bool | str:
        """What missing dates are or become, as it is written down."""
        return self.missing if isinstance(self.missing, bool) else self.show(self.missing)

    def numbers(self, values: RawColumn) -> FloatArray:
        """Return the steps of dates; NaN where a value is none.

        A number inside the range is taken for the step itself: it is how models see dates. Where a
        format is given it comes first, for numbers too: frames make texts of them, or objects, because
        of one value in the column.
        """
        if isinstance(values, Instants):
            return self._steps(values.clock, values.ahead)
        if isinstance(values, np.ndarray) and values.dtype.kind == "M":
            return self._steps(inside_calendar(values), None)
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu" and self.format is None:
            numbers = as_floats(values)
            return np.where((numbers >= self.low) & (numbers <= self.high), numbers, np.nan)
        codes = as_codes(values)
        table = np.array([*map(self.read, codes.values), np.nan])
        return table[codes.index]

    def read(self, value: Any) -> float:
        """Return the step of one value, inside the bounds or not; NaN if it is no date."""
        text = category_text(value)
        found = read_clock(text, self.format)
        if found is None:
            return self._number(text)
        clock, ahead = found
        there = None if ahead is None else np.array([ahead], dtype="timedelta64[us]")
        return float(self._steps(np.array([clock], dtype="datetime64[us]"), there)[0])

    def show(self, number: float) -> str:
        """Return a step as a date."""
        shown = str(self.times(np.array([number]))[0])
        return shown.replace("T", " ") + (":00" if self.every == "hour" else "")

    def times(self, numbers: FloatArray) -> DateArray:
        """Return steps as numpy's dates."""
        return as_times(numbers, self.every)

    def decode(self, encoded: FloatArray) -> NDArray[Any]:
        """Return dates as a frame holds them, NaT where missing."""
        there = np.where(encoded == MISSING, np.nan, encoded)
        return self.times(there).astype("datetime64[s]")

    def _number(self, text: str | None) -> float:
        try:
            number = float(text or "")
        except ValueError:
            return np.nan
        return number if self.low <= number <= self.high else np.nan

    def _steps(self, clock: DateArray, ahead: NDArray[Any] | None) -> FloatArray:
        if self.zone is not None and ahead is not None:
            clock = in_zone(clock, ahead, self.zone)
        whole = clock.astype(f"datetime64[{STEPS[self.every]}]")
        steps = np.where(np.isnat(whole), np.nan, whole.astype(np.int64).astype(np.float64))
        if self.every == "year":
            return steps + _FIRST_YEAR
        low: float | None = getattr(self, "low", None)  # not yet known when it is read itself
        if self.every != "week" or low is None:
            return steps
        return np.asarray(low + _DAYS_OF_A_WEEK * np.floor((steps - low) / _DAYS_OF_A_WEEK))

    def _bound(self, name: str, value: Any) -> float:
        text = value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)
        found = read_clock(f"{text}-01" if _is_year(text) else text.replace("T", " "), None)
        if found is None:
            raise SchemaError(
                f"{name} must be a date such as 2020-01-31 or 2020-01-31 14:05, got {value!r}. "
                "Give a public bound."
            )
        clock, ahead = found
        there = None if ahead is None else np.array([ahead], dtype="timedelta64[us]")
        return float(self._steps(np.array([clock], dtype="datetime64[us]"), there)[0])


def as_times(numbers: FloatArray, every: str) -> DateArray:
    """Return steps as numpy's dates; a number between two steps is the earlier, NaN is NaT."""
    absent = np.isnan(numbers)
    whole = np.floor(np.where(absent, 0.0, numbers)).astype(np.int64)
    whole -= _FIRST_YEAR if every == "year" else 0
    times = whole.astype(f"datetime64[{STEPS[every]}]")
    return np.where(absent, np.datetime64("NaT"), times)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit()


def _check_texts(zone: Any, form: Any) -> None:
    if form is not None and not isinstance(form, str):
        raise SchemaError(f"format must be a text such as '%d.%m.%Y', got {form!r}.")
    if zone is None:
        return
    try:
        ZoneInfo(zone)
    except Exception:  # the names of zones are files: a strange one raises many kinds of errors
        raise SchemaError(
            f"zone must be the name of a time zone such as 'Europe/Vienna', got {zone!r}."
        ) from None
