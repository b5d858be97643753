"""Who a person is in a table where some have several rows: the unit that is protected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.arguments import shown
from discreet.errors import SchemaError

RowsOfOne = Literal["weighted", "capped", "one"]
ROWS_OF_ONE: tuple[RowsOfOne, ...] = ("weighted", "capped", "one")

MOST_ROWS = 1_024
"""Rows of one person that are read; which ones, if she has more, follows from a hash of her id."""


@dataclass(frozen=True)
class Person:
    """A column that names a person, and how her rows count.

    Args:
      column: the name of the column. Its values are compared as texts, never shown and never stored;
        all rows without one are together one person.
      rows: ``weighted``: each counts one over their number, so that a person counts one and answers are
        about persons. ``capped``: at most ``most`` of them count, one each; answers are about rows.
        ``one``: one of them counts.
      most: for ``capped`` alone.
    """

    column: str
    rows: RowsOfOne = "weighted"
    most: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise SchemaError(f"person must be the name of a column, got {shown(self.column)}.")
        if self.rows not in ROWS_OF_ONE:
            raise SchemaError(f"rows must be one of {', '.join(ROWS_OF_ONE)}, got {shown(self.rows)}.")
        if self.rows != "capped" and self.most is not None:
            raise SchemaError(
                f"most must be left out unless rows is 'capped', got {shown(self.most)} for "
                f"{self.rows!r}."
            )
        usable = isinstance(self.most, int) and not isinstance(self.most, bool)
        if self.rows == "capped" and not (usable and 1 <= int(self.most or 0) <= MOST_ROWS):
            raise SchemaError(
                f"most must be a whole number from 1 to {MOST_ROWS}, got {shown(self.most)}. It is how "
                "many rows of one person count, and noise grows with it."
            )

    @property
    def kept(self) -> int:
        """How many rows of one person are read at the most."""
        return {"weighted": MOST_ROWS, "one": 1}.get(self.rows, self.most or 1)

    def __str__(self) -> str:
        counts = {
            "weighted": "each of whose rows counts one over their number",
            "capped": f"of whose rows at most {self.most} count",
            "one": "of whose rows one counts",
        }
        return f"a person ({self.column}), {counts[self.rows]}"

    @property
    def unit(self) -> str:
        """What is protected, as a sentence."""
        return f"a record is {self}"

    def to_json(self) -> dict[str, Any]:
        """Return the unit as plain data."""
        most = {} if self.most is None else {"most": self.most}
        return {"column": self.column, "rows": self.rows, **most}


def person_from_plain(plain: Any) -> Person | None:
    """Build the unit from plain data; None if there is none."""
    if plain is None:
        return None
    if not isinstance(plain, Mapping) or not {"column"} <= set(plain) <= {"column", "rows", "most"}:
        raise SchemaError("person must have a column, rows and most, got " + shown(plain) + ".")
    return Person(**plain)
