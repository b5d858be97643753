"""Small tables with known shape, and trees over them without a session."""

from __future__ import annotations

import numpy as np

from discreet.data.blocks import Block
from discreet.data.engine import Summand, sum_block
from discreet.schema import Category, Number, Schema
from discreet.trees.columns import CutGrid, Splits, candidate_splits, schema_grid
from discreet.trees.nodes import TreeNodes

SCHEMA = Schema(
    {
        "age": Number(0, 3, step=1),
        "home": Category("rent", "own", "none"),
        "class": Category("no", "yes"),
    },
    target="class",
)
FEATURES = ("age", "home")


def grid_and_splits() -> tuple[CutGrid, Splits]:
    grid = schema_grid(SCHEMA, FEATURES)
    return grid, candidate_splits(grid)


def counts_of(stage, rows: np.ndarray) -> np.ndarray:
    """Return the exact sums of a stage over encoded rows (features and target, in schema order)."""
    values = np.asfortranarray(np.asarray(rows, dtype=np.float64).reshape(-1, 3))
    block = Block(0, tuple(SCHEMA), values).narrow(stage.contribution.columns)
    return sum_block(block, [Summand(stage.contribution, 1.0)])[0]


def some_tree(levels: int, seed: int = 0) -> TreeNodes:
    """Return a tree of random useful splits."""
    grid, splits = grid_and_splits()
    nodes, generator = TreeNodes.start(grid), np.random.default_rng(seed)
    for _ in range(levels):
        useful = nodes.useful(splits)
        chosen = [generator.choice(np.flatnonzero(u)) if u.any() else -1 for u in useful]
        nodes = nodes.grow(splits, np.array(chosen))
    return nodes
