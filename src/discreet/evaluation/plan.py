"""How good a model is on the records, and for whom, from one private table.

Everybody's answer and truth fall into one cell of a public table; what is computed from its noisy
counts afterwards is free: curves, areas, metrics at any threshold, calibration, differences of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.evaluation.binary.release import prepare_binary, suitable_bins
from discreet.evaluation.classes.models import EvaluatedModel
from discreet.evaluation.classes.release import prepare_classes
from discreet.evaluation.question import (
    CutsName,
    EvaluationGroups,
    EvaluationQuestion,
    FocusName,
    TargetKind,
    groups_of,
    kind_of,
    target_of,
)
from discreet.evaluation.regression.release import prepare_regression
from discreet.plans import Diagnosis, ExactSums, Program, Setting
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, OneOf, Positive, Switch, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.parts.plan import GroupsKind
from discreet.schema import Condition, Schema

MOST_BINS = 200

PREPARE: Mapping[TargetKind, Callable[[EvaluationQuestion], Program]] = {
    "binary": prepare_binary,
    "regression": prepare_regression,
    "classes": prepare_classes,
}
"""Every kind of target there is, and what makes an evaluation of it ready."""

_BELONGS: tuple[tuple[str, TargetKind, str], ...] = (
    ("residuals", "regression", "answers numbers"),
    ("clip", "regression", "answers numbers"),
    ("one_vs_rest", "classes", "has more than two classes"),
    ("focus", "binary", "speaks of one class"),
)


class evaluate(WherePlan):
    """Plan an evaluation of a model: how good it is on the records, and for whom.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds; the schema names the target. A
        classifier of more than two classes is evaluated by all of them, a ``dc.Model`` of one of its
        classes by that one against the rest.
      by: one category, or several for every combination of their values: everything is told for all
        records and for every group, at the price of the whole. Levels of a category
        (``["hospital", "ward"]``) are told one and all, at the price of the finest. A condition, as
        ``dc.col("age") >= 40`` or ``"age >= 40"``, makes two groups: where it is true and where it is
        false; records of which it is unknown are left out.
      bins: of scores; as many as suit the number of records and epsilon if left out.
      cuts: where bins are cut: ``public`` at scores of rows drawn from the schema and at even steps, or
        ``quantile``: at private quantiles of the records' scores, for a tenth of epsilon.
      residuals: for models that answer numbers: columns by whose cells the mean of target less answer
        is told, beside the errors.
      clip: for models that answer numbers: the greatest error that is told apart; greater ones count as
        this one. Less noise, and a bias where there are greater ones; by default as far as the bounds
        of model and target allow.
      one_vs_rest: for classifiers of more than two classes: tell the scores of every class against the
        rest too, and so an area per class, for half of the budget.
      focus: for models that speak of one class: what half of the budget is for. ``threshold`` are the
        records on either side of the default threshold, and so rates and accuracy there; ``scores``
        gives all of it to the table of scores, for calibration, areas and thresholds far from it.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian`` or ``auto``: the one with less noise.

    Guarantees:
      - A record shares one count between two cells of the table, in one group or in none: L1 2, L2
        sqrt 2 under replace-one, 1 under add-remove, however many groups there are. [score-bins]
      - Sums of errors and of many classes' tables have joint bounds. [residual-sums] [class-tables]
    """

    model: Annotated[Any, EvaluatedModel()]
    _: KW_ONLY
    by: Annotated[
        str | Sequence[str] | Condition | Mapping[str, Any] | None, GroupsKind(optional=True)
    ] = None
    bins: Annotated[int | None, Whole(2, MOST_BINS, optional=True)] = None
    cuts: Annotated[CutsName, OneOf(("public", "quantile"))] = "public"
    residuals: Annotated[Sequence[str], Columns(empty=True)] = ()
    clip: Annotated[float | None, Positive(optional=True)] = None
    one_vs_rest: Switch = False
    focus: Annotated[FocusName, OneOf(("threshold", "scores"))] = "threshold"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[
        Literal["auto", "laplace", "gaussian"], OneOf(("auto", "laplace", "gaussian"))
    ] = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Find the kind of target, bind the model, lay out the table and calibrate its noise."""
        schema = setting.schema
        kind = kind_of(self.model, schema)
        self._check_fits(kind)
        bound = self.model.bind(schema)
        if kind == "binary" and self.model.output != "margin":
            bound.public.check_scores()
        several = bound if isinstance(bound, tuple) else ()
        question = EvaluationQuestion(
            setting,
            several[0] if several else bound,
            self.model.output,
            target_of(schema),
            self._groups(schema),
            self.bins,
            self.cuts,
            self.epsilon,
            self.delta,
            self.mechanism,
            self.clip,
            tuple(self.residuals),
            several,
            self.model.names if several else (),
            self.one_vs_rest,
            self.focus,
        )
        return PREPARE[kind](question)

    def _groups(self, schema: Schema) -> EvaluationGroups:
        assert not isinstance(self.by, Mapping)  # settled
        return groups_of(schema, self.by)

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return exact facts for the curator, with as many bins as this epsilon has."""
        schema = setting.schema
        if self.bins is not None or kind_of(self.model, schema) != "binary":
            return super().diagnose(setting, exact)
        rows, groups = None if self.where else setting.rows, self._groups(schema)
        bins = suitable_bins(rows, self.epsilon, groups.groups)
        return self._with({"bins": bins}).diagnose(setting, exact)

    def _check_fits(self, kind: TargetKind) -> None:
        """Refuse arguments that belong to another kind of target."""
        for name, home, whose in _BELONGS:
            value = getattr(self, name)
            if kind != home and value not in (None, (), False, "threshold"):
                raise ArgumentError(
                    f"{name} must be left out unless the model {whose}, got {shown(value)}."
                )
