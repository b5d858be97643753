"""What a term of a released model adds to a margin, as a picture of its own: steps, or a map of two.

Everything here is read off released numbers: it costs nothing and no record is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans import Result
from discreet.plans.results.axes import Axis, axis_of
from discreet.plans.results.bands import BandName, chosen_band
from discreet.schema import Bins, FloatArray, Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ShapeFunction(Result):
    """What one column, or two of them together, add to a margin, with noise bands.

    A band is about noise alone: around the scores of the same fit, with the same bins, if no noise is
    added. It says nothing of what another sample of records would give.

    Attributes:
      columns: the name of the column, or the names of both.
      bins: the bins of every column; those of missing and unlisted values are the last.
      scores: what every cell adds; those of two columns in row-major order.
      low: lower end of the noise band of each score by itself; ``band("all")`` holds all at once.
      high: upper end of the noise band.
      counts: noisy records per cell.
      level: the probability of every band, to first order in the noise.
      quantity: what a score adds to.
      ends_all: lower and upper ends of bands that hold all scores of the term at once.
      axes: how every column is shown: of dates, and of what has a unit or a label; else None.
    """

    columns: tuple[str, ...]
    bins: tuple[Bins, ...]
    scores: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[float, ...]
    level: float
    quantity: str
    ends_all: tuple[tuple[float, ...], tuple[float, ...]]
    axes: tuple[Axis | None, ...] = field(default=(), kw_only=True)

    def dressed(self, schema: Schema) -> ShapeFunction:
        """Return the same shape with titles of its axes, and dates on them."""
        return replace(self, axes=tuple(axis_of(schema, name) for name in self.columns))

    def axis(self, place: int) -> Axis | None:
        """Return how a column is shown."""
        return self.axes[place] if place < len(self.axes) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of every column."""
        return tuple(map(len, self.bins))

    @property
    def extent(self) -> str:
        """The number of cells."""
        return f"{math.prod(self.shape):,} cells"

    def fits_together(self) -> bool:
        """Return whether every cell has its score, its count and its bands."""
        parts = (self.scores, self.low, self.high, self.counts, *self.ends_all)
        cells = math.prod(self.shape)
        return len(self.columns) == len(self.bins) in (1, 2) and all(len(p) == cells for p in parts)

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of each score by itself or of all of them at once."""
        low, high = chosen_band(of, (self.low, self.high), self.ends_all)
        return np.array(low), np.array(high)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: its name, for a number also its ends, score, band and count."""
        import pandas as pd

        index = pd.MultiIndex.from_product([part.labels for part in self.bins], names=self.columns)
        frame = index.to_frame(index=False)
        if len(self.bins) == 1 and self.bins[0].edges is not None:
            edges, rest = self.bins[0].edges, [math.nan] * self.bins[0].reserved
            frame["from"], frame["to"] = [*edges[:-1], *rest], [*edges[1:], *rest]
        for name, values in (
            ("score", self.scores),
            ("low", self.low),
            ("high", self.high),
            ("count", self.counts),
        ):
            frame[name] = np.array(values)
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None, band: BandName = "each") -> Any:
        """Draw steps with a noise band above the noisy counts; a map for two columns."""
        from discreet.plans.results.pictures.additive import MapDisplay, StepsDisplay

        kind: Any = StepsDisplay if len(self.columns) == 1 else MapDisplay
        return kind(self, band).plot(ax, title=title)
