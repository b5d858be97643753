"""One answer for every group of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plain import conform
from discreet.plans.results.result import Drawing, Result
from discreet.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

_FEW = 2.0
"""A group is small if it may be, within its band, less than so many half widths."""


@dataclass(frozen=True)
class Groups(Result):
    """The answer for every combination of values of some columns.

    Attributes:
      columns: the columns that records were grouped by.
      labels: the values of every group, one for each column.
      results: the answer for every group.
      sizes: noisy numbers of records, where the question counted them or its answers tell; else None.
      size_half_width: a size is within this of the true one with probability ``level``.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    results: tuple[Result, ...]
    sizes: tuple[float, ...] | None
    size_half_width: float | None

    level: ClassVar[float] = 0.95

    def __getitem__(self, group: str | tuple[str, ...]) -> Result:
        return self.results[self._place(group)]

    def _place(self, group: str | tuple[str, ...]) -> int:
        named = (group,) if isinstance(group, str) else tuple(group)
        if named not in self.labels:
            raise ArgumentError(
                f"group must be one of {', '.join(map(self.name, self.labels))}, got {shown(group)}."
            )
        return self.labels.index(named)

    def __iter__(self) -> Iterator[tuple[str, Result]]:
        return iter(self.groups.items())

    def __len__(self) -> int:
        return len(self.results)

    @property
    def groups(self) -> dict[str, Result]:
        """The answer for every group by its name."""
        return {self.name(label): one for label, one in zip(self.labels, self.results, strict=True)}

    @staticmethod
    def name(label: tuple[str, ...]) -> str:
        """Return what a group is called."""
        return ", ".join(label)

    @property
    def small(self) -> tuple[str, ...]:
        """Groups that may have so few records that noise drowns them, by their released sizes."""
        if self.sizes is None or self.size_half_width is None:
            return ()
        few = np.asarray(self.sizes) < (1 + _FEW) * self.size_half_width
        return tuple(
            self.name(label) for label, is_small in zip(self.labels, few, strict=True) if is_small
        )

    @property
    def extent(self) -> str:
        """The number of groups."""
        return f"{len(self.results):,} groups"

    def dressed(self, schema: Schema) -> Groups:
        """Return every answer with what a schema says for people."""
        return replace(self, results=tuple(result.dressed(schema) for result in self.results))

    def fits_together(self) -> bool:
        """Return whether every group has a name, an answer and a size."""
        named = all(len(label) == len(self.columns) for label in self.labels)
        counted = self.sizes is None or len(self.sizes) == len(self.results)
        return named and counted and len(self.labels) == len(self.results) > 0

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data, every answer with its kind."""
        sizes = None if self.sizes is None else list(self.sizes)
        return {
            "type": self.type_name,
            "columns": list(self.columns),
            "labels": [list(label) for label in self.labels],
            "results": [result.to_json() for result in self.results],
            "sizes": sizes,
            "size_half_width": self.size_half_width,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Groups:
        """Build the result and every answer from plain data."""
        return cls(
            conform(plain["columns"], tuple[str, ...], "columns"),
            conform(plain["labels"], tuple[tuple[str, ...], ...], "labels"),
            tuple(Result.read(one) for one in plain["results"]),
            conform(plain["sizes"], tuple[float, ...] | None, "sizes"),
            conform(plain["size_half_width"], float | None, "size_half_width"),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the frames of all answers, stacked, with the group's values as the first columns."""
        import pandas as pd

        frames = []
        for place, (label, result) in enumerate(zip(self.labels, self.results, strict=True)):
            frame = result.to_frame()
            for column, value in reversed([*zip(self.columns, label, strict=True)]):
                called = column if column not in frame else f"{column} (group)"
                frame.insert(0, called, value)
            if self.sizes is not None:
                frame["group_size"] = self.sizes[place]
                frame["small"] = self.name(label) in self.small
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def difference(self, first: str | tuple[str, ...], second: str | tuple[str, ...]) -> pd.DataFrame:
        """Return the difference between the answers of two groups, the first minus the second: free.

        Intervals are recovered from those of both groups, whose noises are independent: the squares of
        their half widths add (Zou and Donner 2008). They hold about as often as those do.
        """
        if self._place(first) == self._place(second):
            raise ArgumentError(f"second must be another group than first, got {shown(second)} twice.")
        one, other = self[first].to_frame(), self[second].to_frame()
        name = _number_in(one)
        if name is None or len(one) != len(other):
            raise ArgumentError(
                "groups must be compared by numbers with intervals, got answers without. "
                "Compare their frames."
            )
        apart = one[name] - other[name]
        down = np.hypot(one[name] - one["low"], other["high"] - other[name])
        up = np.hypot(one["high"] - one[name], other[name] - other["low"])
        told = one.drop(columns=[name, "low", "high"])
        return told.assign(difference=apart, low=apart - down, high=apart + up)

    def pairs(self) -> pd.DataFrame:
        """Return the differences of all pairs of large groups, which intervals hold one by one."""
        import pandas as pd

        large = [label for label in self.labels if self.name(label) not in self.small]
        frames = []
        for first, second in combinations(large, 2):
            found = self.difference(first, second)
            found.insert(0, "first group", self.name(first))
            found.insert(1, "second group", self.name(second))
            frames.append(found)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def views(
        self, *, threshold: float | None = None, group: str | Sequence[str] | None = None
    ) -> dict[str, Callable[[], pd.DataFrame]]:
        """Return every table by name: of all groups or one, and how far groups are apart."""
        if threshold is not None:
            raise ArgumentError(
                f"threshold must be left out of an answer without, got {shown(threshold)}."
            )
        if group is not None:
            return {"plain": self[group if isinstance(group, str) else tuple(group)].to_frame}
        compared = _number_in(self.results[0].to_frame()) is not None
        return {"plain": self.to_frame, **({"pairs": self.pairs} if compared else {})}

    def drawings(self, group: str | Sequence[str] | None = None) -> dict[str, Drawing]:
        """Return the picture of all groups, or of one."""
        return {
            "plain": self if group is None else self[group if isinstance(group, str) else tuple(group)]
        }

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw one number per group with its band, or a small picture for every group."""
        from discreet.plans.results.pictures.groups import SideBySideDisplay

        return SideBySideDisplay(self).plot(ax, title=title)


def _number_in(frame: pd.DataFrame) -> str | None:
    """Return the column of an answer's numbers that have intervals, if there is one."""
    name = next((name for name in ("value", "count") if name in frame), None)
    return name if {"low", "high"} <= set(frame) else None
