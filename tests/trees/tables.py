"""Small tables with known shape, and trees over them without a session."""

from __future__ import annotations

import numpy as np

from discreet.audit.laws.of_trees import FEATURES, SCHEMA
from discreet.trees.columns import CutGrid, Splits, candidate_splits, schema_grid
from discreet.trees.nodes import TreeNodes


def grid_and_splits() -> tuple[CutGrid, Splits]:
    grid = schema_grid(SCHEMA, FEATURES)
    return grid, candidate_splits(grid)


def some_tree(levels: int, seed: int = 0) -> TreeNodes:
    """Return a tree of random useful splits."""
    grid, splits = grid_and_splits()
    nodes, generator = TreeNodes.start(grid), np.random.default_rng(seed)
    for _ in range(levels):
        useful = nodes.useful(splits)
        chosen = [generator.choice(np.flatnonzero(u)) if u.any() else -1 for u in useful]
        nodes = nodes.grow(splits, np.array(chosen))
    return nodes
