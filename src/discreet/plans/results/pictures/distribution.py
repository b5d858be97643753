"""A distribution function as steps with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.bands import BandName
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    LINE,
    Display,
    add_legend,
    axes_or_new,
    name_band,
    tidy,
    title_of,
    value_axis,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.distribution import Distribution


class DistributionDisplay(Display):
    """Draws a ``Distribution``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, distribution: Distribution, band: BandName = "each") -> None:
        self.distribution, self.band = distribution, band

    def plot(self, ax: Any = None, *, title: str | None = None) -> DistributionDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.distribution
        self.ax_ = axes_or_new(ax)
        points = (found.least, *found.x)
        low, high = (np.concatenate([[0.0], end]) for end in found.band(self.band))
        label = name_band(self.band, found.level)
        self.ax_.fill_between(
            points, low, high, step="post", color=LINE, alpha=BAND_ALPHA, lw=0, label=label
        )
        self.ax_.step(points, (0.0, *found.y), where="post", color=LINE, lw=1.6, label="released")
        self.ax_.set_ylim(0, 1.02)
        self.ax_.set_xlabel(title_of(found.axis, found.feature))
        self.ax_.set_ylabel(found.quantity)
        value_axis(self.ax_, found.axis)
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self
