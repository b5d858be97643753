"""Rows to subsets: one record touches one subset, and moves no other record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.data import PrivateTable
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.rows import open_rows
from discreet.plans.stages.aggregate import assign_subsets
from discreet.privacy.relation import Relation
from discreet.schema import Number, Schema

KEY = b"a key of this session"
WITH_ID = Schema({"a": Number(0, 1_000, missing=False), "b": Number(0, 1_000, missing=False)}, id="who")
WITHOUT = Schema({"a": Number(0, 1_000, missing=False), "b": Number(0, 1_000, missing=False)})
Assign = Callable[..., Any]


def subsets_of(rows: np.ndarray, schema: Schema, relation: Relation, assign: Assign) -> list[int]:
    """Return the subset of every row of a table, block by block."""
    table = PrivateTable(rows[:, : 2 + (schema.id is not None)], schema, "add-remove")
    blocks = open_rows(table, ["a", "b"], with_ids=schema.id is not None)
    return [int(s) for block in blocks for s in assign(block, 7, relation=relation, key=KEY)]


def moved_records(
    rows: np.ndarray, schema: Schema, relation: Relation, place: int, assign: Assign = assign_subsets
) -> list[int]:
    """Return the rows that change their subset because of the record at ``place``."""
    before = subsets_of(rows, schema, relation, assign)
    if relation == "add-remove":
        after = subsets_of(np.delete(rows, place, axis=0), schema, relation, assign)
        after.insert(place, before[place])
    else:
        changed = rows.copy()
        changed[place] = 999.0
        after = subsets_of(changed, schema, relation, assign)
    return [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]


def make_rows(count: int) -> np.ndarray:
    draw = np.random.default_rng(3)
    return np.column_stack([draw.integers(0, 50, (count, 2)), np.arange(count)]).astype(float)


CASES: list[tuple[Relation, Schema]] = [
    ("replace-one", WITH_ID),
    ("replace-one", WITHOUT),
    ("add-remove", WITH_ID),
    ("add-remove", WITHOUT),
]


@pytest.mark.proves("row-to-subset")
@pytest.mark.parametrize(("relation", "schema"), CASES)
@pytest.mark.parametrize("place", [0, 3, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 40])
def test_a_record_moves_no_other_and_not_even_itself(
    relation: Relation, schema: Schema, place: int
) -> None:
    assert moved_records(make_rows(BLOCK_ROWS + 50), schema, relation, place) == []


def by_place(block: Block, subsets: int, *, relation: Relation, key: bytes) -> Any:
    return (block.start + np.arange(len(block))) % subsets


def by_value(block: Block, subsets: int, *, relation: Relation, key: bytes) -> Any:
    return assign_subsets(block, subsets, relation="add-remove", key=key)


def by_rank(block: Block, subsets: int, *, relation: Relation, key: bytes) -> Any:
    return np.argsort(np.argsort(block["a"], kind="stable"), kind="stable") % subsets


@pytest.mark.refutes("row-to-subset")
@pytest.mark.parametrize(
    ("fault", "relation"),
    [
        (by_place, "add-remove"),
        (by_value, "replace-one"),
        (by_rank, "add-remove"),
        (by_rank, "replace-one"),
    ],
)
def test_other_assignments_are_caught(fault: Assign, relation: Relation) -> None:
    rows = make_rows(200)
    assert any(moved_records(rows, WITHOUT, relation, place, fault) for place in (0, 50, 100))


@pytest.mark.parametrize("schema", [WITH_ID, WITHOUT])
def test_the_key_and_the_row_decide(schema: Schema) -> None:
    rows = make_rows(3_000)

    def with_key(key: bytes) -> Assign:
        return lambda block, subsets, *, relation, **_: assign_subsets(
            block, subsets, relation=relation, key=key
        )

    first = subsets_of(rows, schema, "add-remove", with_key(b"one"))
    again = subsets_of(rows, schema, "add-remove", with_key(b"one"))
    other = subsets_of(rows, schema, "add-remove", with_key(b"two"))
    assert first == again
    assert np.mean(np.equal(first, other)) < 0.3
    assert set(first) == set(range(7))
    counts = np.bincount(first)
    assert counts.min() > 300  # of 429 expected


def test_equal_ids_go_together_whatever_the_rest_of_the_row() -> None:
    rows = make_rows(100)
    rows[:, 2] = np.arange(100) // 2
    subsets = np.array(subsets_of(rows, WITH_ID, "add-remove", assign_subsets))
    assert np.array_equal(subsets[::2], subsets[1::2])


def test_ids_of_any_kind() -> None:
    ids = np.array(["x", None, "\ud800", "x" * 10_000], dtype=object)
    block = Block(0, ("a",), np.zeros((4, 1)), ids)
    subsets = assign_subsets(block, 5, relation="add-remove", key=KEY)
    assert subsets.dtype == np.int64 and set(subsets.tolist()) <= set(range(5))
    assert np.array_equal(subsets, assign_subsets(block, 5, relation="add-remove", key=KEY))


def test_no_rows_have_no_subsets() -> None:
    for relation in ("replace-one", "add-remove"):
        empty = Block(0, ("a",), np.zeros((0, 1)))
        assert len(assign_subsets(empty, 5, relation=relation, key=KEY)) == 0  # type: ignore[arg-type]


@pytest.mark.proves("row-to-subset")
@pytest.mark.parametrize("first", [1, 2**53 + 1, 10**17 + 1])
def test_a_missing_id_moves_no_other_record(first: int) -> None:
    """pandas holds whole numbers as floats as soon as one of them is missing."""
    ids = [first + 3 * place for place in range(50)]
    frames = [
        pd.DataFrame({"a": 1.0, "b": 2.0, "who": who}, index=range(len(who)))
        for who in (ids, [*ids, None])
    ]
    assert frames[0]["who"].dtype != frames[1]["who"].dtype
    found = []
    for frame in frames:
        blocks = open_rows(PrivateTable(frame, WITH_ID, "add-remove"), ["a", "b"], with_ids=True)
        (block,) = blocks
        found.append(assign_subsets(block, 7, relation="add-remove", key=KEY)[:50].tolist())
    assert found[0] == found[1]
