"""Leaves of a tree ensemble in cells, each with a few yes-or-no tests of a row.

The path to a leaf meets K different features, and all its conditions on one of them are an interval.
So K tests say of every feature whether a row satisfies the leaf, and nothing else about the row counts.
Neighbouring leaves share most of their path: they are joined in a *cell*, whose tests are the
conditions of the common path and the splits below it, wherever that makes tables no larger. Leaves
with too long a path stay alone.

The arrays are flat: what belongs to cell c stands between ``first[c]`` and ``first[c + 1]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.engines.shapley.enumeration import BoolArray
from discreet.errors import ArgumentError
from discreet.models.forms.compiled import starts_of
from discreet.models.forms.trees import TreeEnsemble
from discreet.randomness import IntArray
from discreet.schema import FloatArray

NONE = -1
"""The parent of a root."""

LONGEST = 62
"""A code has one bit per test and is a whole number of 64 bits."""


class Nodes(NamedTuple):
    """The nodes of an ensemble, with parents."""

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    value: FloatArray
    parent: IntArray


class Checks(NamedTuple):
    """Tests of cells: ``low < row[feature] <= high``; no ``low`` if NaN; NaN passes if ``missing``."""

    first: IntArray
    feature: IntArray
    low: FloatArray
    high: FloatArray
    missing: BoolArray


class Leaves(NamedTuple):
    """Leaves of cells, and of every leaf one bit per feature of its path (from ``first_bit`` on).

    A row satisfies the leaf's conditions on the ``player``-th feature of the cell if its code, cut to
    the bits of ``mask``, is ``want``.
    """

    first: IntArray
    value: FloatArray
    first_bit: IntArray
    player: IntArray
    mask: IntArray
    want: IntArray


class Cells(NamedTuple):
    """Some leaves of an ensemble; ``player`` holds the different features of every cell's tests."""

    tests: Checks
    leaves: Leaves
    first_player: IntArray
    player: IntArray

    @property
    def first_entry(self) -> IntArray:
        """Where the tables of every cell begin: one entry per player and code."""
        codes = 1 << np.diff(self.tests.first)
        return starts_of(np.diff(self.first_player) * codes)


def make_cells(trees: TreeEnsemble, most_tests: int, most_entries: int) -> tuple[Cells, Cells]:
    """Return the leaves in cells of few tests, and those left over, each alone.

    Args:
      trees: the ensemble.
      most_tests: the greatest number of tests of a cell.
      most_entries: the greatest size of all tables together; fewer tests are allowed to meet it.
    """
    from discreet.engines.shapley.tree_paths import count_paths, find_tops, join_leaves

    nodes = _nodes(trees)
    features, splits = count_paths(nodes, int(trees.depth.max()))
    if features.max() > LONGEST:
        raise ArgumentError(
            f"trees must have at most {LONGEST} different features on a path, got {features.max()}. "
            "Use the kernel engine."
        )
    for most in range(most_tests, -1, -1):
        joined, entries = join_leaves(nodes, features, splits, most)
        if entries[trees.roots].sum() <= most_entries:
            break
    cell, alone = find_tops(joined, nodes.left)
    return _fill(nodes, cell, features, splits), _fill(nodes, alone, features, splits)


def _nodes(trees: TreeEnsemble) -> Nodes:
    """Copy the nodes (kernels are compiled for arrays that can be written) and find their parents."""
    parent = np.full(len(trees.left), NONE)
    splits = np.flatnonzero(~trees.is_leaf)
    parent[trees.left[splits]] = parent[trees.left[splits] + 1] = splits
    return Nodes(
        feature=trees.feature.copy(),
        threshold=trees.threshold.copy(),
        missing_left=trees.missing_left.copy(),
        left=trees.left.copy(),
        value=trees.value.copy(),
        parent=parent,
    )


def _fill(nodes: Nodes, chosen: BoolArray, features: IntArray, splits: IntArray) -> Cells:
    from discreet.engines.shapley.tree_paths import fill_cells

    roots = np.flatnonzero(chosen)
    first = starts_of(features[roots] + splits[roots])
    size, count = int(first[-1]), int((splits[roots] + 1).sum())
    bits = int(features[nodes.left == np.arange(len(features))].sum())  # those of all leaves: enough
    tests = Checks(first, _whole(size), np.zeros(size), np.zeros(size), np.zeros(size, np.bool_))
    leaves = Leaves(
        _whole(len(roots) + 1),
        np.zeros(count),
        _whole(count + 1),
        *(_whole(bits) for _ in range(3)),
    )
    player, players = _whole(size), _whole(len(roots))
    fill_cells(roots, nodes, tests, leaves, player, players)
    place = np.arange(size) - np.repeat(first[:-1], np.diff(first))
    kept = player[place < np.repeat(players, np.diff(first))]
    return Cells(tests, leaves, starts_of(players), kept)


def _whole(size: int) -> IntArray:
    return np.zeros(size, np.int64)
