"""Rows as valued models and distances see them, and the public test set, scaled by the schema alone.

A number lies in [0, 1]; a category is one column per value, of height 1/sqrt 2, so that two records
that differ in it are as far apart as the two ends of a number. A row's scaled form depends on the row
and the schema alone: no other record can move it in a single bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.sources import open_source
from discreet.errors import ArgumentError
from discreet.models.fingerprint import Kept
from discreet.plans.stages.parts import may_lack
from discreet.schema import MISSING, Category, FloatArray, Schema

_HEIGHT = math.sqrt(0.5)


@dataclass(frozen=True)
class TestSet:
    """A public test set, encoded like any record: ``columns`` are the features, then the target."""

    schema: Schema
    columns: tuple[str, ...]
    encoded: FloatArray = field(repr=False)

    __test__ = False  # no test, whatever pytest makes of its name

    @property
    def x(self) -> FloatArray:
        """The scaled features."""
        return scaled(self.schema, self.columns[:-1], self.encoded[:, :-1])

    @property
    def y(self) -> FloatArray:
        """The labels, as codes, or the values of a numeric target."""
        return self.encoded[:, -1]

    @property
    def classes(self) -> int | None:
        """The number of classes; None for a numeric target."""
        target = self.schema[self.columns[-1]]
        return len(target) if isinstance(target, Category) else None

    def split(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scaled features and labels of encoded rows with ``columns``."""
        return scaled(self.schema, self.columns[:-1], rows[:, :-1]), rows[:, -1].copy()

    def draw(self, rows: int) -> FloatArray:
        """Return public rows that probe a model."""
        places = [self.schema.position(name) for name in self.columns]
        return self.schema.draw(rows)[:, places]


def read_test(test: Any, schema: Schema) -> TestSet:
    """Return the public test set by a schema's names; it needs the target."""
    if schema.target is None:
        raise ArgumentError("schema must have a target for data values, got none. Name it.")
    if not schema.features:
        raise ArgumentError("schema must have a column besides the target, got none.")
    if may_lack(schema[schema.target]):
        raise ArgumentError(
            "schema must give every record a target for data values, got the column "
            f"{schema.target!r}, which may be missing or not listed. Say what such values become: "
            "missing=False, or for a category unknown=..."
        )
    columns = (*schema.features, schema.target)
    return TestSet(schema, columns, encode_rows(test, schema, columns, "test"))


def encode_rows(rows: Any, schema: Schema, columns: tuple[str, ...], name: str) -> FloatArray:
    """Return the named columns of rows as the schema encodes them."""
    source = open_source(rows, list(schema))
    missing = [column for column in columns if column not in source.columns]
    if missing:
        raise ArgumentError(f"{name} must have a column {missing[0]!r}, got none of that name. Add it.")
    parts = [
        np.column_stack([schema[column].encode(chunk[column]) for column in columns])
        for chunk in source.chunks(columns)
    ]
    if not sum(map(len, parts)):
        raise ArgumentError(f"{name} must have at least one row, got none.")
    return np.concatenate(parts)


def scaled(schema: Schema, columns: tuple[str, ...], encoded: FloatArray) -> FloatArray:
    """Return encoded rows with every number in [0, 1] and a column for every value of a category.

    A missing number is shown as its public fill, the middle; missing and unlisted are categories.
    """
    parts: list[Any] = []
    for place, name in enumerate(columns):
        column, values = schema[name], encoded[:, place]
        if isinstance(column, Category):
            parts.append(_HEIGHT * (values[:, None] == np.arange(len(column))))
        else:
            present = np.where(values == MISSING, column.fill, values)
            parts.append(((present - column.low) / (column.high - column.low))[:, None])
    return np.ascontiguousarray(np.hstack(parts), dtype=np.float64)


def keep_rows(name: str, rows: Any) -> Kept:
    """Return public rows with a fingerprint of their values: a frame, an array or a file."""
    return Kept(name, rows, view=_contents)


def _contents(rows: Any) -> Any:
    """Return all that is in public rows, as plain values and arrays."""
    if isinstance(rows, str | Path):
        try:
            return Path(rows).suffix, Path(rows).read_bytes()
        except OSError as error:
            raise ArgumentError(
                f"test must be a file that can be read, got {error.strerror}."
            ) from None
    if isinstance(rows, np.ndarray):
        return rows
    if hasattr(rows, "to_pandas"):  # polars and Arrow
        rows = rows.to_pandas()
    if not hasattr(rows, "to_csv"):
        raise ArgumentError(
            f"test must be public rows: a frame, an array or a file, got {type(rows).__name__}."
        )
    return [(str(name), str(values.dtype), _listed(values)) for name, values in rows.items()]


def _listed(values: Any) -> Any:
    """Return a column: numbers as they are, others value by value, what is missing as None."""
    array = values.to_numpy()
    if array.dtype.kind in "fiub":
        return array
    return [
        None if missing else value for missing, value in zip(values.isna(), array.tolist(), strict=True)
    ]
