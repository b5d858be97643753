"""Rows and labels as scikit-learn hands them over, made into one table with a schema's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.schema import Category, FloatArray, Schema
from discreet.schema.raw import category_text

_FRAMES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")


def is_frame(rows: Any) -> bool:
    """Say whether rows have column names."""
    return f"{type(rows).__module__.split('.')[0]}.{type(rows).__name__}" in _FRAMES


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
    if type(rows).__module__.startswith("pandas"):
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
