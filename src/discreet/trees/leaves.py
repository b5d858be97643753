"""Noisy class counts of leaves, and class probabilities from them by hierarchical shrinkage.

Counts are released once, at the leaves; what an inner node holds is the sum of its leaves. A leaf's
shares are drawn towards its parent's by as much as noise and chance deserve, from the root down; the
root's towards equal shares. All of it is free: it reads what was released.
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

_PRIOR, _CAUTION = 5.0, 4.0
"""Records that the parent's shares weigh where there is no noise, and how much noise is feared."""


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


def node_shares(nodes: TreeNodes, counts: FloatArray, noise_std: float) -> FloatArray:
    """Return the probabilities of every node, nodes x classes; each row is positive and adds up to one.

    With N records and noise of standard deviation s on each of K counts, the parent's shares weigh as
    much as 5 + 4 K s^2 / N records: the noise in units of what chance does to N records. What cannot be
    told from an empty node takes its parent's shares.
    """
    classes = counts.shape[1]
    ends = nodes.add_up((nodes.feature == LEAF).astype(np.float64)[:, None])[:, 0]
    variance = _CAUTION * classes * ends * noise_std**2
    kept = np.maximum(counts, 0.0)
    sizes = kept.sum(axis=1)
    weight = _PRIOR + variance / np.maximum(sizes, np.sqrt(variance) + 1e-9)
    shares = np.full(counts.shape, 1.0 / classes)
    for level in range(int(nodes.depth[-1]) + 1):
        here = np.flatnonzero(nodes.depth == level)
        prior = weight[here, None] * shares[nodes.parent[here]]  # a root is its own parent
        shares[here] = (kept[here] + prior) / (sizes[here] + weight[here])[:, None]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
