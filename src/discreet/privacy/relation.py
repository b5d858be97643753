"""Who is a neighbour of whom: the two relations between tables that a promise can be about.

* replace-one: one record's values change; the number of records is public (bounded differential
  privacy, Kifer and Machanavajjhala 2011).
* add-remove: one record comes or goes; the number of records is private (unbounded).

Two more follow from replace-one inside of a release, where only some records are added up: a record
that is replaced may come into a part of the table, leave it or stay in it (``PARTED``), and it may move
from one group to another (``GROUPED``). No table is registered under them.

Where records are persons that may have several rows, what follows inside of a release has a name of its
own: *moved* if rows stand in other places when a person is replaced, *shared* if besides her rows share
one record, so that counts are not whole.

A relation is a value that knows what differs, so that no other module asks for its name. It is a text
as well: it equals the name a user writes, and is written to JSON as that name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from discreet.errors import ArgumentError

RelationName = Literal["replace-one", "add-remove"]

_MOVED, _SHARED = ", moved", ", shared"

ROUNDED_ROWS = 1_025
"""Of rows that share a record, how many steps their rounding moves a sum: one for each of the most that
are read, and one for the last bits of their weights."""

MOST_GROUPS = 1_000
"""Groups of records that may be asked about at once."""

ROWS_CAP = 2**24
"""The most rows of a table under add-remove, where their number must not enter a bound, unless other
terms are registered."""

MOST_ROWS = 2**38
"""The most rows any table may have: beyond it whole numbers of 64 bits would not hold every sum."""


class Relation(StrEnum):
    """What may differ between two neighbouring tables.

    >>> Relation("add-remove").rows_public
    False
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"
    PARTED = "replace-one within a part"
    GROUPED = "replace-one between groups"
    MOVED = "replace-one, moved"
    MOVED_PARTED = "replace-one within a part, moved"
    MOVED_GROUPED = "replace-one between groups, moved"
    SHARED = "replace-one, shared"
    SHARED_PARTED = "replace-one within a part, shared"
    SHARED_GROUPED = "replace-one between groups, shared"
    SHARED_ADDED = "add-remove, shared"

    __repr__ = str.__repr__

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        raise ArgumentError(unknown_relation(value))

    @property
    def of_rows(self) -> Relation:
        """The same relation between records that are rows: bounds on sums are those of it."""
        return Relation(self.value.partition(", ")[0])

    @property
    def between_tables(self) -> Relation:
        """The relation between tables from which it follows."""
        return Relation.ADD_REMOVE if self.edits == 1 else Relation.REPLACE_ONE

    @property
    def rows_public(self) -> bool:
        """Whether neighbours have as many records, so that their number may be known."""
        return self.of_rows is Relation.REPLACE_ONE

    @property
    def of_tables(self) -> bool:
        """Whether whole tables are neighbours in it, so that one may be registered under it."""
        return self in RELATIONS

    @property
    def keeps_places(self) -> bool:
        """Whether all other rows stay in their places, and so in their blocks."""
        return self is self.of_rows and self is not Relation.ADD_REMOVE

    @property
    def whole(self) -> bool:
        """Whether records are counted as ones: not if the rows of a person share one."""
        return not self.value.endswith(_SHARED)

    @property
    def rounded_rows(self) -> int:
        """How many rows of one record are rounded, each by itself."""
        return 1 if self.whole else ROUNDED_ROWS

    @property
    def edits(self) -> int:
        """How many records come or go between neighbours: replacing one does both."""
        return 1 if self.of_rows is Relation.ADD_REMOVE else 2

    @property
    def groups_touched(self) -> int:
        """In how many groups of records sums may move at once, as one record does."""
        return 2 if self.of_rows is Relation.GROUPED else 1

    @property
    def within_part(self) -> Relation:
        """How the records of a part differ, if tables differ like this."""
        return self._inside(Relation.PARTED)

    @property
    def between_groups(self) -> Relation:
        """How the records of all groups together differ, if tables differ like this."""
        return self._inside(Relation.GROUPED)

    @property
    def moved(self) -> Relation:
        """The same between tables in which a person has one row, wherever it stands."""
        return self if self.edits == 1 else Relation(self.of_rows.value + _MOVED)

    @property
    def shared(self) -> Relation:
        """The same between tables in which the rows of a person share one record."""
        return Relation(self.of_rows.value + _SHARED)

    def _inside(self, rows: Relation) -> Relation:
        if self.edits == 1:
            return self
        return Relation(rows.value + self.value[len(self.of_rows.value) :])


REPLACE_ONE, ADD_REMOVE = Relation.REPLACE_ONE, Relation.ADD_REMOVE
PARTED, GROUPED = Relation.PARTED, Relation.GROUPED
RELATIONS: tuple[Relation, ...] = (REPLACE_ONE, ADD_REMOVE)
"""What tables can be registered under."""


def registered(relation: Relation | RelationName) -> Relation:
    """Return a relation that a table may be registered under, or raise."""
    found = Relation(relation)
    if not found.of_tables:
        raise ArgumentError(unknown_relation(relation))
    return found


def unknown_relation(relation: object) -> str:
    """Return the sentence for a relation that is none of ours."""
    return f"relation must be one of {', '.join(RELATIONS)}, got {relation!r}."
