"""A surface over two features as a heat map whose colour bar states the noise."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    axes_or_new,
    name_band,
    slant_long_labels,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.result import Surface


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
