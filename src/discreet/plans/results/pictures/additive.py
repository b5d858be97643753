"""An additive model as pictures: steps with noise bands above noisy counts, maps of pairs, a grid.

All steps of a grid share one scale, so that a term that does little looks like it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from discreet.plans.results.bands import BandName
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    GREY_ALPHA,
    LINE,
    Display,
    add_legend,
    add_scale,
    axes_or_new,
    ink,
    name_band,
    name_ticks,
    shortened,
    small_axes,
    tidy,
    title_of,
    value_axis,
    wrapped,
    write_title,
)
from discreet.plans.results.pictures.groups import COLOURS
from discreet.plans.results.pictures.histogram import cell_places, name_apart
from discreet.schema import Bins, FloatArray

_TILE, _HEAD = 2.0, 0.6
_APART = 0.05
"""The width of what stands for missing values, as a share of the range."""

_MOST = 12
"""So many terms are drawn; the others are in the frame."""


class DrawnShape(Protocol):
    """What a picture shows of a term."""

    columns: tuple[str, ...]
    bins: tuple[Bins, ...]
    scores: tuple[float, ...]
    counts: tuple[float, ...]
    level: float
    quantity: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of every column."""

    def axis(self, place: int) -> Any:
        """Return how a column is shown."""

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band."""


class StepsDisplay(Display):
    """Draws the term of one column; after ``plot`` it has ``ax_``, ``figure_`` and ``rug_ax_``."""

    def __init__(self, shape: Any, band: BandName = "each", name: str = "released") -> None:
        self.shapes: Mapping[str, Any] = shape if isinstance(shape, Mapping) else {name: shape}
        self.band = band
        self.first: Any = next(iter(self.shapes.values()))
        self.rug_ax_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> StepsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        self.ax_.axhline(0.0, color=ink(self.ax_), lw=0.6, alpha=0.5)
        for colour, (name, shape) in zip(COLOURS, self.shapes.items(), strict=False):
            self._draw(shape, name, colour)
        self._name_axis()
        self._draw_rug()
        self.ax_.set_xlabel(title_of(self.first.axis(0), self.first.columns[0]))
        self.ax_.set_ylabel(f"added to {self.first.quantity}")
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self

    @property
    def _bins(self) -> Bins:
        bins: Bins = self.first.bins[0]
        return bins

    @property
    def _places(self) -> tuple[list[float], list[float]]:
        bins = self._bins
        inside = len(bins) - bins.reserved
        places, widths = cell_places(bins.edges, inside, bins.reserved)
        if bins.edges is None:
            return places, widths
        wide = _APART * (bins.edges[-1] - bins.edges[0])
        apart = [bins.edges[-1] + 2 * wide * (1 + place) for place in range(bins.reserved)]
        spans = [b - a for a, b in pairwise(bins.edges)]
        return [*places[:inside], *apart], [*spans, *[wide] * bins.reserved]

    def _draw(self, shape: Any, name: str, colour: str) -> None:
        """Draw the steps of a number, or the points of a category, each with its band."""
        inside = len(self._bins) - self._bins.reserved
        scores, (low, high) = np.array(shape.scores), shape.band(self.band)
        told = name_band(self.band, shape.level) if len(self.shapes) == 1 else None
        alpha = BAND_ALPHA if len(self.shapes) == 1 else 0.15
        if self._bins.edges is None:
            self._draw_points(scores, low, high, 0, colour, (name, told), alpha)
            return
        edges = np.array(self._bins.edges)
        self.ax_.fill_between(
            np.repeat(edges, 2)[1:-1], np.repeat(low[:inside], 2), np.repeat(high[:inside], 2),
            color=colour, alpha=alpha, lw=0, label=told,
        )  # fmt: skip
        self.ax_.stairs(scores[:inside], edges, baseline=None, color=colour, lw=1.8, label=name)
        self._draw_points(scores, low, high, inside, colour, (None, None), alpha)

    def _draw_points(
        self,
        scores: FloatArray,
        low: FloatArray,
        high: FloatArray,
        start: int,
        colour: str,
        told: tuple[str | None, str | None],
        alpha: float,
    ) -> None:
        """Draw single cells from ``start`` on, each with its band as a bar."""
        places, widths = self._places
        if start >= len(places):
            return
        cells = slice(start, None)
        self.ax_.bar(
            places[cells], (high - low)[cells], 0.62 * np.array(widths[cells]), bottom=low[cells],
            color=colour, alpha=alpha, label=told[1],
        )  # fmt: skip
        self.ax_.plot(places[cells], scores[cells], "o", color=colour, ms=4, label=told[0])

    def _name_axis(self) -> None:
        bins = self._bins
        inside = len(bins) - bins.reserved
        if bins.edges is None:
            name_ticks(self.ax_, self._places[0], bins.labels)
            return
        value_axis(self.ax_, self.first.axis(0))
        ends = (bins.edges[0], bins.edges[-1])
        name_apart(self.ax_, self._places[0][inside:], bins.labels[inside:], ends)

    def _draw_rug(self) -> None:
        """Draw the noisy counts along the bottom fifth, as records per width of a bin."""
        self.rug_ax_ = self.ax_.twinx()
        places, widths = self._places
        counts = np.maximum(np.array(self.first.counts), 0.0)
        heights = counts / np.array(widths)
        self.rug_ax_.bar(places, heights, widths, color=GREY, alpha=GREY_ALPHA, lw=0)
        self.rug_ax_.set_ylim(0, 5 * max(float(heights.max()), 1e-300))
        self.rug_ax_.set_yticks([])
        self.rug_ax_.set_zorder(self.ax_.get_zorder() - 1)
        self.ax_.patch.set_visible(False)
        tidy(self.rug_ax_)
        low, high = self.ax_.get_ylim()
        self.ax_.set_ylim(low - 0.25 * (high - low), high)


class MapDisplay(Display):
    """Draws the term of two columns; after ``plot`` it has ``ax_``, ``figure_`` and ``colorbar_``."""

    def __init__(self, shape: DrawnShape, band: BandName = "each") -> None:
        self.shape, self.band = shape, band
        self.colorbar_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> MapDisplay:
        """Draw on ``ax`` or on new axes, cell by cell; never calls ``show``."""
        shape = self.shape
        self.ax_ = axes_or_new(ax)
        table = np.array(shape.scores).reshape(shape.shape)
        most = max(float(np.abs(table).max()), 1e-12)
        image = self.ax_.imshow(
            table.T, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most
        )
        for place, axis in enumerate(("x", "y")):
            labels = shape.bins[place].labels
            name_ticks(self.ax_, list(range(len(labels))), labels, axis=axis)
        self.ax_.set_xlabel(title_of(shape.axis(0), shape.columns[0]))
        self.ax_.set_ylabel(title_of(shape.axis(1), shape.columns[1]))
        self.ax_.tick_params(labelsize=8)
        self.colorbar_ = add_scale(self.ax_, image, f"added to {shape.quantity} ({self._noise})")
        write_title(self.ax_, title)
        return self

    @property
    def _noise(self) -> str:
        low, high = self.shape.band(self.band)
        return f"noise ± {float(np.max(high - low)) / 2:.2g}, {self.shape.level:.0%} of the time"


class AdditiveDisplay(Display):
    """Draws all terms of a model, the most important first; then it has ``ax_`` and ``figure_``.

    Args:
      shapes: the terms' shapes by name; of several classes a mapping from classes to these.
      most: so many terms are drawn.
    """

    def __init__(self, shapes: Mapping[str, Mapping[str, Any]], *, most: int = _MOST) -> None:
        first = next(iter(shapes.values()))
        self.classes = [*shapes][: len(COLOURS)]
        self.tiles = [{name: shapes[name][term] for name in self.classes} for term in first][:most]
        self.left = len(first) - len(self.tiles)
        self.quantity = next((shape.quantity for shape in first.values()), "")
        self.level = next((shape.level for shape in first.values()), 0.0)
        self.axes_: list[Any] = []

    def plot(self, ax: Any = None, *, title: str | None = None) -> AdditiveDisplay:
        """Draw on ``ax``, which small pictures replace, or on a new figure; never calls ``show``."""
        self.ax_, small = small_axes(ax, len(self.tiles), tile=_TILE, head=_HEAD, rest=0.7)
        self._write_head(title)
        for tile, own in zip(self.tiles, small, strict=True):
            self._draw_tile(tile, own)
        self._share_scale()
        return self

    def _draw_tile(self, tile: Mapping[str, Any], own: Any) -> None:
        first = next(iter(tile.values()))
        if len(first.columns) == 2:
            display: Any = MapDisplay(first).plot(own)
            display.colorbar_.set_label("")
            display.colorbar_.ax.tick_params(labelsize=6)
        else:
            StepsDisplay(tile).plot(own)
            self.axes_.append(own)
        if own.get_legend() is not None:
            own.get_legend().remove()
        names = [
            shortened(title_of(first.axis(place), name), 24) for place, name in enumerate(first.columns)
        ]
        own.set_title(" × ".join(names), fontsize=8, loc="left", color=ink(own))
        own.set_xlabel("")
        own.set_ylabel(names[1] if len(names) == 2 else "", fontsize=7)
        own.tick_params(labelsize=6.5)

    def _share_scale(self) -> None:
        if self.axes_:
            lows, highs = zip(*(ax.get_ylim() for ax in self.axes_), strict=True)
            for ax in self.axes_:
                ax.set_ylim(min(lows), max(highs))

    def _write_head(self, title: str | None) -> None:
        """Write the title, and what lines, bands and grey bars are."""
        said = f"{self.left} more terms: .to_frame()" if self.left else ""
        told = " · ".join(filter(None, [title, f"added to {self.quantity}", said]))
        self.ax_.text(
            0, 1, wrapped(self.ax_, told, 9), fontsize=9, color=ink(self.ax_), va="top",
            transform=self.ax_.transAxes,
        )  # fmt: skip
        told = f"released, {self.level:.0%} noise band of each value"
        several = len(self.classes) > 1
        named = zip(self.classes, COLOURS, strict=False) if several else [(told, LINE)]
        handles = [self.ax_.plot([], [], color=colour, label=name)[0] for name, colour in named]
        rug = self.ax_.bar([0], [0], color=GREY, alpha=GREY_ALPHA, label="noisy counts")
        self.ax_.legend(
            handles=[*handles, rug],
            fontsize=7, frameon=False, labelcolor=ink(self.ax_), loc="lower left", ncols=4,
            borderaxespad=0.0, borderpad=0.0,
        )  # fmt: skip
