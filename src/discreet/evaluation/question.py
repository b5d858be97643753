"""What is evaluated, whatever the kind of target: a model, a target, groups, a promise.

A kind of target (two classes, numbers, many classes) is a module with a function
``prepare(question) -> Program`` and a ``Result``; ``plan.PREPARE`` knows all of them.

Groups are values of categories, both sides of a condition, or levels. Of levels (wards within
hospitals) the finest is released; a coarser group is the sum of those within it, whose noises add up.
So all levels have the price of the finest, and their counts agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from discreet.arguments import shown
from discreet.data import VectorContribution
from discreet.errors import ArgumentError, ModelError
from discreet.evaluation.classes.models import ClassModels
from discreet.evaluation.figures import Figure
from discreet.mechanisms import Noise, NoiseName
from discreet.models import BoundModel, Model
from discreet.plans import Setting, Stage
from discreet.plans.parts.hierarchy import WHOLE, Tree
from discreet.plans.parts.membership import Membership
from discreet.plans.stages import sum_stage
from discreet.plans.stages.parts import may_lack
from discreet.schema import Category, Condition, Schema

TargetKind = Literal["binary", "regression", "classes"]
CutsName = Literal["public", "quantile"]
FocusName = Literal["threshold", "scores"]

MOST_GROUPS = 200
_FEWEST_RECORDS = 30

Label = tuple[str, ...]
Group = str | Sequence[str] | None
"""A group by its value, or by its values of several columns; all records if left out."""


@dataclass(frozen=True)
class EvaluationGroups(Membership):
    """Which group a record is in: in one, or in none if the condition that makes them is unknown.

    Args:
      above: of levels all of them, coarse ones first, each by itself; ``by`` names the finest alone.
    """

    above: tuple[Membership, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What records are grouped by; of levels all."""
        return tuple(level.by[0] for level in self.above) or super().names

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """What every group is called; of levels with the groups it lies within."""
        if not self.above:
            return super().labels
        parents = Tree.of(self.above).parents
        found = []
        for place in range(self.groups):
            path: list[str] = []
            inside = place
            for depth in range(len(self.above) - 1, -1, -1):
                path.insert(0, self.above[depth].axes[0].labels[inside])
                inside = parents[depth - 1][inside] if depth else 0
            found.append(tuple(path))
        return tuple(found)

    @property
    def nested(self) -> bool:
        """Whether groups are levels, each within the one before."""
        return bool(self.above)

    @property
    def may_leave_out(self) -> bool:
        """Whether a record may be in no group: where the condition speaks of what may be missing."""
        asked = () if self.split is None else self.split.columns
        return any(may_lack(self.schema[name]) for name in asked)


def groups_of(schema: Schema, by: Sequence[str] | Condition | None) -> EvaluationGroups:
    """Return whose figures are told apart, or raise a sentence.

    Missing and unlisted values are groups of their own; of a condition that is unknown a record is in
    neither group.
    """
    if isinstance(by, Condition):
        return _sides(schema, by)
    names = tuple(by or ())
    fit = [n for n in schema.features if isinstance(schema[n], Category)]
    fit += [name for name, level in schema.levels.items() if level.of != schema.target]
    for name in names:
        if name not in fit:
            raise ArgumentError(
                f"by must name categories of the schema other than the target, or levels of such "
                f"({', '.join(fit) or 'there are none'}), or be a condition such as 'age >= 40', "
                f"got {name!r}."
            )
    levels = Membership(schema, None, names).levels()
    finest = levels[-1].by if levels else names
    member = EvaluationGroups(schema, None, finest, above=levels)
    if member.groups > MOST_GROUPS:
        raise ArgumentError(
            f"by must make at most {MOST_GROUPS} groups, got {member.groups}. Name fewer columns."
        )
    return member


def _sides(schema: Schema, condition: Condition) -> EvaluationGroups:
    groups = EvaluationGroups(schema, None, split=condition)
    groups.check()
    if schema.target in condition.columns:
        raise ArgumentError(
            f"by must be a condition on columns other than the target, got one on {schema.target!r}. "
            "Ask for such a part with where=."
        )
    return groups


def public_rows(setting: Setting, target: str, groups: Membership) -> int | None:
    """Return how many records are evaluated, if that is public: none may be left out."""
    left_out = isinstance(groups, EvaluationGroups) and groups.may_leave_out
    return None if left_out or may_lack(setting.schema[target]) else setting.rows


def coarser(groups: Sequence[Label]) -> tuple[Label, ...]:
    """Return the groups above the finest ones, coarse levels first, each once.

    >>> coarser([("north", "a"), ("north", "b"), ("south", "c")])
    (('north', '(all)'), ('south', '(all)'))
    """
    depth = len(groups[0]) if groups else 0
    found = [(*g[:cut], *[WHOLE] * (depth - cut)) for cut in range(1, depth) for g in groups]
    return tuple(dict.fromkeys(found))


def within(groups: Sequence[Label], group: Label) -> list[int]:
    """Return the places of the finest groups that a group consists of."""
    pairs = [[*zip(own, group, strict=True)] for own in groups]
    return [place for place, pair in enumerate(pairs) if all(b in (a, WHOLE) for a, b in pair)]


def find_group(told: Sequence[Label], group: Any) -> Label:
    """Return a group by its values, or raise a sentence; of levels the finer ones may be left out."""
    named = (group,) if isinstance(group, str) else tuple(group or ())
    width = len(told[0]) if told else 0
    for label in (named, (*named, *[WHOLE] * (width - len(named)))):
        if label in told:
            return label
    known = ", ".join(" and ".join(names) for names in told[:12]) or "none"
    raise ArgumentError(f"group must be one of the groups ({known}), got {shown(group)}.")


def is_small(size: Figure) -> bool:
    """Return whether so few records, by their noisy number, say little."""
    return size.value < max(_FEWEST_RECORDS, 2 * size.noise)


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
