"""Hill-climbing: small changes of a pair of neighbours, of the records that differ and of the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.hunting.neighbours import Marks, Neighbourhood, Record
from discreet.schema import Number, Schema

_FINEST = 40
"""The shortest of all steps is this power of one half of a column's range."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbours: one place of a table, and two who could stand there; None is nobody."""

    home: Neighbourhood
    one: Record | None
    other: Record | None
    told: str = ""

    def swapped(self) -> Pair:
        """Return the same two in the other order."""
        return replace(self, one=self.other, other=self.one)


@dataclass(frozen=True, eq=False)
class NearPair:
    """A pair near another one, and whether its first table is the same as before."""

    pair: Pair
    same_table: bool


class Proposer:
    """Draws changes of pairs, seeded.

    Args:
      schema: of the tables.
      marks: values to go to.
      generator: of all draws.
    """

    def __init__(self, schema: Schema, marks: Marks, generator: np.random.Generator) -> None:
        self._schema = schema
        self._names = list(schema)
        self._marks = marks
        self._draw = generator

    def near(self, pair: Pair) -> NearPair:
        """Return a pair with one or two values changed, or another table or place around it."""
        kind = self._draw.random()
        if kind < 0.65 or not len(pair.home.others):
            return self._other_record(pair)
        if kind < 0.9:
            return NearPair(replace(pair, home=self._other_table(pair)), same_table=False)
        place = int(self._draw.integers(len(pair.home.others) + 1))
        return NearPair(replace(pair, home=replace(pair.home, place=place)), same_table=False)

    def _other_record(self, pair: Pair) -> NearPair:
        if pair.other is None or (pair.one is not None and self._draw.random() < 0.5):
            pair = pair.swapped()
        assert pair.other is not None
        if self._draw.random() < 0.15 and len(pair.home.others):
            record: Record = tuple(pair.home.others[self._draw.integers(len(pair.home.others))])
        else:
            record = self._nudged(pair.other)
        return NearPair(replace(pair, other=record), same_table=True)

    def _nudged(self, record: Record) -> Record:
        for _ in range(1 if self._draw.random() < 0.7 else 2):
            place = int(self._draw.integers(len(self._names)))
            record = (*record[:place], self._value(place, record[place]), *record[place + 1 :])
        return record

    def _value(self, place: int, now: Any) -> Any:
        """Return another value of a column: a mark, a drawn one, or one a step away."""
        column, marks = self._schema[self._names[place]], self._marks[self._names[place]]
        kind = self._draw.random()
        movable = isinstance(column, Number) and isinstance(now, int | float) and np.isfinite(now)
        if kind < 0.35 or not (movable or isinstance(column, Number)):
            return marks[int(self._draw.integers(len(marks)))]
        if kind < 0.5 or not movable:
            return column.decode(column.draw(self._draw, 3))[2]
        assert isinstance(column, Number)
        inside = min(max(float(now), column.low), column.high)
        return inside + self._step(column) * (1 if self._draw.random() < 0.5 else -1)

    def _step(self, column: Number) -> float:
        width = column.high - column.low
        if column.step is not None and self._draw.random() < 0.5:
            return column.step
        return width * 2.0 ** -int(self._draw.integers(1, _FINEST))

    def _other_table(self, pair: Pair) -> Neighbourhood:
        """Return a table with some other rows, or a whole column, changed."""
        rows, kind = pair.home.others.copy(), self._draw.random()
        chosen = self._draw.random(len(rows)) < 2.0 ** -int(self._draw.integers(0, 6))
        chosen[self._draw.integers(len(rows))] = True
        if kind < 0.4:
            place = int(self._draw.integers(len(self._names)))
            rows[chosen, place] = self._value(place, rows[chosen.argmax(), place])
        elif kind < 0.7:
            known = [record for record in (pair.one, pair.other) if record is not None]
            self._copy(rows, chosen, known[int(self._draw.integers(len(known)))])
        else:
            self._copy(rows, chosen, tuple(rows[self._draw.integers(len(rows))]))
        return replace(pair.home, others=rows)

    @staticmethod
    def _copy(rows: Any, chosen: Any, record: Record) -> None:
        for place in np.flatnonzero(chosen):
            rows[place] = record
