"""Columns, schemas and values as hostile as a table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from discreet.schema import Category, Number, Schema

hostile = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
"""Enough examples to find what a planted fault would do, on a machine that is busy."""


class Grumpy:
    """Refuses whatever it is asked."""

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


class Flatterer:
    """Is equal to everything, and written differently."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash("a")

    def __eq__(self, other: object) -> bool:
        return True


class FloatOnly:
    """A number that is no whole number even if its float is one."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __float__(self) -> float:
        return self.number


def column(values: Sequence[Any]) -> np.ndarray:
    """Return an object array with one entry per value, whatever the values are."""
    return np.fromiter(values, dtype=object, count=len(values))


_texts = st.text(max_size=5) | st.sampled_from(
    ["nan", "NaN", "None", "null", "", " 1 ", "1.0", "1e3", "1_0", "٣", "inf", "true", "False", "0x1"]
)

hostile_values = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 10**5000, 2**53 + 1, 2**64]),
    _texts,
    _texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=4),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.lists(st.integers(0, 2), max_size=2),
    st.tuples(st.sampled_from([1, 1.0, True])),
    st.dictionaries(st.integers(0, 1), st.integers(0, 1), max_size=1),
    st.sampled_from([pd.NA, pd.NaT, np.datetime64("NaT"), np.datetime64("2020-01-01", "ns")]),
    st.sampled_from([np.timedelta64(3, "ns"), np.longdouble("1e400"), np.bool_(True), np.int8(1)]),
    st.builds(Grumpy),
    st.builds(Flatterer, st.sampled_from(["a", "b", "1"])),
    st.builds(FloatOnly, st.floats()),
)


@st.composite
def numbers(draw: st.DrawFn) -> Number:
    low = draw(st.sampled_from([0.0, -1.0, 18.0, 0.1, 1e6, -273.15]) | st.floats(-1e9, 1e9))
    step = draw(st.sampled_from([None, 1.0, 0.1, 0.25, 5 / 7, 3.0]))
    width = draw(st.sampled_from([1.0, 0.3, 0.7, 10.0, 72.0, 1e5]) | st.floats(1e-3, 1e6))
    if step is not None:
        width = max(width, step)
    high = low + width
    if step is not None and high - low < step:  # rounded away
        high = low + 2 * step
    place = draw(st.booleans() | st.floats(0, 1))
    filled = min(max(low + place * (high - low), low), high)
    return Number(low, high, step, place if isinstance(place, bool) else filled)


_plain_scalars = st.one_of(
    st.text(max_size=6),
    st.integers(-5, 5),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from(["1", "1.0", "01", "True", "true", "nan", "None", "(1,)", 2**53 + 1, 0.1]),
)


@st.composite
def categories(draw: st.DrawFn) -> Category:
    from discreet.schema.raw import category_text, plain_text

    def written(value: Any) -> str | None:
        return plain_text(category_text(value))

    values = draw(st.lists(_plain_scalars, min_size=1, max_size=6, unique_by=written))
    if draw(st.booleans()):
        return Category(*values, unknown=draw(st.none() | st.sampled_from(values)))
    return Category(*values, missing=draw(st.booleans()), other=draw(st.booleans()))


columns = numbers() | categories()
names = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["a.b", 'say "x"', "it's", "a b", "#", "ä", "名前", "[x]", "a=b", "\\", "\t", "1", "-", "columns"]
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    built = draw(st.dictionaries(names, columns, min_size=1, max_size=4))
    target = draw(st.none() | st.sampled_from(sorted(built)))
    id_name = draw(st.none() | names.filter(lambda name: name not in built))
    return Schema(built, target=target, id=id_name)
