"""Proportions: noise on one count, or on two where the number of records is private."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE
from tests.laws.examples import Example
from tests.statistics.coverage import LEAST, answers, held, people, setting_of

EXAMPLES = [
    Example("proportion", lambda _: dc.proportion("home", "own", epsilon=1.0)),
    Example("proportion", lambda _: dc.proportion("home", ["own", "rent"], epsilon=1.0, delta=1e-5)),
    Example("proportion", lambda _: dc.proportion("age", [40, 41], epsilon=1.0)),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("column", ["home", "job"])
def test_intervals_hold(column: str, epsilon: float, relation: str) -> None:
    value = {"home": "own", "job": "a"}[column]
    frame = people()
    known = frame[column].isin(["rent", "own", "other", "a", "b", "c"])
    exact = float((frame[column][known] == value).mean())
    found = answers(dc.proportion(column, value, epsilon=epsilon), relation, frame)
    assert held(found, exact) > LEAST
    assert epsilon > 1 or held(found, exact, 1 / 3) < LEAST


def test_one_count_is_noisy_where_the_number_of_records_is_public() -> None:
    (stage,) = dc.proportion("home", "own", epsilon=1.0).prepare(setting_of(REPLACE_ONE)).stages
    assert stage.contribution.size == 1 and stage.noise.sensitivity == 1  # type: ignore[attr-defined]
    (stage,) = dc.proportion("job", "a", epsilon=1.0).prepare(setting_of(REPLACE_ONE)).stages
    assert stage.contribution.size == 2 and stage.noise.sensitivity == 2  # type: ignore[attr-defined]
    (stage,) = dc.proportion("home", "own", epsilon=1.0).prepare(setting_of(ADD_REMOVE)).stages
    assert stage.contribution.size == 2 and stage.noise.sensitivity == 1  # type: ignore[attr-defined]


def test_a_value_nobody_has_is_an_answer() -> None:
    for one in answers(dc.proportion("job", "c", epsilon=1.0), REPLACE_ONE, people(), 50):
        assert 0 == one.low <= one.value <= one.high < 0.1


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("home", "palace", "values must be among those of 'home', got 'palace'"),
        ("age", 120, "values must lie in the bounds of 'age', 18 to 90, got 120"),
    ],
)
def test_values_the_schema_does_not_know_are_refused(column: str, values: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        dc.proportion(column, values, epsilon=1.0).prepare(setting_of(REPLACE_ONE))


@pytest.mark.parametrize("values", [[], None, [None], {"a": 1}])
def test_what_is_no_value_is_refused(values: Any) -> None:
    with pytest.raises(ArgumentError, match="values must be"):
        dc.proportion("home", values, epsilon=1.0)
