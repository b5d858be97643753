"""Columns of pandas and Arrow as raw columns.

The same value takes the same way from every source, and no value can stop the reader: what a
library cannot hand over as a Python value is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema.instants import Instants, inside_calendar
from discreet.schema.raw import Codes, RawColumn, Texts


def from_pandas(series: Any) -> RawColumn:
    """Return a pandas column as a raw one."""
    if series.dtype is np.dtype(np.float64):
        return np.asarray(series.to_numpy())
    kind = type(series.dtype).__name__
    if kind == "CategoricalDtype":
        return Codes(np.asarray(series.cat.codes, dtype=np.int64), series.cat.categories.tolist())
    if kind == "ArrowDtype":
        import pyarrow as pa

        return from_arrow(pa.chunked_array([series.array]).combine_chunks())
    if series.dtype.kind == "M":
        return _pandas_times(series)
    if series.dtype.kind == "f":
        return np.asarray(series.astype("float64"))
    if series.dtype.kind in "iub" and not series.hasnans:
        return np.asarray(series.to_numpy())
    return np.asarray(series.to_numpy(dtype=object))


def _pandas_times(series: Any) -> RawColumn:
    import pandas as pd

    def objects() -> NDArray[Any]:
        return np.fromiter(_pandas_values(series), dtype=object, count=len(series))

    zone = getattr(series.dtype, "tz", None)
    if zone is None:
        return Instants(inside_calendar(series.to_numpy()), None, objects)
    world = inside_calendar(series.dt.tz_convert(None).to_numpy())
    local = pd.DatetimeIndex(world, tz="UTC").tz_convert(zone).tz_localize(None)
    clock = inside_calendar(local.to_numpy())
    return Instants(clock, clock - world, objects)


def _pandas_values(series: Any) -> list[Any]:
    """Return Python values; None where there is none that Python can hold."""
    try:
        return list(series.to_numpy(dtype=object))
    except Exception:  # a time whose zone has no calendar for it
        return [_pandas_value(series, place) for place in range(len(series))]


def _pandas_value(series: Any, place: int) -> Any:
    try:
        return series.iloc[place]
    except Exception:  # whatever is wrong with this value, it is missing
        return None


def from_arrow(array: Any) -> RawColumn:
    """Return an Arrow array as a raw column."""
    import pyarrow as pa

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return from_arrow(array.storage)
    if pa.types.is_null(kind):
        return Codes(np.full(len(array), -1, dtype=np.int64), [])
    if pa.types.is_floating(kind):
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
    if array.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if _is_text(kind):
        return Texts(array.cast(pa.large_binary()))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _arrow_times(array)
    if pa.types.is_dictionary(kind):
        index = array.indices.cast(pa.int64()).fill_null(-1)
        return Codes(index.to_numpy(zero_copy_only=False), _values(array.dictionary))
    return np.fromiter(_values(array), dtype=object, count=len(array))


def _arrow_times(array: Any) -> RawColumn:
    import pyarrow as pa
    from pyarrow import compute

    def objects() -> NDArray[Any]:
        return np.fromiter(_values(array), dtype=object, count=len(array))

    zoned = pa.types.is_timestamp(array.type) and array.type.tz is not None
    try:
        local = compute.local_timestamp(array) if zoned else array
    except pa.ArrowInvalid:  # a zone nobody knows: its values cannot be handed over either
        return objects()
    clock = inside_calendar(local.to_numpy(zero_copy_only=False))
    if not zoned:
        return Instants(clock, None, objects)
    return Instants(clock, clock - inside_calendar(array.to_numpy(zero_copy_only=False)), objects)


def _values(array: Any) -> list[Any]:
    """Return Python values; None where there is none, or none that Python can hold."""
    import pyarrow as pa

    if _is_text(array.type):
        array = array.cast(pa.large_binary())
    try:
        return list(array.to_pylist())
    except Exception:  # a date beyond Python's, or bytes that are no text
        return [_value(item) for item in array]


def _value(item: Any) -> Any:
    try:
        return item.as_py()
    except Exception:  # whatever is wrong with this value, it is missing
        return None


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kinds = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return str(kind) in kinds or bool(pa.types.is_fixed_size_binary(kind))
