"""A ranking as bars: values with noise bands, or places with the noisy gap between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import (
    INK,
    LINE,
    LOSS,
    axes_or_new,
    name_band,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.attribution import Ranking


class RankingDisplay:
    """Draws one query of a ``Ranking``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, ranking: Ranking, *, query: int = 0) -> None:
        check_whole("query", query, 0, len(ranking.order) - 1, "Queries are counted from 0.")
        self.ranking, self.query = ranking, query
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> RankingDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        names = self.ranking.order[self.query]
        self.ax_ = axes_or_new(ax, height=1.4 + 0.34 * len(names or ("",)))
        self.figure_ = self.ax_.figure
        write_title(self.ax_, title)
        tidy(self.ax_)
        if not names:
            text = "no feature is above the threshold" if names == () else "not stable: no answer"
            self.ax_.text(0.5, 0.5, text, ha="center", va="center", color=INK, fontsize=10)
            self.ax_.set_axis_off()
            return self
        if self.ranking.values is not None:
            self._draw_values(np.array(self.ranking.values[self.query]))
        else:
            self._draw_places(len(names))
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.invert_yaxis()
        self._write_gaps(len(names))
        return self

    def _draw_values(self, values: Any) -> None:
        places = np.arange(len(values))
        colours = [LINE if value >= 0 else LOSS for value in values]
        self.ax_.barh(places, values, color=colours, alpha=0.8, height=0.7)
        self.ax_.errorbar(
            values,
            places,
            xerr=self.ranking.half_width,
            fmt="none",
            ecolor=INK,
            lw=1,
            capsize=2,
            label=name_band("all", self.ranking.level),
        )
        self.ax_.axvline(0.0, color=INK, lw=0.8)
        self.ax_.set_xlabel("released value")
        self.ax_.legend(fontsize=8, frameon=False, loc="best")

    def _draw_places(self, count: int) -> None:
        """Draw bars that say nothing but the order: no magnitude was released."""
        self.ax_.barh(np.arange(count), np.arange(count, 0, -1), color=LINE, alpha=0.8, height=0.7)
        self.ax_.set_xlim(0, count * 1.35)  # room for the gaps
        self.ax_.set_xticks([])
        self.ax_.set_xlabel("place (no magnitude was released)")

    def _write_gaps(self, count: int) -> None:
        gaps = self.ranking.gaps
        if gaps is None:
            return
        for place in range(count):
            gap = gaps[self.query][place]
            if gap is not None:
                self.ax_.annotate(
                    f"gap {gap:.3g}",
                    (1.0, place),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    va="center",
                    fontsize=8,
                    color=INK,
                )
