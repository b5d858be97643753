"""Private forests: every neighbour of tiny tables, both relations, both ways to count leaves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data import Summand
from discreet.data.blocks import Block
from discreet.data.engine import sum_block
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import certify_cells
from discreet.trees.columns import candidate_splits, schema_grid
from discreet.trees.forest_growth import (
    CandidateNodes,
    assign_trees,
    candidate_weights,
    draw_level,
    forest_leaves,
)
from discreet.trees.nodes import TreeNodes
from discreet.trees.scores import Criterion
from discreet.trees.splits import TreeLevel, level_stage, split_noise
from tests.oracles.laws import max_divergence

SCHEMA = dc.Schema(
    {
        "a": dc.Category(0, 1, missing=False, other=False),
        "b": dc.Category(0, 1, missing=False, other=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
GRID = schema_grid(SCHEMA, ("a", "b"))
SPLITS = candidate_splits(GRID)
RECORDS = tuple(itertools.product((0, 1), repeat=3))
EPSILON = 1.0
TREES = 2
COLUMNS = ("a", "b", "y")

Table = tuple[tuple[int, ...], ...]


def setting(relation: str, rows: int | None = None) -> Setting:
    return Setting(SCHEMA, relation, rows if relation == "replace-one" else None)  # type: ignore[arg-type]


def raw_sum(stage: Stage[Any], rows: Table) -> np.ndarray:
    values = np.asfortranarray(np.array(rows, dtype=float).reshape(-1, 3))
    summand = Summand(stage.contribution, stage.noise.step)
    return sum_block(Block(0, COLUMNS, values), [summand])[0]


def level(relation: str, assign: Any) -> Stage[Any]:
    noise = split_noise(
        Criterion("norm", 4),
        "permute-and-flip",
        relation=relation,
        epsilon=EPSILON,
        candidates=2,  # type: ignore[arg-type]
    )
    nodes = TreeNodes.start(GRID, TREES)
    candidate_splits = CandidateNodes.of(nodes, np.ones((TREES, len(SPLITS)), dtype=bool))
    return level_stage("level 1", noise, TreeLevel(candidate_splits, GRID, SPLITS, 2), "y", assign)


def law(stage: Stage[Any], rows: Table) -> dict[object, float]:
    """Return the exact joint law of the splits of all trees."""
    laws = stage.noise.laws(raw_sum(stage, rows))
    outcomes = itertools.product(range(len(SPLITS) + 1), repeat=TREES)
    return {picks: math.prod(own[p] for own, p in zip(laws, picks, strict=True)) for picks in outcomes}


def pairs(relation: str, size: int) -> Iterator[tuple[Table, Table]]:
    """Yield all neighbours among tables of so many rows."""
    for rows in itertools.product(RECORDS, repeat=size):
        if relation == "add-remove":
            for place in range(size):
                yield rows, rows[:place] + rows[place + 1 :]
        else:
            for place, record in itertools.product(range(size), RECORDS):
                if record > rows[place]:
                    yield rows, (*rows[:place], record, *rows[place + 1 :])


def worst_loss(relation: str, stage: Stage[Any], size: int) -> float:
    """Return the greatest log-ratio over all neighbours."""
    tables = {rows for pair in pairs(relation, size) for rows in pair}
    laws = {rows: law(stage, rows) for rows in tables}
    return max(max_divergence(laws[a], laws[b]) for a, b in pairs(relation, size))


def by_share(block: Block) -> np.ndarray:
    """Assign rows in runs of equal length, as some libraries do: a row that goes moves others."""
    return np.arange(len(block)) * TREES // max(1, len(block))


@pytest.mark.proves("forest-disjoint")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_level_of_all_trees_costs_its_epsilon_once(relation: str) -> None:
    stage = level(relation, assign_trees(TREES, relation))  # type: ignore[arg-type]
    worst = worst_loss(relation, stage, 3)
    assert 0.3 * EPSILON < worst <= EPSILON + 1e-9


@pytest.mark.refutes("forest-disjoint")
def test_runs_of_rows_are_caught() -> None:
    """The choices of two trees and more move when one row goes; four rows show it."""
    own = counts_moved("add-remove", assign_trees(TREES, "add-remove"))
    runs = counts_moved("add-remove", by_share)
    assert own == 1 < runs


@pytest.mark.refutes("forest-disjoint")
def test_a_level_priced_for_the_other_relation_is_caught() -> None:
    """A replaced record touches two choices: with the noise of add-remove it costs too much."""
    stage = level("add-remove", assign_trees(TREES, "replace-one"))
    assert worst_loss("replace-one", stage, 3) > 1.05 * EPSILON


def counts_moved(relation: str, assign: Any) -> int:
    """Return how many rows' cells one record changes in the leaf counts of a forest of stumps."""
    from discreet.trees.leaves import leaf_stage

    nodes = stumps()
    stage = leaf_stage("leaves", nodes, COLUMNS, 2, setting(relation, 4), epsilon=1.0, assign=assign)
    return max(int(np.abs(raw_sum(stage, a) - raw_sum(stage, b)).sum()) for a, b in pairs(relation, 3))


def stumps() -> TreeNodes:
    nodes = TreeNodes.start(GRID, TREES)
    return nodes.grow(SPLITS, np.array([0, 1]))


@pytest.mark.proves("forest-disjoint")
def test_a_row_that_goes_changes_no_other_rows_tree() -> None:
    rows = np.asfortranarray(np.random.default_rng(0).integers(0, 2, (200, 3)).astype(float))
    for relation, edit in (("add-remove", np.delete), ("replace-one", None)):
        assign = assign_trees(7, relation)  # type: ignore[arg-type]
        assert assign is not None
        before = assign(Block(0, COLUMNS, rows))
        for place in (0, 99, 199):
            if edit is not None:
                after = assign(Block(0, COLUMNS, np.delete(rows, place, axis=0)))
                np.testing.assert_array_equal(after, np.delete(before, place))
            else:
                changed = rows.copy()
                changed[place] = 1 - changed[place]
                np.testing.assert_array_equal(assign(Block(0, COLUMNS, changed)), before)


@pytest.mark.refutes("forest-disjoint")
def test_rows_in_runs_do_change_trees() -> None:
    rows = np.zeros((64, 3))
    before, after = by_share(Block(0, COLUMNS, rows)), by_share(Block(0, COLUMNS, rows[1:]))
    assert np.count_nonzero(after != before[1:]) > 0


def norms(stage: Stage[Any], relation: str) -> tuple[float, float, float]:
    moves = [raw_sum(stage, a) - raw_sum(stage, b) for a, b in pairs(relation, 2)]
    return (
        max(float(np.abs(move).sum()) for move in moves),
        max(float(np.linalg.norm(move)) for move in moves),
        max(float(np.abs(move).max()) for move in moves),
    )


@pytest.mark.proves("forest-composed")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_leaves_of_whole_trees_move_as_certified(relation: str) -> None:
    stage = whole_leaves(relation)
    bounds = [stage.certificate.sensitivity(n, relation) for n in ("l1", "l2", "linf")]  # type: ignore[arg-type]
    found = norms(stage, relation)
    assert all(f <= b + 1e-12 for f, b in zip(found, bounds, strict=True))
    assert found[0] == pytest.approx(bounds[0])  # attained


@pytest.mark.refutes("forest-composed")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_whole_trees_priced_as_disjoint_ones_are_caught(relation: str) -> None:
    cells = certify_cells(8)
    assert norms(whole_leaves(relation), relation)[0] > cells.sensitivity("l1", relation)  # type: ignore[arg-type]


def whole_leaves(relation: str, delta: float = 0.0) -> Stage[Any]:
    return forest_leaves(
        stumps(),
        COLUMNS,
        2,
        setting(relation, 2),
        trees=TREES,
        depth=1,
        whole=True,
        epsilon=1.0,
        delta=delta,
    )


@pytest.mark.proves("forest-composed")
def test_noise_on_whole_leaves_is_for_all_trees_together() -> None:
    assert whole_leaves("replace-one").noise.std == pytest.approx(2 * TREES * math.sqrt(2), rel=0.01)
    assert whole_leaves("add-remove").noise.std == pytest.approx(TREES * math.sqrt(2), rel=0.01)
    gaussian = forest_leaves(
        TreeNodes.start(GRID, 32),
        COLUMNS,
        2,
        setting("replace-one", 100),
        trees=32,
        depth=0,
        whole=True,
        epsilon=1.0,
        delta=1e-6,
    )
    assert gaussian.noise.name == "gaussian"
    assert gaussian.noise.std == pytest.approx(4.225 * math.sqrt(64), rel=0.01)


def test_random_levels_split_every_node_into_two_sides() -> None:
    grid = schema_grid(dc.samples.loan_schema(), ("age", "income", "home"))
    splits, generator = candidate_splits(grid), np.random.default_rng(1)
    nodes, weights = TreeNodes.start(grid, 3), candidate_weights(grid, splits)
    for _ in range(4):
        nodes = draw_level(nodes, splits, weights, generator)
    assert len(nodes) == 3 * (2**5 - 1)
    assert nodes.region.any(axis=1).all()


def test_features_are_offered_alike() -> None:
    """A column with many cuts is not drawn more often than one with two values."""
    grid = schema_grid(dc.samples.loan_schema(), ("income", "home"))
    splits = candidate_splits(grid)
    weights = candidate_weights(grid, splits)
    per_feature = [weights[splits.feature == place].sum() for place in range(2)]
    np.testing.assert_allclose(per_feature, [1.0, 1.0])
