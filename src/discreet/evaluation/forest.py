"""A forest of groups: how far each is from all records, or from one of them, metric by metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.evaluation.figures import difference
from discreet.evaluation.groups import Label
from discreet.plans.results.pictures.canvas import (
    LINE,
    LOSS,
    axes_or_new,
    ink,
    number_axis,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.evaluation.comparison import GroupFigures

COLOURS = (LINE, LOSS, "#4f9d69", "#b07d1a", "#7a5ea8", "#4a5568")
_ROW = 0.24
"""The height of a row of a forest, in inches."""


class GroupForestDisplay:
    """Draws how far every group is from all records; after ``plot`` it has ``ax_`` and ``figure_``.

    Figures of one axis have one unit: that of the first metric. Others are drawn by themselves.

    Args:
      figures: of the groups.
      against: a group that distances are from, None for all records.
    """

    def __init__(self, figures: GroupFigures, against: Label | None = None) -> None:
        self.figures, self.against = figures, against
        unit = figures.unit(figures.metrics[0])
        self._metrics = [metric for metric in figures.metrics if figures.unit(metric) == unit]
        self._groups = [group for group in figures.compared if group != against]
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupForestDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        names = [(metric, group) for metric in self._metrics for group in self._groups]
        gaps = [1.5 * self._metrics.index(metric) for metric, _ in names]
        places = np.arange(len(names)) + np.asarray(gaps)
        rows = len(names) + 1.5 * len(self._metrics)
        self.ax_ = axes_or_new(ax, height=max(2.0, 0.9 + _ROW * rows))
        self.figure_ = self.ax_.figure
        for place, (metric, group) in zip(places, names, strict=True):
            self._draw_row(float(place), metric, group)
        self._name_rows(places, names)
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        self.ax_.set_ylim(*((len(places) and [places[-1] + 0.7, -1.5]) or [1.0, 0.0]))
        self.ax_.set_xlabel(self._said, fontsize=8)
        number_axis(self.ax_)
        tidy(self.ax_)
        write_title(self.ax_, title)
        return self

    @property
    def _said(self) -> str:
        """What is drawn, in words; and that there is nothing to draw."""
        whom = "all records" if self.against is None else " and ".join(self.against)
        if not self._groups:
            return "no group is large enough to be compared"
        unit = self.figures.unit(self._metrics[0])
        of = f", in units of {unit}" if unit else ""
        return f"distance from {whom}{of}, {self.figures.evaluation.level:.0%} intervals"

    def _draw_row(self, place: float, metric: str, group: Label) -> None:
        apart = difference(
            self.figures.figure(metric, group), self.figures.figure(metric, self.against)
        )
        colour = COLOURS[self._groups.index(group) % len(COLOURS)]
        sure = apart.low > 0 or apart.high < 0
        self.ax_.plot([apart.low, apart.high], [place] * 2, color=colour, lw=1.6)
        self.ax_.plot([apart.value], [place], "o" if sure else "|", color=colour, ms=5 if sure else 9)

    def _name_rows(self, places: Any, names: list[tuple[str, Label]]) -> None:
        labels = [" and ".join(group) for _, group in names]
        self.ax_.set_yticks(places, labels, fontsize=7)
        for metric in self._metrics:
            first = next((p for p, (m, _) in zip(places, names, strict=True) if m == metric), None)
            if first is not None:
                self.ax_.text(
                    0.0, float(first) - 0.85, metric.replace("_", " "), fontsize=8,
                    transform=self.ax_.get_yaxis_transform(), color=ink(self.ax_), va="center",
                )  # fmt: skip
