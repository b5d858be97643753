"""Plan a private model of whatever kind suits the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal

from discreet.additive.plan import additive_model
from discreet.errors import ArgumentError
from discreet.fitting.held_out import CHOICE, Contest, Side
from discreet.fitting.rule import MODELS, Facts, ModelName, suited
from discreet.plans import Program, Setting, share_out
from discreet.plans.kinds import UNSAID, Column, Columns, Delta, Epsilon, OneOf
from discreet.plans.parts import WherePlan
from discreet.privacy.accounting.joint import joint_delta
from discreet.privacy.guarantee import ANSWERED
from discreet.trees.forest import random_forest
from discreet.trees.plan import decision_tree

PLANS: Mapping[ModelName, Callable[..., WherePlan]] = {
    "additive": additive_model,
    "forest": random_forest,
    "tree": decision_tree,
}
"""The question that trains a model."""

_CANDIDATES: tuple[ModelName, ...] = ("additive", "forest")
"""What is tried on records held out; each takes an equal part of the budget."""

_PLENTY, _NEAR = 4.0, 0.05
"""An epsilon that is never cut down, and how near the greatest with room for lattices is found."""


class fit(WherePlan):
    """Plan a private model that predicts a column, of whichever kind suits the table.

    Args:
      target: the column to predict: a category, whose values are the classes, or a number.
      features: the columns to predict from; all others if left out.
      model: ``additive``, ``forest`` or ``tree``, with what they take by default, or ``auto``: the one
        that suits public facts. Price and release say why.
      choose: what ``auto`` goes by: ``rule``, a rule of public facts that costs nothing, or
        ``held-out``: an additive model and a forest are trained on four fifths of the records, each for
        0.45 of epsilon, and the one that fits the others better is chosen for 0.1.
      epsilon: the whole budget.
      delta: zero for a pure promise; with one, models that are asked much at once have less noise.

    Guarantees:
      - As the question of the model that is trained. [additive-counts] [forest-disjoint] [tree-leaves]
      - A rule of public facts reads nothing. Records are held out by their places, or by what they say
        where places are not kept. [row-to-subset] [where]
      - The choice is one by what records held out say of models that were released before. [choose]

    >>> fit("income", epsilon=1.0)
    fit(target='income', features=None, model='auto', choose='rule', epsilon=1)
    """

    target: Annotated[str, Column()]
    _: KW_ONLY
    features: Annotated[Sequence[str] | None, Columns(optional=True)] = None
    model: Annotated[Literal["auto", ModelName], OneOf(("auto", *MODELS))] = "auto"
    choose: Annotated[Literal["rule", "held-out"], OneOf(("rule", "held-out"))] = "rule"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    meaning: ClassVar = 2

    def settle(self) -> Mapping[str, Any]:
        """Refuse a choice between one model, and one by a part of a part."""
        if self.choose == "held-out" and self.model != "auto":
            raise ArgumentError(
                f"model must be 'auto' with choose='held-out', got {self.model!r}. Leave one of them "
                "out."
            )
        if self.choose == "held-out" and self.where is not None:
            raise ArgumentError(
                "where must be left out with choose='held-out', got a condition. Leave it out, or take "
                "choose='rule'."
            )
        return {}

    def prepare_whole(self, setting: Setting) -> Program:
        """Find the model by public facts, or all candidates, and make them ready."""
        features = tuple(self.features or (name for name in setting.schema if name != self.target))
        promise = {"epsilon": self.epsilon, "delta": self.delta}
        facts = Facts.of(setting, self.target, **promise)
        if self.choose == "held-out":
            return self._tried(setting, facts, features)
        name, why = suited(facts) if self.model == "auto" else (self.model, "it was asked for")
        try:
            program = self._question(name, self.epsilon, self.delta).prepare_whole(setting)
        except ArgumentError:  # by public facts: too many cells
            if (self.model, name) != ("auto", "additive") or facts.classes == 0:
                raise
            name, why = "forest", "an additive model would have too many cells"
            program = self._question(name, self.epsilon, self.delta).prepare_whole(setting)
        return replace(program, reasons=(f"{ANSWERED} {_ARTICLES[name]}: {why}", *program.reasons))

    def _question(self, name: ModelName, epsilon: float, delta: float) -> WherePlan:
        """Return the question that trains a model."""
        return PLANS[name](self.target, features=self.features, epsilon=epsilon, delta=delta)

    def _tried(self, setting: Setting, facts: Facts, features: tuple[str, ...]) -> Program:
        """Return all candidates, trained and tried on different records."""
        if facts.classes == 0:
            raise ArgumentError(
                f"choose must be 'rule' where the target is a number, got 'held-out' for "
                f"{self.target!r}: an additive model alone predicts numbers."
            )
        columns = (*features, self.target)
        made = self._contest(setting, facts, columns, self.epsilon)
        low, high = _PLENTY, self.epsilon
        if low >= high or _is_kept(made):
            return made
        while high - low > _NEAR:
            middle = (low + high) / 2
            kept = _is_kept(self._contest(setting, facts, columns, middle))
            low, high = (middle, high) if kept else (low, middle)
        made = self._contest(setting, facts, columns, low)
        told = f"noise on a lattice leaves room for epsilon {low:.4g}, which is all that is spent"
        return replace(made, reasons=(*made.reasons, told))

    def _contest(
        self, setting: Setting, facts: Facts, columns: tuple[str, ...], epsilon: float
    ) -> Program:
        """Return all candidates and the choice between them, for so much in all."""
        trained, held = (Side(setting, columns, held) for held in (False, True))
        count = len(_CANDIDATES)
        own, *epsilons = share_out(epsilon, (CHOICE, *[(1 - CHOICE) / count] * count))
        deltas = share_out(self.delta, (1.0,) * count) if self.delta else [0.0] * count
        programs: dict[str, Program] = {
            name: self._question(name, min(epsilons), min(deltas)).prepare_whole(trained.within)
            for name in _CANDIDATES
        }
        contest = Contest(programs, trained, held, facts.classes, own)
        told = " or ".join(_ARTICLES[name] for name in _CANDIDATES)
        return Program(
            contest.stages,
            contest.finish,
            {key: error for one in programs.values() for key, error in one.expected_error.items()},
            statements=("filter-basic",),
            joint=(epsilon, self.delta) if self.delta else None,
            reasons=(f"{ANSWERED} {told}, whichever fits records better that were held out",),
        )


def _is_kept(program: Program) -> bool:
    """Say whether all stages together keep what is promised of them."""
    return program.joint is None or joint_delta(program.events, program.joint[0]) <= program.joint[1]


_ARTICLES: Mapping[ModelName, str] = {
    "additive": "an additive model",
    "forest": "a forest",
    "tree": "a tree",
}
