"""What every display shares: axes, colours and a title that states the promise."""

from __future__ import annotations

import textwrap
from typing import Any

INK = "#1f2a44"
LINE = "#0b6e99"
BAND = "#9ed0e6"
RUG = "#c9ced6"
LOSS = "#b0413e"


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.2) -> Any:
    """Return the given axes, or axes of a new figure; nothing is shown."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, fresh = plt.subplots(figsize=(width, height), layout="constrained")
    return fresh


def write_title(ax: Any, title: str | None) -> None:
    """Write a title that wraps inside the axes."""
    if title:
        ax.set_title(textwrap.fill(title, 72), fontsize=9, color=INK, loc="left")


def tidy(ax: Any) -> None:
    """Take away what carries no information."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8)


def slant_long_labels(ax: Any, labels: tuple[str, ...]) -> None:
    """Turn category names that would run into each other."""
    if sum(len(label) for label in labels) > 50:
        ax.tick_params(axis="x", rotation=40)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")


def name_band(of: str, level: float) -> str:
    """Return how a picture names a noise band: that of each value by itself, or of all at once."""
    whose = "each value by itself" if of == "each" else "all at once"
    return f"noise, {whose}, {level:.0%} of the time"
