"""The schema as a whole: order, target, id, digest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import SchemaError
from discreet.schema import Category, Number, Schema


def test_columns_in_order(tiny_schema: Schema) -> None:
    assert list(tiny_schema) == ["age", "income", "home", "paid"]
    assert tiny_schema.features == ("age", "income", "home")
    assert (len(tiny_schema), tiny_schema.position("home")) == (4, 2)
    assert "age" in tiny_schema and "nobody" not in tiny_schema and ["age"] not in tiny_schema.features
    assert tiny_schema["age"] == Number(18, 90, step=1, missing=False)
    assert "home: Category(values=('rent', 'own', 'other')" in repr(tiny_schema)
    assert "target='paid', id=None" in repr(tiny_schema)
    assert "  age: Number(low=18.0, high=90.0, step=1.0, missing=False)" in repr(tiny_schema)


def test_a_column_is_shown_with_what_is_said_of_it_alone() -> None:
    assert repr(Number(0, 1)) == "Number(low=0.0, high=1.0)"
    assert repr(Number(0, 1, missing=1)) == "Number(low=0.0, high=1.0, missing=1.0)"
    assert repr(Category("a", "b", ordered=True)) == "Category(values=('a', 'b'), ordered=True)"
    assert repr(Number(0, 1, read_from_data=("low",))).endswith("read_from_data=('low',))")


def test_what_was_probably_meant_is_named() -> None:
    schema = Schema({"AGE": Number(0, 1), **{f"x{i}": Number(0, 1) for i in range(40)}})
    with pytest.raises(SchemaError, match=r"x18 and 21 others, got 'age'. Did you mean 'AGE'\?"):
        schema["age"]
    with pytest.raises(SchemaError, match=r"got 'AGEE'. Did you mean 'AGE'\?"):
        Schema({"AGE": Number(0, 1)}, target="AGEE")


def test_an_unknown_column_is_named(tiny_schema: Schema) -> None:
    for ask in (tiny_schema.__getitem__, tiny_schema.position):
        with pytest.raises(SchemaError, match="column must be one of age, income, home, paid, got 'x'"):
            ask("x")


def test_digest_holds_every_public_fact() -> None:
    first = {"a": Number(0, 1, missing=False), "b": Category("x", "y", missing=False, other=False)}
    variants = [
        Schema(first),
        Schema(first, target="b"),
        Schema(first, id="who"),
        Schema({"b": first["b"], "a": first["a"]}),
        Schema(first | {"a": Number(0, 2, missing=False)}),
        Schema(first | {"a": Number(0, 1, step=0.5, missing=False)}),
        Schema(first | {"a": Number(0, 1, missing=0)}),
        Schema(first | {"a": Number(0, 1, read_from_data=("low",))}),
        Schema(first | {"b": Category("y", "x", missing=False, other=False)}),
        Schema(first | {"b": Category("x", "y", unknown="y")}),
        Schema(first | {"c": Number(0, 1, missing=False)}),
    ]
    assert len({schema.digest for schema in variants}) == len(variants)
    assert len(set(variants)) == len(variants)
    assert Schema(dict(first)) == Schema(first)
    assert Schema(first) != "a schema"


def test_draws_are_the_same_for_the_same_schema(tiny_schema: Schema) -> None:
    rows = tiny_schema.draw(40)
    assert rows.shape == (40, 4)
    assert rows.tobytes() == Schema.draw(tiny_schema, 40).tobytes()
    for place, name in enumerate(tiny_schema):
        field = tiny_schema[name]
        assert np.array_equal(field.encode(field.decode(rows[:, place])), rows[:, place])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, {}, "at least one column, got none"),
        ({"": Number(0, 1, missing=False)}, {}, "non-empty text or a whole number, got ''"),
        ({3.5: Number(0, 1, missing=False)}, {}, "non-empty text or a whole number, got 3.5"),
        ({"a": (0, 1)}, {}, "Column 'a' must be a Number, Category, Date or Boolean, got tuple"),
        (
            {"a": Number(0, 1, missing=False)},
            {"target": "b"},
            "target must be one of the columns, got 'b'",
        ),
        (
            {"a": Number(0, 1, missing=False)},
            {"target": ["a"]},
            "target must be one of the columns, got \\['a'\\]",
        ),
        ({"a": Number(0, 1, missing=False)}, {"id": "a"}, "id must not be one of the columns, got 'a'"),
        ({"a": Number(0, 1, missing=False)}, {"id": 5.5}, "id must be the name of a column, got 5.5"),
        ({"a": Number(0, 1, missing=False)}, {"id": ["a"]}, "id must be the name of a column"),
        ({"a": Number(0, 1, missing=False)}, {"id": ""}, "id must be the name of a column, got ''"),
    ],
)
def test_schemas_that_are_refused(columns: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(columns, **options)
