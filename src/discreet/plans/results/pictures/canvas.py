"""What every display shares: axes, colours that are read on light and dark, labels that keep apart."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.schema.bins import MISSING_LABEL, OTHER_LABEL

if TYPE_CHECKING:
    from discreet.plans.results.axes import Axis

INK = "#1f2a44"
LIGHT_INK = "#e8ebf1"
LINE = "#1a7fb0"
LOSS = "#c4514d"
GREY = "#8a94a6"
"""Of what stands behind or apart: private histograms below curves, missing and unlisted values."""

BAND_ALPHA, GREY_ALPHA = 0.35, 0.45

RESERVED = (OTHER_LABEL, MISSING_LABEL)
"""The names of cells for values that are not in the range or the list, in their order."""

_WIDTH, _HEIGHT = 6.4, 4.2
_TICK, _ROW = 8.0, 13.0
"""The size of a tick's label and the height of a row of a legend, in points."""

_WIDE = 0.58
"""The width of a letter, in units of the size of its font."""

_LONGEST = 28
_ALONG = 32
"""What is written along an axis has so many letters at the most: an axis is no longer."""

_SLANTED = 16
"""So many slanted labels stand side by side; of more, some are left out."""


@dataclass(frozen=True)
class Paper:
    """Where displays draw for a page or a notebook, given instead of axes: a new, clear figure.

    It is narrow, so that letters can be read where a phone shows the whole width. ``ground`` is its
    colour, where it does not take that of a page.
    """

    width: float = 4.4
    ground: str = "none"


class Display:
    """A drawn picture; after ``plot`` it has ``ax_`` and ``figure_``."""

    ax_: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "plot" in vars(cls):
            setattr(cls, "plot", _in_plain_text(cls.plot))  # type: ignore[attr-defined]  # noqa: B010

    @property
    def figure_(self) -> Any:
        """The figure of its axes; None before ``plot``."""
        return None if self.ax_ is None else self.ax_.figure


def _in_plain_text(plot: Callable[..., Any]) -> Callable[..., Any]:
    """Let a display draw names as they are: one with two dollars is no formula."""

    @wraps(plot)
    def drawn(*args: Any, **options: Any) -> Any:
        import matplotlib as mpl

        with mpl.rc_context({"text.parse_math": False}):
            return plot(*args, **options)

    return drawn


def axes_or_new(ax: Any, *, width: float | None = None, height: float = _HEIGHT) -> Any:
    """Return the given axes, or axes of a new figure; nothing is shown.

    Args:
      ax: axes, a ``Paper``, or None.
      width: in inches, if the picture has one of its own.
      height: in inches; that of most pictures keeps its proportion to the width.
    """
    if isinstance(ax, Paper):
        return _axes_on(ax, width, height)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, fresh = plt.subplots(figsize=(width or _WIDTH, height), layout="constrained")
    return fresh


def small_axes(ax: Any, count: int, *, tile: float, head: float, rest: float) -> tuple[Any, list[Any]]:
    """Return axes without lines for a head, and under it a grid of axes for small pictures.

    Args:
      ax: axes, which they replace, a ``Paper``, or None for a new figure.
      count: how many small pictures there are.
      tile: inches of the height of each.
      head: inches of the height of the head.
      rest: inches that a new figure is higher than its small pictures.
    """
    columns = min(2 if isinstance(ax, Paper) else 3, max(1, count))
    rows = max(1, math.ceil(count / columns))
    whole = axes_or_new(ax, height=rest + tile * rows)
    spec, figure = whole.get_subplotspec(), whole.figure
    if spec is None:
        raise ArgumentError("ax must be axes of a grid, as of plt.subplots(), got others.")
    figure.delaxes(whole)
    inner = spec.subgridspec(rows + 1, columns, height_ratios=[head, *[tile] * rows])
    above = figure.add_subplot(inner[0, :])
    above.set_axis_off()
    places = [(1 + place // columns, place % columns) for place in range(count)]
    return above, [figure.add_subplot(inner[place]) for place in places]


def _axes_on(paper: Paper, width: float | None, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide = width or paper.width
    high = height * wide / _WIDTH if height == _HEIGHT else height
    figure = Figure(figsize=(wide, high), layout="constrained", facecolor=paper.ground)
    FigureCanvasAgg(figure)
    return figure.add_subplot(facecolor=paper.ground)


def ink(ax: Any) -> str:
    """Return the colour of letters and rules: light where the figure is dark."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    return LIGHT_INK if alpha and 0.3 * red + 0.6 * green + 0.1 * blue < 0.4 else INK


def write_title(ax: Any, title: str | None) -> None:
    """Write a title that wraps inside the axes, above the legend if there is one."""
    if not title:
        return
    labels = ax.get_legend_handles_labels()[1] if ax.get_legend() else []
    rows = -(-len(labels) // _legend_columns(ax, labels))
    ax.set_title(wrapped(ax, title, 9), fontsize=9, color=ink(ax), loc="left", pad=6 + _ROW * rows)


def add_legend(ax: Any) -> None:
    """Write what the marks mean above the axes, where no mark is."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        fontsize=_TICK,
        frameon=False,
        labelcolor=ink(ax),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.1,
        borderpad=0.1,
        handlelength=1.4,
        ncols=_legend_columns(ax, labels),
    )


def _legend_columns(ax: Any, labels: Sequence[str]) -> int:
    """Return how many labels stand side by side: all, if they fit, or one."""
    letters = sum(len(label) + 6 for label in labels)
    return max(1, len(labels)) if letters * _TICK * _WIDE < width_in_points(ax) else 1


def number_axis(ax: Any, *, axis: str = "x") -> None:
    """Let an axis of numbers have as few ticks as there is room for, thousands apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    chosen = ax.xaxis if axis == "x" else ax.yaxis
    room = width_in_points(ax) if axis == "x" else 4 * _most_rows(ax) * _TICK
    chosen.set_major_locator(
        MaxNLocator(nbins=max(3, min(8, int(room / 44))), steps=[1, 2, 2.5, 5, 10])
    )
    chosen.set_major_formatter(FuncFormatter(lambda value, _: say_number(value)))


_SPANS = {
    "minute": (1, 5, 10, 30, 60, 180, 360, 720, 1440),
    "hour": (1, 3, 6, 12, 24, 48, 168),
    "week": (7, 14, 28),
    "day": (1, 2, 7, 14, 28),
    "month": (1, 2, 3, 6, 12, 24, 60, 120),
}
"""How far ticks of dates may be apart, in their steps; beyond, as far as there is room for."""


def value_axis(ax: Any, shown: Axis | None, *, axis: str = "x") -> None:
    """Let an axis show dates if it has them, else numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, MultipleLocator

    if shown is None or shown.step is None:
        return number_axis(ax, axis=axis)
    chosen = ax.xaxis if axis == "x" else ax.yaxis
    wide = _WIDE * _TICK * (len(shown.show(0.0)) + 2)
    room = max(2, min(8, int(width_in_points(ax) / wide))) if axis == "x" else 8
    low, high = sorted(chosen.get_view_interval())
    spans = [span for span in _SPANS.get(shown.step, ()) if (high - low) / span < room]
    locator: Any = MultipleLocator(spans[0]) if spans else MaxNLocator(nbins=room, integer=True)
    if not spans and shown.step in ("day", "week"):
        locator = FixedLocator(_first_days(low, high, room))
    chosen.set_major_locator(locator)
    chosen.set_major_formatter(FuncFormatter(lambda value, _: shown.show(value)))


def _first_days(low: float, high: float, most: int) -> list[float]:
    """Return the first days of months or years between two days, at most so many."""
    ends = np.array([low, high]).astype("datetime64[D]").astype("datetime64[M]").astype(int).tolist()
    for span in _SPANS["month"]:
        months = np.arange(-(-ends[0] // span) * span, ends[1] + 1, span).astype("datetime64[M]")
        days = months.astype("datetime64[D]").astype(float)
        found: list[float] = days[(days >= low) & (days <= high)].tolist()
        if len(found) <= most:
            return found
    return [low, high]


def title_of(shown: Axis | None, name: str) -> str:
    """Return what is written along an axis, which a picture's title has at its full length."""
    return shortened(name if shown is None else shown.title, _ALONG)


def tidy(ax: Any) -> None:
    """Take away what carries no information."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=_TICK)


def name_ticks(ax: Any, places: Sequence[float], labels: Sequence[str], *, axis: str = "x") -> None:
    """Name places on an axis so that no name runs into the next: slanted, or some left out."""
    names = [shortened(label) for label in labels]
    if axis == "y":
        every = -(-len(names) // _most_rows(ax))
        ax.set_yticks(places[::every], names[::every])
        return
    room = width_in_points(ax) / max(1, len(names))
    slanted = max(map(len, names), default=0) * _TICK * _WIDE > 0.95 * room
    every = -(-len(names) // _SLANTED) if slanted else 1
    ax.set_xticks(places[::every], names[::every])
    if slanted:
        ax.tick_params(axis="x", rotation=40)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")


def wrapped(ax: Any, text: str, size: float) -> str:
    """Return a text in lines that are as long as the axes are wide."""
    return textwrap.fill(text, max(24, int(width_in_points(ax) / (size * _WIDE))))


def add_scale(ax: Any, drawn: Any, told: str) -> Any:
    """Draw beside a map what its colours mean, in lines no longer than it is high; return the bar."""
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.set_label(textwrap.fill(told, max(20, int(_height_in_points(ax) / (8 * _WIDE)))), fontsize=8)
    number_axis(bar.ax, axis="y")
    bar.ax.tick_params(labelsize=8)
    return bar


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return a text's beginning if it is long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def reserved_count(labels: Sequence[str]) -> int:
    """Return how many of the last cells are those of missing and unlisted values."""
    return sum(label in RESERVED for label in labels[-len(RESERVED) :])


def name_band(of: str, level: float) -> str:
    """Return how a picture names a noise band: that of each value by itself, or of all at once."""
    whose = "each value by itself" if of == "each" else "all at once"
    return f"noise, {whose}, {level:.0%} of the time"


def say_number(value: Any) -> str:
    """Return a number as one would write it: thousands apart, four digits of a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(f"{value:.12g}").is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def width_in_points(ax: Any) -> float:
    """Return how wide axes are, as far as is known before they are laid out."""
    box = ax.get_position()
    return float(box.width * ax.figure.get_figwidth() * 72)


def _height_in_points(ax: Any) -> float:
    box = ax.get_position()
    return float(box.height * ax.figure.get_figheight() * 72)


def _most_rows(ax: Any) -> int:
    return max(2, int(_height_in_points(ax) / (1.4 * _TICK)))
