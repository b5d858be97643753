"""Who is a neighbour of whom: the two relations between tables that a promise can be about.

* replace-one: one record's values change; the number of records is public (bounded differential
  privacy, Kifer and Machanavajjhala 2011).
* add-remove: one record comes or goes; the number of records is private (unbounded).

A relation is a value that knows what differs, so that no other module asks for its name. It is a text
as well: it equals the name a user writes, and is written to JSON as that name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from discreet.errors import ArgumentError

RelationName = Literal["replace-one", "add-remove"]


class Relation(StrEnum):
    """What may differ between two neighbouring tables.

    >>> Relation("add-remove").rows_public
    False
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    __repr__ = str.__repr__

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        raise ArgumentError(unknown_relation(value))

    @property
    def rows_public(self) -> bool:
        """Whether neighbours have as many rows, so that their number may be known."""
        return self is Relation.REPLACE_ONE

    @property
    def keeps_places(self) -> bool:
        """Whether all other rows stay in their places, and so in their blocks."""
        return self is Relation.REPLACE_ONE

    @property
    def edits(self) -> int:
        """How many records come or go between neighbours: replacing one does both."""
        return 2 if self is Relation.REPLACE_ONE else 1


REPLACE_ONE, ADD_REMOVE = Relation.REPLACE_ONE, Relation.ADD_REMOVE
RELATIONS: tuple[Relation, ...] = tuple(Relation)


def unknown_relation(relation: object) -> str:
    """Return the sentence for a relation that is none of ours."""
    return f"relation must be one of {', '.join(RELATIONS)}, got {relation!r}."
