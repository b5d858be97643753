"""From noisy sums to a curve or a surface: free post-processing of what one plan released."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.explain.pdp.grids import quantile_grid
from discreet.explain.pdp.question import CurveQuestion, Form, Grids
from discreet.explain.smoothing import smooth_curve
from discreet.mechanisms import Noise
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.plans import Curve, Histogram, Perturbation, Releaser, Stage
from discreet.plans.expected import Expected
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.result import MissingPoint, Surface
from discreet.plans.stages import NoisyMean, build_histogram, partition
from discreet.schema import MISSING, Category, FloatArray, Number

RUG_BINS = 20


@dataclass(frozen=True)
class DependenceRelease:
    """Builds the result of one prepared plan.

    Args:
      question: the model, the features and their grids.
      form: how curves are summed, and the noise.
      size: counts the records, if their number is private.
      rug: counts the records of every bin, if a rug is wanted.
      private_grids: the stages that choose grids, by feature.
      clip: whether values are kept inside the model's bounds.
      smooth: whether curvature that noise explains is removed.
      quantity: what is drawn.
    """

    question: CurveQuestion
    form: Form
    size: Stage[Noise] | None
    rug: Stage[Noise] | None
    private_grids: dict[str, Stage[QuantileNoise]]
    clip: bool
    smooth: bool
    quantity: str

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """All stages, the curve first."""
        asked = (self.form.stage, self.size, self.rug)
        return (*(stage for stage in asked if stage is not None), *self.private_grids.values())

    @property
    def expected_error(self) -> dict[str, Expected]:
        """How far noise and clipping take a value, beside the curve of public rows."""
        return {"curve": self.question.expect(self.form)}

    def finish(self, releaser: Releaser) -> Curve | Surface:
        """Ask for all stages in one pass over the rows (private grids in one before it)."""
        question, grids, stage = self.question, self.question.grids, self.form.stage
        if self.private_grids:
            grids = self._choose_grids(releaser)
            stage = question.contribution_on(grids, self.form)
            question = replace(question, grids=grids, private=False)
        asked = {"curve": stage, "size": self.size, "rug": self.rug}
        wanted = {name: one for name, one in asked.items() if one is not None}
        answers = dict(zip(wanted, releaser.answer(*wanted.values()), strict=True))
        size, size_noise = None, None
        if self.size is not None:
            size, size_noise = float(answers["size"][0]), self.size.noise
        points = math.prod(map(len, grids))
        mean, wide = (
            question.mean(self.form, answers["curve"], size, size_noise, level)
            for level in (LEVEL, at_once(LEVEL, points))
        )
        if len(grids) == 2:
            return self._surface(grids, mean, wide)
        return self._curve(grids[0], mean, wide, self._histogram(answers.get("rug")))

    def _choose_grids(self, releaser: Releaser) -> Grids:
        cuts = dict(zip(self.private_grids, releaser.answer(*self.private_grids.values()), strict=True))
        return tuple(
            self._quantile_grid(name, cuts[name], grid) if name in cuts else grid
            for name, grid in zip(self.question.features, self.question.grids, strict=True)
        )

    def _quantile_grid(self, name: str, cuts: FloatArray, stand_in: FloatArray) -> FloatArray:
        column, missing = self.question.setting.schema[name], stand_in[stand_in == MISSING]
        assert isinstance(column, Number)
        points = quantile_grid(column, cuts, len(stand_in) - len(missing))
        return np.concatenate([points, missing])

    def _inside(self, values: FloatArray) -> FloatArray:
        bounds = self.question.model.bounds
        return np.clip(values, bounds.low, bounds.high) if self.clip else values

    def _curve(
        self, grid: FloatArray, mean: NoisyMean, wide: NoisyMean, rug: Histogram | None
    ) -> Curve:
        (feature,) = self.question.features
        labels, there = self._labels(feature), grid != MISSING
        values = mean.values[there]
        if self.smooth and labels is None:
            values = smooth_curve(grid[there], values, mean.std)
        return Curve(
            feature=feature,
            x=tuple(grid[there].tolist()),
            labels=labels,
            y=tuple(self._inside(values).tolist()),
            low=tuple(mean.low[there].tolist()),
            high=tuple(mean.high[there].tolist()),
            rug=rug,
            ends_all=(tuple(wide.low[there].tolist()), tuple(wide.high[there].tolist())),
            missing=None if there.all() else self._missing(mean, wide),
            **self._facts(mean),
        )

    def _missing(self, mean: NoisyMean, wide: NoisyMean) -> MissingPoint:
        """Return the last point of a curve, that of missing values."""
        value = float(self._inside(mean.values)[-1])
        ends = float(wide.low[-1]), float(wide.high[-1])
        return MissingPoint(value, float(mean.low[-1]), float(mean.high[-1]), ends)

    def _surface(self, grids: Grids, mean: NoisyMean, wide: NoisyMean) -> Surface:
        first, second = self.question.features
        x, y = grids

        def matrix(flat: FloatArray) -> tuple[tuple[float, ...], ...]:
            return tuple(tuple(row) for row in flat.reshape(len(x), len(y)).tolist())

        return Surface(
            features=(first, second),
            x=tuple(x.tolist()),
            y=tuple(y.tolist()),
            labels=(self._labels(first), self._labels(second)),
            values=matrix(self._inside(mean.values)),
            low=matrix(mean.low),
            high=matrix(mean.high),
            ends_all=(matrix(wide.low), matrix(wide.high)),
            **self._facts(mean),
        )

    def _facts(self, mean: NoisyMean) -> dict[str, Any]:
        clipped = "" if self.form.shape is None else ", shape clipped"
        return {"level": LEVEL, "noise_std": mean.std, "quantity": self.quantity + clipped}

    def _labels(self, feature: str) -> tuple[str, ...] | None:
        column = self.question.setting.schema[feature]
        return column.labels if isinstance(column, Category) else None

    def _histogram(self, counts: FloatArray | None) -> Histogram | None:
        if self.rug is None or counts is None:
            return None
        cells = partition(self.question.setting, self.question.features, RUG_BINS)
        return build_histogram(cells, counts, self.rug.noise, level=LEVEL, clip=True)
