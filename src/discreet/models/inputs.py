"""How encoded rows are handed to a model: as a matrix, or as a data frame with original values.

Several forms are tried on public rows; the first that works is used for the private ones. What a
model gets is read-only where that costs no copy; a model that writes into its input gets a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.schema import Category, FloatArray, Number, Schema

MakeInput = Callable[[FloatArray], Any]


def sees_encoding(schema: Schema, columns: tuple[str, ...], named: bool) -> bool:
    """Say whether a model sees rows exactly as they are encoded."""
    return not named or all(isinstance(schema[name], Number) for name in columns)


def input_makers(schema: Schema, columns: tuple[str, ...], named: bool) -> list[MakeInput]:
    """Return how to hand rows to a model, the likeliest first; ``named`` models get frames."""
    if not named:
        return [_read_only, _copied]
    if sees_encoding(schema, columns, named):
        return [_number_frame(columns, make) for make in (_read_only, _copied)]
    return [_mixed_frame(schema, columns, kind) for kind in ("plain", "object", "category")]


def _read_only(rows: FloatArray) -> FloatArray:
    view = rows.view()
    view.setflags(write=False)
    return view


def _copied(rows: FloatArray) -> FloatArray:
    return rows.copy(order="K")


def _number_frame(columns: tuple[str, ...], make_matrix: MakeInput) -> MakeInput:
    """Return a maker of frames that hold the matrix as one piece: no column is copied."""

    def make(rows: FloatArray) -> Any:
        import pandas as pd

        return pd.DataFrame(make_matrix(rows), columns=list(columns), copy=False)

    return make


def _mixed_frame(schema: Schema, columns: tuple[str, ...], kind: str) -> MakeInput:
    """Return a maker of frames with category columns of one kind: plain, object or category."""

    def make(rows: FloatArray) -> Any:
        import pandas as pd

        frame: dict[str, Any] = {}
        for place, name in enumerate(columns):
            column = schema[name]
            values: Any = column.decode(rows[:, place].copy())
            if isinstance(column, Category) and kind == "category":
                values = pd.Categorical(values, categories=list(column.values))
            elif isinstance(column, Category) and kind == "object":
                values = pd.Series(values, dtype=object)
            frame[name] = values
        return pd.DataFrame(frame, copy=False)

    return make
