"""Raw columns: two shapes, no exception, no text of a value in sight."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.schema.raw import Codes, Texts, as_codes, as_floats, category_text, plain_text
from tests.schema.strategies import hostile

number_texts = st.text("0123456789.eE+- _infaN(x", max_size=9) | st.floats().map(repr)


def texts(values: list[str | bytes | None]) -> Texts:
    return Texts(pa.array([v.encode() if isinstance(v, str) else v for v in values], pa.large_binary()))


@hostile
@given(st.lists(st.none() | number_texts | st.binary(max_size=3), max_size=6))
@example(["1.5", "2", None, "nan(1)"])
@example(["1.5", "x"])  # one text that is no number must not change how the others are read
@example(["1.5", b"\xff"])
def test_texts_are_read_one_by_one(values: list[str | bytes | None]) -> None:
    alone = [as_floats(texts([value]))[0] for value in values]
    np.testing.assert_array_equal(as_floats(texts(values)), np.array(alone))
    codes = as_codes(texts(values))
    found = [None if place < 0 else codes.values[place] for place in codes.index]
    assert found == [category_text(value) for value in values]


@hostile
@given(number_texts)
def test_arrow_and_python_read_the_same_number(text: str) -> None:
    by_python = as_floats(Codes(np.array([0]), [text]))
    np.testing.assert_array_equal(as_floats(texts([text])), by_python)


def test_codes_are_indices_into_values() -> None:
    codes = Codes(np.array([1, -1, 0]), ["2.5", "x"])
    np.testing.assert_array_equal(as_floats(codes), [np.nan, np.nan, 2.5])
    assert as_codes(codes) is codes


def test_raw_columns_show_no_value() -> None:
    for raw in (Codes(np.array([0]), ["secret"]), texts(["secret"])):
        assert "secret" not in f"{raw!r}{raw}"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("007", "7.0"),
        ("-0", "0.0"),
        ("1e3", "1000.0"),
        ("0.50", "0.5"),
        (str(2**53 + 1), repr(2.0**53)),
        ("9" * 5000, "inf"),
        ("nan", "nan"),
        (None, None),
    ],
)
def test_plain_text(text: str | None, plain: str | None) -> None:
    assert plain_text(text) == plain
