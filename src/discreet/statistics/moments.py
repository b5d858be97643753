"""Means, squares and products of several columns as one noisy vector.

Values are scaled to u in [-1, 1]. A record adds u_i, 2 u_i^2 - 1 and u_i u_j for i < j, all of which
lie in [-1, 1], and a one where the number of records is private. One vector, one noise: a record that
is far out in one coordinate cannot be so in all the others, which bounds of single sums do not know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.plans import Setting, Stage
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import sum_stage
from discreet.plans.stages.parts import in_part
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import FloatArray
from discreet.statistics.bounds import known_rows

_L1_EACH, _L2_EACH = 3.125, 5.1447
"""The greatest r (1 + 2 (2 - r)) and r^2 (1 + 4 (2 - r)^2) for r in [0, 2], the second rounded up."""


def certify_moments(columns: int, *, sized: bool) -> Certificate:
    """Certify sums of scaled values, squares and products of so many columns.

    Guarantees:
      - Replacing a record moves, for d columns, L1 3.125 d + 2 floor(d^2 / 4), the square of L2
        5.1447 d + 4 floor(d^2 / 4), Linf 2; adding or removing one moves every number by one at most.
        Where records may add nothing, replacing one moves the greater of both. [moments]
    """
    d, crossed = columns, columns * columns // 4
    size = 2 * d + d * (d - 1) // 2 + sized
    added = Bounds(float(size), up(math.sqrt(size)), 1.0)
    l1, l2 = _L1_EACH * d + 2 * crossed, math.sqrt(_L2_EACH * d + 4 * crossed)
    replaced = Bounds(up(l1), up(l2), 2.0)
    if sized:
        replaced = Bounds(max(replaced.l1, added.l1), max(replaced.l2, added.l2), 2.0)
    return Certificate(("moments",), size, {REPLACE_ONE: replaced, ADD_REMOVE: added})


@dataclass(frozen=True)
class Moments:
    """The stage of all moments of some columns, and how its answers are read.

    Args:
      columns: the columns.
      boxes: the ranges their values are clipped to.
      rows: the number of records that have a value of all of them, if it is public.
      stage: the noisy vector.
    """

    columns: tuple[str, ...]
    boxes: tuple[Box, ...]
    rows: int | None
    stage: Stage[Noise]

    @classmethod
    def of(cls, columns: Sequence[str], boxes: Sequence[Box], setting: Setting, terms: Any) -> Moments:
        """Calibrate noise on the moments of the records that have a value of all columns."""
        names, rows = tuple(columns), known_rows(setting, columns)
        sized = rows is None
        schema, ranges = setting.schema, tuple(boxes)

        def compute(block: Block) -> FloatArray:
            vectors = moments_of([block[name] for name in names], ranges, sized)
            return np.where(in_part(schema, names, block)[:, None], vectors, 0.0)

        proven = certify_moments(len(names), sized=sized)
        contribution = VectorContribution(
            names, proven.size, Box(-1.0, 1.0), 0.0, compute, proven, calls=None
        )
        stage = sum_stage("moments", contribution, setting, statement="moments", joint=True, **terms)
        return cls(names, ranges, rows, stage)

    @property
    def sized(self) -> float | None:
        """How near the number of records is, where it is private."""
        return None if self.rows is not None else self.stage.noise.half_width(LEVEL)

    @property
    def scales(self) -> FloatArray:
        """Half the width of every range."""
        return np.array([box.high / 2 - box.low / 2 for box in self.boxes])

    @property
    def middles(self) -> FloatArray:
        """The middle of every range."""
        return np.array([box.low / 2 + box.high / 2 for box in self.boxes])

    def records(self, sums: FloatArray) -> FloatArray:
        """Return the numbers of records of many vectors; NaN where there are none."""
        if self.rows is not None:
            return np.full(len(sums), float(self.rows))
        return np.where(sums[:, 0] > 0, np.maximum(sums[:, 0], 1e-300), np.nan)

    def means(self, sums: FloatArray) -> FloatArray:
        """Return the scaled means of many vectors, one row each."""
        start, d = int(self.rows is None), len(self.columns)
        return np.asarray(sums[:, start : start + d] / self.records(sums)[:, None])

    def covariances(self, sums: FloatArray) -> FloatArray:
        """Return the scaled covariances of many vectors, as symmetric matrices."""
        start, d = int(self.rows is None), len(self.columns)
        shares, means = sums[:, start + d :] / self.records(sums)[:, None], self.means(sums)
        products = np.empty((len(sums), d, d))
        products[:, range(d), range(d)] = (shares[:, :d] + 1) / 2
        for place, (i, j) in enumerate(combinations(range(d), 2)):
            products[:, i, j] = products[:, j, i] = shares[:, d + place]
        return np.asarray(products - means[:, :, None] * means[:, None, :])


def moments_of(values: Sequence[FloatArray], boxes: Sequence[Box], sized: bool) -> FloatArray:
    """Return a record's vector, one row each: a one if ``sized``, values, squares, products.

    >>> moments_of([np.array([0.0, 4.0])], [Box(0.0, 4.0)], sized=True).tolist()
    [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    scaled = [
        np.clip((np.clip(own, *box.limits) - box.low) / box.width * 2 - 1, -1.0, 1.0)
        for own, box in zip(values, boxes, strict=True)
    ]
    ones = [np.ones(len(scaled[0]))] if sized else []
    squares = [2 * u * u - 1 for u in scaled]
    products = [a * b for a, b in combinations(scaled, 2)]
    return np.column_stack([*ones, *scaled, *squares, *products])


def nearest_covariance(matrix: FloatArray) -> FloatArray:
    """Return the nearest positive semi-definite matrix: its negative eigenvalues are raised to zero.

    Guarantees:
      - No further from the exact covariance, in the sum of squares, than the noisy one was.
        [nearest-psd]
    """
    symmetric = (matrix + matrix.T) / 2
    eigenvalues, vectors = np.linalg.eigh(symmetric)
    if eigenvalues[0] >= 0:
        return symmetric
    raised = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
    return np.asarray((raised + raised.T) / 2)
