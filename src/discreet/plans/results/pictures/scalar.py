"""The picture of one number: its band on the range it can have."""

from __future__ import annotations

from typing import Any

from discreet.plans.results.pictures.canvas import BAND, LINE, axes_or_new, tidy, write_title
from discreet.plans.results.scalar import Scalar


class ScalarDisplay:
    """Draws a ``Scalar``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> ScalarDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        number = self.scalar
        self.ax_ = axes_or_new(ax, height=1.8)
        self.figure_ = self.ax_.figure
        label = f"noise, {number.level:.0%} of the time"
        self.ax_.barh([0], [number.high - number.low], 0.5, [number.low], color=BAND, label=label)
        self.ax_.plot([number.value], [0], "o", color=LINE, label=f"{number.value:.4g} {number.unit}")
        self.ax_.set_yticks([])
        self.ax_.set_ylim(-0.8, 0.8)
        self.ax_.set_xlim(*number.range)
        self.ax_.set_xlabel(f"{number.name}, {number.unit}")
        self.ax_.legend(fontsize=8, frameon=False, loc="upper center", ncols=2)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self
