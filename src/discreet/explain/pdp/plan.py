"""Private partial dependence: the mean prediction as one or two features are set to grid points.

One record contributes its own curve of predictions, f(record with feature <- g_1), ..., f(... g_m),
a point of a box as wide as the model's output. The grid comes from the schema or is a private
quantile grid, the row ticks other tools draw are replaced by a private histogram.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): the grid follows the
feature's step, its quantiles or adaptive knots of public rows' curves instead of equal distances,
Gaussian noise in L2 where a delta is given, one release for all grid points on an exact lattice, curves
as level and centred curve, and smoothing that knows the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, cast

from discreet.arguments import did_you_mean, some_of
from discreet.errors import ArgumentError
from discreet.explain.features import Each, Features, Varied, one_answer
from discreet.explain.pdp.contribution import curve_contribution as curve_contribution
from discreet.explain.pdp.grids import grid_stage, public_grid, with_missing
from discreet.explain.pdp.knots import adaptive_knots
from discreet.explain.pdp.question import CentredClip, CurveForm, CurveQuestion
from discreet.explain.pdp.release import RUG_BINS, DependenceRelease
from discreet.mechanisms.additive.registry import asks_for_pure
from discreet.models import BoundModel
from discreet.numerics import check_whole
from discreet.plans import Plan, Program, Setting, share_out
from discreet.plans.held import FittedModel
from discreet.plans.kinds import (
    UNSAID,
    Delta,
    Epsilon,
    Flag,
    NoiseChoice,
    OneOf,
    Positive,
    Switch,
    Values,
)
from discreet.plans.parts import PartPlan
from discreet.plans.stages import count_stage, partition, size_stage
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.schema import FloatArray, Number, Schema

_MOST_POINTS = 10_000
_CURVE_POINTS, _SURFACE_POINTS = 20, 10
_RECORDS_SHOWN = "A curve per record would show the records themselves."
_SHARES = {"curve": 0.8, "size": SIZE_SHARE, "rug": 0.1, "grid": 0.1}


def _resolution(name: str, resolution: Any) -> int | tuple[int, ...]:
    sizes = resolution if isinstance(resolution, tuple | list) else (resolution,)
    for size in sizes:
        check_whole("resolution", size, 2, _MOST_POINTS)
    return int(sizes[0]) if len(sizes) == 1 else tuple(map(int, sizes))


class partial_dependence(PartPlan):
    """Plan how a model's mean prediction moves as features are set to each of their values.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      features: the column to vary, for a ``Curve``; a pair of two for a ``Surface``. A list of columns
        and pairs is a plan for each, answered together or not at all, every one with an even part of
        epsilon and delta; ``all`` is a curve for every feature of the model.
      resolution: number of grid points, 20 by default and 10 along either side of a surface; a
        feature with a ``step`` gets points on it, a category all of its values. The points override
        missing values too; a curve over numbers that may be missing has one more point, for that.
      kind: only ``average``; scikit-learn's ``individual`` and ``both`` show records one by one.
      grid: ``uniform`` takes even points from the schema; ``quantile`` takes private quantiles,
        between which there are about as many records, for a tenth of epsilon each: for columns whose
        values crowd. ``auto`` is uniform, and for ensembles of trees takes adaptive knots: points
        between which lines miss the curves of rows drawn from the schema least, which costs nothing.
      curve: ``whole`` adds records' curves as they are. ``centred`` adds their means, and the curves
        around these, clipped: several times less noise where a feature matters little to most
        records. ``auto`` takes what has less error on public rows, half of what clipping changes being
        measured on rows whose curves are farthest from flat; where n is private it clips none of these.
      shape_clip: how far a record's curve may be from its own mean, on average over the grid and in
        the output's unit; ``auto`` decides on rows drawn from the schema. What is clipped off there
        makes bands wider; records farther from theirs than all of these rows lose more.
      rug: release a private histogram of the feature beside the curve, for a tenth of epsilon; on by
        default, surfaces have none.
      clip: keep the values inside the model's bounds (free).
      smooth: remove curvature that noise explains (free; curves of numeric features).
      epsilon: the whole budget of the plan, rug, grids and number of records included.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many grid points.
      mechanism: ``laplace``, ``gaussian``, ``linf`` (the K-norm mechanism for the L-infinity norm, on
        all points at once), or ``auto``: the least noise.

    Guarantees:
      - Replacing one record moves every point of the curve by at most range / n, so L1 m range / n
        and L2 sqrt(m) range / n over m points, whatever the points. [pdp]
      - Under add-remove the sum and a noisy number of records are released; half the range per
        point. [pdp]
      - Means and clipped centred curves have a joint bound of their own. [pdp-centred]
    """

    model: FittedModel
    features: Annotated[Varied | Sequence[Varied] | Each, Features(pairs=True)]
    _: KW_ONLY
    resolution: Annotated[int | tuple[int, int] | None, Values(by=_resolution, optional=True)] = None
    kind: Annotated[str, OneOf(("average",), hint=_RECORDS_SHOWN, identifies=False)] = "average"
    grid: Annotated[Literal["auto", "uniform", "quantile"], OneOf(("auto", "uniform", "quantile"))] = (
        "auto"
    )
    curve: Annotated[CurveForm, OneOf(("whole", "centred", "auto"))] = "whole"
    shape_clip: Annotated[CentredClip, Positive(auto=True)] = "auto"
    rug: Annotated[bool | None, Flag(optional=True)] = None
    clip: Switch = True
    smooth: Switch = False
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("curve", "whole"),)

    def settle(self) -> dict[str, Any]:
        """Give curves their rug and twice as many points as a surface has along either side."""
        if isinstance(self.features, Each):
            for entry in self.features.entries or ():
                self._with({"features": entry})
            return {}
        single = len(self.varied) == 1
        if not single and (self.rug or self.smooth):
            name = "rug" if self.rug else "smooth"
            raise ArgumentError(
                f"{name} must be left out for two features, got True. "
                "Ask for dc.histogram of both, or for one curve each."
            )
        sizes = self.sizes
        return {
            "resolution": sizes[0] if single else sizes,
            "rug": single if self.rug is None else self.rug,
        }

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """The columns that are varied."""
        return one_answer(cast(Varied | Each, self.features))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of grid points of every feature."""
        count, points = len(self.varied), self.resolution
        if points is None:
            points = _CURVE_POINTS if count == 1 else _SURFACE_POINTS
        sizes = points if isinstance(points, tuple) else (points,) * count
        if len(sizes) != count:
            raise ArgumentError(
                f"resolution must be one number, or one for each of {count} features, got {points!r}."
            )
        if math.prod(sizes) > _MOST_POINTS:
            raise ArgumentError(
                f"resolution must give at most {_MOST_POINTS} points in all, got {points!r}."
            )
        return sizes

    def parts(self, schema: Schema) -> Sequence[Plan]:
        """Return one plan for each curve or surface."""
        if not isinstance(self.features, Each):
            return (self,)
        columns = self.model.bind(schema).columns
        return [self._with(own) for own in self.features.shares(columns, self.promise())]

    def prepare_whole(self, setting: Setting) -> Program:
        """Try the model on public rows, lay out the grid and calibrate every stage."""
        names, model = self.varied, self.model.bind(setting.schema)
        for name in names:
            if name not in model.columns:
                raise ArgumentError(
                    f"features must be ones the model uses ({some_of(model.columns)}), got {name!r}."
                    f"{did_you_mean(name, model.columns)}"
                )
        release = self._release(setting, model)
        return Program(release.stages, release.finish, release.expected_error)

    def _release(self, setting: Setting, model: BoundModel) -> DependenceRelease:
        schema, sizes = setting.schema, dict(zip(self.varied, self.sizes, strict=True))
        known = {name: self._points(model, schema, name, size) for name, size in sizes.items()}
        private = [name for name, grid in known.items() if grid is None]
        epsilons, deltas = self._shares(setting, len(private))
        grids = tuple(schema[n].grid(sizes[n]) if g is None else g for n, g in known.items())
        if len(grids) == 1:
            grids = (with_missing(schema[self.varied[0]], grids[0]),)
        question = CurveQuestion(setting, model, self.varied, grids, bool(private))
        form = question.choose(
            self.curve,
            self.shape_clip,
            epsilon=epsilons["curve"],
            delta=deltas["curve"],
            mechanism=self.mechanism,
        )
        size, rug = None, None
        if "size" in epsilons:
            size = size_stage(self.varied[0], setting, epsilon=epsilons["size"])
        if self.rug:
            cells = partition(setting, self.varied, RUG_BINS)
            law = {"epsilon": epsilons["rug"], "delta": deltas["rug"]}
            rug = count_stage("rug", cells, setting, mechanism=self.mechanism, **law)
        stages = {
            name: grid_stage(name, setting, sizes[name], epsilon=epsilons["grid"], delta=deltas["grid"])
            for name in private
        }
        quantity = f"mean {self.model.output}"
        return DependenceRelease(question, form, size, rug, stages, self.clip, self.smooth, quantity)

    def _points(self, model: BoundModel, schema: Schema, name: str, size: int) -> FloatArray | None:
        column = schema[name]
        if self.grid == "auto" and model.jumps and isinstance(column, Number):
            return adaptive_knots(model, schema, name, column, size)
        return public_grid(column, size, "uniform" if self.grid == "auto" else self.grid)

    def _shares(self, setting: Setting, private: int) -> tuple[dict[str, float], dict[str, float]]:
        """Return what every stage gets of epsilon and of delta; grids get the same each."""
        names = ["curve", *(["size"] if setting.rows is None else []), *(["rug"] if self.rug else [])]
        names += ["grid"] * private
        shares = tuple(_SHARES[name] for name in names)
        epsilons = dict(zip(names, share_out(self.epsilon, shares), strict=True))
        # The number of records is always Laplace, so its share of delta goes to the curve.
        others = [name for name in names if name not in ("curve", "size")]
        weights = [_SHARES[name] for name in others]
        split = share_out(self.delta, (1.0 - sum(weights), *weights))
        deltas = dict(zip(["curve", *others], split, strict=True))
        if asks_for_pure(self.mechanism):  # a pure question has pure grids
            deltas["grid"] = 0.0
        return epsilons, deltas
