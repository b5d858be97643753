"""What a private choice releases: the candidate, how it was chosen, how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.plans import Result

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
        """Draw the worst expected errors of the mechanisms; the one in use stands out."""
        return ChoiceDisplay(self).plot(ax, title=title)


class ChoiceDisplay:
    """Draws a ``Choice``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> ChoiceDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        from discreet.plans.results.pictures.canvas import LINE, axes_or_new, tidy, write_title

        found = self.choice
        names = [name for name, _ in found.compared]
        self.ax_ = axes_or_new(ax, height=1.2 + 0.32 * len(names))
        self.figure_ = self.ax_.figure
        bars = self.ax_.barh(range(len(names)), [error for _, error in found.compared], height=0.7)
        for name, bar in zip(names, bars, strict=True):
            bar.set_color(LINE)
            bar.set_alpha(0.85 if name == found.mechanism else 0.3)
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.invert_yaxis()
        self.ax_.set_xscale("log")
        self.ax_.set_xlabel(f"worst expected error, {found.unit}")
        write_title(self.ax_, title or f"chosen: {found.winner}")
        tidy(self.ax_)
        return self


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
    """

    column: str
    ps: tuple[float, ...]
    values: tuple[float, ...]
    mechanism: str
    why: str
    expected_error: float
    unit: str
    worst_error: float | None = None

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

        return pd.DataFrame({"quantile": self.names, "level": self.levels, self.column: self.values})

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the share of records at or below every value, as far as it is known."""
        return QuantilesDisplay(self).plot(ax, title=title)


class QuantilesDisplay:
    """Draws ``Quantiles``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, quantiles: Quantiles) -> None:
        self.quantiles = quantiles
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> QuantilesDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        from discreet.plans.results.pictures.canvas import LINE, axes_or_new, tidy, write_title

        found = self.quantiles
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot(found.values, found.ps, color=LINE, marker="o", markersize=4)
        self.ax_.set_ylim(0, 100)
        self.ax_.set_xlabel(found.column)
        self.ax_.set_ylabel("percent at or below")
        write_title(self.ax_, title or f"{len(found.ps)} quantiles of {found.column}")
        tidy(self.ax_)
        return self
