"""How far a table is from a reference: one number, and what the reference's own noise does to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.plans.results.scalar import Scalar

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Drift(Scalar):
    """The total variation of a table from a released histogram.

    Its interval holds the distance from the histogram *as it was released*. That one had noise of its
    own, which makes a table look further away than it is; what that may come to is told apart.

    Attributes:
      ends: the interval; ``low`` and ``high`` are its ends.
      columns: the columns that were compared.
      records: how many records there are, noisy, where that is private; else None.
      reference_error: about how far, at the most on average, the reference's own noise moves the
        distance; zero for a public reference without noise.
    """

    ends: tuple[float, float] = field(kw_only=True)
    columns: tuple[str, ...] = field(kw_only=True)
    records: float | None = field(kw_only=True)
    reference_error: float = field(kw_only=True)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.ends[1]

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the distance, its interval, and what the reference's own noise may add."""
        return super().to_frame().assign(records=self.records, reference_error=self.reference_error)

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the distance with its interval, and how far the reference's noise alone would be."""
        from discreet.plans.results.pictures.scalar import DriftDisplay

        return DriftDisplay(self).plot(ax, title=title)
