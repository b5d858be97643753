"""The rows of a background, column by column, as small bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.plans.results.pictures.canvas import INK, LINE, axes_or_new, tidy, write_title

if TYPE_CHECKING:
    import pandas as pd

_ACROSS = 4
_BARS = 16
_GAP = 0.4
"""Room between small pictures, as a share of one; the title has the first of it."""


class BackgroundDisplay:
    """Draws released rows; after ``plot`` it has ``ax_``, ``figure_`` and an ``axes_`` per column."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows
        self.ax_: Any = None
        self.axes_: list[Any] = []
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> BackgroundDisplay:
        """Draw inside ``ax`` or inside new axes; never calls ``show``."""
        across = min(_ACROSS, self.rows.shape[1])
        down = math.ceil(self.rows.shape[1] / across)
        self.ax_ = axes_or_new(ax, width=2.4 * across, height=2.1 * down)
        self.figure_ = self.ax_.figure
        self.ax_.set_axis_off()
        write_title(self.ax_, title)
        width, height = 1 / (across + _GAP * (across - 1)), 1 / ((1 + _GAP) * down)
        for place, name in enumerate(self.rows.columns):
            row, column = divmod(place, across)
            left, bottom = column * (1 + _GAP) * width, 1 - (row + 1) * (1 + _GAP) * height
            small = self.ax_.inset_axes((left, bottom, width, height))
            self._draw_column(small, str(name))
            self.axes_.append(small)
        return self

    def _draw_column(self, ax: Any, name: str) -> None:
        values = self.rows[name]
        if values.nunique() == 1 and values.dtype.kind == "f":
            ax.axvline(values.iloc[0], color=LINE, lw=2)
            ax.set_yticks([])
            ax.locator_params(axis="x", nbins=4)
        elif values.dtype.kind == "f":
            ax.hist(values, bins=_BARS, weights=[1 / len(values)] * len(values), color=LINE, alpha=0.7)
            ax.locator_params(axis="x", nbins=4)
        else:
            shares = values.astype(str).value_counts(normalize=True).sort_index()
            labels = tuple(shares.index)
            ax.bar(range(len(labels)), shares, width=0.8, color=LINE, alpha=0.7)
            ax.set_xticks(range(len(labels)), labels)
            ax.tick_params(axis="x", rotation=25 if sum(map(len, labels)) > 20 else 0)
        ax.set_title(name, fontsize=8, color=INK)
        tidy(ax)
        ax.tick_params(labelsize=6)
