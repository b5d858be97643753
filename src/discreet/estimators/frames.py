"""Rows and labels as scikit-learn hands them over, and the public facts about them, as one table.

Nothing of the facts is read from the data, except with ``bounds="data"``, whose models protect nobody
and say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.sources import is_frame
from discreet.errors import ArgumentError
from discreet.schema import Category, Column, FloatArray, Number, Schema
from discreet.schema.raw import category_text

FROM_DATA = "data"
_TARGET = "target"


def column_names(rows: Any) -> list[str]:
    """Return the names of the columns; x0, x1, ... for an array."""
    if not is_frame(rows):
        return [f"x{place}" for place in range(rows.shape[1])]
    names = rows.column_names if hasattr(rows, "column_names") else rows.columns
    return [str(name) for name in names]


def columns_of(rows: Any) -> list[NDArray[Any]]:
    """Return the columns as arrays."""
    if not is_frame(rows):
        return list(np.asarray(rows).T)
    if hasattr(rows, "iloc"):
        return [np.asarray(rows.iloc[:, place]) for place in range(rows.shape[1])]
    return [np.asarray(rows[name]) for name in column_names(rows)]


def make_table(rows: Any, labels: NDArray[Any], schema: Schema) -> tuple[Any, tuple[str, ...]]:
    """Return features and labels as one table, and the features in the order of the rows."""
    columns, wanted = columns_of(rows), list(schema.features)
    names = column_names(rows) if is_frame(rows) else wanted
    if len(columns) != len(names):
        raise ArgumentError(
            f"X must have the {len(names)} features of the schema, got {len(columns)} columns."
        )
    strange = [name for name in names if name not in wanted and name != schema.id]
    if strange or not set(wanted) <= set(names):
        found = [*strange, *(name for name in wanted if name not in names)]
        raise ArgumentError(
            f"X must have the features of the schema and no others, got a difference in {found[0]!r}. "
            "Change the schema, or the columns."
        )
    assert schema.target is not None
    table = {**dict(zip(names, columns, strict=True)), schema.target: labels}
    features = tuple(name for name in names if name != schema.id)
    return _as_matrix(table, schema) if _is_numeric(table, schema) else _as_frame(
        table, schema
    ), features


def _is_numeric(table: dict[str, NDArray[Any]], schema: Schema) -> bool:
    """Say whether floats can hold all there is; depends on kinds and the schema alone."""
    return schema.id is None and all(c.dtype.kind in "fiub" for c in table.values())


def _as_matrix(table: dict[str, NDArray[Any]], schema: Schema) -> FloatArray:
    """Return numbers side by side in the order of the schema: the quickest to read many times."""
    matrix = np.empty((len(table[next(iter(schema))]), len(schema)), order="F")
    for place, name in enumerate(schema):
        matrix[:, place] = table[name]
    return matrix


def _as_frame(table: dict[str, NDArray[Any]], schema: Schema) -> Any:
    import pandas as pd

    return pd.DataFrame({name: _quick(name, table[name], schema) for name in table}, copy=False)


def _quick(name: str, values: NDArray[Any], schema: Schema) -> Any:
    """Return texts as codes, so that passes over the rows need not read them again and again."""
    import pandas as pd

    texts = name in schema and isinstance(schema[name], Category) and values.dtype.kind in "OUS"
    if not texts:
        return values
    # Value by value: pandas would read a whole column otherwise, and one row change all others.
    return pd.Categorical(np.fromiter(map(category_text, values), dtype=object, count=len(values)))


def given_features(names: Sequence[str], bounds: Any, categories: Any) -> dict[str, Column]:
    """Return the columns of features from what a caller knows.

    NaN, None and unlisted values of a feature are values of their own.

    Args:
      names: the features.
      bounds: ``(low, high)`` for all numbers, with one number or one per feature, or a mapping from
        names or places to pairs.
      categories: mapping from names or places of the features that are no numbers to their values.
    """
    lists = {_place(names, key): values for key, values in dict(categories or {}).items()}
    columns: dict[str, Column] = {}
    for place, name in enumerate(names):
        if place in lists:
            columns[name] = Category(*lists[place])
        else:
            columns[name] = Number(*_pair(bounds, names, place))
    return columns


def features_from_data(names: Sequence[str], columns: Sequence[Any]) -> dict[str, Column]:
    """Return bounds and values as they are in the data: for simulations, never for a release."""
    facts: dict[str, Column] = {}
    for name, values in zip(names, columns, strict=True):
        column = np.asarray(values)
        if column.dtype.kind in "OUS":
            try:
                column = column.astype(np.float64)
            except (TypeError, ValueError):
                texts = {str(value) for value in column if category_text(value) is not None}
                facts[name] = Category(*sorted(texts or {""}))
                continue
        facts[name] = number_from_data(column)
    return facts


def number_from_data(column: NDArray[Any]) -> Number:
    """Return the range of the finite values there are; some range if there are not two."""
    values = column.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    return Number(float(low), float(high) if high > low else float(low) + 1.0)


def with_target(columns: Mapping[str, Column], target: Column) -> Schema:
    """Return a schema with one more column as its target, under a name no feature has."""
    name = _TARGET
    while name in columns:
        name = f"{name}_"
    return Schema({**columns, name: target}, target=name)


def _place(names: Sequence[str], key: Any) -> int:
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    if isinstance(key, int | np.integer) and 0 <= key < len(names):
        return int(key)
    raise ArgumentError(f"bounds and categories must name features, got {key!r}.")


def _pair(bounds: Any, names: Sequence[str], place: int) -> tuple[float, float]:
    if isinstance(bounds, Mapping):
        bounds = {_place(names, key): pair for key, pair in bounds.items()}
        if place not in bounds:
            raise ArgumentError(
                f"bounds must have a pair for every number, got none for {names[place]!r}. Add it, or "
                "list its values in categories."
            )
    try:
        if isinstance(bounds, Mapping):
            low, high = bounds[place]
        else:
            low, high = (np.broadcast_to(end, len(names))[place] for end in bounds)
        return float(low), float(high)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"bounds must be a pair of lows and highs, or a mapping to pairs, got {bounds!r}."
        ) from None
