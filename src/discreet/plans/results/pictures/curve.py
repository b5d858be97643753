"""A curve with its noise band, and a private histogram where others draw the rows.

A surface over two features is a heat map whose colour bar states the noise.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.plans.results.pictures.canvas import (
    BAND,
    INK,
    LINE,
    RUG,
    axes_or_new,
    name_band,
    slant_long_labels,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.bands import BandName
    from discreet.plans.results.result import Curve, MissingPoint
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.plans.results.result import Surface


class CurveDisplay:
    """Draws a ``Curve``; after ``plot`` it has ``ax_``, ``figure_`` and, with a rug, ``rug_ax_``."""

    def __init__(self, curve: Curve, band: BandName = "each") -> None:
        self.curve, self.band = curve, band
        self._low, self._high = curve.band(band)
        self.ax_: Any = None
        self.figure_: Any = None
        self.rug_ax_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> CurveDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        if self.curve.rug is not None:
            self._draw_rug()
        if self.curve.labels is None:
            self._draw_line()
        else:
            self._draw_points()
        self.ax_.set_xlabel(self.curve.feature)
        self.ax_.set_ylabel(self.curve.quantity)
        write_title(self.ax_, title)
        tidy(self.ax_)
        self.ax_.legend(fontsize=8, frameon=False, loc="best")
        return self

    def _draw_line(self) -> None:
        curve, ax = self.curve, self.ax_
        ax.fill_between(curve.x, self._low, self._high, color=BAND, alpha=0.6, lw=0, label=self._band)
        ax.plot(curve.x, curve.y, color=LINE, lw=1.8, marker="o", ms=3, label="released")
        if curve.missing is not None:
            self._draw_missing(curve.missing)

    def _draw_missing(self, point: MissingPoint) -> None:
        """Draw the point of missing values to the right of the range."""
        low, high = (point.low, point.high) if self.band == "each" else point.ends_all
        place, wide = self._apart
        self.ax_.bar([place], [high - low], bottom=[low], width=wide, color=BAND, alpha=0.6)
        self.ax_.plot([place], [point.y], "o", color=LINE, ms=5)
        self.ax_.annotate(
            "missing",
            (place, low),
            xytext=(0, -3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=INK,
        )

    @property
    def _apart(self) -> tuple[float, float]:
        """Where what is missing is drawn, and how wide."""
        wide = (self.curve.x[-1] - self.curve.x[0]) / 20
        return self.curve.x[-1] + 2 * wide, wide

    def _draw_points(self) -> None:
        curve, ax = self.curve, self.ax_
        assert curve.labels is not None
        places = range(len(curve.labels))
        heights = self._high - self._low
        ax.bar(places, heights, bottom=self._low, width=0.5, color=BAND, alpha=0.6, label=self._band)
        ax.plot(places, curve.y, "o", color=LINE, ms=5, label="released")
        ax.set_xticks(list(places), curve.labels)
        slant_long_labels(ax, curve.labels)

    @property
    def _band(self) -> str:
        return name_band(self.band, self.curve.level)

    def _draw_rug(self) -> None:
        """Draw the histogram along the bottom fifth, on an axis of its own."""
        rug = self.curve.rug
        assert rug is not None
        self.rug_ax_ = self.ax_.twinx()
        edges = rug.edges[0]
        if edges is None:
            self.rug_ax_.bar(range(len(rug.counts)), rug.counts, width=0.8, color=RUG, alpha=0.7)
        else:
            widths = [b - a for a, b in pairwise(edges)]
            counts = rug.counts[: len(widths)]
            self.rug_ax_.bar(edges[:-1], counts, widths, align="edge", color=RUG, alpha=0.7)
            if len(rug.counts) > len(widths):
                place, wide = self._apart
                self.rug_ax_.bar([place], rug.counts[-1:], [wide], color=RUG, alpha=0.7)
        top = max(max(rug.counts), 1.0)
        self.rug_ax_.set_ylim(0, 5 * top)
        self.rug_ax_.set_yticks([0, top], ["0", f"{top:,.0f}"], fontsize=7, color=INK)
        self.rug_ax_.set_zorder(self.ax_.get_zorder() - 1)
        self.ax_.patch.set_visible(False)
        tidy(self.rug_ax_)


class SurfaceDisplay:
    """Draws a ``Surface``; after ``plot`` it has ``ax_``, ``figure_`` and ``colorbar_``."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.ax_: Any = None
        self.figure_: Any = None
        self.colorbar_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> SurfaceDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        surface = self.surface
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        edges = [_edges(points) for points in (surface.x, surface.y)]
        mesh = self.ax_.pcolormesh(*edges, surface.to_array().T, cmap="viridis")
        axes = (self.ax_.xaxis, self.ax_.yaxis)
        for axis, name, labels in zip(axes, surface.features, surface.labels, strict=True):
            axis.set_label_text(name)
            if labels is not None:
                axis.set_ticks(range(len(labels)), labels)
        self.ax_.tick_params(labelsize=8)
        slant_long_labels(self.ax_, surface.labels[0] or ())
        self.colorbar_ = self.figure_.colorbar(mesh, ax=self.ax_)
        self.colorbar_.set_label(self._scale, fontsize=8)
        write_title(self.ax_, title)
        return self

    @property
    def _scale(self) -> str:
        half = float(np.max(np.subtract(self.surface.high, self.surface.low))) / 2
        named = name_band("each", self.surface.level).removeprefix("noise")
        return f"{self.surface.quantity} (noise ± {half:.2g}{named})"


def _edges(points: tuple[float, ...]) -> list[float]:
    """Return where the cells around grid points end: halfway to the next one."""
    if len(points) == 1:
        return [points[0] - 0.5, points[0] + 0.5]
    between = [a / 2 + b / 2 for a, b in pairwise(points)]
    return [2 * points[0] - between[0], *between, 2 * points[-1] - between[-1]]
