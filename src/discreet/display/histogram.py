"""Released counts as bars with noise bands, or as a map for two columns."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.display.canvas import INK, LINE, axes_or_new, slant_long_labels, tidy, write_title
from discreet.errors import ArgumentError

if TYPE_CHECKING:
    from discreet.plans.results import Histogram


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
        if edges is None or len(labels) <= 12:
            places: list[float] = [float(i) for i in range(len(labels))]
            ax.bar(places, histogram.counts, width=0.8, color=LINE, alpha=0.7)
            ax.set_xticks(places, labels)
            slant_long_labels(ax, labels)
        else:
            widths = [b - a for a, b in pairwise(edges)]
            places = [a + w / 2 for a, w in zip(edges[:-1], widths, strict=True)]
            ax.bar(places, histogram.counts, [0.92 * w for w in widths], color=LINE, alpha=0.7)
        below = [min(count, histogram.half_width) for count in map(abs, histogram.counts)]
        above = [histogram.half_width] * len(places)
        label = f"noise, {histogram.level:.0%} of the time"
        ax.errorbar(
            places,
            histogram.counts,
            [below, above],
            fmt="none",
            ecolor=INK,
            lw=1,
            capsize=2,
            label=label,
        )
        ax.set_xlabel(histogram.columns[0])
        ax.set_ylabel("records")
        ax.legend(fontsize=8, frameon=False)
        tidy(ax)

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
        bar.set_label(f"records (noise ± {histogram.half_width:,.0f})", fontsize=8)
