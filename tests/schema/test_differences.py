"""Two schemas are told apart in words."""

from __future__ import annotations

import pytest

from discreet import Category, Number, Schema
from discreet.schema.differences import tell_differences

AGE, HOME = Number(18, 90, step=1), Category("rent", "own")
HERE = Schema({"age": AGE, "home": HOME}, target="home")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (HERE, ""),
        (
            Schema({"age": Number(18, 90), "home": HOME}, target="home"),
            "column 'age' has step none where 1.0 is registered",
        ),
        (
            Schema({"age": AGE, "home": Category("rent")}, target="home"),
            "column 'home' has values ['rent'] where ['rent', 'own'] is registered",
        ),
        (
            Schema({"age": HOME, "home": HOME}, target="home"),
            "column 'age' is a category where a number is registered",
        ),
        (
            Schema({"home": HOME, "age": AGE}, target="home"),
            "column 'home' stands where 'age' is registered",
        ),
        (Schema({"age": AGE, "home": HOME}), "target is none where 'home' is registered"),
        (
            Schema({"age": AGE, "home": HOME}, target="home", id="nr"),
            "id is 'nr' where none is registered",
        ),
        (
            Schema({"age": AGE, "house": HOME}, target="house"),
            "column 'home' is registered and missing; column 'house' is not registered; target is"
            " 'house' where 'home' is registered",
        ),
        (
            Schema({"age": Number(0, 9), "house": HOME}),
            "column 'home' is registered and missing; column 'house' is not registered; column 'age'"
            " has low 0.0 where 18.0 is registered, and 3 more",
        ),
    ],
)
def test_the_first_differences_are_told(given: Schema, told: str) -> None:
    assert tell_differences(HERE.to_json(), given.to_json()) == told
