"""Parts of a table: the records that have a value of some columns, and how many they are.

Whether a record is in a part follows from the record alone. Replaced, it may come into the part or
leave it, so that a part's size is private under both relations; what is summed over a part is measured
from the middle of its region, so that a record outside adds nothing and moves no bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise, count_noise
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import MISSING, Category, Column, FloatArray, Schema


def may_lack(column: Column) -> bool:
    """Return whether a record may have none of the column's values: a missing or an unlisted one."""
    return column.reserved > 0 if isinstance(column, Category) else column.may_be_missing


def has_value(column: Column, encoded: FloatArray) -> NDArray[np.bool_]:
    """Return which encoded values are values of the column, neither missing nor unlisted."""
    if isinstance(column, Category):
        return np.asarray(encoded < len(column.values))
    return np.asarray(encoded != MISSING)


def in_part(schema: Schema, columns: Sequence[str], block: Block) -> NDArray[np.bool_]:
    """Return which records of a block have a value of all these columns."""
    inside = np.ones(len(block), dtype=bool)
    for name in columns:
        inside &= has_value(schema[name], block[name])
    return inside


def part_stage(columns: Sequence[str], setting: Setting, *, epsilon: float) -> Stage[Noise]:
    """Return the stage that counts the records that have a value of all these columns.

    Guarantees:
      - A record that comes, goes or is replaced moves the count by at most one. [part]
    """

    def index(block: Block) -> NDArray[np.int64]:
        return np.where(in_part(setting.schema, columns, block), 0, -1)

    moved = Bounds(1.0, 1.0, 1.0)
    noise = count_noise(
        Certificate(("part",), 1, {REPLACE_ONE: moved, ADD_REMOVE: moved}),
        relation=setting.relation,
        epsilon=epsilon,
    )
    return Stage("number of records in the part", CellContribution(tuple(columns), 1, index), noise)
