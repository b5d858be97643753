"""How many records of every class there are: the first stage of a tree, a small share of epsilon.

It says what the leaves' shares are drawn towards, and what a record of each class weighs where splits
are chosen: beside a class that has nearly all records, no split would change much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms import Noise
from discreet.plans import Setting, Stage
from discreet.schema import FloatArray
from discreet.trees.columns import CutGrid, IntArray
from discreet.trees.leaves import drawn_shares, leaf_stage
from discreet.trees.nodes import TreeNodes
from discreet.trees.scores import STEPS_PER_RECORD

_FAIR_RATIO = 0.3
"""Choices see well enough where all other classes together have this part of the largest."""

_EVENNESS = 1.5
"""How fast a larger class loses weight, down to that of all others together; found by trial."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Released numbers of records of every class, and the standard deviation of their noise."""

    counts: FloatArray
    noise_std: float

    @property
    def weights(self) -> IntArray:
        """What a record of each class weighs, in steps; none weighs more than one record.

        A class that has nearly all records weighs less, at least as much as all others together.

        Guarantees:
          - Made of released counts, and at most a record: utilities move no further. [tree-utility]
        """
        largest = int(np.argmax(self.counts))
        others = float(self.counts.sum() - self.counts[largest])
        # What cannot be told from noise is no reason to see nothing else.
        seen = max(others, 2.0 * self.noise_std, 1.0)
        ratio = min(_FAIR_RATIO, seen / max(float(self.counts[largest]), 1.0))
        weights = np.full(len(self.counts), STEPS_PER_RECORD)
        weight = max(ratio, (ratio / _FAIR_RATIO) ** _EVENNESS)
        weights[largest] = max(1, round(STEPS_PER_RECORD * weight))
        return weights

    def shares(self, own: FloatArray, own_std: float) -> FloatArray:
        """Return the shares of the whole table from these counts and from the sums of the leaves.

        Each weighs by how little noise it has; the mean is drawn towards equal shares as a leaf is
        towards its parent.
        """
        trust = np.array([self.noise_std, own_std]) ** -2.0
        mean = trust @ np.array([self.counts, own]) / trust.sum()
        equal = np.full((1, len(mean)), 1.0 / len(mean))
        return np.asarray(drawn_shares(mean[None], np.array([1.0 / trust.sum()]), equal)[0])


def class_stage(
    grid: CutGrid, columns: tuple[str, ...], classes: int, setting: Setting, epsilon: float
) -> Stage[Noise]:
    """Return the stage that counts the records of every class: a tree of one leaf.

    Guarantees:
      - Every record is in one class, or in none. [tree-leaves]
    """
    return leaf_stage("classes", TreeNodes.start(grid), columns, classes, setting, epsilon=epsilon)
