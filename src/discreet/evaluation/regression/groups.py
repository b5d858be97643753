"""Errors of a regressor by group, beside each other: differences with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.evaluation.comparison import GroupFigures, groups_at
from discreet.evaluation.figures import Figure
from discreet.evaluation.groups import Group
from discreet.evaluation.regression.result import FIGURES, RegressionEvaluation
from discreet.numerics import check_choice


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
