"""From noisy sums to noisy means, when the number of records is public and when it is not.

The mean row is one of them: numbers scaled to [-1, 1] and one cell per category, as one noisy sum. A
number that may be missing has a cell for that, so that its mean is that of the records that have it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data import SealedContribution, VectorContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise, NoiseName
from discreet.numerics import up
from discreet.plans import Setting, Stage, share_out
from discreet.plans.stages.counts import SIZE_SHARE, onto_total, size_stage
from discreet.plans.stages.sums import sum_stage
from discreet.plans.stages.tree_rows import draw_quota
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import MISSING, Category, FloatArray, Number, Schema

_FEW = 1e-3
"""Fewer records than this share of them have no mean of their own."""


@dataclass(frozen=True)
class NoisyMean:
    """Noisy means, the interval of all means the noise allows, and the noise's size."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    std: float

    @property
    def half_width(self) -> float:
        """The greatest distance from a value to an end of its interval."""
        return float(np.max(np.maximum(self.high - self.values, self.values - self.low)))

    @property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The intervals as plain numbers: their lower ends, their upper ends."""
        return tuple(self.low.tolist()), tuple(self.high.tolist())

    def within(self, low: FloatArray | float, high: FloatArray | float) -> NoisyMean:
        """Return the means and their intervals clipped to where the exact means are known to lie.

        Guarantees:
          - No mean is further from the exact one than before, and an interval that held it still does:
            clipping to an interval moves no number away from one inside. [feasible]
        """
        values, below, above = (np.clip(x, low, high) for x in (self.values, self.low, self.high))
        return NoisyMean(values, below, above, self.std)

    def moved(self, by: FloatArray, wider: FloatArray | float = 0.0) -> NoisyMean:
        """Return all of it moved, with wider intervals."""
        return NoisyMean(self.values + by, self.low + by - wider, self.high + by + wider, self.std)


def noisy_mean(
    noisy_sums: FloatArray,
    noise: Noise,
    *,
    rows: int | None,
    noisy_size: float | None = None,
    size_noise: Noise | None = None,
    region: Box,
    level: float,
    summed: bool = False,
) -> NoisyMean:
    """Divide noisy sums by the number of records, public (``rows``) or noisy itself.

    Args:
      noisy_sums: released sums, measured from the middle of ``region``.
      noise: on the sums.
      rows: the public number of records, or None.
      noisy_size: the released number of records, if it is private.
      size_noise: on ``noisy_size``.
      region: where a mean lies.
      level: the intervals hold with this probability, each of them.
      summed: whether a value is a sum of several noisy ones, with weights of length one.
    """
    half_width = noise.half_width_of_sums if summed else noise.half_width
    if rows is not None:
        size, size_band, sum_band = float(rows), 0.0, half_width(level)
    else:
        assert noisy_size is not None and size_noise is not None
        size, size_band = noisy_size, size_noise.half_width(0.5 + level / 2)
        sum_band = half_width(0.5 + level / 2)
    middle = region.low / 2 + region.high / 2
    mean, std = middle + noisy_sums / max(size, 1.0), noise.std / max(size, 1.0)
    if size - size_band <= 0:
        whole = [np.full(len(mean), end) for end in region.limits]
        return NoisyMean(mean, whole[0], whole[1], std)
    low, high = quotient_ends(noisy_sums, sum_band, size, size_band)
    return NoisyMean(mean, middle + low, middle + high, std)


@dataclass(frozen=True)
class MeanStages:
    """Noisy sums and, where it is private, a noisy number of records: what means are made of."""

    sums: Stage[Noise]
    size: Stage[Noise] | None

    @classmethod
    def of(
        cls,
        name: str,
        contribution: VectorContribution | SealedContribution,
        setting: Setting,
        *,
        counted: str | None,
        statement: str,
        epsilon: float,
        delta: float,
        mechanism: NoiseName = "auto",
    ) -> MeanStages:
        """Calibrate both; a column to count the records by gets a tenth of epsilon, None nothing."""
        epsilons = share_out(epsilon, (1.0,) if counted is None else (1 - SIZE_SHARE, SIZE_SHARE))
        sums = sum_stage(
            name,
            contribution,
            setting,
            statement=statement,
            epsilon=epsilons[0],
            delta=delta,
            mechanism=mechanism,
        )
        size = None if counted is None else size_stage(counted, setting, epsilon=epsilons[1])
        return cls(sums, size)

    @property
    def all(self) -> tuple[Stage[Noise], ...]:
        """Both, in the order in which they are answered."""
        return (self.sums,) if self.size is None else (self.sums, self.size)

    def divide(
        self,
        answers: Sequence[FloatArray],
        rows: int | None,
        region: Box,
        level: float,
        *,
        summed: bool = False,
    ) -> NoisyMean:
        """Return the sums divided by a number of records, which is a noisy one if ``rows`` is None.

        Args:
          answers: what the stages were answered.
          rows: the public number of records.
          region: where a record's coordinates lie.
          level: intervals hold with this probability, each of them.
          summed: whether values will be made sums of several, with weights of length one at most.
        """
        return noisy_mean(
            answers[0],
            self.sums.noise,
            rows=rows,
            noisy_size=None if self.size is None else float(answers[1][0]),
            size_noise=None if self.size is None else self.size.noise,
            region=region,
            level=level,
            summed=summed,
        )


def quotient_ends(
    sums: FloatArray, sum_band: float | FloatArray, size: float, size_band: float
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest quotient of sums and a size known to within bands.

    The size must exceed its band.
    """
    ends = [(sums + a) / (size + b) for a in (-sum_band, sum_band) for b in (-size_band, size_band)]
    return np.min(ends, axis=0), np.max(ends, axis=0)


def mean_contribution(schema: Schema, clip: float | None = None) -> VectorContribution:
    """Return what one record adds: numbers scaled to [-1, 1], cells of missing ones, then categories'.

    Scaled numbers longer than ``clip`` are shortened to it; cells are left as they are. A missing
    number adds zero, and one to its cell.

    Guarantees:
      - Of p numbers of length at most C (sqrt(p) without a clip) and q categories, replacing a record
        moves L1 2 sqrt(p) C + 2 q, L2 sqrt(4 C^2 + 2 q), Linf 2 min(1, C) or 1; adding or removing
        one half of the numbers' parts and one cell per category. Where numbers are clipped, m of them
        that may be missing add m to L1 and to the square of L2. [background-mean]
    """
    numbers, categories = _by_kind(schema)
    missing = _may_be_missing(numbers)
    ball = Ball(clip, "l2") if clip is not None and clip < math.sqrt(len(numbers)) else None

    def compute(block: Block) -> FloatArray:
        parts = []
        if numbers:
            middle, half = (np.array([f(c) for c in numbers.values()]) for f in (_middle, half_width))
            values = np.column_stack([block[name] for name in numbers])
            scaled = np.clip((np.where(values == MISSING, middle, values) - middle) / half, -1.0, 1.0)
            parts.append(scaled if ball is None else ball.clip(scaled))
        for name in missing:
            parts.append(block[name][:, None] == MISSING)
        for name, column in categories.items():
            parts.append(block[name][:, None] == np.arange(len(column)))
        return np.hstack(parts).astype(np.float64)

    size = len(numbers) + len(missing) + sum(len(column) for column in categories.values())
    length = math.sqrt(len(numbers)) if ball is None else ball.radius
    beside = 0 if ball is None else len(missing)
    proven = certify_mean(len(numbers), len(categories), length, size, beside)
    return VectorContribution(schema.features, size, Box(-1.0, 1.0), 0.0, compute, proven, calls=None)


def certify_mean(
    numbers: int, categories: int, length: float, size: int, beside: int = 0
) -> Certificate:
    """Certify sums of scaled numbers of bounded length and of one cell per category.

    Unless they are clipped, numbers that may be missing cost nothing more: a number and its cell are
    together a point of the L1 ball, as the number alone is. ``beside`` are cells of clipped ones.

    Guarantees:
      - The bounds are attained in every norm, but for cells beside clipped numbers. [background-mean]
    """
    p, q, c = numbers, categories, length
    number, cell = min(1.0, c), float(q + beside > 0)
    return Certificate(
        ("background-mean",),
        size,
        {
            REPLACE_ONE: Bounds(
                up(2 * math.sqrt(p) * c + 2 * q + beside),
                up(math.sqrt(4 * c * c + 2 * q + beside)),
                max(2 * number, cell),
            ),
            ADD_REMOVE: Bounds(
                up(math.sqrt(p) * c + q + beside),
                up(math.sqrt(c * c + q + beside)),
                max(number, cell),
            ),
        },
    )


def draw_mean_rows(
    schema: Schema, noisy_means: FloatArray, rows: int, generator: np.random.Generator
) -> FloatArray:
    """Return encoded rows: numbers at their means, categories and missing numbers by quota.

    One row if there are only numbers, none of which may be missing.

    Guarantees:
      - A function of released means and a public generator: no cost. [background-separator]
    """
    numbers, categories = _by_kind(schema)
    missing = _may_be_missing(numbers)
    ends = np.cumsum([len(numbers), len(missing), *map(len, categories.values())])
    scaled, absent, *shares = np.split(noisy_means, ends[:-1])
    gone = dict(zip(missing, np.clip(absent, 0.0, 1.0).tolist(), strict=True))
    drawn, count = {}, rows if categories or missing else 1
    for (name, number), mean in zip(numbers.items(), scaled.tolist(), strict=True):
        present = np.clip(mean / max(1.0 - gone.get(name, 0.0), _FEW), -1.0, 1.0)
        value = _middle(number) + half_width(number) * float(present)
        drawn[name] = np.full(count, np.clip(value, number.low, number.high))
        if name in gone:
            cells = draw_quota(np.array([1.0 - gone[name], gone[name]]), count, generator)
            drawn[name][cells == 1] = MISSING
    for name, share in zip(categories, shares, strict=True):
        drawn[name] = draw_quota(onto_total(share, 1.0), count, generator).astype(np.float64)
    return np.column_stack([drawn[name] for name in schema.features])


def half_width(column: Number) -> float:
    """Return half the range of a number; never zero, however near its ends are to each other."""
    return max(column.high / 2 - column.low / 2, math.ulp(0.0))


def _middle(column: Number) -> float:
    return column.low / 2 + column.high / 2


def _may_be_missing(numbers: dict[str, Number]) -> list[str]:
    return [name for name, number in numbers.items() if number.may_be_missing]


def _by_kind(schema: Schema) -> tuple[dict[str, Number], dict[str, Category]]:
    columns = {name: schema[name] for name in schema.features}
    numbers = {name: column for name, column in columns.items() if isinstance(column, Number)}
    return numbers, {n: column for n, column in columns.items() if isinstance(column, Category)}
