"""The rows a user asks about: public queries, and queries that are sealed.

A query comes as a mapping, a row or a frame with the schema's names, or as numbers in the order of
the model's columns. It is written down in the plan as it was given, and encoded like any record when
the plan meets a schema. A public query may be judged: a wrong column or a value outside the schema
is an error. A sealed one may not: its values are clipped like a record's and appear nowhere.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from discreet.errors import AccessDenied, ArgumentError
from discreet.numerics import check_whole
from discreet.schema import Category, FloatArray, Number, Schema

MOST_QUERIES = 1_000
Named = dict[str, Any]
Row = Named | tuple[Any, ...]


class Queries:
    """Rows to explain, as given: plain values by name, or numbers in the model's order.

    ``simulated`` tells that they were released with seeded noise, which protects nobody.
    """

    def __init__(
        self, rows: Sequence[Row], most: int = MOST_QUERIES, *, simulated: bool = False
    ) -> None:
        if not rows:
            raise ArgumentError("x must have at least one row, got none.")
        check_whole("the number of rows", len(rows), 1, most, "Ask for several plans instead.")
        self._rows = list(rows)
        self.simulated = simulated

    def stamped(self, simulated: bool) -> Queries:
        """Return the same rows, with or without the stamp of a simulation."""
        return Queries(self._rows, len(self._rows), simulated=simulated)

    def __len__(self) -> int:
        return len(self._rows)

    def to_json(self) -> list[Any]:
        """Return the rows as plain data."""
        return [dict(row) if isinstance(row, dict) else list(row) for row in self._rows]

    @property
    def digest(self) -> str:
        """A fingerprint of the rows and of their stamp."""
        told = json.dumps(self.to_json()) + ("simulated" if self.simulated else "")
        return hashlib.sha256(told.encode()).hexdigest()

    def encode(self, schema: Schema, columns: tuple[str, ...], *, check: bool = True) -> FloatArray:
        """Return one encoded row per query with these columns; ``check`` judges public values."""
        named = [self._named(row, schema, columns) for row in self._rows]
        encoded = np.empty((len(named), len(columns)))
        for place, name in enumerate(columns):
            given = np.empty(len(named), dtype=object)
            given[:] = [row[name] for row in named]
            if check:
                _check_values(name, schema[name], given)
            encoded[:, place] = schema[name].encode(given)
        return encoded

    def check_names(self, schema: Schema, columns: tuple[str, ...]) -> None:
        """Raise if a column is missing or strange; names are public even where values are not."""
        for row in self._rows:
            self._named(row, schema, columns)

    def shown(self, columns: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Return the given values in the order of the columns."""
        return tuple(
            tuple(row[name] for name in columns) if isinstance(row, dict) else tuple(row)
            for row in self._rows
        )

    def _named(self, row: Any, schema: Schema, columns: tuple[str, ...]) -> Named:
        if not isinstance(row, dict):
            if len(row) != len(columns):
                raise ArgumentError(
                    f"x must have one number for each of {', '.join(columns)}, got {len(row)} numbers. "
                    "Give a mapping or a frame with names if in doubt."
                )
            return {n: _from_code(schema[n], value) for n, value in zip(columns, row, strict=True)}
        missing = [name for name in columns if name not in row]
        if missing:
            raise ArgumentError(
                f"x must have every column the model uses, got none named {missing[0]!r}. Add it."
            )
        strange = [name for name in row if name not in schema and name != schema.id]
        if strange:
            raise ArgumentError(
                f"x must have columns of the schema alone, got {strange[0]!r} besides. "
                "Drop it, or check its spelling."
            )
        return {name: row[name] for name in columns}


class SealedQueries:
    """Queries that are themselves protected: they can be explained and nothing else."""

    __slots__ = ("__queries",)

    def __init__(self, queries: Queries) -> None:
        self.__queries = queries

    def __len__(self) -> int:
        return len(self.__queries)

    def reveal(self) -> Queries:
        """Return the queries, for the plan that explains them."""
        return self.__queries

    def __repr__(self) -> str:
        return "<sealed query>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise AccessDenied("A sealed query cannot be copied or saved. Pass it again instead.")


def read_queries(x: Any, most: int = MOST_QUERIES) -> Queries:
    """Return queries from a mapping, a pandas or polars row or frame, or an array."""
    if isinstance(x, Queries):
        return x
    kind = f"{type(x).__module__.split('.')[0]}.{type(x).__name__}"
    if kind == "pandas.Series":
        return Queries([_plain_row(x.to_dict())], most)
    if kind == "pandas.DataFrame":
        return Queries([_plain_row(row) for row in x.to_dict("records")], most)
    if kind == "polars.DataFrame":
        return Queries([_plain_row(row) for row in x.to_dicts()], most)
    if isinstance(x, Mapping):
        return Queries([_plain_row(x)], most)
    if isinstance(x, Sequence) and x and all(isinstance(row, Mapping) for row in x):
        return Queries([_plain_row(row) for row in x], most)
    try:
        array = np.atleast_2d(np.asarray([] if x is None else x, dtype=np.float64))
    except (TypeError, ValueError):
        array = np.empty((0, 0, 0))
    if x is None or array.ndim != 2:
        raise ArgumentError(
            "x must be a mapping, a data frame or numbers in the order of the model's columns, "
            f"got {type(x).__name__}."
        )
    return Queries([tuple(map(_plain_value, row)) for row in array.tolist()], most)


def _from_code(column: Number | Category, value: float | None) -> Any:
    """Return the value behind a number of an array, in which categories are codes."""
    if isinstance(column, Category) and value is not None and value in range(len(column)):
        return column.values[int(value)]
    return value


def _plain_row(row: Mapping[Any, Any]) -> Named:
    return {str(name): _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Return a value JSON can hold; what is missing, of any kind, is None."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool | int | str) or plain is None:
        return plain
    if isinstance(plain, Real | Decimal):
        number = float(plain)
        if math.isinf(number):
            raise ArgumentError("x must hold finite numbers, got an infinite one. Clip it.")
        return None if math.isnan(number) else number
    return None if type(plain).__name__ in ("NAType", "NaTType") else str(plain)


def _check_values(name: str, column: Number | Category, given: Any) -> None:
    for value in given:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue  # missing, as in a record
        if isinstance(column, Number):
            number = isinstance(value, int | float) and not isinstance(value, str)
            if not number or not column.low <= value <= column.high:
                raise ArgumentError(
                    f"x must have {name} between {column.low:g} and {column.high:g}, got {value!r}. "
                    "Change the query, or widen the schema."
                )
        elif not _is_among(column, value):
            raise ArgumentError(
                f"x must have {name} among {', '.join(column.labels)}, got {value!r}. "
                "Change the query, or add the value to the schema."
            )


def _is_among(column: Category, value: Any) -> bool:
    """Say whether a value is one of the category's: only then does it survive its encoding."""
    codes = [
        Category(*column.values, unknown=other).encode(np.array([value], dtype=object))[0]
        for other in (column.values[0], column.values[-1])
    ]
    return len(column) == 1 or codes[0] == codes[1]
