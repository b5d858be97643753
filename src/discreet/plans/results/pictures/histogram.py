"""Released counts as bars with noise bands, or as a map for two columns."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError
from discreet.plans.results.pictures.canvas import (
    BAND,
    INK,
    LINE,
    axes_or_new,
    name_band,
    slant_long_labels,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.result import Histogram


_NAMED = 12
"""Up to so many cells of a number are named one by one."""

_SINGLE_BARS = 60
"""Up to so many bars have a whisker each."""


class HistogramDisplay:
    """Draws a ``Histogram`` of one or two columns; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, histogram: Histogram) -> None:
        if len(histogram.columns) > 2:
            raise ArgumentError(
                f"columns must be one or two to be drawn, got {len(histogram.columns)}. "
                "Use to_frame() or to_array()."
            )
        self.histogram = histogram
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> HistogramDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        if len(self.histogram.columns) == 1:
            self._draw_bars()
        else:
            self._draw_map()
        write_title(self.ax_, title)
        return self

    def _draw_bars(self) -> None:
        histogram, ax = self.histogram, self.ax_
        labels, edges = histogram.labels[0], histogram.edges[0]
        if edges is None or len(labels) <= _NAMED:
            places: list[float] = [float(i) for i in range(len(labels))]
            widths = [0.8] * len(labels)
            ax.set_xticks(places, labels)
            slant_long_labels(ax, labels)
        else:
            spans = [b - a for a, b in pairwise(edges)]
            places = [a + span / 2 for a, span in zip(edges[:-1], spans, strict=True)]
            widths = [(0.92 if len(labels) <= _SINGLE_BARS else 1.0) * span for span in spans]
            if len(places) < len(labels):  # missing values stand apart from the range
                wide = (edges[-1] - edges[0]) / 20
                places.append(edges[-1] + 1.5 * wide)
                widths.append(wide)
        ax.bar(places, histogram.counts, widths, color=LINE, alpha=0.7)
        if len(labels) <= _SINGLE_BARS:
            self._draw_whiskers(places)
        else:
            self._draw_band(places)
        ax.set_xlabel(histogram.columns[0])
        ax.set_ylabel("records")
        ax.legend(fontsize=8, frameon=False)
        tidy(ax)

    def _draw_whiskers(self, places: list[float]) -> None:
        """Draw every count's own band; below zero there is none."""
        counts, half = self.histogram.counts, self.histogram.half_width
        below = [min(abs(count), half) for count in counts]
        style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "lw": 1, "capsize": 2}
        self.ax_.errorbar(places, counts, [below, [half] * len(counts)], label=self._band, **style)

    def _draw_band(self, places: list[float]) -> None:
        """Draw one band behind many narrow bars."""
        counts, half = self.histogram.counts, self.histogram.half_width
        low = [max(count - half, 0.0) for count in counts]
        high = [max(count + half, 0.0) for count in counts]
        self.ax_.fill_between(
            places, low, high, step="mid", color=BAND, alpha=0.7, lw=0, zorder=0.5, label=self._band
        )

    @property
    def _band(self) -> str:
        return name_band("each", self.histogram.level)

    def _draw_map(self) -> None:
        histogram, ax = self.histogram, self.ax_
        image = ax.imshow(histogram.to_array().T, origin="lower", aspect="auto", cmap="Blues")
        for axis, place in ((ax.xaxis, 0), (ax.yaxis, 1)):
            labels = histogram.labels[place]
            every = max(1, len(labels) // 12)
            axis.set_ticks(range(0, len(labels), every), labels[::every])
            axis.set_label_text(histogram.columns[place])
        ax.tick_params(labelsize=8)
        slant_long_labels(ax, histogram.labels[0])
        bar = self.figure_.colorbar(image, ax=ax)
        named = self._band.removeprefix("noise")
        bar.set_label(f"records (noise ± {histogram.half_width:,.0f}{named})", fontsize=8)
