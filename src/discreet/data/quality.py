"""For the curator alone: which of a table's values do not fit the schema as they are.

Counts, column by column, of values that are missing, unlisted, clipped to the bounds or moved to the
step grid, and whether a column has only one value; how many rows persons have. Exact, so never for
anybody else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from discreet.data.persons import PersonTally, tally_persons
from discreet.data.rows import open_ids, open_raw
from discreet.data.sources.partitions import Part
from discreet.data.table import PrivateTable
from discreet.data.workers.cluster import Cluster
from discreet.errors import AccessDenied
from discreet.schema import Boolean, Category, Column, Date, Number, Schema
from discreet.schema.raw import RawColumn

if TYPE_CHECKING:
    import pandas as pd

_MUCH = 0.05
"""From this share on a fact deserves a sentence."""


@dataclass(frozen=True)
class ColumnCheck:
    """How many values of a column are not what the schema expects, and what of it deserves a look."""

    column: str
    rows: int
    missing: int
    unlisted: int
    below: int
    above: int
    moved: int
    constant: bool

    @property
    def advice(self) -> str:
        """What to look at; empty if nothing."""
        rows = max(self.rows, 1)
        told = [
            f"{share:.0%} {what}"
            for share, what in (
                (self.missing / rows, "missing"),
                (self.unlisted / rows, "not among the values: check spelling and kind"),
                ((self.below + self.above) / rows, "outside the bounds"),
                (self.moved / rows, "between steps"),
            )
            if share >= _MUCH
        ]
        return "; ".join([*told, *(["one value only"] if self.constant else [])])


class ForTheCurator(ABC):
    """Exact facts that only the curator may see: shown under a warning, neither saved nor copied."""

    called: ClassVar[str]
    """What an error calls it."""

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """Return what is shown below the warning."""

    def __str__(self) -> str:
        return "\n".join(["FOR THE CURATOR ONLY - exact, not private, not a release", *self.lines()])

    __repr__ = __str__

    def __reduce__(self) -> NoReturn:
        raise AccessDenied(f"A {self.called} cannot be saved or copied: it is exact.")


@dataclass(frozen=True, repr=False)
class TableCheck(ForTheCurator):
    """Exact facts about how a table fits its schema. Not a release: for the curator alone."""

    called = "check"

    columns: tuple[ColumnCheck, ...]
    persons: PersonTally | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a row per column: shares of values that are missing, unlisted, clipped or moved."""
        import pandas as pd

        facts = [
            {
                "missing": check.missing / max(check.rows, 1),
                "unlisted": check.unlisted / max(check.rows, 1),
                "below": check.below / max(check.rows, 1),
                "above": check.above / max(check.rows, 1),
                "moved": check.moved / max(check.rows, 1),
                "constant": check.constant,
                "advice": check.advice,
            }
            for check in self.columns
        ]
        return pd.DataFrame(facts, index=pd.Index([c.column for c in self.columns], name="column"))

    def lines(self) -> Iterable[str]:
        """Return a line per column, and one about persons."""
        lines = [f"  {check.column}: {check.advice or 'as expected'}" for check in self.columns]
        return lines + ([] if self.persons is None else [f"  {self.persons.column}: {self.persons}"])


@dataclass
class _Tally:
    column: Column
    counts: np.ndarray = field(default_factory=lambda: np.zeros(5, dtype=np.int64))
    rows: int = 0
    low: float = np.inf
    high: float = -np.inf

    def add(self, values: RawColumn) -> None:
        """Count the values of a chunk."""
        encoded = _bare(self.column).encode(values)
        self.rows += len(encoded)
        self.low, self.high = min(self.low, encoded.min()), max(self.high, encoded.max())
        if isinstance(self.column, Category):
            listed = len(self.column.values)
            self.counts[:2] += (encoded == listed + 1).sum(), (encoded == listed).sum()
            return
        numbers = self.column.numbers(values)
        low, high = self.column.low, self.column.high
        inside = (numbers >= low) & (numbers <= high)
        moved = inside & (np.abs(encoded - numbers) > 1e-9 * max(abs(low), abs(high)))
        found = (np.isnan(numbers), np.zeros(1), numbers < low, numbers > high, moved)
        self.counts += [int(part.sum()) for part in found]

    def told(self, name: str) -> ColumnCheck:
        """Return what was counted."""
        missing, unlisted, below, above, moved = map(int, self.counts)
        constant = self.rows > 1 and self.low == self.high
        return ColumnCheck(name, self.rows, missing, unlisted, below, above, moved, constant)


def check_table(table: PrivateTable, cluster: Cluster | None = None) -> TableCheck:
    """Return how a table fits its schema: a pass over the rows, by a worker if they are there.

    Ids of persons are counted where they are read; numbers alone come here.
    """
    wanted = [*table.schema, *table.schema.read_besides]
    parts = None if cluster is None else table.parts(wanted, cluster)
    if cluster is None or parts is None:
        return TableCheck(*_check(table))
    return TableCheck(*cluster.make_once(parts, _check_parts, table.schema))


def _check_parts(parts: Sequence[Part], schema: Schema) -> tuple[Any, ...]:
    return _check(PrivateTable.of_parts(parts, schema))


def _check(table: PrivateTable) -> tuple[tuple[ColumnCheck, ...], PersonTally | None]:
    person = table.schema.person
    persons = None if person is None else tally_persons(open_ids(table, person.column), person)
    return _check_columns(table), persons


def _check_columns(table: PrivateTable) -> tuple[ColumnCheck, ...]:
    tallies = {name: _Tally(table.schema[name]) for name in table.schema}
    for name, values in open_raw(table):
        tallies[name].add(values)
    return tuple(tally.told(name) for name, tally in tallies.items())


def _bare(column: Column) -> Column:
    """Return the column with codes for missing and unlisted values, whatever becomes of them."""
    match column:
        case Date():
            ends = column.show(column.low), column.show(column.high)
            return Date(*ends, column.every, zone=column.zone, format=column.format)
        case Boolean():
            return Boolean(true=column.true, false=column.false)
        case Category():
            return Category(*column.values)
    return Number(column.low, column.high, column.step)
