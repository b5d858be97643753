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

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np

from discreet.arguments import did_you_mean, shown, some_of
from discreet.errors import ArgumentError
from discreet.explain.ale.question import EffectsQuestion, Promise, ordered_codes
from discreet.explain.ale.release import RUG_BINS, EffectsRelease
from discreet.explain.clipping import Clip
from discreet.explain.features import Each, Features, one_answer
from discreet.mechanisms.additive.registry import asks_for_pure
from discreet.plans import Plan, Program, Setting, share_out
from discreet.plans.held import FittedModel
from discreet.plans.kinds import (
    UNSAID,
    Delta,
    Epsilon,
    NoiseChoice,
    OneOf,
    Positive,
    Switch,
    TextList,
    Whole,
)
from discreet.plans.parts import PartPlan
from discreet.plans.stages import count_stage, partition
from discreet.plans.stages.quantiles import quantile_stage
from discreet.privacy.certificate import Box
from discreet.schema import Category, Column, FloatArray, Schema

_LEAST_LIMIT = 1e-9
_EVENLY = "curve, records spread evenly"
_LIMITS = "Or use limit='auto', or limit=None for the whole range."
_SHARES = {"effects": 0.7, "edges": 0.2, "rug": 0.1}


def _order(name: str, order: Any) -> tuple[Any, ...]:
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise ArgumentError(f"order must be a list of the category's values, got {shown(order)}.")
    # Arrays hold numbers of their own, which the ledger cannot.
    return tuple(value.item() if isinstance(value, np.generic) else value for value in order)


class accumulated_effects(PartPlan):
    """Plan how a model's prediction moves with a feature, accumulated over small steps (ALE).

    Unlike partial dependence it never pairs a record with a value far from its own, so correlated
    features do not distort it. The curve's mean over the records is zero.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      features: the column whose effect is asked for. A list is a plan for each, answered together or
        not at all, every one with an even part of epsilon and delta; ``all`` is every feature of the
        model.
      intervals: the most intervals of a number; one with a step grid of fewer points gets all of them.
      edges: ``quantile`` takes private quantiles, between which there are about as many records,
        for a fifth of epsilon; ``uniform`` takes even ones from the schema.
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
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the least noise on the effects.

    Steps with few records are shrunk to zero (or, smoothed, to their neighbours) by what is known of
    the noise; the band of a step that the noise hides spans all that ``limit`` lets it be.

    Guarantees:
      - A record adds one move within r (``limit``, or the output's range) and one count, so both are
        released as one vector: L1 2 (r + w), L2 2 r for a count's weight w up to r under
        replace-one. [ale]
      - Edges are differentially private, and no bound depends on them. [quantiles] [ale]
    """

    model: FittedModel
    features: Annotated[str | Sequence[str] | Each, Features()]
    _: KW_ONLY
    intervals: Annotated[int, Whole(1, 1_000)] = 20
    edges: Annotated[Literal["quantile", "uniform"], OneOf(("quantile", "uniform"))] = "quantile"
    order: Annotated[Iterable[Any] | None, TextList(by=_order, optional=True)] = None
    rug: Switch = True
    smooth: Switch = False
    clip: Switch = True
    limit: Annotated[Clip, Positive(auto=True, optional=True, hint=_LIMITS)] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("limit", None),)

    @cached_property
    def feature(self) -> str:
        """The column, where one is asked."""
        return one_answer(cast(str | Each, self.features))[0]

    def parts(self, schema: Schema) -> Sequence[Plan]:
        """Return one plan for each feature."""
        if not isinstance(self.features, Each):
            return (self,)
        columns = self.model.bind(schema).columns
        return [self._with(own) for own in self.features.shares(columns, self.promise())]

    def prepare_whole(self, setting: Setting) -> Program:
        """Try the model on public rows, see whether edges must be private, calibrate every stage."""
        name, model = self.feature, self.model.bind(setting.schema)
        if name not in model.columns:
            raise ArgumentError(
                f"features must be ones the model uses ({some_of(model.columns)}), got {name!r}."
                f"{did_you_mean(name, model.columns)}"
            )
        points = self._public_points(setting.schema[self.feature])
        question = EffectsQuestion(self.feature, setting, model, points, self.intervals)
        release = self._release(question)
        return Program(release.stages, release.finish, {_EVENLY: release.expected})

    def _public_points(self, column: Column) -> FloatArray | None:
        """Return the points the curve is drawn at, or None if they must be private quantiles."""
        if isinstance(column, Category):
            order = None if self.order is None else tuple(self.order)
            return np.array(ordered_codes(column, order), dtype=np.float64)
        if self.order is not None:
            raise ArgumentError(
                f"order must be left out for a number, got {self.order!r}. Numbers have their own."
            )
        if self.edges == "uniform" or self.intervals == 1:
            return column.grid(self.intervals + 1)
        steps = column.grid(self.intervals + 2)
        return steps if len(steps) <= self.intervals + 1 else None

    def _release(self, question: EffectsQuestion) -> EffectsRelease:
        private = question.points is None
        names = ["effects", *(["edges"] if private else []), *(["rug"] if private and self.rug else [])]
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
                partition(setting, (self.feature,), RUG_BINS),
                setting,
                epsilon=epsilon["rug"],
                delta=delta["rug"],
                mechanism=self.mechanism,
            )
        promise: Promise = (epsilon["effects"], delta["effects"], self.mechanism)
        _check_limit(self.limit, question.model.bounds)
        limited = question.limited(self.limit, promise)
        expected = limited.expect(limited.stage(*promise).noise)
        if not private or self.limit != "auto":  # else the limit waits for the edges
            question = limited
        stage = question.stage(*promise)
        return EffectsRelease(
            question,
            stage,
            promise,
            edges,
            rug,
            expected,
            limit=self.limit,
            with_rug=self.rug,
            smooth=self.smooth,
            clip=self.clip,
            quantity=f"accumulated effect on {self.model.output}",
        )


def _check_limit(limit: Clip, bounds: Box) -> None:
    """Raise if a limit is so small beside the output's range that no move would be left."""
    least = _LEAST_LIMIT * (bounds.high - bounds.low)
    if limit is not None and limit != "auto" and limit < least:
        raise ArgumentError(
            f"limit must be at least {least:g}, a billionth of the output's range, got {limit!r}. "
            "Or use limit='auto'."
        )
