"""How far a regressor is off: errors of all records and of groups, as frames, JSON and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.evaluation.comparison import GroupFigures, groups_at
from discreet.evaluation.figures import Figure
from discreet.evaluation.question import Group, Label, find_group, is_small, within
from discreet.numerics import check_choice
from discreet.plans.parts.hierarchy import WHOLE
from discreet.plans.results.result import Drawing, Histogram, Result

if TYPE_CHECKING:
    import pandas as pd

FIGURES = ("mae", "rmse", "r2", "bias")


@dataclass(frozen=True)
class CellResiduals:
    """Mean residuals in the cells of a feature.

    Attributes:
      feature: the column.
      labels: the names of its cells.
      edges: of a number's cells, None for a category.
      counts: noisy numbers of records.
      means: the mean of target less answer in every cell, in the target's unit.
    """

    feature: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None
    counts: tuple[float, ...]
    means: tuple[Figure, ...]


@dataclass(frozen=True)
class ErrorReport:
    """The errors of a group.

    Attributes:
      group: its values of the columns it is made by; none for all records.
      records: how many there are.
      mae: mean absolute error.
      rmse: root of the mean squared error.
      r2: share of the target's variance that is explained.
      bias: mean of target less answer.
      counts: noisy numbers of residuals in every cell.
      residuals: mean residuals by feature, of those that were asked for.
      together: the four errors with intervals that hold all pairs of groups at once.
    """

    group: tuple[str, ...]
    records: Figure
    mae: Figure
    rmse: Figure
    r2: Figure
    bias: Figure
    counts: tuple[float, ...]
    residuals: tuple[CellResiduals, ...]
    together: tuple[Figure, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class RegressionEvaluation(Result):
    """How far a regressor is off, for all records and for every group.

    Attributes:
      target: the column that answers were compared with.
      by: the columns groups are made by.
      edges: of the cells of residuals.
      soft: whether a residual is shared among the two edges around it, because the model's answers
        may move with the rows beside them; then counts stand for edges, not for what lies between.
      overall: the errors of all records.
      groups: those of every group; of levels coarse ones first.
      noise_std: standard deviation of the noise on a count of one group.
      half_width: such a count is within this of the exact one with probability ``level``.
      level: of all intervals, each by itself.
      nested: whether the columns are levels, coarse ones first: a group is told for each of them.
    """

    target: str
    by: tuple[str, ...]
    edges: tuple[float, ...]
    soft: bool
    overall: ErrorReport
    groups: tuple[ErrorReport, ...]
    noise_std: float
    half_width: float
    level: float
    nested: bool = field(default=False, kw_only=True)

    def fits_together(self) -> bool:
        """Return whether every report has a count per cell and a value per grouping column."""
        cells = len(self.edges) - 1 + self.soft
        reports = (self.overall, *self.groups)
        return (
            len(self.edges) >= 2
            and all(len(report.counts) == cells for report in reports)
            and all(len(report.group) == len(self.by) for report in self.groups)
            and all(
                len(cell.labels) == len(cell.counts) == len(cell.means)
                for report in reports
                for cell in report.residuals
            )
        )

    @property
    def extent(self) -> str:
        """The number of groups."""
        return f"{len(self.groups)} groups" if self.groups else ""

    def errors(self, group: Group = None) -> ErrorReport:
        """Return the errors of a group, by its value or its values of several columns; or of all."""
        if group is None:
            return self.overall
        return self.groups[self.told.index(find_group(self.told, group))]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns groups are made by."""
        return self.by

    @cached_property
    def told(self) -> tuple[Label, ...]:
        """All groups; of levels those of every one, coarse ones first."""
        return tuple(report.group for report in self.groups)

    def size(self, group: Group = None) -> Figure:
        """Return the number of records of a group, or of all."""
        return self.errors(group).records

    def small(self, group: Group) -> bool:
        """Return whether a group has too few records to say much of it, by its noisy count alone."""
        return is_small(self.size(group))

    def by_group(self, metrics: Sequence[str] | None = None, *, of: str | None = None) -> GroupErrors:
        """Return errors of every group beside those of all records, with differences.

        Args:
          metrics: of ``mae``, ``rmse``, ``r2`` and ``bias``; all if left out.
          of: a level, where there are several; the finest if left out.
        """
        return group_errors(self, metrics, of)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group and figure: its value, its interval and what it is made of."""
        import pandas as pd

        rows = []
        for report in (self.overall, *self.groups):
            names = dict(zip(self.by, report.group or ("(all)",) * len(self.by), strict=True))
            for name in ("records", *FIGURES):
                figure: Figure = getattr(report, name)
                row = {**names, "figure": name, **figure.to_json()}
                few = report is not self.overall and is_small(report.records)
                rows.append(row | ({"small": few} if self.by else {}))
        return pd.DataFrame(rows)

    def residuals(self, feature: str, group: Group = None) -> pd.DataFrame:
        """Return the mean residual of every cell of a feature, with its interval."""
        import pandas as pd

        cells = self._cells(feature, group)
        rows = zip(cells.labels, cells.counts, cells.means, strict=True)
        return pd.DataFrame(
            [{feature: label, "records": count, **mean.to_json()} for label, count, mean in rows]
        )

    def distribution(self, group: Group = None) -> Histogram:
        """Return the noisy counts of residuals in their cells."""
        report, wide = self.errors(group), math.sqrt(self._blocks(group))
        edges: tuple[float, ...] | None = None if self.soft else self.edges
        labels = [f"about {edge:.4g}" for edge in self.edges]
        if not self.soft:
            ends = zip(self.edges, self.edges[1:], strict=False)
            labels = [f"[{low:.4g}, {high:.4g})" for low, high in ends]
        return Histogram(
            columns=("residual",),
            labels=(tuple(labels),),
            edges=(edges,),
            counts=report.counts,
            noise_std=self.noise_std * wide,
            half_width=self.half_width * wide,
            level=self.level,
        )

    def within(self, length: float, group: Group = None) -> Figure:
        """Return the share of records whose answer is at most so far from the target.

        Cells that are partly within are counted by half; what that leaves open is ``binning``.
        """
        if not 0 <= length < math.inf:
            raise ArgumentError(f"length must be a finite number of at least zero, got {length!r}.")
        report, edges = self.errors(group), np.asarray(self.edges)
        low, high = edges[:-1], edges[1:]
        if self.soft:  # a hat spans two cells
            low, high = np.append(edges[0], edges[:-1]), np.append(edges[1:], edges[-1])
        sure = (low >= -length) & (high <= length)
        maybe = (low < length) & (high > -length)
        counts = np.maximum(report.counts, 0.0)
        size = max(report.records.value, 1.0)
        least, most = (float(counts[chosen].sum()) / size for chosen in (sure, sure | maybe))
        share, binning = (least + most) / 2, (most - least) / 2
        cells = self._blocks(group) * max(int((sure | maybe).sum()), 1)
        noise = math.hypot(self.half_width * math.sqrt(cells), share * report.records.noise) / size
        sampling = 1.96 * math.sqrt(max(share * (1 - share), 1 / size) / size)
        half = math.hypot(noise, sampling) + binning
        figure = Figure(share, share - half, share + half, noise, sampling, binning, self.level)
        return figure.within(0.0, 1.0)

    def plot(self, ax: Any = None, *, title: str | None = None, group: Group = None) -> Any:
        """Draw the distribution of the residuals, of all records or of a group, with noise bands."""
        from discreet.evaluation.regression.pictures import ResidualsDisplay

        return ResidualsDisplay(self, group).plot(ax, title=title)

    def plot_residuals(
        self, feature: str, *, group: Group = None, ax: Any = None, title: str | None = None
    ) -> Any:
        """Draw the mean residual in every cell of a feature, with its interval."""
        from discreet.evaluation.regression.pictures import CellsDisplay

        return CellsDisplay(self._cells(feature, group), self.target).plot(ax, title=title)

    def plot_groups(self, figure: str = "mae", *, ax: Any = None, title: str | None = None) -> Any:
        """Draw one figure for every group, one below the other, with its interval.

        Args:
          figure: ``mae``, ``rmse``, ``r2`` or ``bias``; or a feature that residuals were asked by, of
            which every group has a small picture.
          ax: axes, or None for new ones.
          title: of the picture.
        """
        from discreet.evaluation.regression.pictures import GroupCellsDisplay, GroupsDisplay

        if figure in self.features:
            return GroupCellsDisplay(self, figure).plot(ax, title=title)
        if figure not in FIGURES:
            known = ", ".join((*FIGURES, *self.features))
            raise ArgumentError(f"figure must be one of {known}, got {figure!r}.")
        return GroupsDisplay(self, figure).plot(ax, title=title)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that residuals were asked by."""
        return tuple(cells.feature for cells in self.overall.residuals)

    def pictures(self) -> dict[str, Drawing]:
        """Return the pictures of a page: residuals, by every feature, and groups if there are some."""
        from discreet.evaluation.regression.pictures import pictures

        return pictures(self)

    def drawings(self, group: Group = None) -> dict[str, Drawing]:
        """Return every picture by name, of all records or of a group."""
        from discreet.evaluation.regression.pictures import drawings

        return drawings(self, group)

    def views(
        self, *, threshold: float | None = None, group: Group = None
    ) -> dict[str, Callable[[], pd.DataFrame]]:
        """Return every table by name, made when it is called for; there are no thresholds."""
        if threshold is not None:
            raise ArgumentError("threshold must be left out for a number, which has none.")
        found = {} if group is not None else {"figures": self.to_frame}
        found["distribution"] = self.distribution(group).to_frame
        found |= {f"residuals_of_{f}": partial(self.residuals, f, group) for f in self.features}
        if group is not None or not self.by:
            return found
        compared = self.by_group()
        told = {"differences": compared.differences, "pairs": compared.pairs}
        return found | {"by_group": compared.to_frame} | told

    def _blocks(self, group: Group) -> int:
        """Return how many noisy counts make one of a group, or of all."""
        finest = [one for one in self.told if WHOLE not in one] if self.nested else self.told
        if group is None:
            return max(len(finest), 1)
        return len(within(finest, find_group(self.told, group)))

    def _cells(self, feature: str, group: Group) -> CellResiduals:
        report = self.errors(group)
        for cells in report.residuals:
            if cells.feature == feature:
                return cells
        known = ", ".join(cells.feature for cells in report.residuals) or "none"
        raise ArgumentError(
            f"feature must be one that residuals were asked by ({known}), got {feature!r}."
        )


@dataclass(frozen=True)
class GroupErrors(GroupFigures):
    """Errors of every group and of all records.

    Attributes:
      evaluation: what they follow from.
      metrics: ``mae``, ``rmse``, ``bias`` or ``r2``.
      groups: those that are told, of one level.
    """

    evaluation: RegressionEvaluation

    def figure(self, metric: str, group: Group = None, level: float | None = None) -> Figure:
        """Return one error of a group, or of all records.

        An interval of a higher level is that at which all pairs of groups hold at once.
        """
        check_choice("metric", metric, FIGURES)
        report = self.evaluation.errors(group)
        if level is None or level <= self.evaluation.level:
            found: Figure = getattr(report, metric)
            return found
        place = FIGURES.index(metric)
        if len(report.together) <= place or report.together[place].level < level - 1e-12:
            raise ArgumentError(
                "The evaluation must have been saved with intervals of all pairs of groups, got one "
                "without. Ask difference_between for two of them, or release it anew."
            )
        return report.together[place]

    def span(self, metric: str) -> float:
        """Return how far apart two groups can be: as far as one likes."""
        return math.inf

    def has_ratio(self, metric: str) -> bool:
        """Return whether a figure is never negative."""
        return metric in ("mae", "rmse")

    def unit(self, metric: str) -> str:
        """Return what a figure is measured in."""
        return "" if metric == "r2" else self.evaluation.target


def group_errors(
    evaluation: RegressionEvaluation, metrics: Sequence[str] | None, of: str | None
) -> GroupErrors:
    """Return the errors of groups, or raise a sentence if there are none."""
    groups = groups_at(evaluation, of)
    names = FIGURES if metrics is None else as_names("metrics", metrics)
    for name in names:
        check_choice("metrics", name, FIGURES)
    return GroupErrors(evaluation, tuple(names), groups)
