"""What is evaluated, whatever the kind of target: a model, a target, groups, a promise.

A kind of target (two classes, numbers, many classes) is a module with a function
``prepare(question) -> Program`` and a ``Result``; ``plan.PREPARE`` knows all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.data import VectorContribution
from discreet.errors import ArgumentError, ModelError
from discreet.evaluation.classes.models import ClassModels
from discreet.evaluation.groups import EvaluationGroups, public_rows
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel, Model
from discreet.plans import Setting, Stage
from discreet.plans.stages import sum_stage
from discreet.schema import Category, Schema

TargetKind = Literal["binary", "regression", "classes"]
CutsName = Literal["public", "quantile"]
FocusName = Literal["threshold", "scores"]


@dataclass(frozen=True)
class EvaluationQuestion:
    """An evaluation, made ready for a table's public facts.

    Args:
      setting: of the table.
      model: bound to the schema; ``output`` says what its answers are.
      output: ``probability``, ``margin`` or ``value``.
      target: the column with the truth.
      groups: whose figures are told apart.
      bins: how many bins of scores or residuals; None for as many as suit.
      cuts: where bins come from: public rows, or private quantiles.
      epsilon: the whole budget.
      delta: zero for a pure guarantee.
      mechanism: of the noise.
      clip: the greatest error of a number that is told apart.
      residuals: columns by whose cells mean residuals are told.
      models: the scores of every class, for a classifier of many.
      names: what the classifier calls these.
      one_vs_rest: whether every class's scores are told against the rest.
      focus: whether half of the budget is for the records on either side of the turn.
    """

    setting: Setting
    model: BoundModel
    output: str
    target: str
    groups: EvaluationGroups
    bins: int | None
    cuts: CutsName
    epsilon: float
    delta: float
    mechanism: NoiseName
    clip: float | None = None
    residuals: tuple[str, ...] = ()
    models: tuple[BoundModel, ...] = ()
    names: tuple[Any, ...] = ()
    one_vs_rest: bool = False
    focus: FocusName = "threshold"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read: the model's, the target's, the groups'."""
        return tuple(dict.fromkeys((*self.model.columns, self.target, *self.groups.columns)))

    @property
    def rows(self) -> int | None:
        """How many records are evaluated, None if that is private."""
        return public_rows(self.setting, self.target, self.groups)

    def stage(
        self, name: str, contribution: VectorContribution, *, statement: str, instead: str
    ) -> Stage[Noise]:
        """Return the one stage of an evaluation that asks for a single vector.

        Refuses a model whose answers move so far that noise would have to hide mostly that; ``instead``
        says what else can be asked of it.
        """
        relation, calls = self.setting.relation, contribution.calls
        assert calls is not None
        each = calls.batch_error_together(relation) or 0.0
        paid = contribution.batch_rows(relation, self.setting.most_rows) * each
        if paid > contribution.certificate.sensitivity("l1", relation):
            raise ModelError(
                "model must answer in double precision to be evaluated, got answers that move with "
                f"the rows beside them. Convert it, or {instead}"
            )
        return sum_stage(
            name,
            contribution,
            self.setting,
            statement=statement,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )


def target_of(schema: Schema) -> str:
    """Return the target answers are compared with, or raise a sentence."""
    if schema.target is None:
        raise ArgumentError(
            "schema must name a target that answers are compared with, got none. "
            "Use dc.Schema(columns, target=...)."
        )
    return schema.target


def kind_of(model: Model | ClassModels, schema: Schema) -> TargetKind:
    """Return which kind of evaluation suits a model's output and the schema's target.

    A probability or a margin speaks of one class, against all others; a value of a number, or, where
    the target is a category of two values, it is a score of the second of them.
    """
    column = schema[target_of(schema)]
    if isinstance(model, ClassModels):
        return "classes"
    two = isinstance(column, Category) and len(column.values) == 2
    return "binary" if model.output != "value" or two else "regression"
