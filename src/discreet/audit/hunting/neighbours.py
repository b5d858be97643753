"""Neighbouring tables by structure: corners, thresholds, odd values, doubles, the table's own rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discreet.data import PrivateTable
from discreet.privacy.relation import Relation
from discreet.randomness import public_generator
from discreet.schema import Category, Column, Number, Schema

HUGE = 1.7976931348623157e308
"""The greatest float."""

NOT_LISTED = "a value that no list has"
_MOST_VALUES = 24
_MOST_COLUMNS = 12
_MOST_SPLITS = 8
_GRID = 5

Record = tuple[Any, ...]
"""Raw values in the order of the columns, the id last if there is one."""

Rows = NDArray[np.object_]
"""Raw rows: one record each."""

Marks = dict[str, list[Any]]
"""Raw values at which something may happen, by column."""


def columns_of(schema: Schema) -> tuple[str, ...]:
    """Return the columns of a raw table."""
    return (*schema, *([schema.id] if schema.id else []))


def draw_table(schema: Schema, rows: int, seed: int) -> Rows:
    """Return a made-up table: public values, some of them beyond, unknown, missing, or twice there."""
    generator = public_generator(seed)
    made = np.empty((rows, len(columns_of(schema))), dtype=object)
    for place, name in enumerate(schema):
        made[:, place] = schema[name].decode(schema[name].draw(generator, rows)).tolist()
        made[generator.integers(rows), place] = _odd(schema[name])
        made[generator.integers(rows), place] = None
    if schema.id:
        made[:, -1] = [f"record {row}" for row in range(rows)]
    made[rows // 3] = made[rows // 2]
    return made


def _odd(column: Column) -> Any:
    if isinstance(column, Category):
        return NOT_LISTED
    return column.high + (column.high - column.low)


def find_marks(schema: Schema, thresholds: Mapping[str, Iterable[float]]) -> Marks:
    """Return the values of every column at which a sum may jump, those one step beside them too.

    Args:
      schema: whose ends, grids and categories count.
      thresholds: further numbers, as the split points of trees.
    """
    return {name: _marks(schema[name], thresholds.get(name, ())) for name in schema}


def _marks(column: Column, thresholds: Iterable[float]) -> list[Any]:
    if isinstance(column, Category):
        return [*column.values[:_MOST_VALUES], NOT_LISTED, None]
    inside = sorted({float(t) for t in thresholds if column.low <= t <= column.high})
    chosen = inside[:: max(1, -(-len(inside) // _MOST_SPLITS))]
    around = [value for mark in chosen for value in beside(column, mark)]
    ends = [column.low, column.high, *column.grid(_GRID)[1:-1].tolist()]
    return [*dict.fromkeys([*ends, *around]), None, HUGE, -HUGE]


def beside(column: Number, mark: float) -> list[float]:
    """Return a value, and those one step or one float below and above it."""
    if column.step is not None:
        low = column.low + np.floor((mark - column.low) / column.step) * column.step
        return [mark, low, low + column.step, low - column.step]
    return [mark, float(np.nextafter(mark, -np.inf)), float(np.nextafter(mark, np.inf))]


def newcomers(schema: Schema, rows: Rows) -> dict[str, Record]:
    """Return records that move a sum far, or ought not to move it at all."""
    columns = [schema[name] for name in schema]
    ids = ("newcomer",) if schema.id else ()
    lows, highs, middles = ([value(column) for column in columns] for value in (_low, _high, _middle))
    beyond = [_beyond(column, (HUGE, -HUGE, np.inf)[j % 3]) for j, column in enumerate(columns)]
    mixed = [highs[j] if j % 2 == 0 else lows[j] for j in range(len(columns))]
    other = [lows[j] if j % 2 == 0 else highs[j] for j in range(len(columns))]
    made = {
        "high corner": highs,
        "low corner": lows,
        "mixed corner": mixed,
        "other corner": other,
        "missing": [None] * len(columns),
        "unknown": middles,
        "beyond": beyond,
        "double": list(rows[len(rows) // 5])[: len(columns)],
    }
    return {name: (*values, *ids) for name, values in made.items()}


def _low(column: Column) -> Any:
    return column.values[0] if isinstance(column, Category) else column.low


def _high(column: Column) -> Any:
    return column.values[-1] if isinstance(column, Category) else column.high


def _middle(column: Column) -> Any:
    return NOT_LISTED if isinstance(column, Category) else column.low / 2 + column.high / 2


def _beyond(column: Column, value: float) -> Any:
    return column.values[-1] if isinstance(column, Category) else value


def by_column(schema: Schema, record: Record, marks: Marks) -> Iterator[tuple[str, Record]]:
    """Yield a record with one value after the other at its marks."""
    names = list(schema)
    chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), _MOST_COLUMNS)).astype(int))
    for place in chosen.tolist():
        for value in marks[names[place]]:
            yield f"{names[place]} at {value!r}", (*record[:place], value, *record[place + 1 :])


def plain_tables(schema: Schema, rows: Rows) -> dict[str, Rows]:
    """Return tables of few kinds of rows, in which one record counts most."""
    known = newcomers(schema, rows)
    low, high = known["low corner"], known["high corner"]
    halves = [low if row % 2 else high for row in range(len(rows))]
    return {
        "a drawn table": rows,
        "equal rows": _stacked([tuple(rows[len(rows) // 2])] * len(rows), rows),
        "low corners": _stacked([low] * len(rows), rows),
        "two corners": _stacked(halves, rows),
    }


def _stacked(records: Sequence[Record], like: Rows) -> Rows:
    made = np.empty_like(like)
    for place, record in enumerate(records):
        made[place] = record
    return made


@cache
def _index(names: tuple[str, ...]) -> pd.Index[Any]:
    """Return column names as frames want them; making them takes as long as all else of a frame."""
    return pd.Index(names, dtype=object)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """All other records of a table, and a place at which somebody stands or nobody.

    Args:
      schema: of the table.
      relation: of its neighbours.
      others: every record but one.
      place: where that one stands.
      named: what it is called in a report.
    """

    schema: Schema
    relation: Relation
    others: Rows = field(repr=False)
    place: int
    named: str = "a table"

    def frame(self, record: Record | None) -> pd.DataFrame:
        """Return the raw table in which a record, or nobody, stands at the place."""
        rows = self.others
        if record is not None:
            one = np.empty((1, rows.shape[1]), dtype=object)
            one[0] = record
            rows = np.concatenate([rows[: self.place], one, rows[self.place :]])
        return pd.DataFrame(rows, columns=_index(columns_of(self.schema)), dtype=object)

    def table(self, record: Record | None) -> PrivateTable:
        """Return it sealed, as a session opens it."""
        return PrivateTable(self.frame(record), self.schema, self.relation)

    def neighbours(self, one: Record | None, other: Record | None) -> bool:
        """Return whether two tables with these records at the place are neighbours."""
        return self.relation.keeps_places or (one is None) != (other is None)


def around(
    schema: Schema, relation: Relation, rows: Rows, named: str = "a table"
) -> Iterator[tuple[Neighbourhood, list[tuple[str, Record | None]]]]:
    """Yield the first and the last place of a table, and who stands there now.

    Under add-remove nobody does, or one record less is there; newcomers come besides.
    """
    for place in (0, len(rows) - 1):
        others = np.delete(rows, place, axis=0)
        own = (f"the record at {place}", tuple(rows[place]))
        if relation.keeps_places:
            yield Neighbourhood(schema, relation, others, place, named), [own]
            continue
        yield Neighbourhood(schema, relation, others, place, named), [("nobody", None), own]
        yield (
            Neighbourhood(schema, relation, rows, place if place == 0 else place + 1, named),
            [("nobody", None)],
        )
