"""Answers of groups side by side: a line per group, curves over each other, or small pictures.

Groups in which few records may be are told of and not drawn among the others: their bands would hide
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.plans.results.pictures.canvas import (
    GREY,
    LINE,
    LOSS,
    add_legend,
    axes_or_new,
    ink,
    name_ticks,
    number_axis,
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

_ROW, _TILE, _HEAD = 0.32, 2.3, 0.35
_MOST = 24
"""So many groups are drawn; the others are in the frame."""

_MOST_MARKS = 4
"""Kinds of marks for which one line has room: pictures that differ more have their own words."""

COLOURS = (LINE, LOSS, "#5a9e5f", "#8d6bb0", "#c58b2a", GREY)
"""Of as many groups as can be told apart."""


class SideBySideDisplay:
    """Draws ``Groups``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        small = set(groups.small)
        shown = {name: one for name, one in groups.groups.items() if name not in small}
        self._drawn: dict[str, Any] = dict([*(shown or groups.groups).items()][:_MOST])
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> SideBySideDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        answers = [*self._drawn.values()]
        if all(isinstance(getattr(one, "value", None), float) for one in answers):
            self._draw_numbers(ax)
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
        names = [*self._drawn]
        self.ax_ = axes_or_new(ax, height=1.2 + _ROW * len(names))
        self.figure_ = self.ax_.figure
        places = [*range(len(names))][::-1]
        for place, one in zip(places, self._drawn.values(), strict=True):
            self.ax_.plot([one.low, one.high], [place, place], color=LINE, lw=2.5, alpha=0.5)
            self.ax_.plot([one.value], [place], "o", color=LINE, ms=5)
        self.ax_.set_ylim(-0.6, len(names) - 0.4)
        name_ticks(self.ax_, places, names, axis="y")
        number_axis(self.ax_)
        self.ax_.set_xlabel(getattr(self._drawn[names[0]], "name", ""), fontsize=8)

    def _draw_curves(self, ax: Any) -> None:
        """Draw the curves of all groups over each other, each with its band."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
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
        self.ax_, small = small_axes(ax, len(self._drawn), tile=_TILE, head=_HEAD, rest=0.6)
        self.figure_ = self.ax_.figure
        left = self._left_out
        head = wrapped(self.ax_, " · ".join(filter(None, [title, left])), 9)
        self.ax_.text(0, 1, head, fontsize=9, color=ink(self.ax_), va="top")
        marks: dict[str, Any] = {}
        for (name, one), own in zip(self._drawn.items(), small, strict=True):
            one.plot(own)
            marks |= _marks_in(own)
            _make_small(own, name)
        if 0 < len(marks) <= _MOST_MARKS:
            self.ax_.legend(
                marks.values(), marks, fontsize=7, loc="lower left", ncols=len(marks), frameon=False,
                borderaxespad=0,
            )  # fmt: skip
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


def _is_line(answer: Any) -> bool:
    return isinstance(answer, Curve) and answer.labels is None


def _marks_in(ax: Any) -> dict[str, Any]:
    """Return what the legend of a picture says, which is told once for all of them."""
    legend = ax.get_legend()
    if legend is None:
        return {}
    told = [text.get_text() for text in legend.get_texts()]
    return dict(zip(told, legend.legend_handles, strict=True))


def _make_small(ax: Any, name: str) -> None:
    """Leave a small picture its marks and its name."""
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set_title(name, fontsize=8, loc="left")
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.tick_params(labelsize=6)
