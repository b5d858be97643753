"""Answers of groups side by side: one line per group, or small pictures of the same kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.plans.results.pictures.canvas import (
    GREY_ALPHA,
    LINE,
    Paper,
    axes_or_new,
    name_ticks,
    number_axis,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.groups import Groups

_ROW, _TILE = 0.32, 2.1
_MOST = 24
"""So many groups are drawn; the others are in the frame."""


class GroupsDisplay:
    """Draws ``Groups``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        if all(isinstance(getattr(one, "value", None), float) for one in self.groups.results):
            return self._lines(ax, title)
        return self._tiles(ax, title)

    def _lines(self, ax: Any, title: str | None) -> GroupsDisplay:
        """Draw one number per group, with its interval."""
        names, results = self._drawn()
        self.ax_ = axes_or_new(ax, height=1.2 + _ROW * len(names))
        self.figure_ = self.ax_.figure
        places = list(range(len(names)))[::-1]
        for place, name, one in zip(places, names, results, strict=True):
            faint = GREY_ALPHA if name in self.groups.small else 1.0
            self.ax_.plot([one.low, one.high], [place, place], color=LINE, lw=2, alpha=faint / 2)
            self.ax_.plot([one.value], [place], "o", color=LINE, ms=5, alpha=faint)
        name_ticks(self.ax_, places, self._marked(names), axis="y")
        number_axis(self.ax_)
        self.ax_.set_xlabel(getattr(results[0], "name", ""), fontsize=8)
        tidy(self.ax_)
        write_title(self.ax_, title)
        return self

    def _tiles(self, ax: Any, title: str | None) -> GroupsDisplay:
        """Draw a small picture of every group's answer."""
        names, results = self._drawn()
        columns = min(3, len(names)) if not isinstance(ax, Paper) else min(2, len(names))
        rows = math.ceil(len(names) / columns)
        whole = axes_or_new(ax, height=0.6 + _TILE * rows)
        self.figure_ = whole.figure
        whole.set_axis_off()
        write_title(whole, title)
        for place, (name, one) in enumerate(zip(self._marked(names), results, strict=True)):
            row, column = divmod(place, columns)
            left, bottom = column / columns, 1 - (row + 1) / rows
            box = (left + 0.03, bottom + 0.12 / rows, 0.9 / columns, 0.66 / rows)
            own = whole.inset_axes(box)
            one.plot(own)
            _plain(own, name)
        self.ax_ = whole
        return self

    def _drawn(self) -> tuple[list[str], list[Any]]:
        """Return the groups that are drawn; of numbers the greatest first."""
        found = [*self.groups.groups.items()]
        return [name for name, _ in found[:_MOST]], [one for _, one in found[:_MOST]]

    def _marked(self, names: list[str]) -> list[str]:
        return [f"{name} (few)" if name in self.groups.small else name for name in names]


def _plain(ax: Any, name: str) -> None:
    """Leave a small picture its lines and its name."""
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set_title(name, fontsize=8, loc="left")
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.tick_params(labelsize=6)
