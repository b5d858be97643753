"""The rows a user asks about: public queries, and queries that are sealed.

A query comes as a mapping, a row or a frame with the schema's names, or as numbers in the order of
the model's columns. It is written down in the plan as it was given, and encoded like any record when
the plan meets a schema. A public query may be judged: a wrong column or a value outside the schema
is an error. A sealed one may not: its values are clipped like a record's and appear nowhere; what
is certified is how far its attributions move with one of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Annotated, Any, NoReturn

import numpy as np

from discreet.errors import AccessDenied, ArgumentError, ModelError
from discreet.explain.shap.bounds.operator import bound_linear_query, bound_logistic_query
from discreet.explain.shap.engines import KernelEngine, LinearEngine, ShapEngine
from discreet.models import BoundModel
from discreet.numerics import check_positive, check_whole
from discreet.plans.held import Rows
from discreet.plans.kinds import Objects, PerColumn
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import Category, Column, Date, FloatArray, Number, Schema

MOST_QUERIES = 1_000
Named = dict[str, Any]
Row = Named | tuple[Any, ...]


class Queries:
    """Rows to explain, as given: plain values by name, or numbers in the model's order.

    ``simulated`` tells that they were released with seeded noise, which protects nobody; ``labels``
    is the index of a frame, by which its owner knows the rows: no part of the question.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        most: int = MOST_QUERIES,
        *,
        simulated: bool = False,
        labels: Any = None,
    ) -> None:
        if not rows:
            raise ArgumentError("x must have at least one row, got none.")
        check_whole("the number of rows", len(rows), 1, most, "Ask for several plans instead.")
        self._rows = list(rows)
        self.simulated = simulated
        self.labels = labels

    def stamped(self, simulated: bool) -> Queries:
        """Return the same rows, with or without the stamp of a simulation."""
        return Queries(self._rows, len(self._rows), simulated=simulated, labels=self.labels)

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
    """Queries that are themselves protected: they can be explained and nothing else.

    They have no labels, and are written down as a token that says nothing, so that no two are ever the
    same question.
    """

    __slots__ = ("__queries", "_token")

    labels = None

    def __init__(self, queries: Queries) -> None:
        self.__queries = queries
        self._token = f"sealed {secrets.token_hex(8)}"

    def __len__(self) -> int:
        return len(self.__queries)

    def reveal(self) -> Queries:
        """Return the queries, for the plan that explains them."""
        return self.__queries

    def to_json(self) -> str:
        """Return the token."""
        return self._token

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
        return Queries([_plain_row(x.to_dict())], most, labels=_labels([x.name]))
    if kind == "pandas.DataFrame":
        return Queries([_plain_row(row) for row in x.to_dict("records")], most, labels=_labels(x.index))
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


def _labels(index: Any) -> Any:
    """Return an index that says more than the place of a row; named, if it has no name."""
    import pandas as pd

    found = index if isinstance(index, pd.Index) else pd.Index(index)
    if found.equals(pd.RangeIndex(len(found))) or list(found) == [None]:
        return None
    return found.rename("query") if found.names == [None] else found


def _from_code(column: Number | Category, value: float | None) -> Any:
    """Return the value behind a number of an array, in which categories are codes."""
    if isinstance(column, Category) and value is not None and value in range(len(column.values)):
        return column.values[int(value)]
    return value


def _plain_row(row: Mapping[Any, Any]) -> Named:
    return {str(name): _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    """Return a value JSON can hold; what is missing, of any kind, is None."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
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
        if isinstance(column, Date):
            if not column.low <= column.read(value) <= column.high:
                raise ArgumentError(
                    f"x must have {name} between {column.show(column.low)} and "
                    f"{column.show(column.high)}, got {value!r}. Change the query, or widen the schema."
                )
        elif isinstance(column, Number):
            number = isinstance(value, int | float) and not isinstance(value, str)
            if not number or not column.low <= value <= column.high:
                raise ArgumentError(
                    f"x must have {name} between {column.low:,.12g} and {column.high:,.12g}, got "
                    f"{value!r}. Change the query, or widen the schema."
                )
        elif not _is_among(column, value):
            raise ArgumentError(
                f"x must have {name} among {', '.join(map(str, column.values))}, got {value!r}. "
                "Change the query, or add the value to the schema."
            )


def _is_among(column: Category, value: Any) -> bool:
    """Say whether a value is one of the category's: only then does it survive its encoding."""
    code = Category(*column.values).encode(np.array([value], dtype=object))[0]
    return bool(code < len(column.values))


@dataclass(frozen=True)
class QueryRows(Rows):
    """Rows to explain, sealed if ``protects`` says so; sealed ones are never written down."""

    def settle(self, name: str, value: Any, given: Mapping[str, Any]) -> Queries | SealedQueries:
        """Return the queries, sealed before anything else of the plan is looked at."""
        if not (isinstance(given["protects"], str) and given["protects"] == "query"):
            return read_queries(value)
        return value if isinstance(value, SealedQueries) else SealedQueries(read_queries(value))

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return public queries as they were written down."""
        if isinstance(plain, str):
            raise ArgumentError(
                f"{name} must be public to be read back, got a sealed query. "
                "Make the plan again, with the query."
            )
        return plain


def _radii_given(name: str, radius: Any) -> Any:
    """Return one radius, or those of columns; which columns there are is seen with a schema."""
    if isinstance(radius, Mapping):
        return {column: _radius(name, own) for column, own in radius.items()}
    return _radius(name, radius)


def _radius(name: str, radius: Any) -> float:
    check_positive(name, radius, "It is in the units of the column.")
    return float(radius)


Query = Annotated[Any, QueryRows(read_queries, inline=True, also="query")]
Radius = Annotated[float | Mapping[str, float] | None, PerColumn(by=_radii_given, optional=True)]


def certify_sealed(engine: ShapEngine, schema: Schema, radius: Any) -> tuple[Certificate, str]:
    """Certify the attributions of a sealed query of a linear or logistic model."""
    model: BoundModel = engine.model
    form = model.weighted_sum
    if form is None:
        raise ModelError(
            "model must be linear or logistic when protects='query', got another kind: no bound is "
            "proven for it. Protect the background instead, or explain a linear model."
        )
    weights, shown = form.weights * _radii(radius, schema, model.columns), _shown(radius)
    if isinstance(engine, LinearEngine):
        certificate = bound_linear_query(weights, radius=1.0)
    else:
        assert isinstance(engine, KernelEngine)
        certificate = bound_logistic_query(weights, engine.masks, radius=1.0, slope=form.slope)
    return certificate.widen(2 * engine.rounding, "shap-rounding"), shown


def sealed_bound(engine: ShapEngine, background: FloatArray) -> float:
    """Return how large an attribution of any query can be against a public background."""
    return engine.certify_rows(background).sensitivity("linf", ADD_REMOVE)


def _radii(radius: Any, schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return how far each encoded value of the query may move; its whole range if nothing is said.

    A category may become any other. A value on a step grid is rounded after it moved, so that
    it may move by one step more than fits into the radius.
    """
    if isinstance(radius, Mapping) and (strange := [n for n in radius if n not in columns]):
        raise ArgumentError(
            f"radius must name columns the model uses ({', '.join(columns)}), got {strange[0]!r}."
        )
    return np.array([_width(name, schema[name], radius) for name in columns])


def _width(name: str, column: Column, radius: Any) -> float:
    given = radius.get(name) if isinstance(radius, Mapping) else radius
    if not isinstance(column, Number):
        return max(len(column) - 1.0, 1e-12)
    whole = column.high - column.low
    if given is None:
        return whole
    rounded = 0.0 if column.step is None else column.step * (math.floor(given / column.step) + 1)
    return min(max(float(given), rounded), whole)


def _shown(radius: Any) -> str:
    if radius is None:
        return "its whole range"
    return "its radius" if isinstance(radius, Mapping) else f"{radius:g}"
