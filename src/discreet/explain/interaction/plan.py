"""Private feature interaction: a ranking of features by Friedman's H-statistic.

A statistic that is a ratio of sums of squares of partial dependences has no useful sensitivity of its
own; so every subset of the records ranks the features (``aggregate.release``): a record moves one.

Models of a known form (linear, trees, networks with one hidden layer) are not called at all, see
``engines.interact``; others are called once per subset, so that no subset's ranking can hang on
another's rows through the last bits of a prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

from discreet.engines.interact import Dependences, pair_scores, pairs_with, total_scores
from discreet.engines.table import engine_for
from discreet.explain.aggregate.release import borda_program
from discreet.explain.features import check_used
from discreet.mechanisms.selection.borda import BORDA_MECHANISMS, BordaMechanism
from discreet.plans import Program, Setting
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, OneOf, Whole
from discreet.plans.stages.aggregate import MOST_SUBSETS
from discreet.schema import FloatArray


@dataclass(frozen=True)
class SubsetInteractions:
    """The H-statistics of every subset: of all features, or of the pairs with the one at ``place``."""

    dependences: Dependences
    place: int | None
    points: int

    def __call__(self, parts: list[FloatArray]) -> Iterator[FloatArray]:
        """Return the statistics of the subsets, from their first ``points`` rows; NaN below two.

        Guarantees:
          - A subset's statistics depend on its rows alone. [generic-plots]
        """
        few = [rows[: self.points] for rows in parts]
        if self.place is None:
            return total_scores(self.dependences, few)
        return pair_scores(self.dependences, few, pairs_with(self.place, few[0].shape[1]))


class feature_interaction(DeclaredPlan):
    """Plan a ranking of features by how much they interact, with all others or with one feature.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      feature: rank the others by how much they interact with this one; left out, every feature is
        ranked by how much it interacts with the rest.
      k: how many of the first are wanted; all of them if left out.
      subsets: how many rankings are added up; more mean less noise, and fewer records for each.
      points: rows of a subset that are used at most; work grows with its square.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: see ``any_ranking``.

    Guarantees:
      - One record moves one ranking. [borda] [generic-plots]
    """

    model: FittedModel
    feature: Annotated[str | None, Column(optional=True)] = None
    _: KW_ONLY
    k: Annotated[int | None, Whole(1, optional=True)] = None
    subsets: Annotated[int, Whole(1, MOST_SUBSETS)] = 200
    points: Annotated[int, Whole(2, 1_000)] = 50
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[BordaMechanism, OneOf(BORDA_MECHANISMS)] = "auto"

    whole_only: ClassVar = (
        "Pairs of all records are compared; ask dc.partial_dependence of both features, where=..."
    )

    def prepare(self, setting: Setting) -> Program:
        """Try the model on public rows and calibrate the choice."""
        model = self.model.bind(setting.schema)
        items = self._items(model.columns)
        place = None if self.feature is None else model.columns.index(self.feature)
        dependences = engine_for("interact", model)
        return borda_program(
            SubsetInteractions(dependences, place, self.points),
            setting,
            columns=model.columns,
            items=items,
            k=self.k,
            subsets=self.subsets,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            pulse=dependences.pulse,
        )

    def _items(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        if self.feature is not None:
            check_used("feature", self.feature, columns)
        return tuple(name for name in columns if name != self.feature)
