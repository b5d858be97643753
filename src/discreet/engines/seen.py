"""Engines that take encoded rows, and hand to forms of models what these see of them.

Forms are evaluated on what a model sees (``models.sight``): NaN or a public fill where a value is
missing or not listed. Each wrapper translates what comes in and changes nothing else; a model that is
called translates by itself, and needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.data.calls import Pulse, ThirdParty
from discreet.engines.curves import CurveEngine, Predictions, StepEngine
from discreet.engines.interact import Dependences, Means
from discreet.engines.permute import Index, Moved, PermuteEngine
from discreet.models import BoundModel
from discreet.models.sight import Sight
from discreet.randomness import IntArray
from discreet.schema import FloatArray


@dataclass(frozen=True)
class SeenCurves(CurveEngine):
    """Curves of rows as a form sees them."""

    inner: CurveEngine
    sight: Sight

    @property
    def third_party(self) -> ThirdParty | None:  # type: ignore[override]
        """See ``CurveEngine``."""
        return self.inner.third_party

    def predict(self, rows: FloatArray) -> FloatArray:
        """See ``CurveEngine``."""
        return self.inner.predict(self.sight(rows))


@dataclass(frozen=True)
class SeenSteps(StepEngine):
    """Steps of rows as a form sees them."""

    inner: StepEngine
    sight: Sight
    place: int

    @property
    def third_party(self) -> ThirdParty | None:  # type: ignore[override]
        """See ``StepEngine``."""
        return self.inner.third_party

    def predict(self, rows: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
        """See ``StepEngine``."""
        seen = [self.sight.column(self.place, own) for own in values]
        return self.inner.predict(self.sight(rows), seen)


@dataclass(frozen=True)
class SeenPermute(PermuteEngine):
    """Scores of rows and donors as a form sees them."""

    inner: PermuteEngine
    sight: Sight

    @property
    def third_party(self) -> ThirdParty | None:  # type: ignore[override]
        """See ``PermuteEngine``."""
        return self.inner.third_party

    @property
    def logistic(self) -> bool:  # type: ignore[override]
        """See ``PermuteEngine``."""
        return self.inner.logistic

    @property
    def used(self) -> tuple[int, ...]:  # type: ignore[override]
        """See ``PermuteEngine``."""
        return self.inner.used

    def scores(self, rows: FloatArray, donors: FloatArray, index: Index) -> tuple[FloatArray, Moved]:
        """See ``PermuteEngine``."""
        seen = self.sight(rows)
        return self.inner.scores(seen, seen if donors is rows else self.sight(donors), index)


@dataclass(frozen=True)
class SeenDependences(Dependences):
    """Dependences of rows as a form sees them."""

    inner: Dependences
    sight: Sight

    @property
    def pulse(self) -> Pulse | None:  # type: ignore[override]
        """See ``Dependences``."""
        return self.inner.pulse

    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """See ``Dependences``."""
        return self.inner.singles(self.sight(rows), starts)

    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """See ``Dependences``."""
        return self.inner.pairs(self.sight(rows), starts, pairs)


def seen_grids(
    model: BoundModel, places: Sequence[int], grids: Sequence[FloatArray]
) -> tuple[FloatArray, ...]:
    """Return the points of grids as the model's form sees them."""
    return tuple(model.seen_column(p, grid) for p, grid in zip(places, grids, strict=True))


def show(model: BoundModel, engine: Any, place: Any = None) -> Any:
    """Return an engine that is shown encoded rows, for one that evaluates the model's form."""
    if model.form is None or not model.sight.changes:
        return engine
    if isinstance(engine, CurveEngine):
        return SeenCurves(engine, model.sight)
    if isinstance(engine, StepEngine):
        return SeenSteps(engine, model.sight, place)
    if isinstance(engine, PermuteEngine):
        return SeenPermute(engine, model.sight)
    if isinstance(engine, Dependences):
        return SeenDependences(engine, model.sight)
    return _seen_predictions(engine, model.sight)


def _seen_predictions(predict: Predictions, sight: Sight) -> Predictions:
    def seen(rows: FloatArray, per_record: int = 1) -> FloatArray:
        return predict(sight(rows), per_record)

    return seen
