"""What a model sees of encoded rows: missing values as NaN if it takes them, else as a public value.

Encoded rows have reserved codes for missing and unlisted values, which no model was trained on. A model
that answers NaN (it is tried on public rows) is given NaN for both; any other one a public fill of the
column: the middle of a number's range, the first of a category's values, or what the schema says.
Translation is element by element, so it commutes with all that engines do to rows: setting a feature,
mixing a query with a record, taking one value from another row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.privacy.guarantee import FILLED
from discreet.schema import MISSING, Category, Column, Date, FloatArray, Number


@dataclass(frozen=True)
class Sight:
    """How the columns of a model are translated.

    Args:
      columns: of the model, in its order.
      takes_missing: whether the model is given NaN.
      numbers_alone: whether that is so for numbers, and categories are filled all the same.

    Guarantees:
      - A translated value is a function of the value and its column alone. [lattice]
    """

    columns: tuple[Column, ...]
    takes_missing: bool
    numbers_alone: bool = False

    def shows_nan(self, place: int) -> bool:
        """Say whether the model is given NaN for reserved codes of a column."""
        alone = self.numbers_alone and isinstance(self.columns[place], Category)
        return self.takes_missing and not alone

    @property
    def changes(self) -> tuple[int, ...]:
        """The places of columns with reserved codes."""
        return tuple(i for i, column in enumerate(self.columns) if has_reserved(column))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return encoded rows as the model sees them; the same array if no code is reserved."""
        places = self.changes
        if not places:
            return rows
        seen = np.array(rows, order="K")
        for place in places:
            seen[:, place] = self.column(place, rows[:, place])
        return seen

    def column(self, place: int, encoded: FloatArray) -> FloatArray:
        """Return the values of one column as the model sees them."""
        column = self.columns[place]
        if not has_reserved(column):
            return encoded
        listed = len(column.values) if isinstance(column, Category) else math.inf
        reserved = (encoded == MISSING) | (encoded >= listed)
        return np.where(reserved, np.nan if self.shows_nan(place) else column.fill, encoded)

    def told(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what a reader of an answer should know of fills, in words."""
        filled = [place for place in self.changes if not self.shows_nan(place)]
        if not filled:
            return ()
        fills = [f"{names[place]} as {_shown(self.columns[place])}" for place in filled]
        return (f"{FILLED} {', '.join(fills)}",)


def sights(columns: tuple[Column, ...]) -> list[Sight]:
    """Return how some columns may be seen, what hides least first."""
    filled = Sight(columns, takes_missing=False)
    kinds = {isinstance(columns[place], Category) for place in filled.changes}
    both = [Sight(columns, True, numbers_alone=True)] if len(kinds) == 2 else []
    return [Sight(columns, takes_missing=True), *both, filled] if kinds else [filled]


class EncodedSight(Sight):
    """What a model sees whose own encoding is the schema's: codes as they are, reserved ones too."""

    @property
    def changes(self) -> tuple[int, ...]:
        """None: no code is reserved for this model."""
        return ()

    def column(self, place: int, encoded: FloatArray) -> FloatArray:
        """Return the values of one column as they are."""
        return encoded


def has_reserved(column: Column) -> bool:
    """Say whether a column has codes that are none of its values."""
    return column.reserved > 0 if isinstance(column, Category) else column.may_be_missing


def _shown(column: Column) -> str:
    if isinstance(column, Date):
        return column.show(column.fill)
    return f"{column.fill:g}" if isinstance(column, Number) else repr(column.values[int(column.fill)])
