"""Released models as models to explain: code of ours, proven row by row, compiled where it can be."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from discreet.data.calls import PROVEN, ThirdParty
from discreet.models.forms.trees import TreeEnsemble
from discreet.models.inputs import ModelCall
from discreet.models.model import BoundModel, Model
from discreet.models.released import EncodedRows
from discreet.models.sight import EncodedSight
from discreet.schema import Schema


class OwnModel(Model):
    """A released model; bound to a schema that has its own columns it is evaluated by compiled trees.

    Args:
      released: the model; its ``schema`` is the one it was made for.
      options: as ``Model`` takes them.
    """

    def __init__(self, released: Any, **options: Any) -> None:
        super().__init__(released, **options)
        self._released = released

    @abstractmethod
    def ensemble(self, width: int) -> TreeEnsemble | None:
        """Return the output as trees over so many features, or None if it is evaluated as it is."""

    def _third_party(self, bound: BoundModel, schema: Schema, single: bool) -> ThirdParty:
        """Return the evidence of code of ours, which need not be tried."""
        return ThirdParty.of(PROVEN, bound.calls.pulse)

    def bind(self, schema: Schema) -> BoundModel:
        """Return the model for a schema's encoding, with trees if the encoding is the model's own."""
        bound = super().bind(schema)
        own = self._released.schema
        if any(schema[name] != own[name] for name in bound.columns):
            return bound
        sight = EncodedSight(bound.sight.columns, takes_missing=True)
        trees = self.ensemble(len(bound.columns))
        if trees is None:
            call = ModelCall(self._released, self.output, self.class_index, EncodedRows)
            return replace(bound, calls=replace(bound.calls, call=call), sight=sight)
        return replace(bound, form=trees, sight=sight, third_party=None)
