"""Copies of a forest's trees with their cuts moved, whose mean changes step by step.

A tree says the same of all rows of a leaf, however near they are to its ends, so that it ranks few of
them apart; and a cut that was chosen by noisy scores could as well be beside where it is. Copies with
cuts moved a little up or down, most of them hardly, mend both. They are made of the public cut points
and of what was released, and cost nothing.
"""

from __future__ import annotations

import numpy as np

from discreet.randomness import public_generator
from discreet.schema import MISSING, FloatArray
from discreet.trees.columns import CutGrid, IntArray
from discreet.trees.nodes import TreeNodes

_TREES = 16
"""So many trees and copies of them there are together, unless there are more trees."""

_FARTHEST = 0.24
"""By this part of a feature's cuts a cut is moved at most, where splits tell nothing of the classes."""


def copied_cuts(
    nodes: TreeNodes, grid: CutGrid, tree: IntArray, counts: FloatArray, shares: FloatArray, seed: int
) -> FloatArray:
    """Return the upper ends of all nodes in every copy, copies x nodes; none where trees are many.

    Args:
      nodes: the trees.
      grid: the public cut points.
      tree: the tree of every node.
      counts: noisy counts, nodes x classes.
      shares: probabilities, nodes x classes.
      seed: public; it says which copy moves the cuts of which feature how far.
    """
    trees = int(tree.max()) + 1
    copies = _TREES // trees
    if copies < 2:
        return np.empty((0, len(nodes)))
    farthest = _FARTHEST * left_impure(nodes, counts, shares) ** 2
    moves = farthest * _moves(copies * trees, len(grid.cuts), seed).reshape(copies, trees, -1)
    return np.stack([_moved(nodes, grid, own[tree]) for own in moves])


def left_impure(nodes: TreeNodes, counts: FloatArray, shares: FloatArray) -> float:
    """Return the Gini impurity that the leaves leave, as a part of the whole table's; at most one.

    Little is left where classes follow from a few thresholds, and then the thresholds are sharp.
    """
    impure = 1.0 - (shares**2).sum(axis=1)
    sizes = np.maximum(counts[nodes.leaves], 0.0).sum(axis=1)
    left = float(sizes @ impure[nodes.leaves]) / max(float(sizes.sum()), 1e-9)
    return min(1.0, left / max(float(impure[0]), 1e-9))


def _moves(copies: int, features: int, seed: int) -> FloatArray:
    """Return moves between -1 and 1, copies x features: cubes of even steps, in any order."""
    generator = public_generator(seed)
    steps = (2.0 * np.arange(copies) + 1.0) / copies - 1.0
    return np.stack([generator.permutation(steps) for _ in range(features)], axis=1) ** 3


def _moved(nodes: TreeNodes, grid: CutGrid, moves: FloatArray) -> FloatArray:
    """Return upper ends with the cuts of numbers moved, nodes x features of them, among the grid's.

    The cut that tells missing values stays, and so do splits of categories that have no order.
    """
    high = nodes.high.copy()
    for place, (points, unordered) in enumerate(zip(grid.cuts, grid.categorical, strict=True)):
        cuts = points[points != MISSING]
        own = np.flatnonzero((nodes.feature == place) & (nodes.high != MISSING))
        if unordered or len(own) == 0:
            continue
        stands = np.searchsorted(cuts, nodes.high[own]) + len(cuts) * moves[own, place]
        high[own] = np.interp(stands, np.arange(len(cuts)), cuts)
    return high
