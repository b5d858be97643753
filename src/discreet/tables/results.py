"""What plans about the table itself release besides histograms: single numbers, counts with ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans import Histogram, Result
from discreet.tables.histogram.range_bands import range_half_width
from discreet.tables.histogram.range_tree import RangeTree

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scalar(Result):
    """One noisy number.

    Attributes:
      name: what it measures.
      value: the noisy number.
      half_width: the exact number is within this of it with probability ``level``.
      level: see ``half_width``.
      noise_std: standard deviation of the noise.
      unit: the number's unit.
      range: the least and the greatest it can be; None where it has no end.
      method: how it was found.
      why: why that method was taken.
      compared: the expected error of every method that was considered, on the worst public table.
    """

    name: str
    value: float
    half_width: float
    level: float
    noise_std: float
    unit: str
    range: tuple[float | None, float | None]
    method: str
    why: str
    compared: tuple[tuple[str, float], ...]

    def __float__(self) -> float:
        return self.value

    @property
    def low(self) -> float:
        """The lower end of the band, not below the least the number can be."""
        return _inside(self.value - self.half_width, self.range)

    @property
    def high(self) -> float:
        """The upper end of the band."""
        return _inside(self.value + self.half_width, self.range)

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the name, the number, its band and its unit."""
        import pandas as pd

        row = {"name": self.name, "value": self.value, "low": self.low, "high": self.high}
        return pd.DataFrame([{**row, "unit": self.unit, "method": self.method}])

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the number with its band on the range it can have."""
        return ScalarDisplay(self).plot(ax, title=title)


class ScalarDisplay:
    """Draws a ``Scalar``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> ScalarDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        from discreet.plans.results.pictures.canvas import BAND, LINE, axes_or_new, tidy, write_title

        number = self.scalar
        self.ax_ = axes_or_new(ax, height=1.8)
        self.figure_ = self.ax_.figure
        label = f"noise, {number.level:.0%} of the time"
        self.ax_.barh([0], [number.high - number.low], 0.5, [number.low], color=BAND, label=label)
        self.ax_.plot([number.value], [0], "o", color=LINE, label=f"{number.value:.4g} {number.unit}")
        self.ax_.set_yticks([])
        self.ax_.set_ylim(-0.8, 0.8)
        self.ax_.set_xlim(*number.range)
        self.ax_.set_xlabel(f"{number.name}, {number.unit}")
        self.ax_.legend(fontsize=8, frameon=False, loc="upper center", ncols=2)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self


@dataclass(frozen=True)
class RangeHistogram(Histogram):
    """Counts of one column that were released for ranges: ``range`` adds them up with their error.

    Attributes:
      widths: the widths of the blocks that were counted, in cells, widest first.
      block_std: standard deviation of the noise on a block.
      known_total: whether the number of records is public, and the counts add up to it.
      normal: whether the noise is Gaussian.
    """

    widths: tuple[int, ...]
    block_std: float
    known_total: bool
    normal: bool

    def fits_together(self) -> bool:
        """Return whether the cells are those of one column, and the blocks made of them."""
        # A list of one level or several, each of whole blocks: as ``RangeTree`` lays them out.
        widths = zip(self.widths, self.widths[1:], strict=False)
        return (
            super().fits_together()
            and len(self.columns) == 1
            and len(self.widths) > 0
            and self.widths[-1] == 1
            and all(wide > narrow for wide, narrow in widths)
        )

    def range(self, low: Any, high: Any) -> Scalar:
        """Return the number of records in all cells from the one with ``low`` to that with ``high``.

        Args:
          low: a number, or for a category the name of a value.
          high: the same; its cell is included.

        >>> cells = (("a", "b", "c"),), (None,), (4.0, 2.0, 1.0)
        >>> counts = RangeHistogram(("x",), *cells, 1.0, 2.0, 0.95, (1,), 1.0, False, True)
        >>> counts.range("a", "b").value, round(counts.range("a", "b").noise_std, 3)
        (6.0, 1.414)
        """
        first, last = self._cell("low", low), self._cell("high", high)
        if first > last:
            raise ArgumentError(f"high must not be below low, got {low!r} and {high!r}.")
        tree = RangeTree(len(self.counts), self.widths, self.known_total)
        variance = tree.variance(np.array([first]), np.array([last + 1]))
        std = self.block_std * math.sqrt(float(variance[0]))
        return Scalar(
            name=f"records with {self.columns[0]} in {self._span(first, last)}",
            value=math.fsum(self.counts[first : last + 1]),
            half_width=range_half_width(
                tree,
                first,
                last + 1,
                block_std=self.block_std,
                normal=self.normal,
                level=self.level,
            ),
            level=self.level,
            noise_std=std,
            unit="records",
            range=(0.0, None),
            method="tree" if len(self.widths) > 1 else "cells",
            why=f"{len(self.widths)} levels of counts",
            compared=(),
        )

    def _cell(self, name: str, value: Any) -> int:
        labels, edges = self.labels[0], self.edges[0]
        if edges is None and str(value) in labels:
            return labels.index(str(value))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if edges is None or not number or not edges[0] <= value <= edges[-1]:
            ends = f"{labels[0]} to {labels[-1]}"
            raise ArgumentError(f"{name} must lie in the cells {ends}, got {value!r}.")
        return int(np.searchsorted(np.asarray(edges[1:-1]), value, side="right"))

    def _span(self, first: int, last: int) -> str:
        labels = self.labels[0]
        return labels[first] if first == last else f"{labels[first]} to {labels[last]}"


def _inside(value: float, ends: tuple[float | None, float | None]) -> float:
    least, greatest = ends
    value = value if least is None else max(value, least)
    return value if greatest is None else min(value, greatest)
