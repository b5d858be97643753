from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.schema import Category, Number, Schema
from discreet.trees.columns import candidate_splits, replace_cuts, schema_grid
from discreet.trees.growth import cells
from discreet.trees.nodes import TreeNodes

SCHEMA = Schema(
    {
        "income": Number(0, 1000, missing=False),
        "age": Number(18, 90, step=1, missing=False),
        "flag": Number(0, 1, step=1, missing=False),
        "home": Category("rent", "own", "none", "other", missing=False, other=False),
        "one": Category("only", missing=False, other=False),
    }
)


def codes(grid, rows: np.ndarray) -> np.ndarray:
    """Return the codes of rows, features x rows, as the kernel finds them."""
    found = np.empty((rows.shape[1], len(rows)), dtype=np.int64)
    nobody = np.zeros(len(rows), dtype=np.int64)
    cells(np.asfortranarray(rows), nobody, nobody, grid.flat, grid.starts, grid.bins, 1, found)
    return found


def test_codes_count_the_cuts_below_a_value() -> None:
    grid = schema_grid(SCHEMA, tuple(SCHEMA))
    rows = SCHEMA.draw(500)
    for place, points in enumerate(grid.cuts):
        expected = np.searchsorted(points, rows[:, place], side="left")
        assert codes(grid, rows)[place].tolist() == expected.tolist()
    on_cuts = np.zeros((len(grid.cuts[0]), len(SCHEMA)))
    on_cuts[:, 0] = grid.cuts[0]
    assert codes(grid, on_cuts)[0].tolist() == list(range(len(grid.cuts[0])))


def test_cuts_respect_steps_and_are_finer_at_the_ends() -> None:
    grid = schema_grid(SCHEMA, tuple(SCHEMA))
    income, age, flag, home, one = grid.cuts
    assert np.all(age == np.rint(age)) and age[0] == 18 and age[-1] == 89
    assert flag.tolist() == [0.0]
    assert home.tolist() == [0.5, 1.5, 2.5]
    assert len(one) == 0
    assert income[0] == 0.0 and income[1] < 1.0 < 31.25 in income
    assert np.all(np.diff(income) > 0) and income[-1] < 1000


def test_candidates_are_beginnings_and_single_categories() -> None:
    grid = schema_grid(SCHEMA, ("flag", "home"))
    splits = candidate_splits(grid)
    found = list(zip(splits.feature.tolist(), splits.low.tolist(), splits.high.tolist(), strict=True))
    below = -np.inf
    beginnings = [(0, below, 0.0), (1, below, 0.5), (1, below, 1.5), (1, below, 2.5)]
    assert found == [*beginnings, (1, 0.5, 1.5), (1, 1.5, 2.5)]


def test_features_without_two_values_cannot_be_split() -> None:
    with pytest.raises(ArgumentError, match="features must have at least one that can be split"):
        candidate_splits(schema_grid(SCHEMA, ("one",)))


def test_released_cuts_replace_public_ones_inside_the_range() -> None:
    grid = schema_grid(SCHEMA, ("age", "home"))
    found = replace_cuts(grid, SCHEMA, {"age": np.array([18.0, 30.0, 30.0, 90.0])})
    assert found.cuts[0].tolist() == [18.0, 30.0]
    assert found.cuts[1].tolist() == grid.cuts[1].tolist()


def test_nodes_know_which_codes_reach_them() -> None:
    grid = schema_grid(SCHEMA, ("flag", "home"))
    splits = candidate_splits(grid)
    own = int(np.flatnonzero((splits.low == 0.5) & (splits.high == 1.5))[0])
    nodes = TreeNodes.start(grid).grow(splits, np.array([own]))
    assert nodes.region[:, 2:].tolist() == [
        [True] * 4,
        [False, True, False, False],
        [True, False, True, True],
    ]
    assert nodes.left.tolist() == [1, 1, 2] and nodes.parent.tolist() == [0, 0, 0]
    both = nodes.grow(splits, np.array([0, -1]))
    assert both.leaves.tolist() == [2, 3, 4] and both.open.tolist() == [3, 4]
