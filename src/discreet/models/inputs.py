"""How encoded rows are handed to a model: as a matrix, or as a data frame with original values.

Several forms are tried on public rows; the first that works is used for the private ones. What a
model gets is read-only where that costs no copy; a model that writes into its input gets a copy.
``ModelCall`` is one call, with one number per row for an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ModelError
from discreet.models.forms.category_splits import value_key
from discreet.models.readers.boosters import booster_margin
from discreet.models.sight import Sight, sights
from discreet.schema import Category, Date, FloatArray, Number, Schema

MakeInput = Callable[[FloatArray], Any]
Kind = str | list[Any]
"""How a frame holds categories: plain, object or category, or as the list of those a model knows."""

METHODS = {"probability": "predict_proba", "margin": "decision_function", "value": "predict"}
"""The method of an estimator that gives an output."""


def sees_encoding(schema: Schema, columns: tuple[str, ...], named: bool) -> bool:
    """Say whether a model sees rows exactly as they are encoded."""
    return not named or all(isinstance(schema[name], Number) for name in columns)


def input_makers(
    schema: Schema,
    columns: tuple[str, ...],
    named: bool,
    *,
    labels: tuple[Any, ...] | None = None,
    categories: Mapping[int, Sequence[Any] | None] | None = None,
) -> list[tuple[Sight, MakeInput]]:
    """Return how to hand rows to a model, the likeliest first.

    Where values may be missing, NaN is tried first, then NaN for numbers alone, then public fills.

    Args:
      schema: of the rows.
      columns: those the model gets.
      named: whether it gets frames.
      labels: what the model calls the columns, if not as the schema does.
      categories: the places of columns that the model itself treats as categories, with those it
        knows: any other value is missing to it.
    """
    labels = columns if labels is None else labels
    return [
        (sight, maker)
        for sight in sights(tuple(schema[name] for name in columns))
        for maker in _makers(schema, columns, named, sight, labels, categories or {})
    ]


def _makers(
    schema: Schema,
    columns: tuple[str, ...],
    named: bool,
    sight: Sight,
    labels: tuple[Any, ...],
    categories: Mapping[int, Sequence[Any] | None],
) -> list[MakeInput]:
    if not named:
        return [_seen(sight, make) for make in (_read_only, _copied)]
    if sees_encoding(schema, columns, named):
        makers = [_number_frame(labels, make) for make in (_read_only, _copied)]
        numbers = [_seen(sight, make) for make in makers]
        dates = [isinstance(schema[name], Date) for name in columns]
        if not any(dates):
            return numbers
        # Models that compute with numbers refuse dates among them, and those that want dates numbers;
        # with dates alone some would take those for numbers of nanoseconds.
        with_dates = [_mixed_frame(schema, columns, sight, labels, ["plain"] * len(columns), True)]
        return numbers + with_dates if all(dates) else with_dates + numbers
    everywhere: list[list[Kind]] = [[kind] * len(columns) for kind in ("plain", "object", "category")]
    if categories:
        own: list[Kind] = ["plain"] * len(columns)
        for place, known in categories.items():
            own[place] = "category" if known is None else list(known)
        everywhere = [own, *everywhere]
    dated = any(isinstance(schema[name], Date) for name in columns)
    return [
        _mixed_frame(schema, columns, sight, labels, kinds, as_dates)
        for as_dates in ((True, False) if dated else (False,))
        for kinds in everywhere
    ]


def _seen(sight: Sight, make: MakeInput) -> MakeInput:
    return (lambda rows: make(sight(rows))) if sight.changes else make


def _read_only(rows: FloatArray) -> FloatArray:
    view = rows.view()
    view.setflags(write=False)
    return view


def _copied(rows: FloatArray) -> FloatArray:
    return rows.copy(order="K")


def _number_frame(labels: tuple[Any, ...], make_matrix: MakeInput) -> MakeInput:
    """Return a maker of frames that hold the matrix as one piece: no column is copied."""

    def make(rows: FloatArray) -> Any:
        import pandas as pd

        return pd.DataFrame(make_matrix(rows), columns=list(labels), copy=False)

    return make


def _mixed_frame(
    schema: Schema,
    columns: tuple[str, ...],
    sight: Sight,
    labels: tuple[Any, ...],
    kinds: Sequence[Kind],
    as_dates: bool,
) -> MakeInput:
    """Return a maker of frames whose category columns have kinds of their own."""

    def make(rows: FloatArray) -> Any:
        import pandas as pd

        frame: dict[Any, Any] = {}
        for place, (name, label, kind) in enumerate(zip(columns, labels, kinds, strict=True)):
            column = schema[name]
            seen = sight.column(place, rows[:, place].copy())
            if isinstance(column, Category):
                frame[label] = _category_values(column, seen, kind, sight.shows_nan(place))
            elif as_dates and isinstance(column, Date):
                frame[label] = column.decode(seen)
            else:
                frame[label] = seen
        return pd.DataFrame(frame, copy=False)

    return make


def _category_values(column: Category, seen: FloatArray, kind: Kind, takes_missing: bool) -> Any:
    """Return original values of codes, whose kind never depends on the codes that are there."""
    import pandas as pd

    absent = np.isnan(seen)
    codes = np.where(absent, 0, seen).astype(np.int64)
    if kind == "category" or isinstance(kind, list):
        named = pd.Index(list(column.values) if kind == "category" else kind)
        found = {value_key(value): at for at, value in enumerate(named)}  # True is 1.0, in no index
        places = np.array([found.get(value_key(value), -1) for value in column.values])
        return pd.Categorical.from_codes(np.where(absent, -1, places[codes]), categories=named)
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
