"""A released distribution function: which share of the records is at or below a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans.results.bands import BandName
from discreet.plans.results.result import Curve


@dataclass(frozen=True)
class Distribution(Curve):
    """A noisy distribution function, which never falls, from 0 to 1.

    Attributes:
      least: the least value of the column; nothing is below it.
      records: how many records it is of, noisy where that is private.
    """

    least: float
    records: float

    def share(self, value: float) -> float:
        """Return the share of the records at or below a value, interpolated between the points."""
        return float(np.interp(value, (self.least, *self.x), (0.0, *self.y)))

    def quantile(self, level: float) -> float:
        """Return the smallest value with at least this share of the records at or below it: free."""
        if not 0 <= level <= 1:
            raise ArgumentError(f"level must be between 0 and 1, got {level!r}. The median is 0.5.")
        points, shares = (self.least, *self.x), np.array((0.0, *self.y))
        last = int(np.searchsorted(shares, min(level, shares[-1]), side="left"))
        if last == 0:
            return float(points[0])
        below, above = shares[last - 1], shares[last]
        part = 1.0 if above <= below else (level - below) / (above - below)
        return float(points[last - 1] + min(part, 1.0) * (points[last] - points[last - 1]))

    def plot(self, ax: Any = None, *, title: str | None = None, band: BandName = "each") -> Any:
        """Draw steps with a noise band, of each point or of all of them at once."""
        from discreet.plans.results.pictures.distribution import DistributionDisplay

        return DistributionDisplay(self, band).plot(ax, title=title)
