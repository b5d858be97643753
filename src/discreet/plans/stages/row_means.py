"""The mean row: numbers scaled to [-1, 1] and one cell per category, as one noisy sum."""

from __future__ import annotations

import math

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.numerics import up
from discreet.plans.stages.marginals import project
from discreet.plans.stages.tree_rows import draw_quota
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import Category, FloatArray, Number, Schema


def mean_contribution(schema: Schema, clip: float | None = None) -> VectorContribution:
    """Return what one record adds: its numbers, scaled to [-1, 1], then one cell per category.

    Scaled numbers longer than ``clip`` are shortened to it; categories are left as they are.

    Guarantees:
      - Of p numbers of length at most C (sqrt(p) without a clip) and q categories, replacing a record
        moves L1 2 sqrt(p) C + 2 q, L2 sqrt(4 C^2 + 2 q), Linf 2 min(1, C) or 1; adding or removing
        one half of the numbers' parts and one cell per category. [background-mean]
    """
    numbers, categories = _by_kind(schema)
    ball = Ball(clip, "l2") if clip is not None and clip < math.sqrt(len(numbers)) else None

    def compute(block: Block) -> FloatArray:
        parts = []
        if numbers:
            middle, half = (np.array([f(c) for c in numbers.values()]) for f in (_middle, half_width))
            scaled = np.column_stack([block[name] for name in numbers]) - middle
            scaled = np.clip(scaled / half, -1.0, 1.0)
            parts.append(scaled if ball is None else ball.clip(scaled))
        for name, column in categories.items():
            parts.append(block[name][:, None] == np.arange(len(column)))
        return np.hstack(parts).astype(np.float64)

    size = len(numbers) + sum(len(column) for column in categories.values())
    length = math.sqrt(len(numbers)) if ball is None else ball.radius
    proven = certify_mean(len(numbers), len(categories), length, size)
    return VectorContribution(schema.features, size, Box(-1.0, 1.0), 0.0, compute, proven, calls=None)


def certify_mean(numbers: int, categories: int, length: float, size: int) -> Certificate:
    """Certify sums of scaled numbers of bounded length and of one cell per category.

    Guarantees:
      - The bounds are attained in every norm. [background-mean]
    """
    p, q, c = numbers, categories, length
    reach, cell = min(1.0, c), float(q > 0)
    return Certificate(
        ("background-mean",),
        size,
        {
            REPLACE_ONE: Bounds(
                up(2 * math.sqrt(p) * c + 2 * q), up(math.sqrt(4 * c * c + 2 * q)), max(2 * reach, cell)
            ),
            ADD_REMOVE: Bounds(up(math.sqrt(p) * c + q), up(math.sqrt(c * c + q)), max(reach, cell)),
        },
    )


def draw_mean_rows(
    schema: Schema, noisy_means: FloatArray, rows: int, generator: np.random.Generator
) -> FloatArray:
    """Return encoded rows: numbers at their means, categories by quota; one row without categories.

    Guarantees:
      - A function of released means and a public generator: no cost. [background-separator]
    """
    numbers, categories = _by_kind(schema)
    ends = np.cumsum([len(numbers), *map(len, categories.values())])
    scaled, *shares = np.split(noisy_means, ends[:-1])
    drawn, count = {}, rows if categories else 1
    for (name, number), mean in zip(numbers.items(), np.clip(scaled, -1.0, 1.0), strict=True):
        value = _middle(number) + half_width(number) * float(mean)
        drawn[name] = np.full(count, np.clip(value, number.low, number.high))
    for name, share in zip(categories, shares, strict=True):
        drawn[name] = draw_quota(project(share, 1.0), count, generator).astype(np.float64)
    return np.column_stack([drawn[name] for name in schema.features])


def half_width(column: Number) -> float:
    """Return half the range of a number; never zero, however near its ends are to each other."""
    return max(column.high / 2 - column.low / 2, math.ulp(0.0))


def _middle(column: Number) -> float:
    return column.low / 2 + column.high / 2


def _by_kind(schema: Schema) -> tuple[dict[str, Number], dict[str, Category]]:
    columns = {name: schema[name] for name in schema.features}
    numbers = {name: column for name, column in columns.items() if isinstance(column, Number)}
    return numbers, {n: column for n, column in columns.items() if isinstance(column, Category)}
