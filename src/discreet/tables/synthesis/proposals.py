"""How Mechanism F proposes records: some values kept, others drawn from a released model or near by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.plans.stages.marginals import NoisyTree
from discreet.plans.stages.tree_rows import fit_margins, walk_tables
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

_WHOLE = 2**32
"""Probabilities are whole numbers of this part, so that draws are exact."""


@dataclass(frozen=True)
class Draw:
    """How one column is drawn: by weights, one row of them for every value of its parent."""

    column: int
    parent: int | None
    weights: IntArray


@dataclass(frozen=True)
class Resample:
    """Keep some columns of the seed, draw the others along a released tree of tables.

    All records that agree with a proposal on the kept columns propose it with the same probability,
    so plausible seeds are those, and their factor is one.
    """

    kept: tuple[int, ...]
    draws: tuple[Draw, ...]

    gamma = 1.0

    def draw(self, seed: IntArray, source: NoiseSource) -> IntArray:
        """Return the seed with its other columns drawn anew, parents first."""
        record = seed.copy()
        for one in self.draws:
            weights = one.weights[0 if one.parent is None else record[one.parent]]
            ends = np.cumsum(weights)
            record[one.column] = np.searchsorted(ends, source.below(int(ends[-1])), side="right")
        return record

    def plausible(self, codes: IntArray, seed: IntArray, record: IntArray) -> int:
        """Return how many rows agree with the record on the kept columns."""
        kept = list(self.kept)
        return int(np.count_nonzero((codes[:, kept] == record[kept]).all(axis=1)))

    def probability(self, seed: IntArray, record: IntArray) -> float:
        """Return the probability of a record, given the seed."""
        if any(seed[column] != record[column] for column in self.kept):
            return 0.0
        chances = []
        for one in self.draws:
            weights = one.weights[0 if one.parent is None else record[one.parent]]
            chances.append(weights[record[one.column]] / weights.sum())
        return float(math.prod(chances))


@dataclass(frozen=True)
class BallProposal:
    """Draw every column uniformly from the cells within a radius of the seed's.

    A category has radius zero: it is kept. Seeds near an end of a column have fewer cells to draw
    from; they are told apart by the power of ``gamma`` their number of cells is between.
    """

    radii: tuple[int, ...]
    sizes: tuple[int, ...]
    gamma: float

    def draw(self, seed: IntArray, source: NoiseSource) -> IntArray:
        """Return a record from the ball around a seed."""
        low, high = self._ends(seed)
        return np.array([a + source.below(int(b - a + 1)) for a, b in zip(low, high, strict=True)])

    def plausible(self, codes: IntArray, seed: IntArray, record: IntArray) -> int:
        """Return how many rows have the record in a ball about as large as the seed's."""
        near = (np.abs(codes - record) <= np.asarray(self.radii)).all(axis=1)
        alike = self._log_step(codes[near]) == self._log_step(seed[None, :])[0]
        return int(np.count_nonzero(alike))

    def probability(self, seed: IntArray, record: IntArray) -> float:
        """Return the probability of a record, given the seed."""
        low, high = self._ends(seed)
        inside = bool(((record >= low) & (record <= high)).all())
        return 1.0 / math.prod((high - low + 1).tolist()) if inside else 0.0

    def _ends(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        radii, last = np.asarray(self.radii), np.asarray(self.sizes) - 1
        return np.maximum(codes - radii, 0), np.minimum(codes + radii, last)

    def _log_step(self, codes: IntArray) -> IntArray:
        low, high = self._ends(codes)
        # A hair below gamma: rounding of logarithms must not let a step be wider than the factor.
        cells = np.log((high - low + 1).astype(np.float64)).sum(axis=1)
        steps = np.floor(cells / (math.log(self.gamma) * (1 - 1e-9)) + 1e-10)
        return np.asarray(steps, dtype=np.int64)


def resample(tree: NoisyTree, resampled: int) -> Resample:
    """Return the proposal that draws the last ``resampled`` columns of a tree's walk anew."""
    steps = walk_tables(tree, fit_margins(tree))
    cut = len(steps) - resampled
    draws = [
        Draw(child, parent, _whole(table if parent is not None else table[None, :]))
        for parent, child, table in steps[cut:]
    ]
    return Resample(tuple(child for _, child, _ in steps[:cut]), tuple(draws))


def _whole(table: FloatArray) -> IntArray:
    """Return whole weights, at least one each, row by row."""
    totals = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.maximum(np.floor(table / totals * _WHOLE), 1), dtype=np.int64)


def radii_of(sizes: Sequence[int], numbers: Sequence[bool], radius: float) -> tuple[int, ...]:
    """Return the radius of every column in cells: a share of those of a number, none of a category."""
    return tuple(
        max(1, round(radius * size)) if number and size > 1 else 0
        for size, number in zip(sizes, numbers, strict=True)
    )
