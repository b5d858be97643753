"""How encoded rows are handed to a model: as a matrix, or as a data frame with original values.

Several forms are tried on public rows; the first that works is used for the private ones. What a
model gets is read-only where that costs no copy; a model that writes into its input gets a copy.
``ModelCall`` is one call, with one number per row for an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ModelError
from discreet.models.readers.boosters import booster_margin
from discreet.models.sight import Sight
from discreet.schema import Category, FloatArray, Number, Schema

MakeInput = Callable[[FloatArray], Any]
METHODS = {"probability": "predict_proba", "margin": "decision_function", "value": "predict"}
"""The method of an estimator that gives an output."""


def sees_encoding(schema: Schema, columns: tuple[str, ...], named: bool) -> bool:
    """Say whether a model sees rows exactly as they are encoded."""
    return not named or all(isinstance(schema[name], Number) for name in columns)


def input_makers(
    schema: Schema, columns: tuple[str, ...], named: bool
) -> list[tuple[Sight, MakeInput]]:
    """Return how to hand rows to a model, the likeliest first; ``named`` models get frames.

    Where values may be missing, NaN is tried before a public fill.
    """
    kinds = tuple(schema[name] for name in columns)
    sights = [Sight(kinds, True), Sight(kinds, False)]
    return [
        (sight, maker)
        for sight in (sights if sights[0].changes else sights[1:])
        for maker in _makers(schema, columns, named, sight)
    ]


def _makers(schema: Schema, columns: tuple[str, ...], named: bool, sight: Sight) -> list[MakeInput]:
    if not named:
        return [_seen(sight, make) for make in (_read_only, _copied)]
    if sees_encoding(schema, columns, named):
        makers = [_number_frame(columns, make) for make in (_read_only, _copied)]
        return [_seen(sight, make) for make in makers]
    return [_mixed_frame(schema, columns, sight, kind) for kind in ("plain", "object", "category")]


def _seen(sight: Sight, make: MakeInput) -> MakeInput:
    return (lambda rows: make(sight(rows))) if sight.changes else make


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


def _mixed_frame(schema: Schema, columns: tuple[str, ...], sight: Sight, kind: str) -> MakeInput:
    """Return a maker of frames with category columns of one kind: plain, object or category."""

    def make(rows: FloatArray) -> Any:
        import pandas as pd

        frame: dict[str, Any] = {}
        for place, name in enumerate(columns):
            column = schema[name]
            seen = sight.column(place, rows[:, place].copy())
            if isinstance(column, Category):
                frame[name] = _category_values(column, seen, kind, sight.takes_missing)
            else:
                frame[name] = seen
        return pd.DataFrame(frame, copy=False)

    return make


def _category_values(column: Category, seen: FloatArray, kind: str, takes_missing: bool) -> Any:
    """Return original values of codes, whose kind never depends on the codes that are there."""
    import pandas as pd

    absent = np.isnan(seen)
    codes = np.where(absent, 0, seen).astype(np.int64)
    if kind == "category":
        named = pd.Index(list(column.values))
        return pd.Categorical.from_codes(np.where(absent, -1, codes).astype(np.int64), categories=named)
    kinds = {type(value) for value in column.values}
    numeric = kinds <= {int, float, bool} and kind == "plain"
    if not numeric:
        texts = np.empty(len(column.values), dtype=object)
        texts[:] = column.values
        # NaN is how pandas holds a missing text, and what encoders know as missing.
        values = np.where(absent, np.nan, texts[codes]) if takes_missing else texts[codes]
        return pd.Series(values, dtype=object)
    if takes_missing and column.reserved:
        return np.where(absent, np.nan, np.array(column.values, dtype=np.float64)[codes])
    return np.array(column.values, dtype=kinds.pop() if len(kinds) == 1 else np.float64)[codes]


@dataclass(frozen=True)
class ModelCall:
    """One call of the model on a matrix of encoded rows."""

    model: Any
    output: str
    class_index: int
    make_input: MakeInput

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return one number per row, or raise."""
        return self.answers_and_precision(rows)[0]

    def answers_and_precision(self, rows: FloatArray) -> tuple[FloatArray, bool]:
        """Return one number per row and whether the model gave less than double precision."""
        raw = np.asarray(self._raw(rows))
        single = raw.dtype.kind == "f" and raw.dtype.itemsize < 8
        return self._one_per_row(raw.astype(np.float64, copy=False), len(rows)), single

    def _one_per_row(self, answer: FloatArray, rows: int) -> FloatArray:
        if self.output == "probability" and answer.ndim == 2 and answer.shape[1] > 1:
            answer = answer[:, self.class_index]
        elif self.output == "margin":
            answer = self._margin(answer)
        if answer.shape == (rows, 1):
            answer = answer[:, 0]
        if answer.shape != (rows,):
            raise ModelError(f"model must return one number per row, got shape {answer.shape}.")
        return answer

    def _raw(self, rows: FloatArray) -> Any:
        import joblib

        # Forests add up their trees in whatever order threads finish: sequential is repeatable.
        margin = booster_margin(self.model) if self.output == "margin" else None
        function = getattr(self.model, METHODS[self.output], margin or self.model)
        with joblib.parallel_config(backend="sequential"):
            return function(self.make_input(rows))

    def _margin(self, answer: FloatArray) -> FloatArray:
        if answer.ndim == 2 and answer.shape[1] > 1:
            return answer[:, self.class_index]
        return answer if self.class_index == 1 else -answer
