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
from discreet.schema import Category, FloatArray, Number, Schema

MakeInput = Callable[[FloatArray], Any]
METHODS = {"probability": "predict_proba", "margin": "decision_function", "value": "predict"}
"""The method of an estimator that gives an output."""


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
