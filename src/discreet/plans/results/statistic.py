"""One released statistic of the records, with the interval that holds the exact one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.plans.results.scalar import Scalar

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Statistic(Scalar):
    """One noisy statistic.

    The interval speaks of noise: it holds the statistic of the records as they were clipped. What
    clipping itself is expected to change is told apart, as ``bias``.

    Attributes:
      ends: the interval; ``low`` and ``high`` are its ends.
      column: the column it is of; empty for counts of all records.
      records: how many records it is of, noisy where that is private; None if that was not counted.
      clip: the range values were clipped to, if it is narrower than the schema's.
      bias: how far clipping is expected to move the statistic, where that was estimated; else None.
    """

    ends: tuple[float, float] = field(kw_only=True)
    column: str = field(default="", kw_only=True)
    records: float | None = field(default=None, kw_only=True)
    clip: tuple[float, float] | None = field(default=None, kw_only=True)
    bias: float | None = field(default=None, kw_only=True)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.ends[1]

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the name, the number, its interval, and what clipping may change."""
        import pandas as pd

        row = {"name": self.name, "value": self.value, "low": self.low, "high": self.high}
        told: dict[str, Any] = {"records": self.records, "bias": self.bias, "unit": self.unit}
        return pd.DataFrame([{**row, **told}])
