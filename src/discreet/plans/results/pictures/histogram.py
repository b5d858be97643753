"""Released counts as bars with noise bands, or as a map for two columns.

Cells of missing and unlisted values stand apart, in grey, after a gap.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    Display,
    add_legend,
    add_scale,
    axes_or_new,
    ink,
    name_band,
    name_ticks,
    number_axis,
    reserved_count,
    tidy,
    title_of,
    value_axis,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.result import Histogram


_NAMED = 12
"""Up to so many cells of a number are named one by one."""

_SINGLE_BARS = 60
"""Up to so many bars have a whisker each."""

_CLEAR = 0.12
"""The share of an axis before the name of a reserved cell that is kept free of other names."""

_APART = 0.5
"""The gap before reserved cells, in bars; of a number, at least a share of the range."""


class HistogramDisplay(Display):
    """Draws a ``Histogram`` of one or two columns; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, histogram: Histogram) -> None:
        if len(histogram.columns) > 2:
            raise ArgumentError(
                f"columns must be one or two to be drawn, got {len(histogram.columns)}. "
                "Use to_frame() or to_array()."
            )
        self.histogram = histogram

    def plot(self, ax: Any = None, *, title: str | None = None) -> HistogramDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        if len(self.histogram.columns) == 1:
            self._draw_bars()
        else:
            self._draw_map()
        write_title(self.ax_, title)
        return self

    def _draw_bars(self) -> None:
        histogram, ax = self.histogram, self.ax_
        labels, edges = histogram.labels[0], histogram.edges[0]
        apart = reserved_count(labels)
        inside = len(labels) - apart
        places, widths = cell_places(edges if inside > _NAMED else None, inside, apart)
        tones = [LINE] * inside + [GREY] * apart
        ax.bar(places, histogram.counts, widths, color=tones, alpha=0.75)
        self._name_cells(places, inside)
        if inside <= _SINGLE_BARS:
            self._draw_whiskers(places)
        else:
            self._draw_band(places[:inside])
            self._draw_whiskers(places[inside:], inside)
        ax.set_xlabel(title_of(histogram.axis(0), histogram.columns[0]))
        ax.set_ylabel("records")
        number_axis(ax, axis="y")
        add_legend(ax)
        tidy(ax)

    def _name_cells(self, places: list[float], inside: int) -> None:
        labels, edges = self.histogram.labels[0], self.histogram.edges[0]
        if edges is None or inside <= _NAMED:
            name_ticks(self.ax_, places, labels)
        else:
            value_axis(self.ax_, self.histogram.axis(0))
            name_apart(self.ax_, places[inside:], labels[inside:], (edges[0], edges[-1]))

    def _draw_whiskers(self, places: list[float], start: int = 0) -> None:
        """Draw every count's own band; below zero there is none."""
        if not places:
            return
        half = self.histogram.half_width
        counts = self.histogram.counts[start : start + len(places)]
        below = [min(abs(count), half) for count in counts]
        label = None if start else self._band
        self.ax_.errorbar(
            places,
            counts,
            [below, [half] * len(counts)],
            label=label,
            fmt="none",
            ecolor=ink(self.ax_),
            lw=1,
            capsize=2,
        )

    def _draw_band(self, places: list[float]) -> None:
        """Draw one band behind many narrow bars."""
        counts, half = self.histogram.counts[: len(places)], self.histogram.half_width
        low = [max(count - half, 0.0) for count in counts]
        high = [max(count + half, 0.0) for count in counts]
        self.ax_.fill_between(
            places, low, high, step="mid", color=ink(self.ax_), alpha=BAND_ALPHA, lw=0, label=self._band
        )

    @property
    def _band(self) -> str:
        return name_band("each", self.histogram.level)

    def _draw_map(self) -> None:
        histogram, ax = self.histogram, self.ax_
        image = ax.imshow(histogram.to_array().T, origin="lower", aspect="auto", cmap="Blues")
        for axis, labels in (("x", histogram.labels[0]), ("y", histogram.labels[1])):
            name_ticks(ax, list(range(len(labels))), labels, axis=axis)
        ax.set_xlabel(title_of(histogram.axis(0), histogram.columns[0]))
        ax.set_ylabel(title_of(histogram.axis(1), histogram.columns[1]))
        ax.tick_params(labelsize=8)
        for place, draw in ((0, ax.axvline), (1, ax.axhline)):
            apart = reserved_count(histogram.labels[place])
            if apart:
                draw(histogram.shape[place] - apart - 0.5, color=GREY, lw=2)
        half, level = histogram.half_width, histogram.level
        add_scale(ax, image, f"records (noise ± {half:,.0f}, {level:.0%} of the time)")


def cell_places(
    edges: tuple[float, ...] | None, inside: int, apart: int
) -> tuple[list[float], list[float]]:
    """Return the middles and widths of bars: cells in the range, and reserved ones after a gap."""
    if edges is None:
        start = inside - 0.5 + _APART
        return [*map(float, range(inside)), *(start + 0.5 + i for i in range(apart))], [0.8] * (
            inside + apart
        )
    spans = [b - a for a, b in pairwise(edges)]
    filled = 0.92 if inside <= _SINGLE_BARS else 1.0
    wide = max(spans[-1], 0.03 * (edges[-1] - edges[0]))
    places = [a + span / 2 for a, span in zip(edges[:-1], spans, strict=True)]
    beside = [edges[-1] + 1.6 * wide + 1.8 * wide * i for i in range(apart)]
    return [*places, *beside], [*(filled * span for span in spans), *([wide] * apart)]


def name_apart(
    ax: Any, places: list[float], labels: tuple[str, ...], ends: tuple[float, float]
) -> None:
    """Keep an axis' own ticks inside the range, and name what stands apart from it."""
    if not places:
        return
    last = min(ends[1], places[0] - _CLEAR * (places[-1] - ends[0]))
    inside = [tick for tick in ax.get_xticks() if ends[0] <= tick <= last]
    shown = ax.xaxis.get_major_formatter().format_ticks(inside)
    ax.set_xticks([*inside, *places], [*shown, *labels])
    for label in ax.get_xticklabels()[len(inside) :]:
        label.set_rotation(40)
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")
