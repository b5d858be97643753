"""The public facts an estimator trains with: a schema as given, or one made from bounds and classes.

Nothing is read from the data, except with ``bounds="data"``, whose models protect nobody and say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.schema import Category, Column, Number, Schema

FROM_DATA = "data"
_TARGET = "target"


def build_schema(
    names: Sequence[str], *, bounds: Any, classes: Sequence[Any] | None, categories: Any
) -> Schema:
    """Return a schema of features and target from what a caller knows.

    Args:
      names: the features.
      bounds: ``(low, high)`` for all numbers, with one number or one per feature, or a mapping from
        names or places to pairs.
      classes: the values of the target.
      categories: mapping from names or places of the features that are no numbers to their values.
    """
    if bounds is None or classes is None:
        raise ArgumentError(
            "schema must be given, or bounds and classes, got neither. They must be public: nothing is "
            "read from the data."
        )
    lists = {_place(names, key): values for key, values in dict(categories or {}).items()}
    columns: dict[str, Column] = {}
    for place, name in enumerate(names):
        if place in lists:
            columns[name] = Category(*lists[place])
        else:
            columns[name] = Number(*_pair(bounds, names, place))
    return with_target(columns, Category(*classes))


def schema_from_data(names: Sequence[str], columns: Sequence[Any], labels: Any) -> Schema:
    """Return bounds and values as they are in the data: for simulations, never for a release."""
    facts: dict[str, Column] = {}
    for name, values in zip(names, columns, strict=True):
        column = np.asarray(values)
        if column.dtype.kind in "OUS":
            try:
                column = column.astype(np.float64)
            except (TypeError, ValueError):
                texts = dict.fromkeys(str(value) for value in column)
                facts[name] = Category(*sorted(texts))
                continue
        finite = column[np.isfinite(column.astype(np.float64))].astype(np.float64)
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        facts[name] = Number(float(low), float(high) if high > low else float(low) + 1.0)
    return with_target(facts, Category(*np.unique(np.asarray(labels)).tolist()))


def with_target(columns: dict[str, Column], classes: Category) -> Schema:
    """Return a schema with the classes as its target, under a name no feature has."""
    name = _TARGET
    while name in columns:
        name = f"{name}_"
    return Schema({**columns, name: classes}, target=name)


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
