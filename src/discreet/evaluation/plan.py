"""How good a model is on the records, and for whom, from one private table.

Everybody's answer and truth fall into one cell of a public table; what is computed from its noisy
counts afterwards is free: curves, areas, metrics at any threshold, calibration, differences of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Literal

from discreet.errors import ArgumentError
from discreet.evaluation.question import CutsName, Grouping, Question, TargetKind, kind_of, target_of
from discreet.plans import Program, Setting
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, OneOf, Whole

MOST_BINS = 200

PREPARE: Mapping[TargetKind, Callable[[Question], Program]] = {}
"""Every kind of target there is, and what makes an evaluation of it ready."""


class evaluate(DeclaredPlan):
    """Plan how good a model is on the records, and for whom.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds; the schema names the target.
      by: one category, or several for every combination of their values: everything is told for all
        records and for every group, at the price of the whole.
      bins: of scores; as many as suit the number of records and epsilon if left out.
      cuts: where bins are cut: ``public`` at scores of rows drawn from the schema and at even steps, or
        ``quantile``: at private quantiles of the records' scores, for a tenth of epsilon.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian`` or ``auto``: the one with less noise.
    """

    model: FittedModel
    _: KW_ONLY
    by: Annotated[str | Sequence[str] | None, Columns(optional=True)] = None
    bins: Annotated[int | None, Whole(2, MOST_BINS, optional=True)] = None
    cuts: Annotated[CutsName, OneOf(("public", "quantile"))] = "public"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[
        Literal["auto", "laplace", "gaussian"], OneOf(("auto", "laplace", "gaussian"))
    ] = "auto"

    def prepare(self, setting: Setting) -> Program:
        """Find the kind of target, bind the model, lay out the table and calibrate its noise."""
        schema = setting.schema
        kind = kind_of(self.model, schema)
        if kind not in PREPARE:
            raise ArgumentError(
                f"model must be one that can be evaluated ({', '.join(PREPARE)}), got {kind}."
            )
        question = Question(
            setting,
            self.model.bind(schema),
            self.model.output,
            target_of(schema),
            Grouping.of(schema, self.by or ()),
            self.bins,
            self.cuts,
            self.epsilon,
            self.delta,
            self.mechanism,
        )
        return PREPARE[kind](question)
