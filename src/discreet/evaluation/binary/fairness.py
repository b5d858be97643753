"""Figures of groups beside each other: differences, ratios, and thresholds that would even them out.

Names are those of fairlearn (Bird et al. 2020). Groups that are too small to be compared, by their
noisy counts, are shown and marked, and left out of differences. A difference is that of the two
groups that are farthest apart; its interval holds all pairs at once, whichever these are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.evaluation.binary.result import AT_THRESHOLD, OF_SCORES, BinaryEvaluation
from discreet.evaluation.figures import FAR, Figure, difference, mean_of, ratio
from discreet.numerics import check_choice

if TYPE_CHECKING:
    import pandas as pd

Aggregate = Literal["worst_case", "mean"]
Against = Literal["between_groups", "to_overall"]

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
_EVENED = ("selection_rate", *_ODDS)


@dataclass(frozen=True)
class GroupMetrics:
    """Figures of every group and of all records at one threshold.

    Attributes:
      evaluation: what they follow from.
      threshold: at which records are selected.
      metrics: names of the figures.
    """

    evaluation: BinaryEvaluation
    threshold: float
    metrics: tuple[str, ...]

    @cached_property
    def compared(self) -> tuple[tuple[str, ...], ...]:
        """The groups that are large enough to be compared."""
        groups = self.evaluation.groups
        return tuple(group for group in groups if not self.evaluation.small(group))

    def figure(self, metric: str, group: Any = None, level: float | None = None) -> Figure:
        """Return one figure of a group, or of all records."""
        return self.evaluation.metric(metric, threshold=self.threshold, group=group, level=level)

    @property
    def by_group(self) -> pd.DataFrame:
        """The values, one row per group and one column per metric."""
        import pandas as pd

        index = pd.MultiIndex.from_tuples(self.evaluation.groups, names=self.evaluation.columns)
        rows = [[self.figure(m, g).value for m in self.metrics] for g in self.evaluation.groups]
        frame = pd.DataFrame(rows, index=index, columns=list(self.metrics))
        return frame if index.nlevels > 1 else frame.set_axis(index.get_level_values(0))

    @property
    def overall(self) -> pd.Series:
        """The values for all records."""
        import pandas as pd

        return pd.Series({name: self.figure(name).value for name in self.metrics})

    def difference(self, method: Against = "between_groups") -> pd.Series:
        """Return the greatest difference of every metric, between groups or from all records."""
        return self._each(lambda name: self.difference_of(name, method))

    def ratio(self, method: Against = "between_groups") -> pd.Series:
        """Return the least ratio of every metric, between groups or to all records."""
        return self._each(lambda name: self.ratio_of(name, method))

    def group_min(self) -> pd.Series:
        """Return the least value of every metric among the groups that are compared."""
        return self.by_group.loc[self._large].min()

    def group_max(self) -> pd.Series:
        """Return the greatest value of every metric among the groups that are compared."""
        return self.by_group.loc[self._large].max()

    @property
    def _large(self) -> list[bool]:
        return [group in self.compared for group in self.evaluation.groups]

    def _each(self, of: Callable[[str], Figure]) -> pd.Series:
        import pandas as pd

        return pd.Series({name: of(name).value for name in self.metrics})

    def difference_of(
        self, metric: str, method: Against = "between_groups", comparisons: int = 1
    ) -> Figure:
        """Return the difference of the two groups that are farthest apart, with its interval.

        Args:
          metric: any of the figures.
          method: between groups, or of a group from all records.
          comparisons: how many such differences are to hold at once.
        """
        pairs = self._pairs(metric, method, comparisons)
        if not pairs:
            return Figure(0.5, 0.0, 1.0, 0.5, 0.0, 0.0, self.evaluation.level)
        return _farthest([_absolute(difference(a, b)) for a, b in pairs], max)

    def ratio_of(self, metric: str, method: Against = "between_groups", comparisons: int = 1) -> Figure:
        """Return the ratio of the least to the greatest group, with its interval; at most one."""
        pairs = self._pairs(metric, method, comparisons)
        if not pairs:
            return Figure(0.5, 0.0, 1.0, 0.5, 0.0, 0.0, self.evaluation.level)
        return _farthest([_at_most_one(ratio(a, b)) for a, b in pairs], min)

    def _pairs(self, metric: str, method: Against, comparisons: int) -> list[tuple[Figure, Figure]]:
        check_choice("method", method, ("between_groups", "to_overall"))
        groups = self.compared
        count = len(groups) * (len(groups) - 1) // 2 if method == "between_groups" else len(groups)
        level = self.evaluation.level_for(count * comparisons)
        figures = [self.figure(metric, group, level) for group in groups]
        if method == "between_groups":
            return list(combinations(figures, 2))
        whole = self.figure(metric, None, level)
        return [(figure, whole) for figure in figures]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group: its values, their ends, its noisy size, whether it is small."""
        import pandas as pd

        rows = []
        for group in self.evaluation.groups:
            row: dict[str, Any] = dict(zip(self.evaluation.columns, group, strict=True))
            row["count"] = self.evaluation.tally(group).size.value
            for name in self.metrics:
                figure = self.figure(name, group)
                row |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
            rows.append(row | {"small": group not in self.compared})
        return pd.DataFrame(rows).set_index(list(self.evaluation.columns))

    def differences(self) -> pd.DataFrame:
        """Return every metric's difference and ratio between groups with their intervals."""
        import pandas as pd

        rows = []
        for name in self.metrics:
            for kind, figure in (
                ("difference", self.difference_of(name)),
                ("ratio", self.ratio_of(name)),
            ):
                rows.append({"metric": name, "of": kind, **figure.to_json()})
        return pd.DataFrame(rows).set_index(["metric", "of"])

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw every group's distance from all records, with intervals, one panel of rows a metric."""
        from discreet.evaluation.binary.pictures import GroupForestDisplay

        return GroupForestDisplay(self).plot(ax, title=title)

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

        check_choice("metric", metric, (*_EVENED, "equalized_odds"))
        names = _ODDS if metric == "equalized_odds" else (metric,)
        if value is not None and (len(names) > 1 or not 0 <= float(value) <= 1):
            raise ArgumentError(
                f"value must be a rate between 0 and 1, and of one metric alone, got {value!r}."
            )
        wanted = [self.figure(n).value if value is None else float(value) for n in names]
        rows = []
        for group in self.evaluation.groups:
            cut = self._even(group, names, wanted)
            row: dict[str, Any] = dict(zip(self.evaluation.columns, group, strict=True))
            row["threshold"] = cut
            for name in names:
                figure = self.evaluation.metric(name, threshold=cut, group=group)
                row |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
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
    evaluation: BinaryEvaluation, threshold: float, metrics: Sequence[str] | None
) -> GroupMetrics:
    """Return the figures of groups, or raise a sentence if there are none."""
    if not evaluation.columns:
        raise ArgumentError(
            "by must have been given for figures by group, got an evaluation of all records. "
            "Ask dc.evaluate(model, by=...)."
        )
    names = STANDARD if metrics is None else as_names("metrics", metrics)
    for name in names:
        check_choice("metrics", name, (*AT_THRESHOLD, *OF_SCORES))
    return GroupMetrics(evaluation, threshold, tuple(names))


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
        return _farthest(parts, max if kind == "difference" else min)
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


def _absolute(figure: Figure) -> Figure:
    """Return how far two figures are apart, whichever is greater."""
    up = figure if figure.value >= 0 else figure.scaled(-1.0)
    return replace(up, high=max(up.high, -up.low)).within(0.0, 1.0)


def _at_most_one(figure: Figure) -> Figure:
    """Return the ratio of the smaller to the greater of two figures."""
    if figure.value > 1:
        turned = figure.scaled(1 / figure.value**2)
        figure = replace(turned, low=1 / figure.high, high=1 / max(figure.low, 1 / FAR))
    far = min(figure.low, 1 / max(figure.high, 1 / FAR))
    return replace(figure, low=far).within(0.0, 1.0)


def _farthest(figures: Sequence[Figure], choose: Callable[..., Any]) -> Figure:
    """Return the greatest (or least) of several figures, whose intervals hold at once."""
    chosen: Figure = choose(figures, key=lambda figure: figure.value)
    low = choose(figure.low for figure in figures)
    high = choose(figure.high for figure in figures)
    return replace(chosen, low=min(low, chosen.value), high=max(high, chosen.value))
