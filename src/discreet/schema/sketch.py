"""A draft schema from rows: a help for the owner of the data, never a public fact."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from discreet.errors import SchemaError
from discreet.schema.columns import Category, Column, Number
from discreet.schema.raw import category_text, plain_text

_MOST_CATEGORIES = 50
_LARGEST_WHOLE = 2.0**49
"""Beyond it floats are too coarse for a step of one."""


def sketch_columns(frame: Any, leave_out: str | None) -> dict[str, Column]:
    """Return a draft column for every column of a data frame, all bounds marked."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise SchemaError(
            f"frame must be a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "Read the file into a data frame first."
        ) from None
    except DuplicateError:
        raise SchemaError("frame must have column names that differ, got two alike.") from None
    return {name: _sketch(table.get_column(name)) for name in table.columns if name != leave_out}


def _sketch(series: Any) -> Column:
    present = series.drop_nulls()
    if series.dtype.is_numeric():
        numbers = present.cast(nw.Float64)
        finite = numbers.filter(numbers.is_finite())
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        return _draft(low, high, whole=series.dtype.is_integer())
    if series.dtype == nw.Boolean:
        return Category(False, True, read_from_data=("values",))
    texts = sorted({text for value in present.to_list() if (text := category_text(value))})
    distinct = list({plain_text(text): text for text in reversed(texts)}.values())[::-1]
    return Category(*(distinct[:_MOST_CATEGORIES] or ["unknown"]), read_from_data=("values",))


def _draft(low: float, high: float, *, whole: bool) -> Number:
    if low == high:
        high = low + max(1.0, 16 * math.ulp(low))
    if whole and max(abs(low), abs(high)) < _LARGEST_WHOLE:
        return Number(low, high, 1.0, read_from_data=("low", "high", "step"))
    return Number(low, high, read_from_data=("low", "high"))
