"""Functions of a whole table that a caller wrote: tried on public rows, never let speak or fail.

How far one record moves what they say is the caller's claim. It is written into the certificate as an
assumption, and nothing here can check it: a utility without a true bound has no guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data import WholeContribution
from discreet.data.calls import Pulse
from discreet.data.state import quietly
from discreet.errors import ArgumentError
from discreet.numerics import up
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import Relation
from discreet.schema import FloatArray, Schema
from discreet.select.choose.utilities import Columns

TableFunction = Callable[[Columns, Sequence[Any]], Any]

MOST_EDITS = float(2**40)
"""A greater distance counts as this one."""

_PROBE_ROWS = 64


@dataclass(frozen=True)
class GuardedFunction:
    """A function of all rows made safe to call: decoded columns in, an array out, NaN if it fails."""

    label: str
    function: TableFunction
    candidates: tuple[Any, ...]
    columns: tuple[str, ...]
    schema: Schema

    def __call__(self, rows: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """Return what it says of the rows, or NaN everywhere."""
        try:
            said = self.answer(rows)
            return said if said.shape == shape else np.full(shape, np.nan)
        except KeyboardInterrupt:
            raise
        except BaseException:  # code that is not ours may even exit; that it did must not be seen
            return np.full(shape, np.nan)

    def answer(self, rows: FloatArray) -> FloatArray:
        """Return what it says, or raise."""
        decoded = {name: self.schema[name].decode(rows[:, i]) for i, name in enumerate(self.columns)}
        return np.asarray(self.function(decoded, self.candidates), dtype=np.float64)

    def try_out(self, wanted: str, fits: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...]:
        """Return the shape of what it says of public rows; raise if that makes no sense."""
        places = [self.schema.position(name) for name in self.columns]
        probe = np.asfortranarray(self.schema.draw(_PROBE_ROWS)[:, places])
        with quietly():
            try:
                said = self.answer(probe)
            except Exception as error:  # public rows: whatever it raises may be shown
                raise ArgumentError(
                    f"{self.label} must answer rows drawn from the schema, but it failed: "
                    f"{type(error).__name__}: {error}"
                ) from error
        if not fits(said.shape):
            raise ArgumentError(f"{self.label} must return {wanted}, got shape {said.shape}.")
        return said.shape


@dataclass(frozen=True)
class TableClaim:
    """A utility of the whole table, and what its author claims of it.

    Args:
      utility: scores of all candidates.
      sensitivity: how far one edit moves a score, at most.
      bounds: where scores lie; others are clipped to it.
      distance: edits until a candidate is the answer, of all candidates, if known.
      local: sensitivities near the table at hand, by distance, if known.
    """

    utility: GuardedFunction
    sensitivity: float
    bounds: Box
    distance: GuardedFunction | None
    local: GuardedFunction | None

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.utility.candidates)

    def try_out(self) -> None:
        """Raise unless utility and distance answer public rows with a number for each candidate."""
        for function in (self.utility, self.distance):
            if function is not None:
                function.try_out("one number per candidate", lambda shape: shape == (self.size,))

    def certify(self, relation: Relation) -> Certificate:
        """Return the certificate of the scores, under the claim.

        Guarantees:
          - If the claim is true, a clipped score moves by at most ``sensitivity``; where the utility
            fails it counts as the middle, which the claim covers. [claimed-utility]
        """
        return self._claimed(
            relation,
            self.sensitivity,
            f"one record moves a score of utility by at most {self.sensitivity:.6g}, clipped to "
            f"[{self.bounds.low:.6g}, {self.bounds.high:.6g}] and counted as the middle where it fails",
        )

    def certify_distance(self, relation: Relation) -> Certificate:
        """Return the certificate of the distances, under the claim."""
        return self._claimed(
            relation,
            1.0,
            "one record moves a whole number of distance by at most one, and it is zero for exactly "
            "one candidate; where it fails, the first candidate counts as the answer and the others as "
            "one edit away",
        )

    def scores(self, certificate: Certificate) -> WholeContribution:
        """Return the scores of the table."""

        def compute(rows: FloatArray) -> FloatArray:
            return self.utility(rows, (self.size,))

        middle = self.bounds.low / 2 + self.bounds.high / 2
        return self._contribution(self.size, self.bounds, middle, compute, certificate)

    def distances(self, certificate: Certificate) -> WholeContribution:
        """Return the distances of the table, none greater than its number of records.

        Guarantees:
          - A true claim about tables with records stays true, and holds for the empty table, on which
            a distance may fail: a record more or less moves the cap by one, too. [claimed-utility]
        """
        assert self.distance is not None
        distance = self.distance

        def compute(rows: FloatArray) -> FloatArray:
            return np.minimum(distance(rows, (self.size,)), max(len(rows), 1))

        return self._contribution(self.size, Box(0.0, MOST_EDITS), 1.0, compute, certificate)

    def try_local(self) -> tuple[int, ...]:
        """Return the shape of ``local`` on public rows: distances, or candidates x distances."""
        assert self.local is not None
        return self.local.try_out(
            "one number per distance, or a row of them per candidate",
            lambda shape: shape[-1:] > (0,) and (len(shape) == 1 or shape[:-1] == (self.size,)),
        )

    def scores_and_local(self, certificate: Certificate, shape: tuple[int, ...]) -> WholeContribution:
        """Return the scores, then the sensitivities, row by row.

        Guarantees:
          - Sensitivities never fall with the distance and are the global one where ``local`` fails, so
            that an admissible function stays one. [claimed-utility]
        """
        assert self.local is not None
        local, (low, high) = self.local, self.bounds.limits

        def compute(rows: FloatArray) -> FloatArray:
            said = np.nan_to_num(self.utility(rows, (self.size,)), nan=low / 2 + high / 2)
            near = np.nan_to_num(local(rows, shape), nan=self.sensitivity)
            near = np.maximum.accumulate(np.clip(near, 0.0, self.sensitivity), axis=-1)
            return np.concatenate([np.clip(said, low, high), near.ravel()])

        region = Box(min(low, 0.0), max(high, self.sensitivity))
        size = self.size + int(np.prod(shape))
        return self._contribution(size, region, 0.0, compute, certificate)

    def certify_local(self, relation: Relation) -> Certificate:
        """Return the certificate of scores whose sensitivities near the table are claimed besides."""
        return self.certify(relation).assume(
            "local says, first, at least how far one record moves a score of this table, and then at "
            "least what it says one place before of every table one record away, counted as "
            f"{self.sensitivity:.6g} where it fails and beyond its end"
        )

    def _contribution(
        self,
        size: int,
        region: Box,
        fill: float,
        compute: Callable[[FloatArray], FloatArray],
        certificate: Certificate,
    ) -> WholeContribution:
        columns = self.utility.columns
        return WholeContribution(columns, size, region, fill, compute, certificate, pulse=Pulse())

    def _claimed(self, relation: Relation, moved: float, claim: str) -> Certificate:
        bound = Bounds(up(self.size * moved), up(np.sqrt(self.size) * moved), moved)
        claimed = Certificate(
            ("claimed-utility",), self.size, {Relation(relation).between_tables: bound}
        )
        return claimed.graded("probed", claim)
