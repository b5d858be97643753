"""Fairness: criteria by fairlearn's names, and thresholds that would even groups out.

Names are those of fairlearn (Bird et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.evaluation.binary.result import AT_THRESHOLD, OF_SCORES, BinaryEvaluation
from discreet.evaluation.binary.tallies import LOSSES
from discreet.evaluation.comparison import GroupFigures, ends_of, farthest, groups_at
from discreet.evaluation.figures import Figure, mean_of
from discreet.evaluation.question import Group
from discreet.numerics import check_choice

if TYPE_CHECKING:
    import pandas as pd

Aggregate = Literal["worst_case", "mean"]

STANDARD = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "precision",
    "negative_predictive_value",
    "accuracy",
    "auc",
)
_ODDS = ("true_positive_rate", "false_positive_rate")
EVENED = ("selection_rate", *_ODDS, "equalized_odds")
"""Rates that thresholds per group can make even."""


@dataclass(frozen=True)
class GroupMetrics(GroupFigures):
    """Figures of every group and of all records at one threshold.

    Attributes:
      evaluation: what they follow from.
      metrics: names of the figures.
      groups: those that are told, of one level.
      threshold: at which records are selected.
    """

    evaluation: BinaryEvaluation
    threshold: float

    def figure(self, metric: str, group: Group = None, level: float | None = None) -> Figure:
        """Return one figure of a group, or of all records."""
        return self.evaluation.metric(metric, threshold=self.threshold, group=group, level=level)

    def span(self, metric: str) -> float:
        """Return how far apart two groups can be."""
        knots = self.evaluation.knots
        return {"log_loss": LOSSES["log_loss"][1], "mean_score": knots[-1] - knots[0]}.get(metric, 1.0)

    def has_ratio(self, metric: str) -> bool:
        """Return whether a figure is never negative; a mean score may be."""
        return metric != "mean_score" or self.evaluation.knots[0] >= 0

    def even_thresholds(
        self, metric: str = "selection_rate", value: float | None = None
    ) -> pd.DataFrame:
        """Return for every group the threshold at which a rate would be the same for all.

        Args:
          metric: ``selection_rate`` (demographic parity), ``true_positive_rate`` (equal opportunity) or
            ``false_positive_rate``; ``equalized_odds`` comes as near to both as one threshold can.
          value: the rate to come to; that of all records at this threshold if left out.
        """
        import pandas as pd

        check_choice("metric", metric, EVENED)
        names = _ODDS if metric == "equalized_odds" else (metric,)
        if value is not None and (len(names) > 1 or not 0 <= float(value) <= 1):
            raise ArgumentError(
                f"value must be a rate between 0 and 1, and of one metric alone, got {value!r}."
            )
        wanted = [self.figure(n).value if value is None else float(value) for n in names]
        rows = []
        for group in self.groups:
            cut = self._even(group, names, wanted)
            row: dict[str, Any] = dict(zip(self.evaluation.columns, group, strict=True))
            row["threshold"] = cut
            for name in names:
                row |= ends_of(name, self.evaluation.metric(name, threshold=cut, group=group))
            rows.append(row | {"small": group not in self.compared})
        return pd.DataFrame(rows).set_index(list(self.evaluation.columns))

    def _even(self, group: tuple[str, ...], names: Sequence[str], wanted: Sequence[float]) -> float:
        """Return the knot, or the point between two, at which a group's rates are nearest to some."""
        from scipy.optimize import isotonic_regression

        knots = np.asarray(self.evaluation.knots)
        fine = np.linspace(knots[0], knots[-1], 1_001)
        tally = self.evaluation.tally(group)
        off = np.zeros(len(fine))
        for name, aim in zip(names, wanted, strict=True):
            rates = [tally.metric(name, float(knot)).value for knot in knots]
            falling = isotonic_regression(rates, increasing=False).x
            off = np.maximum(off, np.abs(np.interp(fine, knots, falling) - aim))
        best = np.flatnonzero(off <= off.min() + 1e-12)
        middle = best[len(best) // 2]
        return float(fine[middle])


def group_metrics(
    evaluation: BinaryEvaluation, threshold: float, metrics: Sequence[str] | None, of: str | None
) -> GroupMetrics:
    """Return the figures of groups, or raise a sentence if there are none."""
    groups = groups_at(evaluation, of)
    names = STANDARD if metrics is None else as_names("metrics", metrics)
    for name in names:
        check_choice("metrics", name, (*AT_THRESHOLD, *OF_SCORES))
    return GroupMetrics(evaluation, tuple(names), groups, threshold)


def parity_figure(frame: GroupMetrics, name: str, agg: Aggregate = "worst_case") -> Figure:
    """Return a criterion of fairness by its name in fairlearn."""
    check_choice("name", name, CRITERIA)
    metrics, kind = CRITERIA[name]
    check_choice("agg", agg, ("worst_case", "mean"))
    of = frame.difference_of if kind == "difference" else frame.ratio_of
    parts = [of(metric, "between_groups", len(metrics)) for metric in metrics]
    if len(parts) == 1:
        return parts[0]
    if agg == "worst_case":
        return farthest(parts, max if kind == "difference" else min)
    low, high = (sum(getattr(part, end) for part in parts) / 2 for end in ("low", "high"))
    return replace(mean_of(*parts), low=low, high=high)


CRITERIA: dict[str, tuple[tuple[str, ...], str]] = {
    "demographic_parity_difference": (("selection_rate",), "difference"),
    "demographic_parity_ratio": (("selection_rate",), "ratio"),
    "equal_opportunity_difference": (("true_positive_rate",), "difference"),
    "equal_opportunity_ratio": (("true_positive_rate",), "ratio"),
    "equalized_odds_difference": (_ODDS, "difference"),
    "equalized_odds_ratio": (_ODDS, "ratio"),
}
