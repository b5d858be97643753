"""Whatever mechanisms return can be compared, or a sentence says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit.sampling.outcomes import Outcomes, outcomes_of
from discreet.errors import ArgumentError


@dataclass(frozen=True)
class Answer:
    index: int
    label: str


def of(*outcomes: Any) -> Outcomes:
    return outcomes_of(list(outcomes), [outcomes[0]])[0]


def test_numbers_are_numbers() -> None:
    first, second = outcomes_of([1, 2.5, True], [np.float32(3), np.int8(4)])
    assert first.values.tolist() == [[1.0], [2.5], [1.0]] and second.values.tolist() == [[3.0], [4.0]]
    assert set(first.kinds) == {0} == set(second.kinds)


def test_arrays_of_one_shape_are_flat() -> None:
    assert of(np.arange(6).reshape(2, 3), np.zeros((2, 3))).width == 6


def test_nan_and_infinity_are_outcomes() -> None:
    found = of(float("nan"), float("inf"), -float("inf"), 0.0)
    assert np.isnan(found.values[0, 0]) and found.values[1, 0] == 1e300 == -found.values[2, 0]
    assert of(float("nan")).all_equal(of(float("nan"), float("nan")))
    assert not of(float("nan")).all_equal(of(0.0))


def test_texts_and_missing_answers_are_kinds() -> None:
    first, second = outcomes_of(["a", None, "b", "a"], ["c", 3, b"a"])
    assert first.kinds.tolist() == [0, 1, 2, 0] and second.kinds.tolist() == [3, 4, 5]
    assert first.names == second.names == ("a", "None", "b", "c", "a number", "b'a'")


def test_a_text_is_not_the_number_it_spells() -> None:
    first, second = outcomes_of(["1"] * 3, [1] * 3)
    assert not first.all_equal(second)


def test_shapes_that_vary_are_kinds_of_their_own() -> None:
    found = of(np.zeros(2), np.zeros(3), np.zeros((3, 1)), [])
    assert len(set(found.kinds)) == 4 and found.width == 3
    assert np.isnan(found.values[0, 2])


def test_structures_are_taken_apart() -> None:
    found = of(
        {"b": 1, "a": "x"},
        {"a": "x", "b": 2},
        {"a": "y", "b": 2},
        Answer(3, "z"),
        (1, (2, None)),
        {3, 1},
        3 + 4j,
    )
    assert found.kinds[0] == found.kinds[1] != found.kinds[2]
    assert len(set(found.kinds)) == 6
    assert found.values[:2, 0].tolist() == [1.0, 2.0] and found.values[6].tolist() == [3.0, 4.0]


def test_frames_are_arrays() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert of(frame, frame + frame).width == 2


def test_a_number_beyond_floats_is_great() -> None:
    assert of(10**400, "x").values[0, 0] == 1e300 == -of(-(10**400), "x").values[0, 0]


@pytest.mark.parametrize("outcome", [object(), (x for x in "ab"), lambda: 0])
def test_what_cannot_be_compared_is_refused(outcome: Any) -> None:
    with pytest.raises(ArgumentError, match="score="):
        of(outcome)


def test_what_is_nested_without_end_is_refused() -> None:
    nested: list[Any] = ["a"]
    nested.append(nested)
    with pytest.raises(ArgumentError, match="nested"):
        of(nested)
