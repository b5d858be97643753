"""Dates and times as they arrive, brought to one shape: the clock as written, and its offset if known.

A text is a date if it is written as ISO 8601 says (``2020-01-31``, ``2020-01``, ``2020-01-31 14:05``,
with or without seconds and an offset), or as a format of the schema's says. Nothing raises because of
a value: what is no date, or beyond the years 1 to 9999, is missing.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DateArray = NDArray[np.datetime64]
Clock = tuple[dt.datetime, dt.timedelta | None]
"""A time as it was written, and how far that is ahead of UTC, if it says so."""

_ISO = re.compile(
    r"(\d{4}-\d{2})(-\d{2})?(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\d*"
    r" ?(Z|[+-]\d{2}:?\d{2}(?::\d{2})?)?)?"
)
_FIRST_DAYS, _LAST_DAYS = np.datetime64("0001-01-04", "us"), np.datetime64("9999-12-28", "us")

_FINE = ("ns", "ps", "fs", "as")
"""Units in which every value lies inside the calendar."""


@dataclass(frozen=True, repr=False)
class Instants:
    """A column of times; ``objects`` makes the values as another kind of column reads them."""

    clock: DateArray
    ahead: NDArray[np.timedelta64] | None
    objects: Callable[[], NDArray[Any]]

    def __len__(self) -> int:
        return len(self.clock)


def inside_calendar(values: NDArray[Any]) -> DateArray:
    """Return times in microseconds; those no calendar has are missing."""
    unit = np.datetime_data(values.dtype)[0]
    if unit not in _FINE:
        ends = [np.datetime64(end).astype(values.dtype) for end in ("0001-01-02", "9999-12-30")]
        values = np.where((values >= ends[0]) & (values <= ends[1]), values, np.datetime64("NaT"))
    return np.asarray(values.astype("datetime64[us]"))


def read_clock(text: str | None, form: str | None) -> Clock | None:
    """Return the time a text writes out, None if it is none.

    >>> read_clock("2020-01-31 14:05+01:00", None)
    (datetime.datetime(2020, 1, 31, 14, 5), datetime.timedelta(seconds=3600))
    >>> read_clock("31.1.2020", "%d.%m.%Y")
    (datetime.datetime(2020, 1, 31, 0, 0), None)
    >>> read_clock("yesterday", None), read_clock("2020-02-31", None)
    (None, None)
    """
    written = (text or "").strip()
    found = _ISO.fullmatch(written)
    try:
        if form is not None and not found:
            read = dt.datetime.strptime(written, form)
        elif found:
            month, day, time, zone = found.groups()
            read = dt.datetime.fromisoformat(f"{month}{day or '-01'}T{time or '00:00'}{zone or ''}")
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return read.replace(tzinfo=None), read.utcoffset()


def in_zone(clock: DateArray, ahead: NDArray[Any], zone: str) -> DateArray:
    """Return what the clocks of a zone show; times that name no zone are taken as that zone's own.

    So are those of the calendar's first and last days, which other zones' calendars may not have.
    """
    import pandas as pd

    world = clock - ahead
    named = (world > _FIRST_DAYS) & (world < _LAST_DAYS)  # false where one of the two is not known
    moved = pd.DatetimeIndex(world[named], tz="UTC").tz_convert(zone).tz_localize(None)
    shown = clock.copy()
    shown[named] = np.asarray(moved.to_numpy(), dtype="datetime64[us]")
    return shown
