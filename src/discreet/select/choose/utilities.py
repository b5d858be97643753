"""Utilities that a caller wrote: tried on public rows, called without letting them speak or fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.data.calls import CallShape, RowCalls, ThirdParty, probed
from discreet.data.state import quietly
from discreet.errors import ArgumentError
from discreet.models.probe import DOUBLE, Found, probe
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Schema

Columns = Mapping[str, Any]
Utility = Callable[[Columns, Sequence[Any]], Any]


@dataclass(frozen=True)
class GuardedUtility:
    """A utility made safe to call: decoded columns in, a matrix out, NaN for rows it fails on."""

    utility: Utility
    candidates: tuple[Any, ...]
    columns: tuple[str, ...]
    schema: Schema

    @cached_property
    def calls(self) -> RowCalls:
        """The utility on many rows, in calls of one public shape."""
        shape = CallShape.of(self.schema, self.columns)
        return RowCalls(self.answer, shape, (len(self.candidates),))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return rows x candidates; NaN for rows on which the utility raises."""
        return self.calls(rows)

    def answer(self, rows: FloatArray) -> FloatArray:
        """Return what the utility says, or raise."""
        decoded = {name: self.schema[name].decode(rows[:, i]) for i, name in enumerate(self.columns)}
        said = np.asarray(self.utility(decoded, self.candidates), dtype=np.float64)
        if said.shape != (len(rows), len(self.candidates)):
            raise ArgumentError(
                f"utility must return one row per record and one column per candidate, "
                f"got shape {said.shape}."
            )
        return said

    def try_out(self, bounds: Box, known: dict[Any, Found]) -> ThirdParty:
        """Return what public rows tell of the utility; raise unless it answers every row by itself.

        It is tried once for a schema and its arguments: what was found is put into ``known``.
        """
        tried = (self.schema.digest, self.columns, self.candidates, bounds.limits)
        if tried not in known:
            known[tried] = self._probe(bounds)
        evidence = probed(known[tried].batch_error(bounds), known[tried].batches, "utility")
        return ThirdParty.of(evidence, self.calls.pulse)

    def _probe(self, bounds: Box) -> Found:
        shape = self.calls.shape
        with quietly():
            try:
                self.answer(shape.batch(shape.blank, 0, 0))
            except Exception as error:  # public rows: whatever it raises may be shown
                raise ArgumentError(
                    "utility must answer rows drawn from the schema, but it failed: "
                    f"{type(error).__name__}: {error}"
                ) from error
            found = probe(self.calls, self.schema, self.columns, bounds)
        if found.moved > DOUBLE or self.calls.pulse.dead:
            raise ArgumentError(
                "utility must answer every row by itself, got answers that change with the rows "
                "beside it or from call to call. Take out what is computed over all rows of a call."
            )
        return found


def utility_contribution(guarded: GuardedUtility, bounds: Box, code: ThirdParty) -> VectorContribution:
    """Return what one record adds: its utilities, measured from the middle of the bounds.

    Guarantees:
      - Differences of scores, which alone decide, are those of the clipped utilities; a score moves by
        half the range under add-remove and by the range under replace-one. [choose]
    """
    half, middle = (bounds.high - bounds.low) / 2, bounds.low / 2 + bounds.high / 2

    def compute(block: Block) -> FloatArray:
        return guarded(block.values) - middle

    return VectorContribution(
        columns=guarded.columns,
        size=len(guarded.candidates),
        region=Box(-half, half),
        fill=0.0,
        compute=compute,
        calls=ModelCalls(code, lipschitz=1.0),
    )
