"""Tell me about this model: an evaluation, importances and curves under one epsilon.

What is asked is fixed beforehand, but for which features have a curve: those whose released importance
is greatest. A curve costs the same for every feature, so the price is known before a row is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np

from discreet.arguments import as_list, shown
from discreet.errors import ArgumentError
from discreet.evaluation.card.result import ModelCard
from discreet.evaluation.plan import evaluate
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.permutation.plan import permutation_importance
from discreet.models import Model
from discreet.plans import Program, Releaser, Result, Setting, share_out
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Delta, Epsilon, Values, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.parts.plan import GroupsKind
from discreet.plans.results.attribution import Attribution
from discreet.schema import Condition

_PARTS = ("evaluation", "importances", "curves")


def _shares(name: str, value: Any) -> tuple[float, ...]:
    """Return what every part gets of epsilon, in parts of one."""
    listed = as_list(name, value)
    numbers = [one for one in listed if isinstance(one, int | float) and not isinstance(one, bool)]
    positive = all(0 < number < 1 for number in numbers)
    if len(listed) != len(_PARTS) or len(numbers) != len(_PARTS) or not positive:
        raise ArgumentError(
            f"{name} must be three numbers between 0 and 1, of {', '.join(_PARTS)}, got {shown(value)}."
        )
    if abs(sum(numbers) - 1) > 1e-9:
        raise ArgumentError(f"{name} must add up to 1, got {shown(value)}.")
    return tuple(map(float, numbers))


class model_card(WherePlan):
    """Plan a report on a model: how good it is, for whom, which features matter, and how.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds; the schema names the target.
      by: one category or several, levels, or a condition, as ``dc.evaluate`` takes them: the evaluation
        is told for every group as well, at no further cost.
      curves: how many features have a curve: those of the greatest released importance.
      shares: what evaluation, importances and curves get of epsilon.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; it is the evaluation's, the other parts are pure.

    Guarantees:
      - What every part promises adds up to the whole, and which features have curves follows from what
        was released before. [filter-basic] [filter-zcdp]
    """

    model: FittedModel
    _: KW_ONLY
    by: Annotated[
        str | Sequence[str] | Condition | Mapping[str, Any] | None, GroupsKind(optional=True)
    ] = None
    curves: Annotated[int, Whole(1, 20)] = 3
    shares: Annotated[Sequence[float], Values(by=_shares)] = (0.5, 0.2, 0.3)
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    def prepare_whole(self, setting: Setting) -> Program:
        """Make every part ready, and a curve of every feature; no row is read."""
        model: Model = self.model
        features = model.bind(setting.schema).columns
        wanted = min(self.curves, len(features))
        whole, of_importances, *of_curves = share_out(
            self.epsilon, (*self.shares[:2], *[self.shares[2] / wanted] * wanted)
        )
        paired = setting.rows is not None and setting.relation.keeps_places
        evaluation = evaluate(model, by=self.by, epsilon=whole, delta=self.delta).prepare(setting)
        importances = permutation_importance(
            model,
            sampling="permutation" if paired else "marginal",
            epsilon=of_importances,
        ).prepare(setting)
        least = min(of_curves)
        curves = {
            name: partial_dependence(model, name, epsilon=least).prepare(setting) for name in features
        }
        release = _CardRelease(model.describe()["kind"], evaluation, importances, curves, wanted)
        assumed = [text for part in release.parts for text in part.assumptions]
        return Program(
            release.stages, release.finish, evaluation.expected_error, assumptions=tuple(assumed)
        )


@dataclass(frozen=True)
class _CardRelease:
    """The programs of all parts; of the curves those of all features, of which a few are run."""

    model: str
    evaluation: Program
    importances: Program
    curves: dict[str, Program]
    wanted: int

    @property
    def parts(self) -> list[Program]:
        """As many programs as are run: the first features stand in for those that will be chosen."""
        return [self.evaluation, self.importances, *[*self.curves.values()][: self.wanted]]

    @property
    def stages(self) -> tuple[Any, ...]:
        """The stages of all of them."""
        return tuple(stage for part in self.parts for stage in part.stages)

    def finish(self, releaser: Releaser) -> ModelCard:
        """Answer the parts one after the other."""
        importances = self.importances.finish(releaser)
        chosen = self._greatest(importances)
        evaluation = self.evaluation.finish(releaser)
        curves = tuple(self.curves[name].finish(releaser) for name in chosen)
        return ModelCard(self.model, evaluation, importances, curves)

    def _greatest(self, importances: Result) -> list[str]:
        assert isinstance(importances, Attribution)
        values = np.ravel(np.asarray(importances.values, dtype=np.float64))
        order = np.argsort(-values, kind="stable")[: self.wanted]
        return [str(importances.features[place]) for place in order]
