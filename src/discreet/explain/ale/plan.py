"""Private accumulated local effects (ALE): how a model moves with a feature, step by step.

Every record is moved only across its own interval, so that no row is made up that the data would
not have. Three releases: interval edges by private quantiles; in one vector the sum of the moves
and the number of records of every interval; a private histogram where others draw the rows.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): sums are divided by noisy
counts of the same release instead of a public ideal count, shrunk by what is known of the noise (a
category with few records cannot explode), and centred with the counts; edges need no jitter; a
category's step is answered by both its neighbours, as in Apley and Zhu (2020).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arguments import check_flag, shown
from discreet.errors import ArgumentError
from discreet.explain.ale.curve import NoisySteps, accumulate
from discreet.explain.ale.question import Promise, Question, ordered_codes
from discreet.explain.clipping import Clip
from discreet.mechanisms import Noise, NoiseName
from discreet.mechanisms.additive.registry import asks_for_pure
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.models import Model, as_model
from discreet.numerics import check_choice, check_positive_or_auto, check_whole
from discreet.plans import (
    Curve,
    Histogram,
    Perturbation,
    Plan,
    Program,
    Releaser,
    Setting,
    Stage,
    share_out,
)
from discreet.plans.expected import Expected
from discreet.plans.results.bands import at_once
from discreet.plans.stages import NoisyMean, build_histogram, count_stage, partition
from discreet.plans.stages.quantiles import quantile_stage
from discreet.privacy.certificate import Box
from discreet.schema import Category, Column, FloatArray

_LEVEL = 0.95
_RUG_BINS = 20
_LEAST_LIMIT = 1e-9
_EVENLY = "curve, records spread evenly"
_SHARES = {"effects": 0.7, "edges": 0.2, "rug": 0.1}


class AccumulatedEffectsPlan(Plan):
    """See ``accumulated_effects``."""

    kind = "accumulated_effects"
    clips = (("limit", None),)

    def __init__(
        self,
        model: Model,
        feature: str,
        intervals: int,
        edges: str,
        order: Iterable[Any] | None,
        rug: bool,
        smooth: bool,
        clip: bool,
        limit: Clip,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_flag(rug=rug, smooth=smooth, clip=clip)
        check_whole("intervals", intervals, 1, 1_000)
        check_choice("edges", edges, ("quantile", "uniform"))
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        self.model, self.feature, self.intervals, self.edges = model, feature, intervals, edges
        self.order = None if order is None else tuple(_plain(value) for value in order)
        if limit is not None:
            check_positive_or_auto(
                "limit", limit, "Or use limit='auto', or limit=None for the whole range."
            )
        self.rug, self.smooth, self.clip, self.mechanism = rug, smooth, clip, mechanism
        self.limit: Clip = limit

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "model": self.model.describe(),
            "feature": self.feature,
            "intervals": self.intervals,
            "edges": self.edges,
            "order": None if self.order is None else list(self.order),
            "rug": self.rug,
            "smooth": self.smooth,
            "clip": self.clip,
            "limit": self.limit,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the model on public rows, see whether edges must be bought, calibrate every stage."""
        model = self.model.bind(setting.schema)
        if self.feature not in model.columns:
            raise ArgumentError(
                f"feature must be one the model uses ({', '.join(model.columns)}), "
                f"got {self.feature!r}."
            )
        points = self._public_points(setting.schema[self.feature])
        question = Question(self.feature, setting, model, points, self.intervals)
        release = self._release(question)
        stages = [s for s in (release.effects, release.edges, release.rug) if s is not None]
        return Program(tuple(stages), release.finish, {_EVENLY: release.expected})

    def _public_points(self, column: Column) -> FloatArray | None:
        """Return the points the curve is drawn at, or None if they have to be bought."""
        if isinstance(column, Category):
            return np.array(ordered_codes(column, self.order), dtype=np.float64)
        if self.order is not None:
            raise ArgumentError(
                f"order must be left out for a number, got {self.order!r}. Numbers have their own."
            )
        if self.edges == "uniform" or self.intervals == 1:
            return column.grid(self.intervals + 1)
        ladder = column.grid(self.intervals + 2)
        return ladder if len(ladder) <= self.intervals + 1 else None

    def _release(self, question: Question) -> _EffectsRelease:
        buys = question.points is None
        names = ["effects", *(["edges"] if buys else []), *(["rug"] if buys and self.rug else [])]
        weights = tuple(_SHARES[name] for name in names)
        epsilon = dict(zip(names, share_out(self.epsilon, weights), strict=True))
        delta = dict(zip(names, share_out(self.delta, weights), strict=True))
        setting, edges, rug = question.setting, None, None
        if "edges" in names:
            edges = quantile_stage(
                "edges",
                self.feature,
                setting,
                parts=self.intervals,
                epsilon=epsilon["edges"],
                delta=0.0 if asks_for_pure(self.mechanism) else delta["edges"],
            )
        if "rug" in names:
            rug = count_stage(
                "rug",
                partition(setting, (self.feature,), _RUG_BINS),
                setting,
                epsilon=epsilon["rug"],
                delta=delta["rug"],
                mechanism=self.mechanism,
            )
        promise: Promise = (epsilon["effects"], delta["effects"], self.mechanism)
        _check_limit(self.limit, question.model.bounds)
        limited = question.limited(self.limit, promise)
        expected = limited.expect(limited.stage(*promise).noise)
        if not buys or self.limit != "auto":  # else the limit waits for the edges
            question = limited
        stage = question.stage(*promise)
        return _EffectsRelease(self, question, stage, promise, edges, rug, expected)


@dataclass(frozen=True)
class _EffectsRelease:
    """Builds the curve from the noisy answers of one prepared plan."""

    plan: AccumulatedEffectsPlan
    question: Question
    effects: Stage[Noise]
    promise: Promise
    edges: Stage[QuantileNoise] | None
    rug: Stage[Noise] | None
    expected: Expected

    def finish(self, releaser: Releaser) -> Curve:
        """Ask for edges and rug, then for the effects between these edges; divide and accumulate."""
        early: list[Stage[Perturbation]] = [s for s in (self.edges, self.rug) if s is not None]
        answers = releaser.answer(*early) if early else []
        question, stage, points, counts = self.question, self.effects, self.question.points, None
        if points is None:
            ends = question.column.grid(2)
            points = np.unique(np.concatenate([ends, answers[0]]))
            # The edges are public now: moves between them are clipped where public rows say, and the
            # stage keeps its promise, with no more noise than it has stated.
            # The law stays the one that was priced: another would spend a delta nobody reserved.
            promise = (*self.promise[:2], stage.noise.name)
            question = replace(question, points=points).limited(self.plan.limit, promise)
            stage = question.stage(*promise)
            counts = answers[1] if self.rug is not None else None
        noisy = _steps(question, stage.noise, releaser.answer(stage)[0])
        layout, smooth = question.layout(points), self.plan.smooth and not question.categories
        curve, wide = (
            accumulate(noisy, layout, level=level, smooth=smooth, clip=self.plan.clip)
            for level in (_LEVEL, at_once(_LEVEL, len(points)))
        )
        return self._curve(points, curve, wide, self._histogram(points, noisy, counts))

    def _histogram(
        self, points: FloatArray, noisy: NoisySteps, counts: FloatArray | None
    ) -> Histogram | None:
        """Return the bought histogram, or, where cells are public, the counts at hand."""
        if not self.plan.rug:
            return None
        if self.rug is not None:
            assert counts is not None
            cells = partition(self.question.setting, (self.plan.feature,), _RUG_BINS)
            return build_histogram(cells, counts, self.rug.noise, level=_LEVEL, clip=True)
        return Histogram(
            columns=(self.plan.feature,),
            labels=(self.question.cell_names(points),),
            edges=(None if self.question.categories else tuple(points.tolist()),),
            counts=tuple(np.maximum(noisy.counts, 0.0).tolist()),
            noise_std=noisy.count_std,
            half_width=noisy.noise.half_width(_LEVEL) / noisy.weight,
            level=_LEVEL,
            half_width_all=noisy.noise.half_width(at_once(_LEVEL, len(noisy.counts))) / noisy.weight,
        )

    def _curve(
        self, points: FloatArray, curve: NoisyMean, wide: NoisyMean, rug: Histogram | None
    ) -> Curve:
        return Curve(
            feature=self.plan.feature,
            x=tuple(points.tolist()),
            labels=self.question.cell_names(points) if self.question.categories else None,
            y=tuple(curve.values.tolist()),
            low=tuple(curve.low.tolist()),
            high=tuple(curve.high.tolist()),
            level=_LEVEL,
            noise_std=curve.std,
            quantity=f"accumulated effect on {self.plan.model.output}",
            rug=rug,
            ends_all=wide.ends,
        )


def _plain(value: Any) -> Any:
    """Return a value that can be written into the ledger: arrays hold numbers of their own."""
    return value.item() if isinstance(value, np.generic) else value


def _steps(question: Question, noise: Noise, answer: FloatArray) -> NoisySteps:
    """Take the vector apart: sums of moves, and weighted counts."""
    weight = question.weight(noise.norm)
    return NoisySteps(
        sums=answer[: question.steps],
        counts=answer[question.steps :] / weight,
        noise=noise,
        weight=weight,
        reach=question.reach,
    )


def _check_limit(limit: Clip, bounds: Box) -> None:
    """Raise if a limit is so small beside the output's range that no move would be left."""
    least = _LEAST_LIMIT * (bounds.high - bounds.low)
    if limit is not None and limit != "auto" and limit < least:
        raise ArgumentError(
            f"limit must be at least {least:g}, a billionth of the output's range, got {limit!r}. "
            "Or use limit='auto'."
        )


def accumulated_effects(
    model: Any,
    feature: str,
    *,
    intervals: int = 20,
    edges: str = "quantile",
    order: Iterable[Any] | None = None,
    rug: bool = True,
    smooth: bool = False,
    clip: bool = True,
    limit: Clip = "auto",
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> AccumulatedEffectsPlan:
    """Plan how a model's prediction moves with a feature, accumulated over small steps (ALE).

    Unlike partial dependence it never pairs a record with a value far from its own, so correlated
    features do not distort it. The curve's mean over the records is zero.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      feature: the column whose effect is asked for.
      intervals: the most intervals of a number; one with a ``step`` and fewer rungs gets all rungs.
      edges: ``quantile`` buys edges between which there are about as many records, for a fifth of
        epsilon; ``uniform`` takes even ones from the schema.
      order: the order of a category's values; the schema's if not given. Steps lead from each value
        to the next, so neighbours should be alike.
      rug: show a private histogram of the feature, for a tenth of epsilon beside quantile edges; in
        all other cases the counts of the intervals or categories serve, at no cost.
      smooth: let intervals borrow from their neighbours what noise hides (free; numbers).
      clip: keep every step inside what one record may move by (free).
      limit: bound on how far one record's prediction may move over a step: less noise for a bias where
        records exceed it. ``auto`` takes a quarter more than rows drawn from the schema need, and up to
        twice as much as long as the noise stays below a hundredth of their curve; None the range.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta edges are cheaper, and Gaussian noise is allowed.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise on the effects.

    Steps with few records are shrunk to zero (or, smoothed, to their neighbours) by what is known of
    the noise; the band of a step that the noise hides spans all that ``limit`` lets it be.

    Guarantees:
      - A record adds one move within r (``limit``, or the output's range) and one count, so both are
        released as one vector: L1 2 (r + w), L2 2 r for a count's weight w up to r under
        replace-one. [ale]
      - Edges are differentially private, and no bound depends on them. [quantiles] [ale]
    """
    if not isinstance(feature, str):
        raise ArgumentError(f"feature must be the name of one column, got {feature!r}.")
    if isinstance(order, str) or not isinstance(order, Iterable | None):
        raise ArgumentError(f"order must be a list of the category's values, got {shown(order)}.")
    return AccumulatedEffectsPlan(
        as_model(model),
        feature,
        intervals,
        edges,
        order,
        rug,
        smooth,
        clip,
        limit,
        epsilon,
        delta,
        mechanism,
    )
