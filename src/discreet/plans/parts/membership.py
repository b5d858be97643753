"""Which records are in a part of a table, and in which of its groups: by their own values alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.data.blocks import Block
from discreet.errors import ArgumentError, SchemaError
from discreet.privacy.relation import MOST_GROUPS
from discreet.schema import Category, Condition, Schema

PART = "part"
"""What the two sides of a condition are a column of."""


@dataclass(frozen=True)
class GroupAxis:
    """One way to group records: by the values of a category, or by a level above it.

    Args:
      name: of the column or the level.
      column: the category's.
      places: the group of every code.
      labels: what the groups are called.
    """

    name: str
    column: str
    places: tuple[int, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema, name: str) -> GroupAxis:
        """Return the axis of a name, or raise a sentence."""
        if name in schema.levels:
            level = schema.levels[name]
            column = schema[level.of]
            assert isinstance(column, Category)  # checked by the schema
            return cls(name, level.of, level.places(column), level.labels(column))
        if name not in schema:
            raise _unknown("by", name, (*schema.levels, *schema))
        column = schema[name]
        if not isinstance(column, Category):
            raise ArgumentError(
                f"by must name categories, got the number {name!r}. Ask for its ranges one by one "
                f"as where, such as '{name} < 40' and '{name} >= 40'."
            )
        return cls(name, name, tuple(range(len(column))), column.labels)


@dataclass(frozen=True)
class Membership:
    """A condition, and categories by whose values records are grouped; both may be left out.

    Args:
      schema: the public facts by which rows are encoded.
      where: the condition, None for all records.
      by: categories or levels; a group is one combination of their values, missing and unlisted ones
        included.
      split: a condition that makes two groups of the records: where it is true, and where it is false.
    """

    schema: Schema
    where: Condition | None
    by: tuple[str, ...] = ()
    split: Condition | None = None

    def check(self) -> None:
        """Raise unless columns and values are in the schema and the groups are few enough."""
        for argument, condition in (("where", self.where), ("by", self.split)):
            if condition is not None:
                strange = [name for name in condition.columns if name not in self.schema]
                if strange:
                    raise _unknown(argument, strange[0], tuple(self.schema))
                with told_of(argument):
                    condition.check(self.schema)
        if self.groups > MOST_GROUPS:
            raise ArgumentError(
                f"by must give at most {MOST_GROUPS:,} groups, got {self.groups:,}. Use fewer columns."
            )

    @cached_property
    def axes(self) -> tuple[GroupAxis, ...]:
        """How records are grouped, one way after the other."""
        return tuple(GroupAxis.of(self.schema, name) for name in self.by)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide."""
        asked = [name for one in (self.where, self.split) if one is not None for name in one.columns]
        return tuple(dict.fromkeys((*asked, *(axis.column for axis in self.axes))))

    @property
    def grouped(self) -> bool:
        """Whether there are groups, or one part."""
        return bool(self.by) or self.split is not None

    @property
    def names(self) -> tuple[str, ...]:
        """What records are grouped by."""
        return self.by if self.split is None else (*self.by, PART)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """What every group is called: a value of each column."""
        labels = [axis.labels for axis in self.axes]
        if self.split is not None:
            told = (self.split, ~self.split)
            labels.append(tuple(one.understood(self.schema) for one in told))
        return tuple(itertools.product(*labels))

    @property
    def groups(self) -> int:
        """The number of groups; one without columns."""
        return math.prod(len(axis.labels) for axis in self.axes) * (1 if self.split is None else 2)

    def place(self, block: Block) -> NDArray[np.int64]:
        """Return the group of every record; -1 if the condition is not true of it, or one unknown."""
        places = np.zeros(len(block), dtype=np.int64)
        for axis in self.axes:
            own = np.array(axis.places)[block[axis.column].astype(np.int64)]
            places = places * len(axis.labels) + own
        inside = np.ones(len(block), dtype=bool)
        if self.split is not None:
            true, false = self.split.truth(self.schema, block)
            places, inside = 2 * places + false, true | false
        if self.where is not None:
            inside = inside & self.where.truth(self.schema, block)[0]
        return np.where(inside, places, -1)

    def levels(self) -> tuple[Membership, ...]:
        """Return one grouping per level, coarse ones first, if they are levels of one category.

        Empty if columns are to be combined instead; raises if both are meant at once.
        """
        columns = [axis.column for axis in self.axes]
        if len(columns) < 2 or len(set(columns)) == len(columns):
            return ()
        if len(set(columns)) > 1:
            raise ArgumentError(
                f"by must name levels of one category, or categories to combine, got "
                f"{', '.join(self.by)}. Leave out a level or a category."
            )
        ordered = sorted(self.axes, key=lambda axis: len(axis.labels))
        for coarse, fine in itertools.pairwise(ordered):
            if len(set(zip(fine.places, coarse.places, strict=True))) != len(set(fine.places)):
                raise ArgumentError(
                    f"by must name levels of which one lies within the next, got {coarse.name!r} and "
                    f"{fine.name!r}, of which neither does."
                )
        return tuple(Membership(self.schema, self.where, (axis.name,)) for axis in ordered)


@contextmanager
def told_of(argument: str) -> Iterator[None]:
    """Let what is wrong with a condition be told by the argument that it was given as."""
    try:
        yield
    except ArgumentError as error:
        told = str(error)
        if told.startswith("where "):
            error.args = (f"{argument} {told.removeprefix('where ')}",)
        raise


def _unknown(argument: str, name: str, known: tuple[str, ...]) -> SchemaError:
    return SchemaError(
        f"{argument} must name columns of the schema ({', '.join(known)}), got {shown(name)}."
    )
