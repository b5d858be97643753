"""Errors of a regressor as pictures: how they are spread, by feature, and by group."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.evaluation.comparison import groups_at
from discreet.evaluation.figures import Figure
from discreet.evaluation.question import Group
from discreet.evaluation.regression.result import FIGURES, CellResiduals, RegressionEvaluation
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    Display,
    add_legend,
    axes_or_new,
    ink,
    name_band,
    name_ticks,
    number_axis,
    reserved_count,
    tidy,
    write_title,
)
from discreet.plans.results.pictures.groups import MOST_TILES, draw_tiles
from discreet.plans.results.result import Drawing

_TITLES = {
    "mae": "mean absolute error",
    "rmse": "root of the mean squared error",
    "r2": "R2",
    "bias": "mean of target less answer",
}


class ResidualsDisplay(Display):
    """Draws how residuals are spread; after ``plot`` it has ``ax_`` and ``figure_``.

    Cells are finer near zero, so that bars show records per unit: their areas are records.
    """

    def __init__(self, evaluation: RegressionEvaluation, group: Group = None) -> None:
        self.evaluation, self.group = evaluation, group

    def plot(self, ax: Any = None, *, title: str | None = None) -> ResidualsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        ax = self.ax_ = axes_or_new(ax)
        counts = self.evaluation.distribution(self.group)
        edges = np.asarray(self.evaluation.edges)
        spans = np.diff(edges)
        places, widths = edges[:-1] + spans / 2, spans
        if self.evaluation.soft:  # a hat has half the span on either side
            places = edges
            widths = np.concatenate([spans[:1] / 2, (spans[:-1] + spans[1:]) / 2, spans[-1:] / 2])
        dense = np.asarray(counts.counts) / widths
        radius = counts.half_width / widths
        band = name_band("each", self.evaluation.level)
        if self.evaluation.soft:
            ax.plot(places, dense, color=LINE)
            low, high = np.maximum(dense - radius, 0.0), np.maximum(dense + radius, 0.0)
            ax.fill_between(places, low, high, color=ink(ax), alpha=BAND_ALPHA, lw=0, label=band)
        else:
            ax.bar(places, dense, widths * 0.94, color=LINE, alpha=0.75)
            ends = [np.clip(dense, 0.0, radius), radius]
            ax.errorbar(places, dense, ends, fmt="none", ecolor=ink(ax), lw=1, capsize=2, label=band)
        ax.axvline(0.0, color=GREY, lw=1)
        ax.set_xlabel(f"{self.evaluation.target} less the model's answer")
        ax.set_ylabel("records per unit")
        number_axis(ax)
        number_axis(ax, axis="y")
        add_legend(ax)
        tidy(ax)
        write_title(ax, title)
        return self


class CellsDisplay(Display):
    """Draws mean residuals by the cells of a feature; after ``plot`` it has ``ax_``, ``figure_``."""

    def __init__(self, cells: CellResiduals, target: str) -> None:
        self.cells, self.target = cells, target

    def plot(self, ax: Any = None, *, title: str | None = None) -> CellsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        ax = self.ax_ = axes_or_new(ax)
        means, count = self.cells.means, len(self.cells.labels)
        apart = reserved_count(self.cells.labels)
        for first, after, tone in ((0, count - apart, LINE), (count - apart, count, GREY)):
            places = list(range(first, after))
            if places:
                _whiskers(ax, places, means[first:after], tone, named=first == 0)
        ax.axhline(0.0, color=GREY, lw=1)
        known = [mean for mean in means if mean.sampling > 0]
        if known:  # of a cell that may have nobody nothing is known: its interval runs off the picture
            low, high = min(mean.low for mean in known), max(mean.high for mean in known)
            ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        name_ticks(ax, list(range(count)), self.cells.labels)
        ax.set_xlabel(self.cells.feature)
        ax.set_ylabel(f"mean of {self.target} less answer")
        number_axis(ax, axis="y")
        add_legend(ax)
        tidy(ax)
        write_title(ax, title)
        return self


class GroupsDisplay(Display):
    """Draws a figure of all records and of every group; after ``plot`` it has ``ax_``, ``figure_``."""

    def __init__(self, evaluation: RegressionEvaluation, figure: str) -> None:
        self.evaluation, self.figure = evaluation, figure

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        reports = (self.evaluation.overall, *self.evaluation.groups)
        ax = self.ax_ = axes_or_new(ax, height=max(2.0, 0.9 + 0.36 * len(reports)))
        figures = [getattr(report, self.figure) for report in reports]
        places = list(range(len(reports)))[::-1]
        _whiskers(ax, places, figures, LINE, named=True, sideways=True)
        ax.axvline(figures[0].value, color=GREY, lw=1)
        ax.set_ylim(-0.6, len(reports) - 0.4)
        ends = [f for f, report in zip(figures, reports, strict=True) if report.records.low > 0]
        if ends:  # of a group that may have nobody nothing is known: its interval runs off the picture
            low, high = min(f.low for f in ends), max(f.high for f in ends)
            ax.set_xlim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        labels = [" / ".join(report.group) or "all records" for report in reports]
        name_ticks(ax, places, labels, axis="y")
        ax.set_xlabel(_TITLES[self.figure])
        number_axis(ax)
        add_legend(ax)
        tidy(ax)
        write_title(ax, title)
        return self


class GroupCellsDisplay(Display):
    """Draws mean residuals by a feature's cells, one picture per group; then ``ax_``, ``figure_``."""

    def __init__(self, evaluation: RegressionEvaluation, feature: str) -> None:
        self.evaluation, self.feature = evaluation, feature

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupCellsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found, groups = self.evaluation, groups_at(self.evaluation, None)
        drawn = ([group for group in groups if not found.small(group)] or list(groups))[:MOST_TILES]
        cells = {group: _cells_of(found, self.feature, group) for group in drawn}
        tiles = {" and ".join(g): CellsDisplay(own, found.target) for g, own in cells.items()}
        left = len(groups) - len(drawn)
        more = f"{left} more, of few records or none: .to_frame()" if left else ""
        self.ax_ = draw_tiles(ax, tiles, " · ".join(filter(None, [title, more])), same=True)
        return self


def _cells_of(evaluation: RegressionEvaluation, feature: str, group: Group) -> CellResiduals:
    residuals = evaluation.errors(group).residuals
    return next(cells for cells in residuals if cells.feature == feature)


def pictures(evaluation: RegressionEvaluation) -> dict[str, Drawing]:
    """Return the pictures of a page by title."""
    drawn: dict[str, Drawing] = {"How errors are spread": ResidualsDisplay(evaluation)}
    for name in evaluation.features:
        cells = _cells_of(evaluation, name, None)
        drawn[f"Mean residuals by {name}"] = CellsDisplay(cells, evaluation.target)
    if not evaluation.by:
        return drawn
    drawn["Groups and their errors"] = GroupsDisplay(evaluation, "mae")
    drawn["Groups beside all records"] = evaluation.by_group()
    for name in evaluation.features:
        drawn[f"Mean residuals by {name} of every group"] = GroupCellsDisplay(evaluation, name)
    return drawn


def drawings(evaluation: RegressionEvaluation, group: Group) -> dict[str, Drawing]:
    """Return all pictures by name, of all records or of a group."""
    found: dict[str, Drawing] = {"spread": ResidualsDisplay(evaluation, group)}
    for name in evaluation.features:
        cells = _cells_of(evaluation, name, group)
        found[f"residuals_of_{name}"] = CellsDisplay(cells, evaluation.target)
    if group is not None or not evaluation.by:
        return found
    found |= {"groups": evaluation.by_group()}
    found |= {f"{figure}_by_group": GroupsDisplay(evaluation, figure) for figure in FIGURES}
    for name in evaluation.features:
        found[f"residuals_of_{name}_by_group"] = GroupCellsDisplay(evaluation, name)
    return found


def _whiskers(
    ax: Any, places: list[int], figures: Any, tone: str, *, named: bool, sideways: bool = False
) -> None:
    """Draw values with what noise alone makes of them, and with their whole intervals."""
    values = [figure.value for figure in figures]
    whole, noise = [_below_and_above(figure) for figure in figures], [f.noise for f in figures]
    labels = ("interval", "of it noise") if named else (None, None)
    thin, thick = {"lw": 1, "capsize": 2}, {"lw": 3, "alpha": BAND_ALPHA, "elinewidth": 5}
    xy = (values, places) if sideways else (places, values)
    ends = [list(side) for side in zip(*whole, strict=True)]
    for radius, label, style, mark in ((noise, labels[1], thick, "none"), (ends, labels[0], thin, "o")):
        where = {"xerr" if sideways else "yerr": radius}
        ax.errorbar(*xy, **where, fmt=mark, ms=4, color=tone, label=label, **style)


def _below_and_above(figure: Figure) -> tuple[float, float]:
    return max(figure.value - figure.low, 0.0), max(figure.high - figure.value, 0.0)
