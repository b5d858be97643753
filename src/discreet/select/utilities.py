"""Utilities that a caller wrote: tried on public rows, called without letting them speak or fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.certificates import Box
from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.foreign import foreign_code
from discreet.errors import ArgumentError
from discreet.parts import pay_for_last_bits
from discreet.schema import FloatArray, Schema

Columns = Mapping[str, Any]
Utility = Callable[[Columns, Sequence[Any]], Any]

_PROBE_ROWS = 32
_GRAIN = 1e-12
"""How far an answer may move with the rows beside it, relative to the range: rounding, no more."""


@dataclass(frozen=True)
class GuardedUtility:
    """A utility made safe to call: decoded columns in, a matrix out, NaN for rows it fails on."""

    utility: Utility
    candidates: tuple[Any, ...]
    columns: tuple[str, ...]
    schema: Schema

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return rows x candidates; rows on which the utility raises are found by halving."""
        try:
            return self.answer(rows)
        except KeyboardInterrupt:
            raise
        except BaseException:  # code that is not ours may even exit; which row it was must not be seen
            if len(rows) <= 1:
                return np.full((len(rows), len(self.candidates)), np.nan)
            half = len(rows) // 2
            return np.concatenate([self(rows[:half]), self(rows[half:])])

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

    def try_out(self, bounds: Box) -> None:
        """Raise unless the utility answers public rows, every row by itself."""
        places = [self.schema.position(name) for name in self.columns]
        probe = np.asfortranarray(self.schema.draw(_PROBE_ROWS)[:, places])
        with foreign_code():
            try:
                together = self.answer(probe)
            except Exception as error:  # public rows: whatever it raises may be shown
                raise ArgumentError(
                    "utility must answer rows drawn from the schema, but it failed: "
                    f"{type(error).__name__}: {error}"
                ) from error
            alone = np.concatenate([self(probe[i : i + 1]) for i in range(_PROBE_ROWS)])
        moved = np.abs(np.clip(together, *bounds.limits) - np.clip(alone, *bounds.limits))
        if np.any(np.isnan(together) != np.isnan(alone)) or np.nanmax(moved, initial=0.0) > _GRAIN * (
            bounds.high - bounds.low
        ):
            raise ArgumentError(
                "utility must answer every row by itself, got answers that change with the rows "
                "beside it. Take out what is computed over all rows of a call."
            )


def utility_contribution(guarded: GuardedUtility, bounds: Box) -> VectorContribution:
    """Return what one record adds: its utilities, measured from the middle of the bounds.

    Guarantees:
      - Differences of scores, which alone decide, are those of the clipped utilities; a score moves by
        half the range under add-remove and by the range under replace-one, and as far beyond that as
        other rows' answers may move with it, by what ``try_out`` lets pass. [choose]
    """
    half, middle = (bounds.high - bounds.low) / 2, bounds.low / 2 + bounds.high / 2

    def compute(block: Block) -> FloatArray:
        return guarded(block.values) - middle

    contribution = VectorContribution(
        columns=guarded.columns,
        size=len(guarded.candidates),
        region=Box(-half, half),
        fill=0.0,
        compute=compute,
        foreign=True,
    )
    return pay_for_last_bits(
        contribution,
        _GRAIN * 2 * half,
        f"the utility of a row moves by at most {_GRAIN:g} of its range with the rows beside it",
    )
