"""Counts of one column in blocks of several widths: which widths, and the stage that counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.data import TablesContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise, NoiseName
from discreet.plans import Setting, Stage
from discreet.plans.results.range_histogram import RangeTree
from discreet.plans.stages.counts import count_stage
from discreet.plans.stages.sums import TableNoise, table_noise
from discreet.schema import Bins

RangeStage = Stage[Noise] | Stage[TableNoise]


def range_stage(
    column: str,
    bins: Bins,
    setting: Setting,
    variance: Callable[[RangeTree], float],
    *,
    epsilon: float,
    delta: float,
    mechanism: NoiseName,
) -> tuple[RangeTree, RangeStage]:
    """Return the blocks that have the least variance of what is asked, and the stage that counts them.

    Guarantees:
      - Which blocks are counted follows from public facts alone. [range-tree]
    """

    def stage_of(tree: RangeTree) -> RangeStage:
        if len(tree.widths) == 1:
            return count_stage(
                "counts", {column: bins}, setting, epsilon=epsilon, delta=delta, mechanism=mechanism
            )
        size = sum(tree.sizes)
        noise = table_noise(
            len(tree.widths), size, setting, epsilon=epsilon, delta=delta, mechanism=mechanism
        )
        contribution = TablesContribution((column,), tree.sizes, _index(column, bins, tree.widths))
        return Stage("blocks", contribution, replace(noise, places=tuple(range(size))))

    trees = candidate_trees(len(bins), setting.rows is not None)
    built = [(tree, stage_of(tree)) for tree in trees]
    return min(built, key=lambda pair: variance(pair[0]) * pair[1].noise.std ** 2)


def candidate_trees(cells: int, known_total: bool) -> list[RangeTree]:
    """Return the plain histogram, and trees of two levels and more with even branching."""
    trees = []
    for levels in range(1, max(2, math.ceil(math.log2(max(cells, 2))) + 1)):
        branching = max(2, math.ceil(round(cells ** (1 / levels), 9)))
        widths = tuple(branching**power for power in reversed(range(levels)))
        if widths[0] < max(cells, 2):
            trees.append(RangeTree(cells, widths, known_total))
    return trees


def _index(
    column: str, bins: Bins, widths: tuple[int, ...]
) -> Callable[[Block], Iterable[NDArray[np.int64]]]:
    """Return the function that finds the blocks of records, one array per width."""

    def index(block: Block) -> list[NDArray[np.int64]]:
        cells = bins.index(block[column])
        return [cells // width for width in widths]

    return index
