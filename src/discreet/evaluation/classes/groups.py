"""Figures of a classifier of many classes by group, beside each other: differences with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.arguments import as_names
from discreet.evaluation.classes.result import PER_CLASS, ClassEvaluation
from discreet.evaluation.comparison import GroupFigures, groups_at
from discreet.evaluation.figures import Figure
from discreet.evaluation.groups import Group
from discreet.numerics import check_choice

_OF_ALL = ("accuracy", "calibration_error", *(f"macro_{name}" for name in PER_CLASS))
STANDARD = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "calibration_error")


@dataclass(frozen=True)
class ClassGroupMetrics(GroupFigures):
    """Figures of every group and of all records.

    Attributes:
      evaluation: what they follow from.
      metrics: ``accuracy``, ``calibration_error``, means over classes (``macro_recall``), and figures
        of one class (``recall of poor``, ``auc of poor``).
      groups: those that are told, of one level.
    """

    evaluation: ClassEvaluation

    def figure(self, metric: str, group: Group = None, level: float | None = None) -> Figure:
        """Return one figure of a group, or of all records."""
        check_choice("metric", metric, known_metrics(self.evaluation))
        found, name = self.evaluation, metric
        if name == "accuracy":
            return found.accuracy(group, level)
        if name == "calibration_error":
            return found.calibration_error(group, level)
        if name.startswith("macro_"):
            return found.macro(name.removeprefix("macro_"), group, level)
        kind, class_ = name.split(" of ", 1)
        if kind == "auc":
            return found.auc(class_, group, level)
        return found.metric(kind, class_, group, level)


def known_metrics(evaluation: ClassEvaluation) -> tuple[str, ...]:
    """Return the names of all figures."""
    of_classes = [f"{name} of {class_}" for class_ in evaluation.truths for name in PER_CLASS]
    areas = [f"auc of {class_}" for class_ in evaluation.given if evaluation.rest_knots]
    return (*_OF_ALL, *of_classes, *areas)


def class_group_metrics(
    evaluation: ClassEvaluation, metrics: Sequence[str] | None, of: str | None
) -> ClassGroupMetrics:
    """Return the figures of groups, or raise a sentence if there are none."""
    groups = groups_at(evaluation, of)
    names = STANDARD if metrics is None else as_names("metrics", metrics)
    for name in names:
        check_choice("metrics", name, known_metrics(evaluation))
    return ClassGroupMetrics(evaluation, tuple(names), groups)
