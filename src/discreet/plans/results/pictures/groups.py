"""Groups side by side: a line per group, curves over each other, small pictures, a forest.

Groups in which few records may be are told of and not drawn among the others: their bands would hide
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.choice import Choice
from discreet.plans.results.pictures.canvas import (
    GREY,
    LINE,
    LOSS,
    Display,
    add_legend,
    axes_or_new,
    ink,
    name_ticks,
    number_axis,
    say_number,
    small_axes,
    tidy,
    title_of,
    value_axis,
    wrapped,
    write_title,
)
from discreet.plans.results.result import Curve

if TYPE_CHECKING:
    from discreet.plans.results.groups import Groups
    from discreet.plans.results.result import Drawing

_ROW, _TILE, _HEAD = 0.32, 2.3, 0.42
MOST_TILES = 24
"""So many groups are drawn; the others are in the frame."""

_MOST_MARKS = 4
"""Kinds of marks for which one line has room: pictures that differ more have their own words."""

_OPEN = 0.95
"""An interval over this share of the range says nothing: a group of few records, or of none."""

_FOREST_ROW = 0.24
"""The height of a row of a forest, in inches."""

_ABBREVIATIONS = ("auc", "mae", "rmse", "r2")

GROUP_COLOURS = (LINE, LOSS, "#4f9d69", "#b07d1a", "#7a5ea8", "#4a5568")
"""Of groups beside all records, which are drawn in the first."""

COLOURS = (LINE, LOSS, "#5a9e5f", "#8d6bb0", "#c58b2a", GREY)
"""Of as many groups as can be told apart."""


class SideBySideDisplay(Display):
    """Draws ``Groups``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        small = set(groups.small)
        shown = {name: one for name, one in groups.groups.items() if name not in small}
        self._drawn: dict[str, Any] = dict([*(shown or groups.groups).items()][:MOST_TILES])

    def plot(self, ax: Any = None, *, title: str | None = None) -> SideBySideDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        answers = [*self._drawn.values()]
        if all(isinstance(getattr(one, "value", None), float) for one in answers):
            self._draw_numbers(ax)
        elif all(isinstance(one, Choice) for one in answers):
            self._draw_winners(ax)
        elif len(answers) <= len(COLOURS) and all(map(_is_line, answers)):
            self._draw_curves(ax)
        else:
            return self._draw_tiles(ax, title)
        tidy(self.ax_)
        write_title(self.ax_, title)
        self._tell_left_out()
        return self

    def _draw_numbers(self, ax: Any) -> None:
        """Draw one number per group, with its interval."""
        self._start_rows(ax)
        empty = [_tells_nothing(one) for one in self._drawn.values()]
        for place, one, nothing in zip(self._places, self._drawn.values(), empty, strict=True):
            colour, mark = (GREY, "|") if nothing else (LINE, "o")
            self.ax_.plot([one.low, one.high], [place, place], color=colour, lw=2.5, alpha=0.5)
            self.ax_.plot([one.value], [place], mark, color=colour, ms=5)
        number_axis(self.ax_)
        told = getattr(next(iter(self._drawn.values())), "name", "")
        self.ax_.set_xlabel(told + any(empty) * "; grey: too few records to tell", fontsize=8)

    def _start_rows(self, ax: Any) -> None:
        """Make axes with a row for every group."""
        self.ax_ = axes_or_new(ax, height=1.2 + _ROW * len(self._drawn))
        self.ax_.set_ylim(-0.6, len(self._drawn) - 0.4)
        name_ticks(self.ax_, self._places, [*self._drawn], axis="y")

    @property
    def _places(self) -> list[int]:
        """The row of every group, the first one above."""
        return [*range(len(self._drawn))][::-1]

    def _draw_winners(self, ax: Any) -> None:
        """Write what every group chose, and below how far off that may be."""
        self._start_rows(ax)
        for place, one in zip(self._places, self._drawn.values(), strict=True):
            self.ax_.text(0.02, place, str(one.winner), color=LINE, fontsize=10, va="center")
        first = next(iter(self._drawn.values()))
        self.ax_.set_xticks([])
        said = f"chosen of {first.candidates}; at most {say_number(first.expected_error)} {first.unit}"
        self.ax_.set_xlabel(wrapped(self.ax_, f"{said} on average", 8), fontsize=8)

    def _draw_curves(self, ax: Any) -> None:
        """Draw the curves of all groups over each other, each with its band."""
        self.ax_ = axes_or_new(ax)
        for colour, (name, curve) in zip(COLOURS, self._drawn.items(), strict=False):
            self.ax_.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
            self.ax_.plot(curve.x, curve.y, color=colour, lw=1.6, marker="o", ms=2.5, label=name)
        first = next(iter(self._drawn.values()))
        self.ax_.set_xlabel(title_of(first.axis, first.feature))
        self.ax_.set_ylabel(first.quantity)
        value_axis(self.ax_, first.axis)
        add_legend(self.ax_)

    def _draw_tiles(self, ax: Any, title: str | None) -> SideBySideDisplay:
        """Draw a small picture of every group's answer."""
        head = " · ".join(filter(None, [title, self._left_out]))
        self.ax_ = draw_tiles(ax, self._drawn, head)
        return self

    @property
    def _left_out(self) -> str:
        left = len(self.groups) - len(self._drawn)
        return f"{left} more, of few records or none: .to_frame()" if left else ""

    def _tell_left_out(self) -> None:
        if self._left_out:
            self.ax_.annotate(
                self._left_out, (1, -0.02), xycoords="axes fraction", xytext=(0, -28),
                textcoords="offset points", ha="right", va="top", fontsize=7, color=GREY,
            )  # fmt: skip


class GroupForestDisplay(Display):
    """Draws how far every group is from all records; after ``plot`` it has ``ax_`` and ``figure_``.

    Figures of one axis have one unit: that of the first metric. Others are drawn by themselves.

    Args:
      figures: of the groups.
      against: a group that distances are from, None for all records.
    """

    def __init__(self, figures: Any, against: tuple[str, ...] | None = None) -> None:
        self.figures, self.against = figures, against
        unit = figures.unit(figures.metrics[0])
        self._metrics = [metric for metric in figures.metrics if figures.unit(metric) == unit]
        self._groups = [group for group in figures.compared if group != against]

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupForestDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        names = self._rows
        gaps = [1.5 * self._metrics.index(metric) for metric, _ in names]
        places = np.arange(len(names)) + np.asarray(gaps)
        self.ax_ = axes_or_new(ax, height=self.height)
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
    def _rows(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(metric, group) for metric in self._metrics for group in self._groups]

    @property
    def height(self) -> float:
        """Inches that all rows need."""
        return max(2.0, 0.9 + _FOREST_ROW * (len(self._rows) + 1.5 * len(self._metrics)))

    @property
    def _said(self) -> str:
        """What is drawn, in words; and that there is nothing to draw."""
        whom = "all records" if self.against is None else " and ".join(self.against)
        if not self._groups:
            return "no group is large enough to be compared"
        unit = self.figures.unit(self._metrics[0])
        of = f", in units of {unit}" if unit else ""
        told = f"distance from {whom}{of}, {self.figures.evaluation.level:.0%} intervals; "
        return wrapped(self.ax_, told + "a dot where these leave out 0", 8)

    def _draw_row(self, place: float, metric: str, group: tuple[str, ...]) -> None:
        apart = self.figures.apart(metric, group, self.against)
        colour = cycled(self.figures.compared.index(group))
        sure = apart.low > 0 or apart.high < 0
        self.ax_.plot([apart.low, apart.high], [place] * 2, color=colour, lw=1.6)
        self.ax_.plot([apart.value], [place], "o" if sure else "|", color=colour, ms=5 if sure else 9)

    def _name_rows(self, places: Any, names: list[tuple[str, tuple[str, ...]]]) -> None:
        labels = [" and ".join(group) for _, group in names]
        self.ax_.set_yticks(places, labels, fontsize=7)
        for metric in self._metrics:
            first = next((p for p, (m, _) in zip(places, names, strict=True) if m == metric), None)
            if first is not None:
                self.ax_.text(
                    0.012, float(first) - 0.85, _in_words(metric), fontsize=8,
                    transform=self.ax_.get_yaxis_transform(), color=ink(self.ax_), va="center",
                )  # fmt: skip


def _in_words(metric: str) -> str:
    return metric.upper() if metric in _ABBREVIATIONS else metric.replace("_", " ")


def cycled(place: int) -> str:
    """Return the colour of a group by its place: the same in every picture of an evaluation."""
    return GROUP_COLOURS[1:][place % (len(GROUP_COLOURS) - 1)]


def draw_tiles(ax: Any, drawn: Mapping[str, Drawing], head: str, *, same: bool = False) -> Any:
    """Draw a small picture of each, with one legend for all; returns the axes of the head.

    Args:
      ax: axes, which they replace, a ``Paper``, or None for a new figure.
      drawn: what is drawn, by name.
      head: what is written above.
      same: whether all have the same ends of their axes, so that they can be compared.
    """
    above, small = small_axes(ax, len(drawn), tile=_TILE, head=_HEAD, rest=0.6)
    above.text(0, 1, wrapped(above, head, 9), fontsize=9, color=ink(above), va="top")
    marks: dict[str, Any] = {}
    for (name, one), own in zip(drawn.items(), small, strict=True):
        one.plot(own)
        marks |= _marks_in(own)
        _make_small(own, name)
    if same:
        _make_even(small)
    if 0 < len(marks) <= _MOST_MARKS:
        above.legend(
            marks.values(), marks, fontsize=7, loc="lower left", ncols=len(marks), frameon=False,
            borderaxespad=0, labelcolor=ink(above),
        )  # fmt: skip
    return above


def _tells_nothing(answer: Any) -> bool:
    """Return whether an interval leaves open nearly all that the public range allows."""
    low, high = getattr(answer, "range", (None, None))
    if low is None or high is None:
        return False
    return bool(answer.high - answer.low >= _OPEN * (high - low))


def _is_line(answer: Any) -> bool:
    return isinstance(answer, Curve) and answer.labels is None


def _marks_in(ax: Any) -> dict[str, Any]:
    """Return what the legend of a picture says, which is told once for all of them."""
    legend = ax.get_legend()
    if legend is None:
        return {}
    told = [text.get_text() for text in legend.get_texts()]
    return dict(zip(told, legend.legend_handles, strict=True))


def _make_even(several: Sequence[Any]) -> None:
    """Let pictures have the same ends of their axes."""
    for get, put in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim")):
        lows, highs = zip(*(getattr(one, get)() for one in several), strict=True)
        for one in several:
            getattr(one, put)(min(lows), max(highs))


def _make_small(ax: Any, name: str) -> None:
    """Leave a small picture its marks and its name."""
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set_title(wrapped(ax, name, 8), fontsize=8, loc="left")
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.tick_params(labelsize=6)
