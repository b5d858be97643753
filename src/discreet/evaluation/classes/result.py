"""How good a classifier of many classes is: tables of classes and of the highest score, by group."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.evaluation.binary.calibration import calibration_bins, calibration_error
from discreet.evaluation.binary.noise import CellNoise
from discreet.evaluation.binary.tallies import Tally
from discreet.evaluation.bins import SplitBins
from discreet.evaluation.comparison import GroupFigures, groups_at
from discreet.evaluation.figures import Figure
from discreet.evaluation.question import Group, Label, coarser, find_group, is_small, within
from discreet.numerics import check_choice
from discreet.plans.results.result import Drawing, Result
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd

PER_CLASS = ("precision", "recall", "f1")
_OF_ALL = ("accuracy", "calibration_error", *(f"macro_{name}" for name in PER_CLASS))
STANDARD = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "calibration_error")
_BINS = 10


@dataclass(frozen=True)
class ClassEvaluation(Result):
    """Noisy tables of true and given classes, and every figure that follows from them.

    Attributes:
      target: the column of classes.
      columns: the categories that make groups; none if there is one group of all.
      groups: every group by its values of these.
      truths: the target's classes.
      given: those the model knows.
      soft: whether records whose highest scores are nearly equal are shared among their classes.
      knots: between which the highest score is binned.
      confusion: noisy counts by group, true class and given class.
      calibration: noisy counts by group, wrong or right, and highest score.
      rest_knots: between which the score of each class is binned; none if it was not asked for.
      rest: noisy counts by group, class, not of it or of it, and its score.
      shares: how the budget was split among the tables.
      stds: standard deviations of the noise on a count of every table, in the same order.
      mechanism: of the noise.
      rows: the number of records, None if it is private.
      level: of intervals.
      nested: whether the columns are levels, coarse ones first: a group is told for each of them.
    """

    target: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    truths: tuple[str, ...]
    given: tuple[str, ...]
    soft: bool
    knots: tuple[float, ...]
    confusion: tuple[float, ...]
    calibration: tuple[float, ...]
    rest_knots: tuple[float, ...]
    rest: tuple[float, ...]
    shares: tuple[float, ...]
    stds: tuple[float, ...]
    mechanism: str
    rows: int | None
    level: float
    nested: bool = field(default=False, kw_only=True)

    @property
    def extent(self) -> str:
        """The number of classes and groups."""
        return f"{len(self.truths)} classes, {len(self.groups)} groups"

    def fits_together(self) -> bool:
        """Return whether every table has a count for each of its cells."""
        groups, known = len(self.groups), len(self.given)
        tables = 2 + bool(self.rest_knots)
        rest = known * 2 * SplitBins(self.rest_knots, self.soft).size if self.rest_knots else 0
        return (
            len(self.knots) > 1
            and all(np.diff(self.knots) > 0)
            and all(len(group) == len(self.columns) for group in self.groups)
            and len(self.confusion) == groups * len(self.truths) * known
            and len(self.calibration) == groups * 2 * SplitBins(self.knots, self.soft).size
            and len(self.rest) == groups * rest
            and len(self.shares) == len(self.stds) == tables
        )

    @cached_property
    def told(self) -> tuple[Label, ...]:
        """All groups; of levels those of every one, coarse ones first."""
        return (*(coarser(self.groups) if self.nested else ()), *self.groups)

    def accuracy(self, group: Group = None, level: float | None = None) -> Figure:
        """Return the share of records that are given their own class."""
        cells = self._confusion(group, level)
        return cells.share(self._right, np.ones_like(cells.cells))

    def metric(self, name: str, class_: str, group: Group = None, level: float | None = None) -> Figure:
        """Return ``precision``, ``recall`` or ``f1`` of one class."""
        check_choice("name", name, PER_CLASS)
        check_choice("class_", class_, self.truths)
        cells = self._confusion(group, level)
        own = self._right * (np.arange(len(self.truths)) == self.truths.index(class_))[:, None]
        row = np.zeros_like(own) + (np.arange(len(self.truths)) == self.truths.index(class_))[:, None]
        column = np.zeros_like(own) + own.sum(axis=0)
        if name == "recall":
            return cells.share(own, row)
        return cells.share(own, column) if name == "precision" else cells.share(2 * own, row + column)

    def macro(self, name: str, group: Group = None, level: float | None = None) -> Figure:
        """Return the mean of a figure over the target's classes, each counting alike.

        A class of which nothing is known counts as one half, and leaves all open that it may be.
        """
        each = [self.metric(name, class_, group, level) for class_ in self.truths]
        known = [figure.low > 0 or figure.high < 1 for figure in each]
        value = math.fsum(figure.value for figure in each) / len(each)
        cells, slopes = self._confusion(group, level), self._slopes(name, group, known)
        noise = cells.z * cells.noise.std * math.sqrt(cells.groups) * float(np.linalg.norm(slopes))
        sampling = cells.z_sampling * math.sqrt(max(float(np.sum(cells.counts * slopes**2)), 0.0))
        noise += 0.5 * (len(each) - sum(known)) / len(each)
        half = math.hypot(noise, sampling)
        figure = Figure(value, value - half, value + half, noise, sampling, 0.0, cells.level)
        return figure.within(0.0, 1.0)

    def auc(self, class_: str, group: Group = None, level: float | None = None) -> Figure:
        """Return how often a record of the class has a higher score for it than one of the rest."""
        check_choice("class_", class_, self.given)
        if not self.rest_knots:
            raise ArgumentError(
                "one_vs_rest must be asked for to tell an area per class, got an evaluation without. "
                "Use dc.evaluate(..., one_vs_rest=True)."
            )
        bins = SplitBins(self.rest_knots, self.soft)
        shape = (len(self.groups), len(self.given), 2, bins.size)
        table = np.asarray(self.rest).reshape(shape)[:, self.given.index(class_)]
        return self._tally(bins, table, 2, group, level).auc

    def calibration_error(self, group: Group = None, level: float | None = None) -> Figure:
        """Return how far highest scores are from the share of right answers, averaged over ten bins."""
        return calibration_error(self._calibration(group, level), _BINS)

    def calibration_curve(self, group: Group = None) -> pd.DataFrame:
        """Return the mean highest score of ten bins, and the share of records that is right."""
        import pandas as pd

        rows = [
            {
                "from": part.low,
                "to": part.high,
                "score": part.score.value,
                **part.observed.to_json(),
            }
            for part in calibration_bins(self._calibration(group), _BINS)
        ]
        return pd.DataFrame(rows)

    def confusion_matrix(self, group: Group = None) -> pd.DataFrame:
        """Return noisy numbers of records, rows by true class, columns by given class."""
        import pandas as pd

        index = pd.Index(self.truths, name="true")
        columns = pd.Index(self.given, name="given")
        return pd.DataFrame(self._confusion(group).cells, index=index, columns=columns)

    def report(self, group: Group = None) -> pd.DataFrame:
        """Return precision, recall and F1 of every class, their means and the accuracy."""
        import pandas as pd

        rows = [
            {"class": class_, "metric": name, **self.metric(name, class_, group).to_json()}
            for class_ in self.truths
            for name in PER_CLASS
        ]
        rows += [
            {"class": "(mean of classes)", "metric": n, **self.macro(n, group).to_json()}
            for n in PER_CLASS
        ]
        rows += [
            {"class": "(all)", "metric": "accuracy", **self.accuracy(group).to_json()},
            {
                "class": "(all)",
                "metric": "calibration_error",
                **self.calibration_error(group).to_json(),
            },
        ]
        if self.rest_knots:
            rows += [
                {"class": class_, "metric": "auc", **self.auc(class_, group).to_json()}
                for class_ in self.given
            ]
        return pd.DataFrame(rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the report of all records, and of every group."""
        import pandas as pd

        frames = []
        for group in (None, *(self.told if self.columns else ())):
            names = dict(zip(self.columns, group or ("(all)",) * len(self.columns), strict=True))
            report = self.report(group)
            for place, (name, value) in enumerate(names.items()):
                report.insert(place, name, value)
            if self.columns:
                report["small"] = group is not None and self.small(group)
            frames.append(report)
        return pd.concat(frames, ignore_index=True)

    def size(self, group: Group = None) -> Figure:
        """Return the noisy number of records of a group, or of all."""
        return self._confusion(group).size

    def small(self, group: Group) -> bool:
        """Return whether a group has too few records to say much of it, by its noisy counts alone."""
        return is_small(self.size(group))

    def by_group(
        self, metrics: Sequence[str] | None = None, *, of: str | None = None
    ) -> ClassGroupMetrics:
        """Return figures of every group beside those of all records, with differences.

        Args:
          metrics: ``accuracy``, ``calibration_error``, means over classes (``macro_precision``,
            ``macro_recall``, ``macro_f1``; all of these if left out), and figures of one class
            (``recall of poor``, ``auc of poor``).
          of: a level, where there are several; the finest if left out.
        """
        return class_group_metrics(self, metrics, of)

    def plot(self, ax: Any = None, *, title: str | None = None, group: Group = None) -> Any:
        """Draw the confusion table as a heat map: of every true class the shares that are given."""
        from discreet.evaluation.classes.pictures import ConfusionDisplay

        return ConfusionDisplay(self, group).plot(ax, title=title)

    def plot_calibration(self, ax: Any = None, *, title: str | None = None, group: Group = None) -> Any:
        """Draw the share of right answers against the highest score, with its interval."""
        from discreet.evaluation.classes.pictures import TopLabelDisplay

        return TopLabelDisplay(self, group).plot(ax, title=title)

    def pictures(self) -> dict[str, Drawing]:
        """Return the pictures of a page: confusions, highest scores, and groups if there are some."""
        from discreet.evaluation.classes.pictures import ConfusionDisplay, TopLabelDisplay

        drawn: dict[str, Drawing] = {
            "Given and true classes": ConfusionDisplay(self),
            "How often the highest score is right": TopLabelDisplay(self),
        }
        return drawn | ({"Groups beside all records": self.by_group()} if self.columns else {})

    def drawings(self, group: Group = None) -> dict[str, Drawing]:
        """Return every picture by name, of all records or of a group."""
        from discreet.evaluation.classes.pictures import ConfusionDisplay, TopLabelDisplay

        drawn: dict[str, Drawing] = {
            "confusion": ConfusionDisplay(self, group),
            "calibration": TopLabelDisplay(self, group),
        }
        alone = group is not None or not self.columns
        return drawn | ({} if alone else {"groups": self.by_group()})

    def views(
        self, *, threshold: float | None = None, group: Group = None
    ) -> dict[str, Callable[[], pd.DataFrame]]:
        """Return every table by name, made when it is called for; there are no thresholds."""
        if threshold is not None:
            raise ArgumentError("threshold must be left out for many classes, which have none.")
        found: dict[str, Callable[[], pd.DataFrame]] = {
            "report": partial(self.report, group),
            "confusion_matrix": partial(self.confusion_matrix, group),
            "calibration": partial(self.calibration_curve, group),
        }
        if group is not None or not self.columns:
            return found
        compared = self.by_group()
        told = {"differences": compared.differences, "pairs": compared.pairs}
        return found | {"by_group": compared.to_frame} | told

    @cached_property
    def _right(self) -> FloatArray:
        """Ones where the given class is the true one."""
        found = np.asarray(self.truths)[:, None] == np.asarray(self.given)[None, :]
        return np.asarray(found, dtype=np.float64)

    def _confusion(self, group: Group, level: float | None = None) -> Tally:
        table = np.asarray(self.confusion).reshape(len(self.groups), len(self.truths), len(self.given))
        return self._tally(SplitBins(self.knots, self.soft), table, 0, group, level)

    def _calibration(self, group: Group, level: float | None = None) -> Tally:
        bins = SplitBins(self.knots, self.soft)
        table = np.asarray(self.calibration).reshape(len(self.groups), 2, bins.size)
        return self._tally(bins, table, 1, group, level)

    def _tally(
        self, bins: SplitBins, table: FloatArray, which: int, group: Group, level: float | None
    ) -> Tally:
        """Return the cells of one group or of all; they add up to a public number of records."""
        noise = CellNoise(self.stds[which], self.mechanism == "gaussian")
        asked = self.level if level is None else level
        if self.rows is not None:
            table = table + (self.rows - table.sum()) / table.size
        if group is None:
            known = self.rows is not None
            return Tally(bins, table.sum(axis=0), noise, len(self.groups), asked, known)
        places = within(self.groups, find_group(self.told, group))
        return Tally(bins, table[places].sum(axis=0), noise, len(places), asked)

    def _slopes(self, name: str, group: Group, known: list[bool]) -> FloatArray:
        """Return how a mean over classes moves with every cell; classes nobody has do not."""
        cells = self._confusion(group).cells
        own, rows, columns = cells * self._right, cells.sum(axis=1), cells.sum(axis=0)
        diagonal, below = own.sum(axis=1), (columns * self._right).sum(axis=1)
        whole = {"recall": rows, "precision": below, "f1": rows + below}[name]
        top = 2.0 if name == "f1" else 1.0
        sure = np.asarray(known) & (whole > 0)
        over = np.where(sure, 1.0 / np.where(whole > 0, whole, 1.0), 0.0)
        value = top * diagonal * over
        found = top * over[:, None] * self._right
        if name != "precision":
            found = found - (value * over)[:, None]
        if name != "recall":
            found = found - ((value * over) @ self._right)[None, :]
        return np.asarray(found / len(self.truths))


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
