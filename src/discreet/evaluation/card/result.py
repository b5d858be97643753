"""A model card: how good a model is and for whom, what it looks at, and how it moves with that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.evaluation.question import Group
from discreet.plans.results.result import Drawing, Result
from discreet.plans.showing import drawings_of, views_of
from discreet.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ModelCard(Result):
    """Several answers about one model, released together.

    Attributes:
      model: the model's kind.
      evaluation: how good it is on the records, for all of them and for every group.
      importances: how much its loss grows when a feature is permuted.
      curves: its mean answer over the values of the features of greatest importance.
    """

    model: str
    evaluation: Result
    importances: Result
    curves: tuple[Result, ...]

    @property
    def parts(self) -> dict[str, Result]:
        """Every answer by what it tells."""
        told: dict[str, Result] = {"Evaluation": self.evaluation, "Importances": self.importances}
        return told | {f"Partial dependence of {_feature(curve)}": curve for curve in self.curves}

    @property
    def features(self) -> tuple[str, ...]:
        """The features of greatest released importance, whose curves are told."""
        return tuple(_feature(curve) for curve in self.curves)

    @property
    def extent(self) -> str:
        """The number of answers."""
        return f"{len(self.parts)} answers"

    def pictures(self) -> dict[str, Drawing]:
        """Return what is drawn on a page: every answer, and those that an answer consists of."""
        found: dict[str, Drawing] = {}
        for name, one in self.parts.items():
            inner = one.pictures()
            found |= {name: one} if len(inner) == 1 else inner
        return found

    def drawings(self, group: Group = None) -> dict[str, Drawing]:
        """Return every picture by name: those of the evaluation, importances and curves."""
        found = drawings_of(self.evaluation, group)
        if group is not None:
            return dict(found)
        rest = {name.lower().replace(" ", "_"): one for name, one in [*self.parts.items()][1:]}
        return {"card": self, **found, **rest}

    def views(
        self, *, threshold: float | None = None, group: Group = None
    ) -> dict[str, Callable[[], pd.DataFrame]]:
        """Return every table by name: those of the evaluation, importances and curves."""
        found = views_of(self.evaluation, threshold=threshold, group=group)
        rest = {name.lower().replace(" ", "_"): one for name, one in [*self.parts.items()][1:]}
        return dict(found) | {name: one.to_frame for name, one in rest.items()}

    def dressed(self, schema: Schema) -> ModelCard:
        """Return every answer with what a schema says for people."""
        return replace(
            self,
            evaluation=self.evaluation.dressed(schema),
            importances=self.importances.dressed(schema),
            curves=tuple(curve.dressed(schema) for curve in self.curves),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain data, every answer with its kind."""
        return {
            "type": self.type_name,
            "model": self.model,
            "evaluation": self.evaluation.to_json(),
            "importances": self.importances.to_json(),
            "curves": [curve.to_json() for curve in self.curves],
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> ModelCard:
        """Build the card and every answer from plain data."""
        model, curves = plain["model"], plain["curves"]
        if not isinstance(model, str) or not isinstance(curves, list):
            raise ValueError("the model or the curves of a card")
        read = Result.read
        return cls(
            model, read(plain["evaluation"]), read(plain["importances"]), tuple(map(read, curves))
        )

    def fits_together(self) -> bool:
        """Return whether every curve is one of a feature."""
        return all(isinstance(getattr(curve, "feature", None), str) for curve in self.curves)

    def to_frame(self) -> pd.DataFrame:
        """Return the evaluation's figures; ``parts`` has the frames of the other answers."""
        return self.evaluation.to_frame()

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw all answers, one below the other."""
        from discreet.evaluation.card.pictures import CardDisplay

        return CardDisplay(self).plot(ax, title=title)


def _feature(curve: Result) -> str:
    return str(getattr(curve, "feature", ""))
