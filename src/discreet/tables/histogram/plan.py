"""Private histograms: how many records are in every cell of a public partition.

Noisy counts are mended for free: none negative, all whole, the right sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.additive.balanced import balanced
from discreet.plans import Histogram, Program, Releaser, Setting
from discreet.plans.expected import EVEN, of_count
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, Flag, NoiseChoice, Switch
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import build_histogram, count_stage, partition
from discreet.plans.stages.counts import BinCounts, onto_total
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.tables.histogram.range_counts import range_program

_DIGITS = 6
"""Remainders that differ by less are equal but for the rounding of floats."""


def whole_counts(counts: FloatArray, total: int) -> IntArray:
    """Round counts that sum to a whole total so that they still do: the largest remainders go up.

    Of equal remainders (noise was whole) those of the largest counts do: a small count is more often
    noise on an empty cell.

    >>> whole_counts(np.array([1.5, 0.25, 0.25]), 2).tolist()
    [2, 0, 0]
    >>> whole_counts(np.array([0.5, 7.5]), 8).tolist()
    [0, 8]
    """
    whole = np.floor(counts).astype(np.int64)
    missing = total - int(whole.sum())
    remainders = np.round(counts - whole, _DIGITS)
    raised = np.lexsort((-whole, -remainders))[: max(missing, 0)]
    whole[raised] += 1
    return whole


class histogram(PartPlan):
    """Plan noisy counts of one column, or of all combinations of several.

    Args:
      columns: one column or several.
      bins: cells per numeric column (of equal width, from the schema); per column by a mapping. A
        column with a ``step`` gets cells that hold whole steps; a category one cell per value.
      clip: whether negative noisy counts are mended, which is free; if not, all counts are left as they
        were drawn.
      consistent: how they are mended. Left out or True: whole counts, none negative, that add up to
        the number of records, or to the noisy sum where that number is private (parts of persons where
        their rows are weighted). False: negative ones
        are raised to zero by themselves, which adds up to far too much where many cells are empty.
        The band of mended counts is wider than the price says, by as far as they were moved.
      ranges: make sums over ranges of one column good, by counting wide blocks too where that is
        better; the value then has ``range(low, high)``, and its counts are not clipped.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf`` (the K-norm mechanism, which has more noise on
        counts), or ``auto``: the one with less noise.

    Guarantees:
      - One record moves two counts by one under replace-one, one count under add-remove. [histogram]
      - Noise is discrete and exact on the whole counts. [laplace] [gauss-counts]
      - Where the number of records is public, Laplace noise adds up to nothing. [balanced]
      - Of blocks of several widths, one record is in one of each width. [marginals]

    >>> histogram("age", bins=10, epsilon=0.5).arguments()["consistent"]
    True
    """

    columns: Annotated[str | Sequence[str], Columns()]
    _: KW_ONLY
    bins: BinCounts = 20
    clip: Switch = True
    consistent: Annotated[bool | None, Flag(optional=True)] = None
    ranges: Switch = False
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def settle(self) -> dict[str, Any]:
        """Mend counts unless told not to; sums over ranges need them as they were drawn."""
        consistent = self.clip and not self.ranges if self.consistent is None else self.consistent
        if self.ranges and (consistent or len(self.columns) > 1):
            raise ArgumentError(
                "ranges must be of one column and without consistent=True, "
                f"got {len(self.columns)} columns and consistent={consistent}."
            )
        return {"consistent": consistent}

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out the cells and calibrate the noise on their counts."""
        cells = partition(setting, self.columns, self.bins)
        terms: Any = {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}
        if self.ranges:
            return range_program(cells, setting, level=LEVEL, **terms)
        stage = count_stage("counts", cells, setting, **terms)
        stage = replace(stage, noise=balanced(stage.noise, setting.rows))

        def finish(releaser: Releaser) -> Histogram:
            (noisy_counts,) = releaser.answer(stage)
            clip = self.clip and not self.consistent
            noisy = build_histogram(cells, noisy_counts, stage.noise, level=LEVEL, clip=clip)
            whole = setting.relation.whole
            return make_consistent(noisy, setting.rows, whole=whole) if self.consistent else noisy

        share = of_count(stage.noise.half_width, setting.rows, EVEN, cells=stage.contribution.size)
        return Program((stage,), finish, {"count": share})


def make_consistent(noisy: Histogram, rows: int | None, *, whole: bool = True) -> Histogram:
    """Return whole counts, none negative, that add up to the number of records.

    Where the rows of a person share one record, exact counts are not whole, and these need not be.

    Where that number is private, the sum of the noisy counts takes its place, so that sums over many
    cells stay as good as those of the noisy counts. The band grows by as much as a count that stayed
    positive was moved.

    Guarantees:
      - Nearer to the true counts in the sum of squares, but for the rounding to whole ones, if the
        number of records is public. [histogram-total]
    """
    raw = np.asarray(noisy.counts)
    total = max(0, round(float(raw.sum()))) if rows is None else rows
    counts = onto_total(raw, total)
    counts = whole_counts(counts, total).astype(float) if whole else counts
    moved = float(np.abs(counts - np.maximum(raw, 0.0)).max())
    return replace(
        noisy,
        counts=tuple(counts.tolist()),
        half_width=noisy.half_width + moved,
        half_width_all=None if noisy.half_width_all is None else noisy.half_width_all + moved,
    )
