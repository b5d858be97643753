"""Tables of classes as pictures: a heat map of confusions, and whether the highest score is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    Display,
    add_legend,
    add_scale,
    axes_or_new,
    name_ticks,
    number_axis,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.evaluation.classes.result import ClassEvaluation
    from discreet.evaluation.question import Group

_MOST_WRITTEN = 12


class ConfusionDisplay(Display):
    """Draws which classes are given to records of a class; after ``plot``: ``ax_`` and ``figure_``."""

    def __init__(self, evaluation: ClassEvaluation, group: Group = None) -> None:
        self.evaluation, self.group = evaluation, group

    def plot(self, ax: Any = None, *, title: str | None = None) -> ConfusionDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        matrix = self.evaluation.confusion_matrix(self.group)
        counts = np.maximum(matrix.to_numpy(), 0.0)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        ax = self.ax_ = axes_or_new(ax, height=max(2.6, 1.4 + 0.4 * len(matrix)))
        image = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        name_ticks(ax, list(range(len(matrix.columns))), list(matrix.columns))
        name_ticks(ax, list(range(len(matrix))), list(matrix.index), axis="y")
        ax.set_xlabel("given class")
        ax.set_ylabel(f"true class ({self.evaluation.target})")
        if max(matrix.shape) <= _MOST_WRITTEN:
            self._write(counts, shares)
        add_scale(ax, image, "share of the true class")
        ax.tick_params(labelsize=8)
        write_title(ax, title)
        return self

    def _write(self, counts: Any, shares: Any) -> None:
        for (row, column), count in np.ndenumerate(counts):
            tone = "white" if shares[row, column] > 0.55 else "#1f2a44"
            said = f"{count:,.0f}"
            self.ax_.text(column, row, said, ha="center", va="center", fontsize=8, color=tone)


class TopLabelDisplay(Display):
    """Draws how often the highest score is right; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, evaluation: ClassEvaluation, group: Group = None) -> None:
        self.evaluation, self.group = evaluation, group

    def plot(self, ax: Any = None, *, title: str | None = None) -> TopLabelDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        ax = self.ax_ = axes_or_new(ax)
        frame = self.evaluation.calibration_curve(self.group)
        frame = frame[frame["high"] - frame["low"] < 1.0]
        band = f"noise, sampling and bins, {self.evaluation.level:.0%} of the time"
        ends = frame["low"].to_numpy(), frame["high"].to_numpy()
        ax.fill_between(frame["score"], *ends, color=LINE, alpha=BAND_ALPHA, lw=0, label=band)
        ax.plot(frame["score"], frame["value"], color=LINE, marker="o", ms=4, label="released")
        low, high = self.evaluation.knots[0], self.evaluation.knots[-1]
        ax.plot([low, high], [low, high], color=GREY, lw=0.8, ls="--")
        ax.set_xlabel("mean highest score of a bin")
        ax.set_ylabel("share that is right")
        number_axis(ax)
        number_axis(ax, axis="y")
        add_legend(ax)
        tidy(ax)
        write_title(ax, title)
        return self
