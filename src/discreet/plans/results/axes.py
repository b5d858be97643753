"""What the numbers along an axis are: of a date its step, of a number its unit, and its title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.schema import Date, Schema
from discreet.schema.dates import as_times


@dataclass(frozen=True)
class Axis:
    """How numbers of a column are shown to people.

    Attributes:
      title: the column's label or name, with its unit.
      step: the step of a date ("day", "month", ...), whose numbers are shown as dates; else None.
    """

    title: str
    step: str | None = None

    def values(self, numbers: Sequence[float]) -> Any:
        """Return numbers as a frame holds them: dates if they are dates."""
        if self.step is None:
            return list(numbers)
        return as_times(np.asarray(numbers, dtype=np.float64), self.step).astype("datetime64[s]")

    def show(self, number: float) -> str:
        """Return a date as a text."""
        assert self.step is not None
        told = str(as_times(np.array([number]), self.step)[0]).replace("T", " ")
        return told + (":00" if self.step == "hour" else "")


def axis_of(schema: Schema, name: str) -> Axis | None:
    """Return how a column is shown; None if by its name and numbers alone."""
    if name not in schema:
        return None
    column = schema[name]
    unit = getattr(column, "unit", None)
    step = column.every if isinstance(column, Date) else None
    if unit is None and step is None and column.label is None:
        return None
    title = column.label or name
    return Axis(title if unit is None else f"{title} ({unit})", step)
