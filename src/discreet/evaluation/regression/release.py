"""How far a regressor is off: clipped sums, a table of residuals and means by feature, in one vector.

Moments come from sums, not from cells: MAE, RMSE, R2 and bias have no binning. The cells of residuals
are public and finer near zero; a ``clip`` makes all of it finer, and shortens what is longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.errors import ArgumentError
from discreet.evaluation.question import EvaluationQuestion, Label, coarser, public_rows, within
from discreet.evaluation.regression.figures import GroupSums
from discreet.evaluation.regression.result import ErrorReport, RegressionEvaluation
from discreet.evaluation.regression.sums import ErrorSums
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.plans import Program, Releaser, Stage
from discreet.plans.expected import of_mean
from discreet.plans.results.bands import LEVEL, at_once
from discreet.schema import Bins, FloatArray, Number, Schema

_BINS = 16
_FEATURE_BINS = 10


def prepare_regression(question: EvaluationQuestion) -> Program:
    """Lay out the vector of errors and calibrate its noise."""
    layout = lay_out(question)
    stage = question.stage(
        "errors",
        layout.contribution,
        statement="residual-sums",
        instead="ask for one record at a time: dc.Model(..., isolated=True).",
    )

    def finish(releaser: Releaser) -> RegressionEvaluation:
        return read_release(layout, stage, releaser.answer(stage)[0])

    absolute = float(layout.scales[layout.parts["moments"]][1])

    def band(level: float) -> float:
        return stage.noise.half_width(level) * layout.length / absolute

    error = of_mean(
        band,
        public_rows(layout.setting, layout.target, layout.groups),
        layout.length,
        "the greatest error",
    )
    return Program((stage,), finish, {"mean absolute error": error})


def lay_out(question: EvaluationQuestion) -> ErrorSums:
    """Return the vector of errors that a question asks for."""
    schema, model = question.setting.schema, question.model
    column = schema[question.target]
    if not isinstance(column, Number):
        raise ArgumentError(
            f"target must be a number for a model that answers numbers, got the category "
            f"{question.target!r}. Evaluate a classifier, or declare the target as a number."
        )
    # As a residual is computed: rounding keeps order, so none is longer.
    length = up(max(model.bounds.high - column.low, column.high - model.bounds.low, 0.0), 1)
    length = length if question.clip is None else min(length, question.clip)
    half = max(1, (question.bins or _BINS) // 2)
    arm = length * (np.arange(half + 1) / half) ** 2
    edges = (*(-arm[:0:-1]).tolist(), *arm.tolist())
    features = {name: _feature_bins(schema, name) for name in question.residuals}
    return ErrorSums(model, question.setting, length, edges, features, question.groups)


def _feature_bins(schema: Schema, name: str) -> Bins:
    if name not in schema or name == schema.target:
        raise ArgumentError(
            f"residuals must name columns of the schema other than the target, got {name!r}."
        )
    return schema[name].bins(_FEATURE_BINS)


def read_release(layout: ErrorSums, stage: Stage[Noise], noisy: FloatArray) -> RegressionEvaluation:
    """Return the errors that noisy sums tell of."""
    groups = layout.groups
    blocks = noisy.reshape(groups.groups, layout.block) / layout.scales
    labels = groups.labels if groups.grouped else ()
    named = (*(coarser(labels) if groups.nested else ()), *labels)
    joint = at_once(LEVEL, max(len(labels), math.comb(len(labels), 2), 1))

    def told(places: Sequence[int], label: Label, rows: int | None) -> ErrorReport:
        added = blocks[list(places)].sum(axis=0)
        sums = GroupSums(layout, added, stage.noise, len(places), rows, LEVEL)
        report = sums.report(label)
        return replace(report, together=replace(sums, level=joint).errors()) if labels else report

    rows = public_rows(layout.setting, layout.target, groups)
    cell = float(layout.scales[layout.parts["distribution"]][0])
    return RegressionEvaluation(
        target=layout.target,
        by=groups.names,
        edges=layout.edges,
        soft=layout.soft,
        overall=told(range(len(blocks)), (), rows),
        groups=tuple(told(within(labels, label), label, None) for label in named),
        noise_std=stage.noise.std / cell,
        half_width=stage.noise.half_width(LEVEL) / cell,
        level=LEVEL,
        nested=groups.nested,
    )
