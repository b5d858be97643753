"""Figures of groups side by side: all of them, one against another, the two that are farthest apart.

Groups that are too small to be compared, by their noisy counts, are shown and marked, and left out of
the greatest differences. Of these the interval holds all pairs at once, whichever the farthest are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Protocol

from discreet.errors import ArgumentError
from discreet.evaluation.figures import FAR, Figure, difference, ratio
from discreet.evaluation.question import Group, Label, find_group
from discreet.numerics import check_choice
from discreet.plans.parts.hierarchy import WHOLE
from discreet.plans.results.bands import at_once

if TYPE_CHECKING:
    import pandas as pd

Against = Literal["between_groups", "to_overall"]


class Grouped(Protocol):
    """An evaluation that tells groups apart."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What records are grouped by."""

    @property
    def told(self) -> tuple[Label, ...]:
        """All groups, of all levels, coarse ones first."""

    @property
    def nested(self) -> bool:
        """Whether columns are levels, coarse ones first."""

    @property
    def level(self) -> float:
        """Of intervals."""

    def size(self, group: Group = None) -> Figure:
        """Return the number of records of a group."""

    def small(self, group: Group) -> bool:
        """Return whether a group has too few records to say much of it."""


@dataclass(frozen=True)
class GroupFigures(ABC):
    """Figures of every group and of all records.

    Attributes:
      evaluation: what they follow from.
      metrics: names of the figures.
      groups: those that are told, of one level.
    """

    evaluation: Grouped
    metrics: tuple[str, ...]
    groups: tuple[Label, ...]

    @abstractmethod
    def figure(self, metric: str, group: Group = None, level: float | None = None) -> Figure:
        """Return one figure of a group, or of all records."""

    def span(self, metric: str) -> float:
        """Return how far apart two groups can be."""
        return 1.0

    def has_ratio(self, metric: str) -> bool:
        """Return whether a figure is never negative, so that ratios say something."""
        return True

    def unit(self, metric: str) -> str:
        """Return what a figure is measured in; figures of one unit are drawn on one axis."""
        return ""

    @cached_property
    def compared(self) -> tuple[Label, ...]:
        """The groups that are large enough to be compared."""
        return tuple(group for group in self.groups if not self.evaluation.small(group))

    @property
    def by_group(self) -> pd.DataFrame:
        """The values, one row per group and one column per metric."""
        import pandas as pd

        index = pd.MultiIndex.from_tuples(self.groups, names=self.evaluation.columns)
        rows = [[self.figure(m, g).value for m in self.metrics] for g in self.groups]
        frame = pd.DataFrame(rows, index=index, columns=list(self.metrics))
        return frame if index.nlevels > 1 else frame.set_axis(index.get_level_values(0))

    @property
    def overall(self) -> pd.Series:
        """The values for all records."""
        import pandas as pd

        return pd.Series({name: self.figure(name).value for name in self.metrics})

    def difference(self, method: Against = "between_groups") -> pd.Series:
        """Return the greatest difference of every metric, between groups or from all records."""
        import pandas as pd

        return pd.Series({name: self.difference_of(name, method).value for name in self.metrics})

    def ratio(self, method: Against = "between_groups") -> pd.Series:
        """Return the least ratio of every metric, between groups or to all records."""
        import pandas as pd

        names = [name for name in self.metrics if self.has_ratio(name)]
        return pd.Series({name: self.ratio_of(name, method).value for name in names})

    def group_min(self) -> pd.Series:
        """Return the least value of every metric among the groups that are compared."""
        return self.by_group.loc[self._large].min()

    def group_max(self) -> pd.Series:
        """Return the greatest value of every metric among the groups that are compared."""
        return self.by_group.loc[self._large].max()

    @property
    def _large(self) -> list[bool]:
        return [group in self.compared for group in self.groups]

    def difference_between(self, metric: str, first: Group, second: Group) -> Figure:
        """Return how far one group is from another, the first less the second, with its interval.

        Groups share no record, so that neither noise nor sampling of theirs have anything in common;
        of a group and one that it lies within the interval is wider than it need be.

        Args:
          metric: any of the figures.
          first: a group by its value, or by its values of several columns; any level.
          second: another.
        """
        one, other = (find_group(self.evaluation.told, group) for group in (first, second))
        return self.apart(metric, one, other)

    def apart(self, metric: str, first: Group, second: Group) -> Figure:
        """Return how far a group is from another, or from all records."""
        return difference(self.figure(metric, first), self.figure(metric, second))

    def pairs(self, *, together: bool = True) -> pd.DataFrame:
        """Return every metric's difference of every pair of groups that are compared.

        Args:
          together: whether intervals hold all pairs of a metric at once, so that one may look for the
            pair that differs; else each by itself.
        """
        import pandas as pd

        found = [*combinations(self.compared, 2)]
        level = at_once(self.evaluation.level, max(len(found), 1)) if together else None
        rows = []
        for metric in self.metrics:
            figures = {group: self.figure(metric, group, level) for group in self.compared}
            for first, second in found:
                apart = difference(figures[first], figures[second])
                names = {"first": " and ".join(first), "second": " and ".join(second)}
                rows.append({"metric": metric, **names, **apart.to_json()})
        columns = ["metric", "first", "second"]
        return pd.DataFrame(rows, columns=None if rows else columns).set_index(columns)

    def difference_of(
        self, metric: str, method: Against = "between_groups", comparisons: int = 1
    ) -> Figure:
        """Return the difference of the two groups that are farthest apart, with its interval.

        Args:
          metric: any of the figures.
          method: between groups, or of a group from all records.
          comparisons: how many such differences are to hold at once.
        """
        pairs, span = self._pairs(metric, method, comparisons), self.span(metric)
        if not pairs:
            middle = span / 2 if span < math.inf else math.nan
            return Figure(middle, 0.0, span, span / 2, 0.0, 0.0, self.evaluation.level)
        return farthest([_absolute(difference(a, b), span) for a, b in pairs], max)

    def ratio_of(self, metric: str, method: Against = "between_groups", comparisons: int = 1) -> Figure:
        """Return the ratio of the least to the greatest group, with its interval; at most one."""
        if not self.has_ratio(metric):
            raise ArgumentError(
                f"metric must be one that is never negative to have a ratio, got {metric!r}. "
                "Ask for its difference."
            )
        pairs = self._pairs(metric, method, comparisons)
        if not pairs:
            return Figure(0.5, 0.0, 1.0, 0.5, 0.0, 0.0, self.evaluation.level)
        return farthest([_at_most_one(ratio(a, b)) for a, b in pairs], min)

    def _pairs(self, metric: str, method: Against, comparisons: int) -> list[tuple[Figure, Figure]]:
        check_choice("method", method, ("between_groups", "to_overall"))
        groups = self.compared
        count = len(groups) * (len(groups) - 1) // 2 if method == "between_groups" else len(groups)
        level = at_once(self.evaluation.level, max(count * comparisons, 1))
        figures = [self.figure(metric, group, level) for group in groups]
        if method == "between_groups":
            return list(combinations(figures, 2))
        whole = self.figure(metric, None, level)
        return [(figure, whole) for figure in figures]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group: its values, their ends, its noisy size, whether it is small."""
        import pandas as pd

        rows = []
        for group in self.groups:
            row: dict[str, Any] = dict(zip(self.evaluation.columns, group, strict=True))
            row["count"] = self.evaluation.size(group).value
            for name in self.metrics:
                row |= ends_of(name, self.figure(name, group))
            rows.append(row | {"small": group not in self.compared})
        return pd.DataFrame(rows).set_index(list(self.evaluation.columns))

    def differences(self) -> pd.DataFrame:
        """Return every metric's difference and ratio between groups with their intervals."""
        import pandas as pd

        rows = []
        for name in self.metrics:
            kinds = {"difference": self.difference_of}
            kinds |= {"ratio": self.ratio_of} if self.has_ratio(name) else {}
            rows += [{"metric": name, "of": kind, **of(name).to_json()} for kind, of in kinds.items()]
        return pd.DataFrame(rows).set_index(["metric", "of"])

    def plot(self, ax: Any = None, *, title: str | None = None, against: Group = None) -> Any:
        """Draw every group's distance from all records, with intervals, one panel of rows a metric.

        Args:
          ax: axes, or None for new ones.
          title: of the picture.
          against: a group that distances are from, instead of all records.
        """
        from discreet.plans.results.pictures.groups import GroupForestDisplay

        named = None if against is None else find_group(self.evaluation.told, against)
        return GroupForestDisplay(self, named).plot(ax, title=title)


def groups_at(evaluation: Grouped, of: str | None) -> tuple[Label, ...]:
    """Return the groups of one level, the finest if left out, or raise a sentence."""
    columns, told = evaluation.columns, evaluation.told
    if not columns:
        raise ArgumentError(
            "by must have been given for figures by group, got an evaluation of all records. "
            "Ask dc.evaluate(model, by=...)."
        )
    if not evaluation.nested:
        if of is not None:
            raise ArgumentError(f"of must be left out for groups that are no levels, got {of!r}.")
        return told
    check_choice("of", columns[-1] if of is None else of, columns)
    depth = len(columns) if of is None else columns.index(of) + 1
    rest = (WHOLE,) * (len(columns) - depth)
    return tuple(group for group in told if group[depth:] == rest and group[depth - 1] != WHOLE)


def ends_of(name: str, figure: Figure) -> dict[str, float]:
    """Return a figure as three columns of a frame."""
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}


def _absolute(figure: Figure, span: float) -> Figure:
    """Return how far two figures are apart, whichever is greater."""
    up = figure if figure.value >= 0 else figure.scaled(-1.0)
    return replace(up, high=max(up.high, -up.low)).within(0.0, span)


def _at_most_one(figure: Figure) -> Figure:
    """Return the ratio of the smaller to the greater of two figures."""
    if figure.value > 1:
        turned = figure.scaled(1 / figure.value**2)
        figure = replace(turned, low=1 / figure.high, high=1 / max(figure.low, 1 / FAR))
    far = min(figure.low, 1 / max(figure.high, 1 / FAR))
    return replace(figure, low=far).within(0.0, 1.0)


def farthest(figures: Sequence[Figure], choose: Callable[..., Any]) -> Figure:
    """Return the greatest (or least) of several figures, whose intervals hold at once."""
    chosen: Figure = choose(figures, key=lambda figure: figure.value)
    low = choose(figure.low for figure in figures)
    high = choose(figure.high for figure in figures)
    return replace(chosen, low=min(low, chosen.value), high=max(high, chosen.value))
