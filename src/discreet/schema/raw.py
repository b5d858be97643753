"""Columns as they arrive from any source, brought to two shapes: floats, or codes of distinct values.

Nothing here raises because of a value, and nothing treats a value differently because of the rows
beside it: what cannot be read as a number becomes NaN, what has no text becomes missing. Equality
of category values is equality of the floats their texts write out, or of the texts (``plain_text``):
a frame turns a whole column into floats, or into texts, because of one value in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema.instants import Instants

_WORDS = {"true": 1.0, "false": 0.0}
"""How files write truth values; a frame holds them as numbers."""

_HASHED_KINDS = {str, int, float, bool, type(None)}
"""Kinds of Python objects whose equal values have equal texts, so that they may be hashed."""


@dataclass(frozen=True, repr=False)
class Codes:
    """A column as indices into its distinct values; -1 is missing."""

    index: NDArray[np.int64]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, repr=False)
class Texts:
    """A column of texts as an Arrow array of bytes, which need not be valid UTF-8."""

    array: Any

    def __len__(self) -> int:
        return len(self.array)

    def floats(self) -> NDArray[np.float64]:
        """Return the numbers the texts write out, NaN for other texts."""
        import pyarrow as pa

        try:  # what Arrow reads as a number, Python reads as the same one
            numbers = self.array.cast(pa.large_string()).cast(pa.float64())
        except pa.ArrowInvalid:
            return as_floats(self.codes())
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)

    def codes(self) -> Codes:
        """Return codes of the distinct texts."""
        found = self.distinct()
        return Codes(found.index, [category_text(value) for value in found.values])

    def distinct(self) -> Codes:
        """Return codes of the distinct bytes."""
        import pyarrow as pa

        encoded = self.array.dictionary_encode()
        index = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return Codes(index, encoded.dictionary.to_pylist())


RawColumn = NDArray[Any] | Codes | Texts | Instants


def as_floats(values: RawColumn) -> NDArray[np.float64]:
    """Return a column as floats, NaN where a value is no number."""
    if isinstance(values, Texts):
        return values.floats()
    if isinstance(values, Instants):
        return np.full(len(values.clock), np.nan)
    if isinstance(values, Codes):
        table = np.asarray([*map(_as_float, values.values), np.nan])
        return table[values.index]
    if values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # wider floats may be beyond ours
            return values.astype(np.float64, copy=False)
    if values.dtype.kind in "mM":
        return np.full(len(values), np.nan)
    return np.asarray([_as_float(value) for value in values.tolist()], dtype=np.float64)


def as_codes(values: RawColumn) -> Codes:
    """Return a column as codes of its distinct values."""
    import pandas as pd

    if isinstance(values, Texts):
        return values.codes()
    if isinstance(values, Instants):
        return as_codes(values.objects())
    if isinstance(values, Codes):
        return values
    hashable = _to_objects(values) if values.dtype.kind not in "iub" else values
    if hashable.dtype.kind == "O":
        return _codes_of_objects(hashable.tolist())
    index, distinct = pd.factorize(hashable)
    return Codes(np.asarray(index, dtype=np.int64), list(distinct))


def _codes_of_objects(values: list[Any]) -> Codes:
    """Return codes of Python objects; pandas ends a text at a zero byte, and would mix up rows."""
    if not set(map(type, values)) <= _HASHED_KINDS:
        values = list(map(category_text, values))
    distinct = [value for value in dict.fromkeys(values) if value is not None and value == value]
    places = {value: place for place, value in enumerate(distinct)}
    index = (places.get(value, -1) for value in values)
    return Codes(np.fromiter(index, dtype=np.int64, count=len(values)), distinct)


def category_text(value: Any) -> str | None:
    """Return how a category is written, None if it is missing or cannot be written.

    >>> category_text(1), category_text(1.0), category_text(True), category_text("1")
    ('1', '1', '1', '1')
    """
    try:
        text = _written_out(value)
        return None if text is None else str.__str__(text)
    except Exception:  # a third-party object may do anything when it is asked what it is
        return None


def _written_out(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if _is_missing(value):
        return None
    number = _as_float(value)
    if math.isfinite(number) and number == math.floor(number):
        exact = isinstance(value, int | np.integer | Decimal)
        return str(int(value if exact else number))
    return repr(number) if math.isfinite(number) else str(value)


def plain_text(text: str | None) -> str | None:
    """Return the number a text writes out as a float would be written, and any other text as it is.

    Frames hold whole numbers as floats as soon as one of them is missing, and long ones lose digits
    then: how a value is read must not depend on the rows beside it.

    >>> plain_text("1"), plain_text("007"), plain_text("True"), plain_text("1e-1"), plain_text("a")
    ('1.0', '7.0', '1.0', '0.1', 'a')
    >>> plain_text("9007199254740993") == plain_text("9007199254740992")
    True
    """
    number = _as_float(text)
    return text if math.isnan(number) else repr(number + 0.0)  # one zero, whatever its sign


def _to_objects(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "f":
        return as_floats(values)
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as"):
        values = values.astype(f"{values.dtype.kind}8[us]")  # finer ones become bare integers
    return values.astype(object)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating | Decimal) and math.isnan(_as_float(value))


def _as_float(value: Any) -> float:
    try:
        return _number_of(value)
    except Exception:  # a third-party object's own __float__ may do anything
        return math.nan


def _number_of(value: Any) -> float:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, np.datetime64 | np.timedelta64):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.nan if not isinstance(value, int) else math.inf if value > 0 else -math.inf
    except ValueError:
        return _WORDS.get(value.strip().lower(), math.nan) if isinstance(value, str) else math.nan
