"""Grow all trees of a forest together: one stage per level, one for the leaves.

Every record belongs to one tree, by its place under replace-one and by a keyed hash of its encoded
values under add-remove. So the nodes of a level, over all trees, hold disjoint records. Places are
dealt out in a mixed order: a tree that had every second record of a table that repeats itself would see
another table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data import TablesContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise
from discreet.plans import Setting, Stage
from discreet.plans.stages import assign_subsets
from discreet.plans.stages.sums import TableNoise, table_noise
from discreet.privacy.relation import Relation
from discreet.randomness import GOLDEN, mixed
from discreet.schema import MISSING, FloatArray
from discreet.trees.columns import CutGrid, IntArray, Splits
from discreet.trees.leaves import class_cells, leaf_stage
from discreet.trees.nodes import LEAF, TreeNodes
from discreet.trees.splits import Assign, reached_leaves

_KEY = b"discreet forest"
"""Public and always the same: the proof holds for every key, and equal plans get equal trees."""


@dataclass(frozen=True, eq=False)
class CandidateNodes(TreeNodes):
    """Nodes with ``candidate_splits`` of their own, which are public: open nodes x splits."""

    candidate_splits: NDArray[np.bool_]

    @classmethod
    def of(cls, nodes: TreeNodes, candidate_splits: NDArray[np.bool_]) -> CandidateNodes:
        """Return the same nodes with candidate splits."""
        return cls(
            **{field.name: getattr(nodes, field.name) for field in fields(TreeNodes)},
            candidate_splits=candidate_splits,
        )

    def useful(self, splits: Splits) -> NDArray[np.bool_]:
        """Return the candidate splits, which have two sides."""
        return self.candidate_splits


def assign_trees(trees: int, relation: Relation) -> Assign | None:
    """Return the function that says which tree a row belongs to; None if there is one tree.

    Guarantees:
      - The tree of a row depends on its place alone under replace-one, on the row itself alone under
        add-remove: a record that comes, goes or is replaced changes no other's tree. [forest-disjoint]
    """
    if trees == 1:
        return None

    def assign(block: Block) -> NDArray[np.int64]:
        if Relation(relation).keeps_places:
            return _dealt(block.start + np.arange(len(block)), trees)
        return assign_subsets(block, trees, relation=relation, key=_KEY)

    return assign


def _dealt(places: NDArray[np.int64], trees: int) -> NDArray[np.int64]:
    """Return a tree for every place: as many places in a row as there are trees go to different ones.

    Which of them begins is a hash of the row's number (splitmix64).
    """
    drawn = mixed((places // trees).astype(np.uint64) * np.uint64(GOLDEN))
    return np.asarray((places + (drawn % np.uint64(trees)).astype(np.int64)) % trees)


def candidate_weights(grid: CutGrid, splits: Splits) -> FloatArray:
    """Return how readily a split becomes a candidate: features alike, half by width, half by number.

    By width, cuts that stand closely (at both ends of a range) would hardly ever be tried; by number
    alone they would be tried more than all others.
    """
    weights = np.empty(len(splits))
    for place, (points, category) in enumerate(zip(grid.cuts, grid.categorical, strict=True)):
        own = splits.feature == place
        equal = np.full(np.count_nonzero(own), 1.0)
        width = equal if category else _widths(points)
        weights[own] = 0.5 * equal / max(equal.sum(), 1.0) + 0.5 * width / max(width.sum(), 1e-300)
    return weights


def _widths(points: FloatArray) -> FloatArray:
    """Return the room around every cut; the cut that tells missing values has that of a usual one."""
    present = points[points != MISSING]
    room = np.gradient(present) if len(present) > 1 else np.ones(len(present))
    usual = room.mean() if len(room) else 1.0
    return np.concatenate([np.full(len(points) - len(present), usual), room])


def draw_candidates(
    nodes: TreeNodes, splits: Splits, weights: FloatArray, count: int, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return, open nodes x splits, so many different useful splits per node, drawn by their weights."""
    useful = nodes.useful(splits)
    keys = np.log(weights) + generator.gumbel(size=useful.shape)
    keys[~useful] = -np.inf
    if count >= len(splits):
        return useful
    candidate_splits = np.zeros_like(useful)
    best = np.argpartition(keys, -count, axis=1)[:, -count:]
    np.put_along_axis(candidate_splits, best, True, axis=1)
    return candidate_splits & useful


def draw_level(
    nodes: TreeNodes, splits: Splits, weights: FloatArray, generator: np.random.Generator
) -> TreeNodes:
    """Return the trees with one more level of splits that look at no record."""
    candidate_splits = draw_candidates(nodes, splits, weights, 1, generator)
    chosen = np.where(candidate_splits.any(axis=1), np.argmax(candidate_splits, axis=1), LEAF)
    return nodes.grow(splits, chosen)


def tree_of(nodes: TreeNodes, trees: int) -> IntArray:
    """Return the tree of every node; roots come first, parents before children."""
    found = np.arange(len(nodes))
    for node in range(trees, len(nodes)):
        found[node] = found[nodes.parent[node]]
    return found


def forest_leaves(
    nodes: TreeNodes,
    columns: tuple[str, ...],
    classes: int,
    setting: Setting,
    *,
    trees: int,
    depth: int,
    whole: bool,
    epsilon: float,
    delta: float,
) -> Stage[Noise] | Stage[TableNoise]:
    """Return the stage that counts records by leaf and class.

    ``whole``: every record in every tree, so that counts are larger and noise is, too.

    Guarantees:
      - On disjoint rows a record is in one leaf of the forest. [forest-disjoint]
      - On the whole table it is in one leaf of each tree: L1 2 T and L2 sqrt(2 T) under replace-one,
        T and sqrt T under add-remove. [forest-composed]
    """
    if not whole:
        assign = assign_trees(trees, setting.relation)
        return leaf_stage(
            "leaves",
            nodes,
            columns,
            classes,
            setting,
            epsilon=epsilon,
            delta=delta,
            assign=assign,
            statement="forest-disjoint",
        )
    owner = tree_of(nodes, trees)[nodes.leaves]
    number = np.zeros(len(nodes), dtype=np.int64)
    for tree in range(trees):
        own = nodes.leaves[owner == tree]
        number[own] = np.arange(len(own))

    def index(block: Block) -> Iterable[NDArray[np.int64]]:
        for tree in range(trees):
            places = number[reached_leaves(nodes, block, _all_in(tree))]
            yield class_cells(places, block[columns[-1]], classes)

    sizes = tuple(int(size) * classes for size in np.bincount(owner, minlength=trees))
    # For as many cells as there may be: what is priced before splits are known must be what is asked.
    most = trees * classes << depth
    noise = table_noise(trees, most, setting, epsilon=epsilon, delta=delta)
    placed = replace(noise, places=tuple(range(sum(sizes))))
    return Stage("leaves", TablesContribution(columns, sizes, index), placed)


def _all_in(tree: int) -> Assign:
    def assign(block: Block) -> NDArray[np.int64]:
        return np.full(len(block), tree)

    return assign


def in_leaf_order(
    nodes: TreeNodes, trees: int, noisy: FloatArray, classes: int, whole: bool
) -> FloatArray:
    """Return released counts in the order of the forest's leaves, whatever the order of tables."""
    if not whole:
        return noisy
    order = np.argsort(tree_of(nodes, trees)[nodes.leaves], kind="stable")
    sorted_counts = np.empty((len(order), classes))
    sorted_counts[order] = noisy.reshape(-1, classes)
    return sorted_counts.reshape(-1)
