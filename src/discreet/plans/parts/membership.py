"""Which records are in a part of a table, and in which of its groups: by their own values alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.schema import Category, Condition, Schema

_MOST_GROUPS = 1_000


@dataclass(frozen=True)
class Membership:
    """A condition, and columns by whose values records are grouped; both may be left out.

    Args:
      schema: the public facts by which rows are encoded.
      where: the condition, None for all records.
      by: categories; a group is one combination of their values, missing and unlisted ones included.
    """

    schema: Schema
    where: Condition | None
    by: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise unless columns and values are in the schema and the groups are few enough."""
        if self.where is not None:
            self.where.check(self.schema)
        for name in self.by:
            if not isinstance(self.schema[name], Category):
                raise ArgumentError(
                    f"by must name categories, got the number {name!r}. Ask for its ranges one by one "
                    f"with where=dc.col({name!r}).between(low, high)."
                )
        if self.groups > _MOST_GROUPS:
            raise ArgumentError(
                f"by must give at most {_MOST_GROUPS:,} groups, got {self.groups:,}. Use fewer columns."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide."""
        conditions = () if self.where is None else self.where.columns
        return tuple(dict.fromkeys((*conditions, *self.by)))

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """What every group is called: a value of each column."""
        return tuple(itertools.product(*(self._category(name).labels for name in self.by)))

    @property
    def groups(self) -> int:
        """The number of groups; one without columns."""
        return math.prod(len(self._category(name)) for name in self.by)

    def place(self, block: Block) -> NDArray[np.int64]:
        """Return the group of every record; -1 if the condition is not true of it."""
        places = np.zeros(len(block), dtype=np.int64)
        for name in self.by:
            places = places * len(self._category(name)) + block[name].astype(np.int64)
        if self.where is None:
            return places
        true, _ = self.where.truth(self.schema, block)
        return np.where(true, places, -1)

    def _category(self, name: str) -> Category:
        column = self.schema[name]
        assert isinstance(column, Category)  # checked
        return column
