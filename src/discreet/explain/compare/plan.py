"""``compare``: two models on the same records: their mean losses, partial dependence or importances."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from discreet.errors import ArgumentError
from discreet.explain.compare.difference import (
    ModelDifference,
    curve_difference,
    loss_difference,
    scorers_of,
)
from discreet.explain.compare.importances import all_features, shap_difference, two_importances
from discreet.explain.compare.routes import CompareRoute, Method, choose_route
from discreet.explain.pdp.grids import with_missing
from discreet.explain.permutation.losses import Scoring
from discreet.explain.permutation.plan import permutation_importance
from discreet.explain.shap.parts import need_background, read_background
from discreet.models import BoundModel
from discreet.plans import Attribution, Curve, Program, Releaser, Result, Setting, share_out
from discreet.plans.expected import of_mean
from discreet.plans.held import FittedModel, Rows
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice, OneOf, Positive, Whole
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.result import MissingPoint
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages.means import NoisyMean
from discreet.schema import MISSING, Category, FloatArray

Importance = Literal["shap", "permutation"]

_GREATEST = "the farthest two models can be apart"


class compare(PartPlan):
    """Plan how two models differ on the same records: in loss, along a feature, or in importances.

    Args:
      first: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      second: another.
      feature: compare partial dependence on this column; if left out, mean losses are compared.
      importance: compare importances of all features instead: ``shap``, mean absolute SHAP values
        against ``background``, or ``permutation``, as ``permutation_importance`` has them.
      background: for importances: public rows, or a released ``dc.background(...)``.
      scoring: the loss, as in ``permutation_importance``: ``brier``, ``log_loss``, ``zero_one`` (one
        minus accuracy), ``squared_error``, ``absolute_error``, or ``auto``.
      resolution: points along a numeric feature.
      clip: how far one record's difference may be from zero; ``auto`` is the length with the least
        error on rows drawn from the schema, whose bias widens the band; None clips nothing.
      method: ``differences``, one noisy sum of what every record's difference is; ``two releases``, a
        noisy sum of each model; or ``auto``: the narrower band by public facts. Two models that are
        known by their answers alone, and permutation importances, take two; the guarantee says which.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing a record moves a sum of clipped differences by at most twice the clip in every
        coordinate, adding or removing one by at most the clip. [mean-replace] [sum-addremove]
      - Differences of absolute SHAP values move by at most what both models' do. [shap-importance]
    """

    first: FittedModel
    second: FittedModel
    _: KW_ONLY
    feature: Annotated[str | None, Column(optional=True)] = None
    importance: Annotated[Importance | None, OneOf(get_args(Importance), optional=True)] = None
    background: Annotated[Any, Rows(read_background, optional=True)] = None
    scoring: Annotated[Scoring, OneOf(get_args(Scoring))] = "auto"
    resolution: Annotated[int, Whole(2, 1_000)] = 20
    clip: Annotated[float | Literal["auto"] | None, Positive(auto=True, optional=True)] = "auto"
    method: Annotated[Method, OneOf(get_args(Method))] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def settle(self) -> dict[str, Any]:
        """Check what belongs to importances alone."""
        if self.importance is not None and self.feature is not None:
            raise ArgumentError(
                f"feature must be left out of importances, which are of all, got {self.feature!r}."
            )
        if self.background is not None and self.importance is None:
            raise ArgumentError("background must be left out unless importance is asked for, got rows.")
        if self.importance == "shap":
            need_background(self.background)
        if self.importance == "permutation" and self.method == "differences":
            raise ArgumentError(
                "method must be 'two releases' for permutation importances, which mix records, got "
                "'differences'. Or leave it out."
            )
        return {}

    def prepare_whole(self, setting: Setting) -> Program:
        """Bind both models, choose the way and the clip on public rows and calibrate the noise."""
        models = self.first.bind(setting.schema), self.second.bind(setting.schema)
        if self.first.output != self.second.output:
            raise ArgumentError(
                f"second must have the output of first, a {self.first.output}, got a "
                f"{self.second.output}. Say which with dc.Model(..., output=...)."
            )
        if self.importance == "permutation":
            return self._permuted(models, setting)
        grid = self._grid(models, setting)
        asked = self._asked(models, setting, grid)
        if asked.whole < sys.float_info.min:
            raise ArgumentError(
                "second must be a model that may answer otherwise than first, got one of which it is "
                "public that it never does. All differences are zero, and need no release."
            )
        law = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        statement = "mean-replace" if self.importance is None else "shap-importance"
        route, why = choose_route(
            asked, setting, method=self.method, clip=self.clip, statement=statement, law=law
        )

        def finish(releaser: Releaser) -> Result:
            answers = releaser.answer(*route.stages)

            def mean(level: float) -> NoisyMean:
                return route.mean(answers, asked, setting.rows, level)

            if self.importance is not None:
                return _attribution(mean, all_features(*models))
            if grid is None:
                return self._statistic(mean(LEVEL), asked, route, why)
            return self._curve(mean(LEVEL), mean(at_once(LEVEL, asked.size)), grid, setting)

        error = of_mean(route.noise.half_width, setting.rows, asked.whole, _GREATEST, bias=route.bias)
        told = (f"compared by {route.name}: {why}",)
        return Program(route.stages, finish, {"difference": error}, assumptions=told)

    def _permuted(self, models: tuple[BoundModel, BoundModel], setting: Setting) -> Program:
        """Return importances of each model for half of the budget, subtracted."""
        promise = zip(
            share_out(self.epsilon, (1.0, 1.0)), share_out(self.delta, (1.0, 1.0)), strict=True
        )
        parts = [
            permutation_importance(
                model,
                scoring=self.scoring,
                background=self.background,
                clip=None if self.clip == "auto" else self.clip,
                epsilon=epsilon,
                delta=delta,
                mechanism=self.mechanism,
            ).prepare(setting)
            for model, (epsilon, delta) in zip((self.first, self.second), promise, strict=True)
        ]
        program = two_importances(parts, all_features(*models))
        told = ("compared by two releases: permutation importances mix records of a public order",)
        return replace(program, assumptions=(*program.assumptions, *told))

    def _asked(
        self, models: tuple[BoundModel, BoundModel], setting: Setting, grid: FloatArray | None
    ) -> ModelDifference:
        if self.importance is not None:
            return shap_difference(*models, setting.schema, self.background)
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

    def _statistic(
        self, mean: NoisyMean, asked: ModelDifference, route: CompareRoute, why: str
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
            method=route.name,
            why=why,
            compared=(),
            ends=(float(mean.low[0]), float(mean.high[0])),
            clip=None if route.length >= asked.whole else (-route.length, route.length),
            bias=route.bias,
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


def _attribution(mean: Callable[[float], NoisyMean], features: tuple[str, ...]) -> Attribution:
    wide, each = mean(at_once(LEVEL, len(features))), mean(LEVEL)
    return Attribution(
        features=features,
        values=(tuple(each.values.tolist()),),
        base_values=None,
        predictions=None,
        data=None,
        half_width=wide.half_width,
        level=LEVEL,
        noise_std=each.std,
        quantity="mean |SHAP value|, first minus second",
        half_width_each=each.half_width,
    )
