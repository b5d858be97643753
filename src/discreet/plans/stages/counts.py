"""Counting records in the cells of a public partition: histograms, rugs, row counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_text
from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.data.direct import direct_count
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise, NoiseName, count_noise
from discreet.numerics import check_whole
from discreet.plans import Histogram, Setting, Stage
from discreet.plans.kinds import PerColumn
from discreet.plans.results.bands import at_once
from discreet.schema import Bins, FloatArray, Number

SIZE_SHARE = 0.1
"""What the number of records gets of epsilon where it is private and something is divided by it."""

LARGEST_TABLE = 2**22
"""The most cells a histogram may have."""


def plain_bins(bins: int | Mapping[str, int]) -> int | dict[str, int]:
    """Return the number of cells per numeric column: one for all, or one each by a mapping."""
    if not isinstance(bins, Mapping):
        check_whole("bins", bins, 1, LARGEST_TABLE, "A mapping from columns gives each its own.")
        return int(bins)
    for name, count in bins.items():
        check_text("A column of bins", name)
        check_whole(f"bins of {name!r}", count, 1, LARGEST_TABLE)
    return {name: int(count) for name, count in bins.items()}


def _bins(name: str, bins: Any) -> int | dict[str, int]:
    return plain_bins(bins)


BinCounts = Annotated[int | Mapping[str, int], PerColumn(by=_bins)]


def partition(
    setting: Setting, columns: Sequence[str], bins: int | Mapping[str, int]
) -> dict[str, Bins]:
    """Return the public bins of every column."""
    cells: dict[str, Bins] = {}
    for name in columns:
        count = bins.get(name, 20) if isinstance(bins, Mapping) else bins
        if isinstance(setting.schema[name], Number):
            check_whole("bins", count, 1, LARGEST_TABLE)
        cells[name] = setting.schema[name].bins(count)
    size = math.prod(len(part) for part in cells.values())
    if size > LARGEST_TABLE:
        raise ArgumentError(
            f"columns must have at most {LARGEST_TABLE} cells together, got {size}. "
            "Ask for fewer columns or bins."
        )
    return cells


def count_stage(
    name: str,
    cells: Mapping[str, Bins],
    setting: Setting,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> Stage[Noise]:
    """Return the stage that counts the records of every cell."""
    shape = tuple(len(part) for part in cells.values())

    def index(block: Block) -> NDArray[np.int64]:
        first, *others = (part.index(block[column]) for column, part in cells.items())
        for size, places in zip(shape[1:], others, strict=True):
            first *= size
            first += places
        return first

    direct = None
    if len(cells) == 1:
        ((column, bins),) = cells.items()
        direct = direct_count(setting.schema[column], bins)
    contribution = CellContribution(tuple(cells), math.prod(shape), index, direct=direct)
    noise = count_noise(
        contribution.certificate,
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )
    return Stage(name, contribution, noise)


def size_stage(column: str, setting: Setting, *, epsilon: float) -> Stage[Noise]:
    """Return the stage that counts all records, for a relation in which their number is private."""
    return count_stage(
        "number of records", {column: Bins(("all",), (0.0, 0.0))}, setting, epsilon=epsilon
    )


def build_histogram(
    cells: Mapping[str, Bins], noisy_counts: FloatArray, noise: Noise, *, level: float, clip: bool
) -> Histogram:
    """Return the released histogram; ``clip`` raises negative counts to zero, which is free."""
    counts = np.maximum(noisy_counts, 0.0) if clip else noisy_counts
    return Histogram(
        columns=tuple(cells),
        labels=tuple(part.labels for part in cells.values()),
        edges=tuple(part.edges for part in cells.values()),
        counts=tuple(counts.tolist()),
        noise_std=noise.std,
        half_width=noise.half_width(level),
        level=level,
        half_width_all=noise.half_width(at_once(level, len(counts))),
    )


def onto_total(noisy_counts: FloatArray, total: float | FloatArray) -> FloatArray:
    """Return the nearest counts, along the last axis, that are not negative and sum to ``total``.

    Guarantees:
      - Never further from the true counts, in the sum of squares, than the noisy ones were, if the true
        total is known. [histogram-total]

    >>> onto_total(np.array([5.0, 2.0, -3.0]), 5.0).tolist()
    [4.0, 1.0, 0.0]
    """
    ordered = -np.sort(-noisy_counts, axis=-1)
    above = np.cumsum(ordered, axis=-1) - total
    shifts = above / np.arange(1, noisy_counts.shape[-1] + 1)
    kept = np.sum(ordered > shifts, axis=-1, keepdims=True)
    shift = np.take_along_axis(shifts, np.maximum(kept, 1) - 1, axis=-1)
    return np.maximum(noisy_counts - shift, 0.0)
