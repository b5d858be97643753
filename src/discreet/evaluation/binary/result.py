"""What a private table of scores and outcomes answers, as often as asked, at no further cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.evaluation.binary.calibration import (
    calibration_error,
    calibration_frame,
    lift_curve,
    rate_curve,
)
from discreet.evaluation.binary.noise import CellNoise
from discreet.evaluation.binary.tallies import METRICS, Tally
from discreet.evaluation.bins import SplitBins, turn_of
from discreet.evaluation.figures import Figure
from discreet.evaluation.question import Group, Label, coarser, find_group, is_small, within
from discreet.numerics import check_choice, check_whole
from discreet.plans.results.result import Drawing, Result
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from discreet.evaluation.binary.fairness import GroupMetrics

AT_THRESHOLD = (*METRICS, "balanced_accuracy")
OF_SCORES = ("auc", "average_precision", "brier", "log_loss", "calibration_error", "mean_score")
_AREAS = ("auc", "average_precision")
_OF_PROBABILITIES = ("brier", "log_loss", "calibration_error")
CALIBRATION_BINS = 10


@dataclass(frozen=True)
class BinaryEvaluation(Result):
    """Noisy counts by score, outcome and group, and every figure that follows from them.

    Figures hold the truth of the population the records were drawn from; what noise, sampling and bins
    contribute to their intervals is told apart. A record is selected if its score is at least the
    threshold.

    Attributes:
      columns: the categories that make groups; none if there is one group of all.
      groups: every group by its values of these.
      knots: between which scores are binned.
      shared: whether bins share the cells of their knots (hat functions).
      counts: cells as they were released, by group, outcome and score; some are negative.
      noise_std: standard deviation of the noise on a cell.
      half_width: a cell is within this of the exact one with probability ``level``.
      mechanism: of the noise.
      rows: the number of records, None if it is private.
      output: what scores are: ``probability``, ``margin`` or, of other bounds, ``score``.
      target: the column of outcomes.
      level: of intervals.
      anchors: noisy numbers of records below and above the default threshold, by group and outcome,
        released beside the cells; none where an edge would need exact scores.
      anchor_std: standard deviation of the noise on one of these.
      overall: noisy cells of all records, by outcome and score, released beside those of many groups;
        none where groups are few, and added up.
      overall_std: standard deviation of the noise on one of these.
      nested: whether the columns are levels, coarse ones first: a group is told for each of them.
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    knots: tuple[float, ...]
    shared: bool
    counts: tuple[float, ...]
    noise_std: float
    half_width: float
    mechanism: str
    rows: int | None
    output: str
    target: str
    level: float
    anchors: tuple[float, ...] = field(default=(), kw_only=True)
    anchor_std: float | None = field(default=None, kw_only=True)
    overall: tuple[float, ...] = field(default=(), kw_only=True)
    overall_std: float | None = field(default=None, kw_only=True)
    nested: bool = field(default=False, kw_only=True)

    @property
    def extent(self) -> str:
        """The number of bins, and of groups if there are several."""
        groups = f", {len(self.groups):,} groups" if self.columns else ""
        return f"{self.bins.bins:,} bins{groups}"

    def fits_together(self) -> bool:
        """Return whether every group and outcome has its cells, knots rise, and bands have a level."""
        rising = len(self.knots) > 1 and all(np.diff(self.knots) > 0)
        named = all(len(group) == len(self.columns) for group in self.groups)
        cells = 2 * len(self.groups) * self.bins.size
        anchored = not self.anchors or (
            len(self.anchors) == 4 * len(self.groups) and self.anchor_std is not None
        )
        told = not self.overall or (len(self.anchors) > 0 and self.overall_std is not None)
        banded = 0 < self.level < 1
        sized = len(self.counts) == cells and len(self.overall) in (0, 2 * self.bins.size)
        return rising and named and banded and sized and anchored and told

    @cached_property
    def bins(self) -> SplitBins:
        """The bins of scores."""
        return SplitBins(self.knots, self.shared)

    @property
    def default_threshold(self) -> float:
        """Where the answer turns: a probability of one half, a margin of zero, the middle of scores."""
        return turn_of(self.output, self.knots[0], self.knots[-1])

    @cached_property
    def _noise(self) -> CellNoise:
        plain = CellNoise(self.noise_std, self.mechanism == "gaussian")
        if self.anchor_std is None:
            return plain
        above = self.bins.spans[0] >= self.default_threshold
        return replace(plain, above=tuple(above.tolist()), anchor_std=self.anchor_std)

    @cached_property
    def _cells(self) -> FloatArray:
        """The cells that agree best with the sums; and with the number of records, if it is public."""
        cells = np.asarray(self.counts).reshape(len(self.groups), 2, self.bins.size)
        if self.anchors:
            anchors = np.asarray(self.anchors).reshape(len(self.groups), 2, 2)
            cells = self._noise.estimate(cells, anchors)
        return cells if self.rows is None else self._noise.to_total(cells, self.rows)

    @cached_property
    def _all(self) -> tuple[FloatArray, CellNoise]:
        """The cells of all records, told by themselves and added up over groups, and their noise."""
        shape, groups = (2, self.bins.size), len(self.groups)
        added = np.asarray(self.counts).reshape(groups, *shape).sum(axis=0)
        anchors = np.asarray(self.anchors).reshape(groups, 2, 2).sum(axis=0)
        overall = np.asarray(self.overall).reshape(shape)
        cells, noise = self._noise.over(groups, added, anchors, overall, self.overall_std or 0.0)
        return (cells if self.rows is None else noise.to_total(cells, self.rows)), noise

    def tally(self, group: Group = None, level: float | None = None) -> Tally:
        """Return the cells of one group, or of all records."""
        noise = self._noise
        asked = self.level if level is None else level
        if group is None and self.overall:
            cells, noise = self._all
            return Tally(self.bins, cells, noise, 1, asked, self.rows is not None)
        if group is None:
            cells, groups = self._cells.sum(axis=0), len(self.groups)
            return Tally(self.bins, cells, noise, groups, asked, self.rows is not None)
        places = within(self.groups, find_group(self.told, group))
        return Tally(self.bins, self._cells[places].sum(axis=0), noise, len(places), asked)

    @cached_property
    def told(self) -> tuple[Label, ...]:
        """All groups; of levels those of every one, coarse ones first."""
        return (*(coarser(self.groups) if self.nested else ()), *self.groups)

    def size(self, group: Group = None) -> Figure:
        """Return the noisy number of records of a group, or of all."""
        return self.tally(group).size

    def small(self, group: Group) -> bool:
        """Return whether a group has too few records to say much of it, by its noisy counts alone."""
        return is_small(self.size(group))

    def threshold(self, threshold: float | None) -> float:
        """Return a threshold inside the range of scores, or raise a sentence."""
        if threshold is None:
            return self.default_threshold
        low, high = self.knots[0], self.knots[-1]
        number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
        if not number or not low <= float(threshold) <= high:
            raise ArgumentError(
                f"threshold must be between {low:g} and {high:g}, where scores lie, got "
                f"{shown(threshold)}."
            )
        return float(threshold)

    def metric(
        self,
        name: str,
        *,
        threshold: float | None = None,
        group: Group = None,
        level: float | None = None,
    ) -> Figure:
        """Return one figure of all records or of a group.

        Args:
          name: at a threshold ``selection_rate``, ``true_positive_rate``, ``false_positive_rate``,
            ``true_negative_rate``, ``false_negative_rate``, ``precision``,
            ``negative_predictive_value``, ``accuracy``, ``balanced_accuracy``, ``f1``,
            ``prevalence``; of scores ``auc``, ``average_precision``, ``brier``, ``log_loss``,
            ``calibration_error``, ``mean_score``.
          threshold: any; at a knot nothing is left open. One half for probabilities if left out.
          group: by its value, or by its values of several columns.
          level: of the interval.
        """
        check_choice("name", name, (*AT_THRESHOLD, *OF_SCORES))
        cut = self.threshold(threshold)
        tally = self.tally(group, level)
        if name in AT_THRESHOLD:
            return tally.metric(name, cut)
        if name in _OF_PROBABILITIES and self.output != "probability":
            raise ArgumentError(
                f"name must be a figure of margins or thresholds, got {name!r}, which needs "
                "probabilities between 0 and 1. Use dc.Model(model, output='probability')."
            )
        if name == "calibration_error":
            return calibration_error(tally, CALIBRATION_BINS)
        if name in _AREAS:
            return tally.auc if name == "auc" else tally.average_precision
        return tally.mean_score if name == "mean_score" else tally.loss(name)

    @property
    def auc(self) -> Figure:
        """The area under the ROC curve of all records."""
        return self.metric("auc")

    @property
    def brier(self) -> Figure:
        """The mean squared distance of probabilities from outcomes."""
        return self.metric("brier")

    @property
    def log_loss(self) -> Figure:
        """The mean log loss, of probabilities no nearer to 0 and 1 than a hundredth."""
        return self.metric("log_loss")

    @property
    def calibration_error(self) -> Figure:
        """The expected calibration error over ten bins of equal width."""
        return self.metric("calibration_error")

    def metrics(self, threshold: float | None = None, group: Group = None) -> pd.DataFrame:
        """Return all figures at a threshold, one row each, with their intervals."""
        import pandas as pd

        with np.errstate(all="ignore"):  # whatever a file holds, a frame can be made of it
            rows = [
                {"metric": name, **self.metric(name, threshold=threshold, group=group).to_json()}
                for name in self._available()
            ]
        return pd.DataFrame(rows).set_index("metric")

    def _available(self) -> list[str]:
        plain = self.output == "probability"
        return [*AT_THRESHOLD, *(n for n in OF_SCORES if plain or n not in _OF_PROBABILITIES)]

    def confusion_matrix(self, threshold: float | None = None, group: Group = None) -> pd.DataFrame:
        """Return noisy numbers of records: rows by outcome, columns by answer."""
        import pandas as pd

        made = self.tally(group).confusion(self.threshold(threshold))
        names = pd.Index([False, True], name=f"{self.target} is the class")
        return pd.DataFrame(made, index=names, columns=pd.Index([False, True], name="selected"))

    def roc_curve(self, group: Group = None) -> pd.DataFrame:
        """Return the false and the true positive rate at every knot, rising, with their intervals."""
        return rate_curve(self.tally(group), ("false_positive_rate", "true_positive_rate"), rising=True)

    def precision_recall_curve(self, group: Group = None) -> pd.DataFrame:
        """Return recall (the true positive rate) and precision at every knot."""
        return rate_curve(self.tally(group), ("true_positive_rate", "precision"), rising=False)

    def lift_curve(self, group: Group = None) -> pd.DataFrame:
        """Return at every knot the share selected, and how much more of the class it holds."""
        return lift_curve(self.tally(group))

    def calibration_curve(self, bins: int | None = None, group: Group = None) -> pd.DataFrame:
        """Return the mean score and the share of the class in bins of about equal width.

        Args:
          bins: how many; ten if left out, or as many as there are bins of scores, if these are fewer.
          group: by its value, or by its values of several columns.
        """
        finest = len(self.knots) - 1
        if bins is not None:
            check_whole("bins", bins, 2, finest, "There are no finer ones.")
        return calibration_frame(self.tally(group), int(bins or min(CALIBRATION_BINS, finest)))

    def by_group(
        self,
        threshold: float | None = None,
        metrics: Sequence[str] | None = None,
        *,
        of: str | None = None,
    ) -> GroupMetrics:
        """Return figures of every group beside those of all records, as fairlearn's MetricFrame.

        Args:
          threshold: at which records are selected.
          metrics: names as in ``metric``; the rates that fairness is told by if left out.
          of: a level, where there are several; the finest if left out.
        """
        from discreet.evaluation.binary.fairness import group_metrics

        return group_metrics(self, self.threshold(threshold), metrics, of)

    def fairness(self, name: str, threshold: float | None = None, agg: str = "worst_case") -> Figure:
        """Return a criterion of fairness, by its name in fairlearn, with its interval.

        Args:
          name: ``demographic_parity_difference``, ``equal_opportunity_difference``,
            ``equalized_odds_difference``, or the same with ``ratio``.
          threshold: at which records are selected.
          agg: of the two rates of equalised odds, ``worst_case`` or ``mean``.
        """
        from discreet.evaluation.binary.fairness import parity_figure

        return parity_figure(self.by_group(threshold), name, agg)  # type: ignore[arg-type]  # checked there

    def demographic_parity_difference(self, threshold: float | None = None) -> Figure:
        """Return the greatest difference between the selection rates of groups."""
        return self.fairness("demographic_parity_difference", threshold)

    def demographic_parity_ratio(self, threshold: float | None = None) -> Figure:
        """Return the lowest selection rate of a group divided by the highest."""
        return self.fairness("demographic_parity_ratio", threshold)

    def equal_opportunity_difference(self, threshold: float | None = None) -> Figure:
        """Return the greatest difference between the true positive rates of groups."""
        return self.fairness("equal_opportunity_difference", threshold)

    def equal_opportunity_ratio(self, threshold: float | None = None) -> Figure:
        """Return the lowest true positive rate of a group divided by the highest."""
        return self.fairness("equal_opportunity_ratio", threshold)

    def equalized_odds_difference(
        self, threshold: float | None = None, agg: str = "worst_case"
    ) -> Figure:
        """Return how far true or false positive rates of groups are apart, the farther of both."""
        return self.fairness("equalized_odds_difference", threshold, agg)

    def equalized_odds_ratio(self, threshold: float | None = None, agg: str = "worst_case") -> Figure:
        """Return the least ratio of true or false positive rates of groups."""
        return self.fairness("equalized_odds_ratio", threshold, agg)

    def to_frame(self) -> pd.DataFrame:
        """Return figures at the default threshold: one row per group and metric, all records first."""
        import pandas as pd

        parts = []
        for group in (None, *(self.told if self.columns else ())):
            frame = self.metrics(group=group).reset_index()
            frame.insert(0, "group", "(all)" if group is None else " and ".join(group))
            frame["small"] = False if group is None else self.small(group)
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def pictures(self) -> dict[str, Drawing]:
        """Return the pictures of a page: curves, calibration, and groups if there are some."""
        from discreet.evaluation.binary.pictures import pictures

        return pictures(self)

    def drawings(self, group: Group = None) -> dict[str, Drawing]:
        """Return every picture by the name that ``kind`` takes, of all records or of a group."""
        from discreet.evaluation.binary.pictures import drawings

        return drawings(self, group)

    def views(
        self, *, threshold: float | None = None, group: Group = None
    ) -> dict[str, Callable[[], pd.DataFrame]]:
        """Return every table by name, made when it is called for."""
        from discreet.evaluation.binary.pictures import views

        return views(self, threshold, group)

    def plot(
        self, ax: Any = None, *, title: str | None = None, kind: str = "roc", group: Group = None
    ) -> Any:
        """Draw a curve with its band, and those of large groups beside it.

        Args:
          ax: axes, or None for new ones.
          title: of the picture.
          kind: ``roc``, ``precision_recall``, ``calibration`` or ``lift``. Distances of groups are
            drawn by ``by_group().plot()``.
          group: draw the curve of this one alone.
        """
        from discreet.evaluation.binary.pictures import PICTURES, EvaluationDisplay

        check_choice("kind", kind, PICTURES)
        return EvaluationDisplay(self, kind, group).plot(ax, title=title)  # type: ignore[arg-type]  # checked

    def plot_groups(self, kind: str = "roc", *, ax: Any = None, title: str | None = None) -> Any:
        """Draw a small picture of every large group, each with its band; kinds as in ``plot``."""
        from discreet.evaluation.binary.pictures import PICTURES, GroupTilesDisplay

        check_choice("kind", kind, PICTURES)
        return GroupTilesDisplay(self, kind).plot(ax, title=title)  # type: ignore[arg-type]  # checked
