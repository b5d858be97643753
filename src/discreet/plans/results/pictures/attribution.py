"""Attributions as bars with noise bands, and as a waterfall from base value to prediction.

Rows of a background are small bars too, column by column.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import (
    LINE,
    LOSS,
    Display,
    Paper,
    add_legend,
    axes_or_new,
    ink,
    name_band,
    number_axis,
    say_number,
    shortened,
    tidy,
    wrapped,
    write_title,
)

if TYPE_CHECKING:
    import pandas as pd

    from discreet.plans.results.attribution import Attribution
    from discreet.plans.results.bands import BandName


_WATERFALL_BARS = 9


class AttributionDisplay(Display):
    """Draws one query of an ``Attribution``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(
        self, attribution: Attribution, *, query: int = 0, top: int = 15, band: BandName = "all"
    ) -> None:
        _check_query(query, len(attribution.values))
        check_whole("top", top, 1)
        self.attribution, self.query, self.top, self.band = attribution, query, top, band

    def plot(self, ax: Any = None, *, title: str | None = None) -> AttributionDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.attribution
        values = found.to_array()[self.query]
        order = np.argsort(-np.abs(values), kind="stable")[: self.top]
        places = np.arange(len(order))
        self.ax_ = axes_or_new(ax, height=1.2 + 0.32 * len(order))
        colours = [LINE if value >= 0 else LOSS for value in values[order]]
        self.ax_.barh(places, values[order], color=colours, alpha=0.8, height=0.7)
        if found.half_width is not None:
            high = found.band(self.band)[1][self.query]
            self._draw_bands(values[order], places, float((high - values)[0]))
        self.ax_.set_yticks(places, [name_with_value(found, i, self.query) for i in order])
        self.ax_.invert_yaxis()
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        self.ax_.set_xlabel(wrapped(self.ax_, found.quantity, 10))
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self

    def _draw_bands(self, values: Any, places: Any, width: float) -> None:
        label = name_band(self.band, self.attribution.level)
        self.ax_.errorbar(
            values, places, xerr=width, fmt="none", ecolor=ink(self.ax_), lw=1, capsize=2, label=label
        )
        add_legend(self.ax_)


class WaterfallDisplay(Display):
    """Draws the way from the base value to the prediction of one query."""

    def __init__(self, attribution: Attribution, *, query: int = 0) -> None:
        if attribution.base_values is None or attribution.predictions is None:
            raise ArgumentError(
                "A waterfall must have a prediction to lead to, got importances or a sealed query. "
                "Use plot()."
            )
        _check_query(query, len(attribution.values))
        self.attribution, self.query = attribution, query

    def plot(self, ax: Any = None, *, title: str | None = None) -> WaterfallDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.attribution
        assert found.base_values is not None and found.predictions is not None
        names, steps = self._steps()
        ends = found.base_values[self.query] + np.cumsum(steps)
        starts = ends - steps
        places = np.arange(len(steps))
        self.ax_ = axes_or_new(ax, height=1.4 + 0.36 * len(steps))
        colours = [LINE if step >= 0 else LOSS for step in steps]
        self.ax_.barh(places, steps, left=starts, color=colours, alpha=0.8, height=0.7)
        if found.half_width is not None:
            self.ax_.errorbar(
                ends, places, xerr=found.half_width, fmt="none", ecolor=ink(self.ax_), lw=0.8, capsize=2
            )  # of all values at once
        self.ax_.plot(
            np.repeat(ends, 2)[:-1], np.repeat(places, 2)[1:], color=ink(self.ax_), lw=0.6, ls=":"
        )
        self.ax_.axvline(found.base_values[self.query], color=ink(self.ax_), lw=0.8, ls="--")
        self.ax_.axvline(found.predictions[self.query], color=ink(self.ax_), lw=0.8)
        self.ax_.set_yticks(places, names)
        told = f"base value (dashed) to prediction; bars: {found.quantity}"
        self.ax_.set_xlabel(wrapped(self.ax_, told, 10))
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self

    def _steps(self) -> tuple[list[str], Any]:
        """Return the largest steps, the smallest of them first, the rest joined into one."""
        values = self.attribution.to_array()[self.query]
        order = np.argsort(-np.abs(values), kind="stable")
        shown = order[:_WATERFALL_BARS][::-1]
        names = [name_with_value(self.attribution, i, self.query) for i in shown]
        rest = order[_WATERFALL_BARS:]
        if len(rest) == 0:
            return names, values[shown]
        return [f"{len(rest)} others", *names], np.append(values[rest].sum(), values[shown])


def name_with_value(attribution: Attribution, feature: int, query: int) -> str:
    """Return a feature's name, with the query's value where it is public."""
    name = shortened(attribution.features[feature])
    if attribution.data is None:
        return name
    value = attribution.data[query][feature]
    return f"{name} = {shortened(say_number(value), 16)}"


def _check_query(query: int, queries: int) -> None:
    check_whole("query", query, 0, queries - 1, "Queries are counted from 0.")


_ACROSS = 4
_BARS = 16
_GAP = 0.4
"""Room between small pictures, as a share of one; the title has the first of it."""


class BackgroundDisplay(Display):
    """Draws released rows; after ``plot`` it has ``ax_``, ``figure_`` and an ``axes_`` per column."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows
        self.axes_: list[Any] = []

    def plot(self, ax: Any = None, *, title: str | None = None) -> BackgroundDisplay:
        """Draw inside ``ax`` or inside new axes; never calls ``show``."""
        columns = self.rows.shape[1]
        narrow = isinstance(ax, Paper)
        across = min(_ACROSS // 2 if narrow else _ACROSS, columns)
        down = math.ceil(columns / across)
        width = None if narrow else 2.4 * across
        self.ax_ = axes_or_new(ax, width=width, height=(1.6 if narrow else 2.1) * down)
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
            number_axis(ax)
        elif values.dtype.kind == "f":
            ax.hist(values, bins=_BARS, weights=[1 / len(values)] * len(values), color=LINE, alpha=0.7)
            number_axis(ax)
        else:
            shares = values.astype(str).value_counts(normalize=True).sort_index()
            labels = tuple(shares.index)
            ax.bar(range(len(labels)), shares, width=0.8, color=LINE, alpha=0.7)
            ax.set_xticks(range(len(labels)), labels)
            ax.tick_params(axis="x", rotation=25 if sum(map(len, labels)) > 20 else 0)
        ax.set_title(shortened(name, 20), fontsize=8, color=ink(self.ax_))
        tidy(ax)
        ax.tick_params(labelsize=6)
