"""A ranking: a numbered list with noisy gaps, or values with their noise if they were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import (
    LINE,
    LOSS,
    Display,
    add_legend,
    axes_or_new,
    ink,
    name_band,
    say_number,
    shortened,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.attribution import Ranking

_NAMES, _GAPS = 0.09, 0.99
"""Where names begin and gaps end, as shares of the width; numbers stand before the names."""


class RankingDisplay(Display):
    """Draws one query of a ``Ranking``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, ranking: Ranking, *, query: int = 0) -> None:
        check_whole("query", query, 0, len(ranking.order) - 1, "Queries are counted from 0.")
        self.ranking, self.query = ranking, query

    def plot(self, ax: Any = None, *, title: str | None = None) -> RankingDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        names = self.ranking.order[self.query]
        rows = len(names or ("",))
        self.ax_ = axes_or_new(ax, height=(1.3 if self.ranking.values else 0.7) + 0.34 * rows)
        if not names:
            self._say_nothing(names)
        elif self.ranking.values is not None:
            self._draw_values(names, np.array(self.ranking.values[self.query]))
        else:
            self._write_list(names)
        write_title(self.ax_, title)
        return self

    def _say_nothing(self, names: tuple[str, ...] | None) -> None:
        text = "no feature is above the threshold" if names == () else "not stable: no answer"
        self.ax_.text(0.5, 0.5, text, ha="center", va="center", color=ink(self.ax_), fontsize=11)
        self.ax_.set_axis_off()

    def _write_list(self, names: tuple[str, ...]) -> None:
        """Write places and names; no magnitude was released, so that no length may say one."""
        self.ax_.set_axis_off()
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(len(names) - 0.4, -0.9)
        for place, name in enumerate(names):
            self._write(_NAMES - 0.02, place, f"{place + 1}.", LINE, size=11, ha="right")
            self._write(_NAMES, place, shortened(name, 34), ink(self.ax_), size=11)
            gap = self._gap(place)
            if gap is not None:
                self._write(_GAPS, place + 0.5, f"gap {gap}", ink(self.ax_), size=8.5, ha="right")
                self.ax_.plot([_NAMES, _GAPS - 0.2], [place + 0.5] * 2, color=LINE, lw=0.8, ls=":")
        told = "order alone was released" if self.ranking.gaps is None else "gaps are noisy"
        self._write(0.0, -0.75, f"{told}; {self.ranking.mechanism}", ink(self.ax_), size=8, alpha=0.75)

    def _write(self, x: float, y: float, text: str, colour: str, *, size: float, **more: Any) -> None:
        self.ax_.text(x, y, text, color=colour, fontsize=size, va="center", **more)

    def _gap(self, place: int) -> str | None:
        gaps = self.ranking.gaps
        gap = None if gaps is None else gaps[self.query][place]
        return None if gap is None else say_number(float(f"{gap:.3g}"))

    def _draw_values(self, names: tuple[str, ...], values: Any) -> None:
        places = np.arange(len(values))
        colours = [LINE if value >= 0 else LOSS for value in values]
        self.ax_.barh(places, values, color=colours, alpha=0.8, height=0.7)
        self.ax_.errorbar(
            values,
            places,
            xerr=self.ranking.half_width,
            fmt="none",
            ecolor=ink(self.ax_),
            lw=1,
            capsize=2,
            label=name_band("all", self.ranking.level),
        )
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        self.ax_.set_xlabel("released value")
        self.ax_.set_yticks(places, [f"{i + 1}. {shortened(name)}" for i, name in enumerate(names)])
        self.ax_.invert_yaxis()
        tidy(self.ax_)
        add_legend(self.ax_)
