"""``compare``: two models on the same records, by their mean losses or their partial dependence."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np

from discreet.errors import ArgumentError
from discreet.explain.compare.difference import (
    ModelDifference,
    clip_bias,
    curve_difference,
    loss_difference,
    scorers_of,
)
from discreet.explain.pdp.grids import with_missing
from discreet.explain.permutation.losses import Scoring
from discreet.models import BoundModel
from discreet.plans import Curve, Program, Releaser, Result, Setting, share_out
from discreet.plans.expected import of_mean
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice, OneOf, Positive, Whole
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.result import MissingPoint
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages import size_stage, sum_stage
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.plans.stages.means import MeanStages, NoisyMean
from discreet.privacy.certificate import Box
from discreet.schema import MISSING, Category, FloatArray

_GREATEST = "the farthest two models can be apart"


class compare(PartPlan):
    """Plan how two models differ on the same records: in their mean loss, or along a feature.

    Args:
      first: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      second: another. At most one of the two may be known by its answers alone; linear models, trees
        and networks are compiled.
      feature: compare partial dependence on this column; if left out, mean losses are compared.
      scoring: the loss, as in ``permutation_importance``: ``brier``, ``log_loss``, ``zero_one`` (one
        minus accuracy), ``squared_error``, ``absolute_error``, or ``auto``.
      resolution: points along a numeric feature.
      clip: how far one record's difference may be from zero; ``auto`` is the length with the least
        error on rows drawn from the schema, whose bias widens the band; None clips nothing.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing a record moves a sum of clipped differences by at most twice the clip in every
        coordinate, adding or removing one by at most the clip. [mean-replace] [sum-addremove]
    """

    first: FittedModel
    second: FittedModel
    _: KW_ONLY
    feature: Annotated[str | None, Column(optional=True)] = None
    scoring: Annotated[Scoring, OneOf(get_args(Scoring))] = "auto"
    resolution: Annotated[int, Whole(2, 1_000)] = 20
    clip: Annotated[float | Literal["auto"] | None, Positive(auto=True, optional=True)] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Bind both models, choose the clip on public rows and calibrate the noise."""
        models = self.first.bind(setting.schema), self.second.bind(setting.schema)
        if self.first.output != self.second.output:
            raise ArgumentError(
                f"second must have the output of first, a {self.first.output}, got a "
                f"{self.second.output}. Say which with dc.Model(..., output=...)."
            )
        grid = self._grid(models, setting)
        asked = self._asked(models, setting, grid)
        seen = asked.on_public_rows(setting.schema)
        length = self._length(asked, seen, setting)
        stages, bias = self._stages(asked, length, setting), clip_bias(seen, length)

        def finish(releaser: Releaser) -> Result:
            answers = releaser.answer(*stages.all)

            def mean(level: float) -> NoisyMean:
                found = stages.divide(answers, setting.rows, Box(-length, length), level)
                return found.moved(np.zeros(asked.size), bias).within(-asked.whole, asked.whole)

            if grid is None:
                return self._statistic(mean(LEVEL), asked, length, bias)
            return self._curve(mean(LEVEL), mean(at_once(LEVEL, asked.size)), grid, setting)

        error = of_mean(stages.sums.noise.half_width, setting.rows, asked.whole, _GREATEST, bias=bias)
        return Program(stages.all, finish, {"difference": error})

    def _asked(
        self, models: tuple[BoundModel, BoundModel], setting: Setting, grid: FloatArray | None
    ) -> ModelDifference:
        if grid is not None:
            assert self.feature is not None
            return curve_difference(*models, setting.schema, self.feature, grid)
        scorers = scorers_of(*models, setting.schema, self.scoring)
        return loss_difference(*models, setting.schema, scorers)

    def _grid(self, models: tuple[BoundModel, BoundModel], setting: Setting) -> FloatArray | None:
        if self.feature is None:
            return None
        for model in models:
            if self.feature not in model.columns:
                raise ArgumentError(
                    f"feature must be one both models use, got {self.feature!r}. "
                    f"One uses {', '.join(model.columns)}."
                )
        column = setting.schema[self.feature]
        return with_missing(column, column.grid(self.resolution))

    def _length(self, asked: ModelDifference, seen: FloatArray, setting: Setting) -> float:
        if self.clip is None:
            return asked.whole
        if self.clip != "auto":
            return min(float(self.clip), asked.whole)
        noise = self._stages(asked, asked.whole, setting).sums.noise.half_width(LEVEL)
        return asked.choose_length(seen, noise, setting.rows)

    def _stages(self, asked: ModelDifference, length: float, setting: Setting) -> MeanStages:
        """Return noisy sums, and a noisy number of records where that is private."""
        private = setting.rows is None
        shares = share_out(self.epsilon, (1 - SIZE_SHARE, SIZE_SHARE) if private else (1.0,))
        sums = sum_stage(
            "differences",
            asked.clipped(length),
            setting,
            statement="mean-replace",
            epsilon=shares[0],
            delta=self.delta,
            mechanism=self.mechanism,
            joint=asked.size > 1,
        )
        size = size_stage(asked.columns[0], setting, epsilon=shares[1]) if private else None
        return MeanStages(sums, size)

    def _statistic(
        self, mean: NoisyMean, asked: ModelDifference, length: float, bias: float
    ) -> Statistic:
        name = "loss" if self.scoring == "auto" else self.scoring
        return Statistic(
            name=f"mean {name} of the first model minus that of the second",
            value=float(mean.values[0]),
            half_width=mean.half_width,
            level=LEVEL,
            noise_std=mean.std,
            unit="loss",
            range=(-asked.whole, asked.whole),
            method="differences",
            why="one sum of differences has less noise than two sums of losses at the same price",
            compared=(),
            ends=(float(mean.low[0]), float(mean.high[0])),
            clip=None if length >= asked.whole else (-length, length),
            bias=bias,
        )

    def _curve(self, mean: NoisyMean, wide: NoisyMean, grid: FloatArray, setting: Setting) -> Curve:
        assert self.feature is not None
        column, there = setting.schema[self.feature], grid != MISSING
        ends = float(wide.low[-1]), float(wide.high[-1])
        last = MissingPoint(float(mean.values[-1]), float(mean.low[-1]), float(mean.high[-1]), ends)
        return Curve(
            feature=self.feature,
            x=tuple(grid[there].tolist()),
            labels=column.labels if isinstance(column, Category) else None,
            y=tuple(mean.values[there].tolist()),
            low=tuple(mean.low[there].tolist()),
            high=tuple(mean.high[there].tolist()),
            level=LEVEL,
            noise_std=mean.std,
            quantity=f"mean {self.first.output}, first minus second",
            rug=None,
            ends_all=(tuple(wide.low[there].tolist()), tuple(wide.high[there].tolist())),
            missing=None if there.all() else last,
        )
