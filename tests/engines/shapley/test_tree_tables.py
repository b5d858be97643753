"""How leaves are joined in cells, and how much memory tables take."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.engines.shapley import tree_tables
from discreet.engines.shapley.tree_tables import make_cells
from discreet.engines.shapley.trees import (
    BackgroundTables,
    QueryTables,
    tree_record_values,
    tree_values,
)
from discreet.errors import ArgumentError
from discreet.models.forms.compiled import PlainWalk
from tests.engines.shapley.test_trees import chain, random_trees
from tests.models.tree_zoo import close_calls

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("seed", range(5))
def test_joined_leaves_need_no_more_memory_than_leaves_apart(seed: int) -> None:
    trees = random_trees(seed)
    cells, alone = make_cells(trees, 9, 2**20)
    bits = np.diff(cells.leaves.first_bit)
    assert len(bits) == trees.is_leaf.sum() and not len(alone.leaves.value)
    assert len(cells.leaves.first) - 1 < len(bits)
    assert cells.first_entry[-1] <= (bits << bits).sum()


def test_long_paths_stay_alone() -> None:
    trees = chain(9)  # the leaves have 1, 2, ..., 9 and 9 features above them
    for most in range(10):
        cells, alone = make_cells(trees, most, 2**20)
        assert len(alone.leaves.value) == (10 - most if most < 9 else 0)
        assert sorted([*cells.leaves.value, *alone.leaves.value]) == sorted(trees.value[trees.is_leaf])


def test_tables_stay_within_their_memory(monkeypatch: Patch) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 9))
    trees = chain(9)
    whole = tree_values(trees, rows[:3], rows[3:])
    for size in (2**14, 2**10, 2**7, 0):
        monkeypatch.setattr(tree_tables, "_MOST_BYTES", size)
        for made in (BackgroundTables.of(trees, rows), QueryTables.of(trees, rows)):
            assert made.tables.entries.nbytes <= size
        np.testing.assert_allclose(tree_values(trees, rows[:3], rows[3:]), whole, rtol=0, atol=1e-12)


def test_queries_take_turns_if_their_tables_do_not_fit(monkeypatch: Patch) -> None:
    trees = random_trees(2)
    rows = close_calls(trees)[:20]
    whole = tree_record_values(trees, rows, rows)
    one = QueryTables.of(trees, rows[:1]).tables.entries.nbytes
    monkeypatch.setattr(tree_tables, "_MOST_BYTES", 3 * one)
    assert np.array_equal(tree_record_values(trees, rows, rows), whole)


def test_paths_beyond_a_code_are_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 62))
    values = tree_record_values(chain(62), rows[:2], rows[2:])
    gaps = PlainWalk(chain(62)).scores(rows)
    np.testing.assert_allclose(values.sum(axis=-1), gaps[:2, None] - gaps[None, 2:], atol=1e-9)
    with pytest.raises(ArgumentError, match="at most 62 different features on a path, got 63"):
        tree_values(chain(63), np.zeros((1, 63)), np.zeros((1, 63)))
