"""A histogram for ranges: which widths of blocks to count, and the counts that follow from them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.mechanisms import NOISES, NoiseName
from discreet.plans import Program, Releaser, Setting
from discreet.plans.expected import of_count
from discreet.plans.results.bands import at_once
from discreet.plans.results.range_histogram import RangeHistogram, RangeTree, range_half_width
from discreet.plans.stages.ranges import RangeStage, range_stage
from discreet.schema import Bins

MOST_CELLS = 2**16
"""The most cells a histogram for ranges may have."""


def range_program(
    cells: dict[str, Bins],
    setting: Setting,
    *,
    level: float,
    epsilon: float,
    delta: float,
    mechanism: NoiseName,
) -> Program:
    """Return the program that counts the blocks whose ranges have the least variance on average.

    Guarantees:
      - Which blocks are counted follows from public facts alone. [range-tree]
    """
    ((column, bins),) = cells.items()
    if len(bins) > MOST_CELLS:
        raise ArgumentError(f"bins must be at most {MOST_CELLS} with ranges=True, got {len(bins)}.")
    if mechanism != "auto" and not NOISES[mechanism].independent:
        raise ArgumentError(
            f"mechanism must draw every count's noise by itself with ranges=True, got {mechanism!r}: "
            "how wide the band of a range is, is known of such noise alone. Use 'auto'."
        )

    tree, stage = range_stage(
        column,
        bins,
        setting,
        RangeTree.mean_variance,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )

    def finish(releaser: Releaser) -> RangeHistogram:
        (noisy_blocks,) = releaser.answer(stage)
        total = None if setting.rows is None else float(setting.rows)
        return _build(column, bins, tree, stage, tree.estimate(noisy_blocks, total), level)

    def band(level: float) -> float:
        # Of all ranges of cells the mean one holds a third of them.
        first, last = len(bins) // 3, max(1, 2 * len(bins) // 3)
        normal, std = stage.noise.normal, stage.noise.std
        typical = math.sqrt(tree.mean_variance() / (_variance(tree, first, last) or 1.0))
        half = range_half_width(tree, first, last, block_std=std, normal=normal, level=level)
        return typical * half

    share = of_count(band, setting.rows, "an even range's share of the records", cells=3)
    return Program((stage,), finish, {"count of a range": share})


def _variance(tree: RangeTree, first: int, last: int) -> float:
    return float(tree.variance(np.array([first]), np.array([last]))[0])


def _build(
    column: str,
    bins: Bins,
    tree: RangeTree,
    stage: RangeStage,
    counts: NDArray[np.float64],
    level: float,
) -> RangeHistogram:
    normal = stage.noise.normal
    cell = _variance(tree, 0, 1)
    half_width, together = (
        range_half_width(tree, 0, 1, block_std=stage.noise.std, normal=normal, level=own)
        for own in (level, at_once(level, len(counts)))
    )
    return RangeHistogram(
        columns=(column,),
        labels=(bins.labels,),
        edges=(bins.edges,),
        counts=tuple(counts.tolist()),
        noise_std=stage.noise.std * math.sqrt(cell),
        half_width=half_width,
        half_width_all=together,
        level=level,
        widths=tree.widths,
        block_std=stage.noise.std,
        known_total=tree.known_total,
        normal=normal,
    )
