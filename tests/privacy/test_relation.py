"""A relation is a value that knows what differs, and a text as users write it."""

from __future__ import annotations

import ast
import json
import pickle
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

import discreet
from discreet.errors import ArgumentError
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation

Table = tuple[int, ...]


def neighbours(table: Table, relation: Relation) -> list[Table]:
    """Every neighbour of a table of zeros and ones, from the definitions."""
    if relation is REPLACE_ONE:
        return [
            (*table[:i], value, *table[i + 1 :])
            for i in range(len(table))
            for value in (0, 1)
            if value != table[i]
        ]
    shorter = [(*table[:i], *table[i + 1 :]) for i in range(len(table))]
    longer = [(*table[:i], value, *table[i:]) for i in range(len(table) + 1) for value in (0, 1)]
    return shorter + longer


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_a_relation_says_is_so_of_all_neighbours_of_small_tables(relation: Relation) -> None:
    pairs = [(t, n) for t in product((0, 1), repeat=3) for n in neighbours(t, relation)]
    edits = [((Counter(a) - Counter(b)) + (Counter(b) - Counter(a))).total() for a, b in pairs]
    assert set(edits) == {relation.edits}
    assert all(len(a) == len(b) for a, b in pairs) == relation.rows_public
    stay = all(sum(x != y for x, y in zip(a, b, strict=False)) <= 1 for a, b in pairs)
    assert stay == relation.keeps_places


@pytest.mark.parametrize("relation", RELATIONS)
def test_it_is_the_name_that_users_write(relation: Relation) -> None:
    name = str(relation)
    assert type(name) is str and relation == name and hash(relation) == hash(name)
    assert f"{relation}" == name and repr(relation) == repr(name)
    assert json.dumps({relation: relation}) == json.dumps({name: name})
    assert Relation(name) is relation is pickle.loads(pickle.dumps(relation))


@pytest.mark.parametrize("name", ["swap-two", "", None, ["replace-one"]])
def test_another_name_is_refused_with_a_sentence(name: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        Relation(name)
    assert str(caught.value) == f"relation must be one of replace-one, add-remove, got {name!r}."


def compared_names(text: str) -> list[str]:
    """Names of relations that code compares with."""
    names = {*RELATIONS}
    return [
        part.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        for part in (node.left, *node.comparators)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in names
    ] + [
        part.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        for part in (node.left, *node.comparators)
        if isinstance(part, ast.Name) and part.id in ("REPLACE_ONE", "ADD_REMOVE")
    ]


def test_no_module_asks_for_the_name_of_a_relation() -> None:
    assert compared_names('if relation == "add-remove": pass') == ["add-remove"]
    assert compared_names("if relation is ADD_REMOVE: pass") == ["ADD_REMOVE"]
    src = Path(discreet.__file__).parent
    found = {
        str(path.relative_to(src)): names
        for path in src.rglob("*.py")
        if (names := compared_names(path.read_text()))
    }
    assert found == {}
    assert ADD_REMOVE != REPLACE_ONE
