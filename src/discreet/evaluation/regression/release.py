"""How far a regressor is off: clipped sums, a table of residuals and means by feature, in one vector.

Moments come from sums, not from cells: MAE, RMSE, R2 and bias have no binning. The cells of residuals
are public and finer near zero; a ``clip`` makes all of it finer, and shortens what is longer.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import ArgumentError, ModelError
from discreet.evaluation.question import EvaluationQuestion
from discreet.evaluation.regression.figures import GroupSums
from discreet.evaluation.regression.result import RegressionEvaluation
from discreet.evaluation.regression.sums import ErrorSums
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.plans import Program, Releaser, Stage
from discreet.plans.expected import of_mean
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import sum_stage
from discreet.plans.stages.parts import may_lack
from discreet.schema import Bins, FloatArray, Number, Schema

_BINS = 16
_FEATURE_BINS = 10


def prepare_regression(question: EvaluationQuestion) -> Program:
    """Lay out the vector of errors and calibrate its noise."""
    layout = lay_out(question)
    _check_model(layout)
    stage = sum_stage(
        "errors",
        layout.contribution,
        question.setting,
        statement="residual-sums",
        epsilon=question.epsilon,
        delta=question.delta,
        mechanism=question.mechanism,
    )

    def finish(releaser: Releaser) -> RegressionEvaluation:
        return read_release(layout, stage, releaser.answer(stage)[0])

    absolute = float(layout.scales[layout.parts["moments"]][1])

    def band(level: float) -> float:
        return stage.noise.half_width(level) * layout.length / absolute

    error = of_mean(band, public_rows(layout), layout.length, "the greatest error")
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


def _check_model(layout: ErrorSums) -> None:
    """Refuse a model whose answers move so far that noise would have to hide mostly that."""
    contribution, relation = layout.contribution, layout.setting.relation
    assert contribution.calls is not None
    each = contribution.calls.batch_error_together(relation) or 0.0
    paid = contribution.batch_rows(relation, layout.setting.most_rows) * each
    if paid > contribution.certificate.sensitivity("l1", relation):
        raise ModelError(
            "model must answer in double precision to be evaluated, got answers that move with the "
            "rows beside them. Convert it, or ask for one record at a time: "
            "dc.Model(..., isolated=True)."
        )


def public_rows(layout: ErrorSums) -> int | None:
    """Return how many records have a target, if that is public."""
    lacks = may_lack(layout.setting.schema[layout.target])
    return None if lacks else layout.setting.rows


def read_release(layout: ErrorSums, stage: Stage[Noise], noisy: FloatArray) -> RegressionEvaluation:
    """Return the errors that noisy sums tell of."""
    groups = layout.groups
    blocks = noisy.reshape(len(groups), layout.block) / layout.scales
    told = [
        GroupSums(layout, block, stage.noise, 1, None, LEVEL).report(name)
        for block, name in zip(blocks, groups.names, strict=True)
        if groups.columns
    ]
    whole = GroupSums(layout, blocks.sum(axis=0), stage.noise, len(blocks), public_rows(layout), LEVEL)
    cell = float(layout.scales[layout.parts["distribution"]][0])
    return RegressionEvaluation(
        target=layout.target,
        by=groups.columns,
        edges=layout.edges,
        soft=layout.soft,
        overall=whole.report(()),
        groups=tuple(told),
        noise_std=stage.noise.std / cell,
        half_width=stage.noise.half_width(LEVEL) / cell,
        level=LEVEL,
    )
