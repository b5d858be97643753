"""A curve with its noise band, and a private histogram where others draw the rows.

A surface over two features is a heat map whose colour bar states the noise.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    GREY_ALPHA,
    LINE,
    RESERVED,
    Display,
    add_legend,
    add_scale,
    axes_or_new,
    ink,
    name_band,
    name_ticks,
    reserved_count,
    tidy,
    title_of,
    value_axis,
    write_title,
)
from discreet.plans.results.pictures.histogram import cell_places, name_apart

if TYPE_CHECKING:
    from discreet.plans.results.bands import BandName
    from discreet.plans.results.result import Curve, MissingPoint, Surface

_APART = 0.05
"""The width of what stands for missing values, as a share of the range."""


class CurveDisplay(Display):
    """Draws a ``Curve``; after ``plot`` it has ``ax_``, ``figure_`` and, with a rug, ``rug_ax_``."""

    def __init__(self, curve: Curve, band: BandName = "each") -> None:
        self.curve, self.band = curve, band
        self._low, self._high = curve.band(band)
        self.rug_ax_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> CurveDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        if self.curve.rug is not None:
            self._draw_rug()
        if self.curve.labels is None:
            self._draw_line()
        else:
            self._draw_points()
        self.ax_.set_xlabel(title_of(self.curve.axis, self.curve.feature))
        self.ax_.set_ylabel(self.curve.quantity)
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self

    def _parts(self) -> tuple[list[int], list[int]]:
        """Return the points of the range or the list, and those of unlisted and missing values."""
        points = list(range(len(self.curve.x)))
        inside = len(points) - reserved_count(self.curve.labels or ())
        return points[:inside], points[inside:]

    def _draw_line(self) -> None:
        curve, ax = self.curve, self.ax_
        ax.fill_between(
            curve.x, self._low, self._high, color=LINE, alpha=BAND_ALPHA, lw=0, label=self._band
        )
        ax.plot(curve.x, curve.y, color=LINE, lw=1.8, marker="o", ms=3, label="released")
        value_axis(ax, curve.axis)
        if curve.missing is not None:
            self._draw_missing(curve.missing)

    def _draw_missing(self, point: MissingPoint) -> None:
        """Draw the point of missing values to the right of the range."""
        low, high = (point.low, point.high) if self.band == "each" else point.ends_all
        place, wide = self._apart
        self.ax_.bar([place], [high - low], wide, bottom=[low], color=GREY, alpha=GREY_ALPHA)
        self.ax_.plot([place], [point.y], "o", color=GREY, ms=5)
        name_apart(self.ax_, [place], RESERVED[-1:], (self.curve.x[0], self.curve.x[-1]))

    @property
    def _apart(self) -> tuple[float, float]:
        """Where what is missing is drawn, and how wide."""
        wide = _APART * (self.curve.x[-1] - self.curve.x[0])
        return self.curve.x[-1] + 2 * wide, wide

    def _draw_points(self) -> None:
        assert self.curve.labels is not None
        known, apart = self._parts()
        places = cell_places(None, len(known), len(apart))[0]
        self._draw_bars(places[: len(known)], known, 0.5, LINE, named=True)
        self._draw_bars(places[len(known) :], apart, 0.5, GREY)
        name_ticks(self.ax_, places, self.curve.labels)

    def _draw_bars(
        self, places: list[float], points: list[int], width: float, colour: str, *, named: bool = False
    ) -> None:
        """Draw points one by one, each with its band as a bar."""
        if not points:
            return
        low, high = self._low[points], self._high[points]
        names = (self._band, "released") if named else (None, None)
        self.ax_.bar(
            places, high - low, width, bottom=low, color=colour, alpha=BAND_ALPHA, label=names[0]
        )
        self.ax_.plot(places, np.array(self.curve.y)[points], "o", color=colour, ms=5, label=names[1])

    @property
    def _band(self) -> str:
        return name_band(self.band, self.curve.level)

    def _draw_rug(self) -> None:
        """Draw the histogram along the bottom fifth, on an axis of its own."""
        rug = self.curve.rug
        assert rug is not None
        self.rug_ax_ = self.ax_.twinx()
        beside = reserved_count(rug.labels[0])
        places, widths = cell_places(rug.edges[0], len(rug.counts) - beside, beside)
        if rug.edges[0] is not None and beside:
            places[-1], widths[-1] = self._apart
        self.rug_ax_.bar(places, rug.counts, widths, color=GREY, alpha=GREY_ALPHA, lw=0)
        top = max(max(rug.counts), 1.0)
        self.rug_ax_.set_ylim(0, 5 * top)
        self.rug_ax_.set_yticks([0, top], ["0", f"{top:,.0f}"], fontsize=7, color=ink(self.ax_))
        self.rug_ax_.set_zorder(self.ax_.get_zorder() - 1)
        self.ax_.patch.set_visible(False)
        tidy(self.rug_ax_)


class SurfaceDisplay(Display):
    """Draws a ``Surface``; after ``plot`` it has ``ax_``, ``figure_`` and ``colorbar_``."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.colorbar_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> SurfaceDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        surface = self.surface
        self.ax_ = axes_or_new(ax)
        edges = [_edges(points) for points in (surface.x, surface.y)]
        mesh = self.ax_.pcolormesh(*edges, surface.to_array().T, cmap="viridis")
        for axis, labels, shown in zip(("x", "y"), surface.labels, surface.axes, strict=True):
            if labels is not None:
                name_ticks(self.ax_, list(range(len(labels))), labels, axis=axis)
            else:
                value_axis(self.ax_, shown, axis=axis)
        self.ax_.set_xlabel(title_of(surface.axes[0], surface.features[0]))
        self.ax_.set_ylabel(title_of(surface.axes[1], surface.features[1]))
        self.ax_.tick_params(labelsize=8)
        self.colorbar_ = add_scale(self.ax_, mesh, self._scale)
        write_title(self.ax_, title)
        return self

    @property
    def _scale(self) -> str:
        half = float(np.max(np.subtract(self.surface.high, self.surface.low))) / 2
        return f"{self.surface.quantity} (noise ± {half:.2g}, {self.surface.level:.0%} of the time)"


def _edges(points: tuple[float, ...]) -> list[float]:
    """Return where the cells around grid points end: halfway to the next one."""
    if len(points) == 1:
        return [points[0] - 0.5, points[0] + 0.5]
    between = [a / 2 + b / 2 for a, b in pairwise(points)]
    return [2 * points[0] - between[0], *between, 2 * points[-1] - between[-1]]
