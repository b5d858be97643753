"""What a private choice releases: the candidate, how it was chosen, how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.plans import Result
from discreet.plans.results.axes import Axis, axis_of
from discreet.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Choice(Result):
    """One of several public candidates.

    Attributes:
      winner: the chosen candidate.
      place: its place among the candidates, from 0.
      candidates: how many there were.
      mechanism: how it was chosen.
      why: why that mechanism was taken.
      expected_error: how far from the best a choice is on average, in the worst case, in ``unit``.
      unit: what errors and gap are measured in.
      gap: noisy gap to the next candidate, where the mechanism gives it for free; else None.
      compared: the worst expected error of every mechanism that was considered.
    """

    winner: Any
    place: int
    candidates: int
    mechanism: str
    why: str
    expected_error: float
    unit: str
    gap: float | None
    compared: tuple[tuple[str, float], ...]

    def fits_together(self) -> bool:
        """Return whether the winner is one of so many candidates."""
        return 0 <= self.place < self.candidates

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the winner, how it was chosen and its expected error."""
        import pandas as pd

        row = {
            "winner": self.winner,
            "mechanism": self.mechanism,
            "expected error": self.expected_error,
            "unit": self.unit,
        }
        return pd.DataFrame([row if self.gap is None else {**row, "gap": self.gap}])

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Write the winner large, and below it how far off it may be."""
        from discreet.plans.results.pictures.scalar import ChoiceDisplay

        return ChoiceDisplay(self).plot(ax, title=title)


@dataclass(frozen=True)
class Quantiles(Result):
    """Several quantiles of a column, in order.

    Attributes:
      column: the column.
      ps: the levels that were asked for, in percent.
      values: a value for each of them; they never fall.
      mechanism: how they were chosen.
      why: why that mechanism was taken.
      expected_error: how many records a value is off on average, in ``unit``, where many more records
        than that lie around it, without large gaps or ties, and the candidates are as dense.
      unit: what the errors are measured in.
      worst_error: the same in the worst case, whatever the table; None in releases of old.
      percent_error: ``expected_error`` in percent of the records; None where it is private how
        many have a value.
      axis: how the column is shown, if it is a date or has a unit or a label; else None.
    """

    column: str
    ps: tuple[float, ...]
    values: tuple[float, ...]
    mechanism: str
    why: str
    expected_error: float
    unit: str
    worst_error: float | None = None
    percent_error: float | None = None
    axis: Axis | None = field(default=None, kw_only=True)

    def dressed(self, schema: Schema) -> Quantiles:
        """Return the quantiles with a title of their axis, and dates on it."""
        return replace(self, axis=axis_of(schema, self.column))

    @property
    def extent(self) -> str:
        """The percents."""
        return " ".join(self.names)

    def fits_together(self) -> bool:
        """Return whether every percent has a value."""
        return len(self.ps) == len(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The quantiles' names: p25, p50, ..."""
        return tuple(f"p{p:g}" for p in self.ps)

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels that were asked for, between 0 and 1."""
        return tuple(p / 100 for p in self.ps)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantile: its name, level and value."""
        import pandas as pd

        values = self.values if self.axis is None else self.axis.values(self.values)
        return pd.DataFrame({"quantile": self.names, "level": self.levels, self.column: values})

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the share of records at or below every value, as far as it is known."""
        from discreet.plans.results.pictures.scalar import QuantilesDisplay

        return QuantilesDisplay(self).plot(ax, title=title)
