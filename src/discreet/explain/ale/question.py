"""One question for accumulated effects: the points, who answers for which step, and the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.errors import ArgumentError
from discreet.explain.ale.contribution import (
    category_effects,
    count_weight,
    interval_effects,
    output_range,
)
from discreet.explain.clipping import Clip, curve_size, public_rows
from discreet.mechanisms import NOISES, Noise, NoiseName
from discreet.mechanisms.additive.registry import laws_for
from discreet.models import BoundModel
from discreet.plans import Setting, Stage
from discreet.plans.expected import Expected, of_mean
from discreet.plans.stages import sum_stage
from discreet.privacy.certificate import Norm
from discreet.schema import Category, Column, FloatArray

_ROOM, _PLENTY, _LEAST = 1.25, 2.0, 0.05
_HARMLESS = 0.01
"""Of the size of the curve of public rows: noise that is no reason to clip."""

Promise = tuple[float, float, NoiseName]
"""Epsilon, delta and the mechanism of the effects."""


@dataclass(frozen=True)
class Layout:
    """How steps, cells and points of a feature belong together.

    Attributes:
      widths: the length of every step, as a share of the feature's range.
      answering: steps x cells; one where a cell's records answer for a step.
      level: cells x points; where on the curve a cell's records are, for centring.
    """

    widths: FloatArray
    answering: FloatArray
    level: FloatArray

    @classmethod
    def of_intervals(cls, edges: FloatArray) -> Layout:
        """Return the layout of intervals: a record is in the middle of its own."""
        steps = len(edges) - 1
        middle = np.eye(steps, steps + 1) / 2 + np.eye(steps, steps + 1, 1) / 2
        return cls(np.diff(edges) / (edges[-1] - edges[0]), np.eye(steps), middle)

    @classmethod
    def of_categories(cls, count: int) -> Layout:
        """Return the layout of categories: both neighbours answer for a step."""
        both = np.eye(count - 1, count) + np.eye(count - 1, count, 1)
        return cls(np.full(count - 1, 1.0 / (count - 1)), both, np.eye(count))

    @property
    def sums_up(self) -> FloatArray:
        """Points x steps: one where a step comes before a point."""
        points = len(self.widths) + 1
        return np.tril(np.ones((points, points - 1)), -1)

    def centred(self, shares: FloatArray) -> FloatArray:
        """Points x steps: from moves to the curve whose mean over cells with these shares is zero."""
        up_to = self.sums_up
        return up_to - (shares @ self.level @ up_to)[None, :]


@dataclass(frozen=True)
class EffectsQuestion:
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
        return len(self.column.values) if isinstance(self.column, Category) else 0

    @property
    def steps(self) -> int:
        """The greatest possible number of steps."""
        return self.intervals if self.points is None else len(self.points) - 1

    @property
    def radius(self) -> float:
        """How far a record's answer may move over a step."""
        return output_range(self.model) if self.limit is None else self.limit

    def weight(self, norm: Norm) -> float:
        """Return what a record counts for under noise that is calibrated in this norm."""
        return count_weight(norm, self.setting.relation, self.radius, self.categories)

    def contribution(self, points: FloatArray, norm: Norm) -> VectorContribution:
        """Return what one record adds, given the points."""
        weight = self.weight(norm)
        if self.categories:
            codes = points.astype(np.int64)
            return category_effects(self.model, self.feature, codes, weight, self.limit)
        return interval_effects(self.model, self.feature, points, self.steps, weight, self.limit)

    def limited(self, limit: Clip, promise: Promise) -> EffectsQuestion:
        """Return the question with moves clipped: to a number, or to what public facts suggest.

        ``auto`` is a quarter above the longest move of rows drawn from the schema, over these very
        points; a twentieth of the range at the least, in case private rows move where those do not.
        Rows a model was fitted on may move farther than any of these, so that the limit rises as long
        as the noise is harmless to a curve of the size that public rows have: up to twice their longest
        move, beyond which hardly a record goes.
        """
        if limit is None:
            return self
        whole = output_range(self.model)
        if limit != "auto":
            return replace(self, limit=min(limit, whole))
        longest = float(np.abs(self._public_effects[:, : self.steps]).max())
        least, most = (max(room * longest, _LEAST * whole) for room in (_ROOM, _PLENTY))
        return replace(self, limit=min(whole, max(least, min(most, self._harmless(promise)))))

    def _harmless(self, promise: Promise) -> float:
        """Return the limit at which noise is harmless if records are spread evenly; 0 if n is private.

        Noise is proportional to the limit, because a record's count is weighted with it.
        """
        if self.setting.rows is None:
            return 0.0
        whole = replace(self, limit=None)
        error = self._even_band(whole.stage(*promise).noise.std) / self.setting.rows
        return _HARMLESS * self.size[0] / error * whole.radius

    @property
    def size(self) -> tuple[float, str]:
        """The size of the curve that public rows have, and its name."""
        return curve_size(self._public_curve(math.inf), output_range(self.model))

    def expect(self, noise: Noise) -> Expected:
        """Return how far the curve is off, records spread evenly, beside that of public rows."""
        size, of = self.size
        lost = self._public_curve(math.inf) - self._public_curve(self.radius)

        def band(level: float) -> float:
            return self._even_band(noise.half_width_of_sums(level))

        bias = float(np.abs(lost).max())
        return of_mean(band, self.setting.rows, size, of, bias=bias)

    def _even_band(self, noise: float) -> float:
        """Return noise on a curve, times the number of records, if all cells hold as many of them."""
        return even_error(self.layout(self._stand_in), noise)

    def _public_curve(self, limit: float) -> FloatArray:
        """Return the curve of public rows, with moves clipped."""
        layout, effects = self.layout(self._stand_in), self._public_effects
        sums = np.clip(effects[:, : self.steps], -limit, limit).sum(axis=0)
        counts = layout.answering @ np.count_nonzero(effects[:, self.steps :], axis=0)
        cells = layout.level.shape[0]
        return np.asarray(layout.centred(np.full(cells, 1.0 / cells)) @ (sums / np.maximum(1, counts)))

    @cached_property
    def _public_effects(self) -> FloatArray:
        """What every public row would add, not clipped: moves, then counts."""
        columns = self.model.columns
        block = Block(0, columns, public_rows(self.setting.schema, columns))
        whole = replace(self, limit=None).contribution(self._stand_in, "l1")
        with quietly(self.model.pulse is not None):
            return np.nan_to_num(whole.compute(block))

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
        found: list[Stage[Noise]] = []
        for kind in laws_for(mechanism, delta):
            contribution = self.contribution(points, NOISES[kind].norm)
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


def even_error(layout: Layout, noise: float) -> float:
    """Return the greatest noise on a point, times n, if all cells held as many records; for prices."""
    cells = layout.level.shape[0]
    shares = np.full(cells, 1.0 / cells)
    weights = layout.centred(shares) / (layout.answering @ shares)
    return float(noise * np.linalg.norm(weights, axis=1).max())


def ordered_codes(column: Category, order: tuple[Any, ...] | None) -> list[int]:
    """Return the codes of a category's values in their order."""
    if len(column.values) < 2:
        raise ArgumentError("feature must have at least two values, got a category with one.")
    if order is None:
        return list(range(len(column.values)))
    if len(order) != len(column.values) or any(value not in order for value in column.values):
        raise ArgumentError(f"order must hold each of {column.values!r} once, got {order!r}.")
    return [column.values.index(value) for value in order]
