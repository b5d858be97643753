"""Small inputs and their neighbours, counted."""

from __future__ import annotations

import pytest

from discreet.audit.laws.neighbours import (
    FAR,
    corner_scores,
    far_tables,
    moved_scores,
    neighbouring_tables,
    pairs_of_scores,
    pairs_of_tables,
    small_tables,
    small_vectors,
)
from discreet.audit.laws.of_records import replaced_records
from discreet.audit.laws.of_trees import neighbouring_rows


def test_scores_move_each_on_its_own() -> None:
    moved = set(moved_scores((0, 5), 1))
    assert len(moved) == 9 and (-1, 6) in moved and (0, 5) in moved
    assert set(corner_scores((0, 5), 2)) == {(-2, 3), (-2, 7), (2, 3), (2, 7)}
    assert len(list(small_vectors(3, 2))) == 27 - 8


@pytest.mark.parametrize("sensitivity", [1, 7])
def test_pairs_of_scores_are_neighbours(sensitivity: int) -> None:
    for first, second in pairs_of_scores(sensitivity)():
        assert max(abs(a - b) for a, b in zip(first, second, strict=True)) == sensitivity
        assert min(first) == 0


@pytest.mark.parametrize(("relation", "edits"), [("replace-one", 2), ("add-remove", 1)])
def test_pairs_of_tables_are_one_edit_apart(relation: str, edits: int) -> None:
    pairs = list(pairs_of_tables(relation)())
    assert len(pairs) > 100
    for first, second in pairs:
        assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) == edits
        assert (sum(first) == sum(second)) is (relation == "replace-one")
        assert min(*first, *second) >= 0 and sum(first) and sum(second)


def test_tables_are_all_there() -> None:
    assert len(small_tables(3, 4)) == 35
    assert set(neighbouring_tables((1, 0), "add-remove")) == {(2, 0), (0, 0), (1, 1)}
    assert set(neighbouring_tables((1, 0), "replace-one")) == {(0, 1)}
    assert all(sum(table) == FAR for table in far_tables(3))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_rows_of_trees_differ_in_one_record(relation: str) -> None:
    for first, second in neighbouring_rows(relation):
        left, right = list(first), list(second)
        for record in first:
            if record in right:
                left.remove(record)
                right.remove(record)
        assert (len(left), len(right)) == ((1, 1) if relation == "replace-one" else (0, 1))


def test_replaced_records_are_all_pairs_once() -> None:
    pairs = list(replaced_records(3, 2))
    assert len(pairs) == len(set(pairs))
    assert ((0, 0), (0, 1)) in pairs and all(a < b for a, b in pairs)
