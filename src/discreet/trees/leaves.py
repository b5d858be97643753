"""Noisy class counts of leaves, and class probabilities from them by hierarchical shrinkage.

Counts are released once, at the leaves; what an inner node holds is the sum of its leaves. A leaf's
shares are drawn towards its parent's by as much as noise and chance deserve, from the root down, whose
shares are those of the whole table. All of it is free: it reads what was released.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise, NoiseName, count_noise
from discreet.plans import Setting, Stage
from discreet.plans.expected import Expected, of_mean
from discreet.plans.stages.sums import TableNoise
from discreet.schema import FloatArray
from discreet.trees.nodes import LEAF, TreeNodes
from discreet.trees.splits import Assign, reached_leaves

_PRIOR = 3.0
"""Records that the parent's shares weigh where there is no noise."""

_EMPTY = 4.0
"""How much more noise is feared in nodes that may be empty: the same noise is in all nodes above."""

_LEAST = 0.01
"""No probability is spread to less than this part of the whole table's."""


LEAF_SHARE = "share of a class in an even leaf"
"""What the price of a tree speaks of."""


def expected_share(
    noise: Noise | TableNoise, setting: Setting, leaves: int, trees: int = 1
) -> Expected:
    """Return how far noise moves the share of a class, averaged over trees, in leaves of one size."""

    def band(level: float) -> float:
        return leaves / math.sqrt(trees) * noise.half_width(level)

    return of_mean(band, setting.rows, 1.0, "a share of one")


def leaf_stage(
    name: str,
    nodes: TreeNodes,
    columns: tuple[str, ...],
    classes: int,
    setting: Setting,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
    assign: Assign | None = None,
    statement: str = "tree-leaves",
) -> Stage[Noise]:
    """Return the stage that counts the records of every leaf and class.

    Args:
      name: of the stage.
      nodes: the trees.
      columns: the features, in the trees' order, and the target.
      classes: how many there are.
      setting: the public facts.
      epsilon: the promise.
      delta: zero for a pure promise.
      mechanism: Laplace or Gaussian noise, or the one with less.
      assign: the tree of every row of a block; the first if left out.
      statement: why a record is in one leaf.

    Guarantees:
      - Every record is in one leaf, and so in one cell; one without a class is in none. [tree-leaves]
    """
    number = np.full(len(nodes), 0)
    number[nodes.leaves] = np.arange(len(nodes.leaves))

    def index(block: Block) -> NDArray[np.int64]:
        places = number[reached_leaves(nodes, block, assign)]
        return class_cells(places, block[columns[-1]], classes)

    contribution = CellContribution(columns, len(nodes.leaves) * classes, index)
    proven = contribution.certificate
    noise = count_noise(
        replace(proven, statements=(*proven.statements, statement)),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )
    return Stage(name, contribution, noise)


def class_cells(leaves: NDArray[np.int64], target: FloatArray, classes: int) -> NDArray[np.int64]:
    """Return the cell of leaf and class of every record; -1, no cell, for those without a class."""
    return np.where(target < classes, leaves * classes + target.astype(np.int64), -1)


def node_counts(nodes: TreeNodes, noisy: FloatArray, classes: int) -> FloatArray:
    """Return noisy counts, nodes x classes: the leaves' as released, above them their sums."""
    counts = np.zeros((len(nodes), classes))
    counts[nodes.leaves] = noisy.reshape(-1, classes)
    return nodes.add_up(counts)


def node_shares(nodes: TreeNodes, counts: FloatArray, noise_std: float, base: FloatArray) -> FloatArray:
    """Return the probabilities of every node, nodes x classes; each row is positive and adds up to one.

    The roots have the shares ``base``; every other node's are drawn towards its parent's, see
    ``drawn_shares``.
    """
    ends = nodes.add_up((nodes.feature == LEAF).astype(np.float64)[:, None])[:, 0]
    shares = np.tile(base, (len(nodes), 1))
    for level in range(1, int(nodes.depth[-1]) + 1):
        here = np.flatnonzero(nodes.depth == level)
        prior = shares[nodes.parent[here]]
        shares[here] = drawn_shares(counts[here], ends[here] * noise_std**2, prior)
    return shares


def drawn_shares(counts: FloatArray, variance: FloatArray, prior: FloatArray) -> FloatArray:
    """Return shares between those of noisy counts and prior ones; rows are nodes.

    With N records, noise of variance s^2 on each of K counts and prior shares p, the prior weighs as
    much as 3 (1 + s^2 q / (N v)) records. v = 1 - sum p^2 is what chance does to the class of a record
    and q = K - 2 + K sum p^2 what noise does to shares, so the fraction is noise in units of chance: it
    is feared the more, the rarer all classes but one are. It is feared 1 + 4 K s^2 / N^2 times as much,
    so that a node that cannot be told from an empty one takes the prior shares.
    """
    classes = counts.shape[1]
    kept = np.maximum(counts, 0.0)
    sizes = kept.sum(axis=1)
    squares = (prior**2).sum(axis=1)
    chance = np.maximum(1.0 - squares, 1e-9)
    seen = np.maximum(sizes, np.sqrt(classes * variance) + 1e-9)
    feared = variance * (1.0 + _EMPTY * classes * variance / seen**2)
    weight = _PRIOR * (1.0 + feared * (classes - 2 + classes * squares) / (chance * seen))
    shares = (kept + weight[:, None] * prior) / (sizes + weight)[:, None]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def spread_shares(shares: FloatArray, base: FloatArray, times: float) -> FloatArray:
    """Return shares so many times as far from the whole table's; for trees whose mean is taken.

    Trees that see different records and splits agree on what is common to them alone, so their mean is
    nearer to the whole table's shares than the truth is.
    """
    moved = np.maximum(base + times * (shares - base), _LEAST * base)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
