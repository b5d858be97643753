"""One question for accumulated effects: the points, who answers for which step, and the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.explain.ale_curve import Layout, even_error
from discreet.explain.ale_steps import category_effects, count_weight, interval_effects, reach
from discreet.explain.shap_clipping import Clip, public_rows
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel
from discreet.parts import sum_stage
from discreet.plans import Setting, Stage
from discreet.schema import Category, Column, FloatArray

_ROOM, _LEAST = 1.25, 0.05
_HARMLESS = 0.01
"""Of the output's range: noise on the curve that is no reason to clip."""

Promise = tuple[float, float, NoiseName]
"""Epsilon, delta and the mechanism of the effects."""


@dataclass(frozen=True)
class Question:
    """What is asked of the model; ``points`` is None as long as the edges are not known.

    ``limit`` is what one record's move over a step is clipped to; the output's range if None.
    """

    feature: str
    setting: Setting
    model: BoundModel
    points: FloatArray | None
    intervals: int
    limit: float | None = None

    @property
    def column(self) -> Column:
        """The public facts about the feature."""
        return self.setting.schema[self.feature]

    @property
    def categories(self) -> int:
        """The number of categories, zero for a number."""
        return len(self.column) if isinstance(self.column, Category) else 0

    @property
    def steps(self) -> int:
        """The greatest possible number of steps."""
        return self.intervals if self.points is None else len(self.points) - 1

    @property
    def reach(self) -> float:
        """How far a record's answer may move over a step."""
        return reach(self.model) if self.limit is None else self.limit

    def weight(self, kind: str) -> float:
        """Return what a record counts for under this law of noise."""
        return count_weight(kind, self.setting.relation, self.reach, self.categories)

    def contribution(self, points: FloatArray, kind: str) -> VectorContribution:
        """Return what one record adds, given the points."""
        weight = self.weight(kind)
        if self.categories:
            codes = points.astype(np.int64)
            return category_effects(self.model, self.feature, codes, weight, self.limit)
        return interval_effects(self.model, self.feature, points, self.steps, weight, self.limit)

    def limited(self, limit: Clip, promise: Promise) -> Question:
        """Return the question with moves clipped: to a number, or to what public facts suggest.

        ``auto`` is a quarter above the longest move of rows drawn from the schema, over these very
        points; a twentieth of the range at the least, in case private rows move where those do not.
        Rows a model was fitted on may move farther than any of these, so that nothing is clipped that
        does not have to be: the limit rises as long as the noise on the curve is harmless.
        """
        if limit is None:
            return self
        whole = reach(self.model)
        if limit != "auto":
            return replace(self, limit=min(limit, whole))
        columns = self.model.columns
        block = Block(0, columns, public_rows(self.setting.schema, columns))
        moves = self.contribution(self._stand_in, "laplace").compute(block)[:, : self.steps]
        longest = float(np.abs(np.nan_to_num(moves)).max())
        least = max(_ROOM * longest, _LEAST * whole)
        return replace(self, limit=min(whole, max(least, self._harmless(promise))))

    def _harmless(self, promise: Promise) -> float:
        """Return the limit at which noise is harmless if records are spread evenly; 0 if n is private.

        Noise is proportional to the limit, because a record's count is weighted with it.
        """
        if self.setting.rows is None:
            return 0.0
        whole = reach(self.model)
        noise = replace(self, limit=None).stage(*promise).noise.std
        error = even_error(self.layout(self._stand_in), noise, self.setting.rows)
        return _HARMLESS * whole / error * whole

    @property
    def _stand_in(self) -> FloatArray:
        """Points, or even ones as long as the edges are not known."""
        return self.column.grid(self.intervals + 1) if self.points is None else self.points

    def layout(self, points: FloatArray) -> Layout:
        """Return how steps, cells and points belong together."""
        return Layout.of_categories(len(points)) if self.categories else Layout.of_intervals(points)

    def cell_names(self, points: FloatArray) -> tuple[str, ...]:
        """Return the names of categories or intervals."""
        if isinstance(self.column, Category):
            return tuple(self.column.labels[int(code)] for code in points)
        names = [f"({a:.12g}, {b:.12g}]" for a, b in pairwise(points.tolist())]
        return (f"[{names[0][1:]}", *names[1:])

    def stage(self, epsilon: float, delta: float, mechanism: NoiseName) -> Stage[Noise]:
        """Return the joint stage of moves and counts, with the less noisy of the laws allowed.

        Edges that are still unknown are stood in for by even ones; no bound depends on them.
        """
        points = self._stand_in
        kinds: list[NoiseName] = [mechanism]
        if mechanism == "auto":
            kinds = ["laplace", "gaussian"] if delta > 0 else ["laplace"]
        found: list[Stage[Noise]] = []
        for kind in kinds:
            contribution = self.contribution(points, kind)
            try:
                stage = sum_stage(
                    "effects",
                    contribution,
                    self.setting,
                    statement="ale",
                    epsilon=epsilon,
                    delta=delta,
                    mechanism=kind,
                )
            except ArgumentError:  # a delta too small for Gaussian noise, where the choice is ours
                if not found:
                    raise
            else:
                found.append(stage)
        return min(found, key=lambda stage: stage.noise.std)


def ordered_codes(column: Category, order: tuple[Any, ...] | None) -> list[int]:
    """Return the codes of a category's values in their order."""
    if len(column) < 2:
        raise ArgumentError("feature must have at least two values, got a category with one.")
    if order is None:
        return list(range(len(column)))
    if len(order) != len(column) or any(value not in order for value in column.values):
        raise ArgumentError(f"order must hold each of {column.values!r} once, got {order!r}.")
    return [column.values.index(value) for value in order]
