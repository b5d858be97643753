"""Messages are short and show no rows; lists, names and flags are what they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.arguments import as_list, as_names, check_flag, check_text, shown, some_names
from discreet.errors import ArgumentError, DiscreetError

MARK = 731_942.25


@pytest.mark.parametrize(
    "value",
    [
        pd.DataFrame({"x": [MARK]}),
        np.array([MARK]),
        [pd.Series([MARK])],
        {"rows": np.array([[MARK]])},
    ],
)
def test_a_message_shows_no_row(value: Any) -> None:
    assert str(MARK) not in shown(value)


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, 10**5000 + 1, list(range(10**5)), b"x" * 10**5],
    ids=["text", "number", "list", "bytes"],
)
def test_a_message_stays_short(value: Any) -> None:
    assert len(shown(value)) < 120
    with pytest.raises(ArgumentError) as caught:
        dc.histogram("age", epsilon=value)
    assert len(str(caught.value)) < 300


def test_a_long_message_keeps_both_ends() -> None:
    text = str(ArgumentError("name must be short, got " + "x" * 10**6 + ". Give another."))
    assert len(text) < 700 and text.startswith("name must be") and text.endswith("Give another.")


@pytest.mark.parametrize("address", ["postgresql://ann:se/c@ret@host/db", "postgres:/ann:secret@host"])
def test_an_address_is_shown_without_its_password(address: str) -> None:
    text = str(DiscreetError(f"ledger must be open, got '{address}'."))
    assert "ret" not in text and "ann" not in text and "***@host" in text


def test_lists_names_and_flags() -> None:
    assert as_list("points", np.array([1, 2])) == (1, 2)
    assert as_names("columns", "age") == ("age",) and some_names("columns", None) is None
    check_flag(rug=True, clip=False)
    check_text("axis", "hour")


@pytest.mark.parametrize("value", [3, None, "ab", b"ab", {"a": 1}, object()])
def test_what_is_no_list_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^points must be a list, got "):
        as_list("points", value)


@pytest.mark.parametrize("value", [[], ["a", "a"], ["a", 3], 3, None, {"a": 1}, b"a", [["a"]], ()])
def test_what_are_no_names_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^columns must be one or more different names, got "):
        as_names("columns", value)


@pytest.mark.parametrize("value", [None, 1, "yes", np.bool_(True)])
def test_what_is_no_flag_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^clip must be True or False, got "):
        check_flag(clip=value)


def test_numbers_of_numpy_are_numbers_and_change_no_key() -> None:
    own = dc.histogram("age", bins=4, epsilon=0.5)
    theirs = dc.histogram("age", bins=np.int64(4), epsilon=np.float32(0.5))  # type: ignore[arg-type]
    assert own.key == theirs.key and dc.histogram("age", bins=5, epsilon=0.5).key != own.key


def utility(block: Any, candidates: Any) -> np.ndarray:
    return np.zeros((len(block["age"]), len(candidates)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dc.percentile("age", "x", epsilon=1.0),
        lambda: dc.choose(utility, 5, epsilon=1.0),
        lambda: dc.data_shapley(None, test=pd.DataFrame({"age": [1]}), records=[], epsilon=1.0),
        lambda: dc.feature_interaction(np.sum, "age", points=float("inf"), epsilon=1.0),
        lambda: dc.histogram("age", bins=[10, 20], epsilon=1.0),
        lambda: dc.entropy(3, epsilon=1.0),
    ],
)
def test_arguments_of_another_kind_are_refused(ask: Any) -> None:
    with pytest.raises(DiscreetError, match="must be"):
        ask()
