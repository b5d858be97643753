"""Score pairs of columns by how far their counts are from what a released model expects of them.

The score of a pair is the L1 distance between its exact two-way table of counts C and a table E of an
earlier release,

    score = sum over cells of |C - E|  -  a number that is known before C is,

a whole number on a public scale of ``STEPS_PER_RECORD``. Only C depends on records.

Reference: McKenna, Miklau, Sheldon (2021), "Winning the NIST Contest" (MST); McKenna and others (2022),
"AIM". Deviations: discrete scores and exact sampling; the bound 2 under replace-one beside 1 under
add-remove.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.numerics import check_whole, up
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import IntArray

STEPS_PER_RECORD = 1024
"""Score steps per record."""

Edge = tuple[int, int]


def certify_scores(pairs: int, statement: str = "spanning-tree") -> Certificate:
    """Certify the scores of ``pairs`` pairs, in records.

    Args:
      pairs: how many there are.
      statement: what is said of the picks by them.

    Guarantees:
      - Replacing a record moves a score by at most two, adding or removing one by at most one,
        whatever the expected tables are. [tree-score]
    """
    check_whole("pairs", pairs, 1)

    def everywhere(moved: float) -> Bounds:
        return Bounds(pairs * moved, up(math.sqrt(pairs) * moved), moved)

    return Certificate(
        ("tree-score", statement), pairs, {REPLACE_ONE: everywhere(2.0), ADD_REMOVE: everywhere(1.0)}
    )


@dataclass(frozen=True)
class PairChoice:
    """Pick pairs by noisy scores; which and how many is what subclasses say.

    Args:
      certificate: what was proven of the scores.
      relation: the neighbouring relation.
      epsilon: the promise for all picks together.
      delta: zero for a pure promise.
      share: the epsilon of one pick.
      edges: the pairs to choose from.
      sizes: the number of cells of every pair's table.
      first: where the first pair's table begins in the sum.
      expected: the counts E in score steps, of all pairs' cells; None until ``given``.
      chance: what to take off every score, in score steps; None until ``given``.
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    share: float
    edges: tuple[Edge, ...]
    sizes: tuple[int, ...]
    first: int
    expected: IntArray | None = None
    chance: IntArray | None = None

    name = "exponential"

    @property
    def step(self) -> float:
        """What is counted: records, or parts of them."""
        return count_step(self.relation)

    @property
    def steps_per_record(self) -> int:
        """Score steps per record: parts of records are steps themselves."""
        return STEPS_PER_RECORD if self.step == 1 else round(1 / self.step)

    @property
    def picks(self) -> int:
        """How many pairs are chosen."""
        raise NotImplementedError

    @property
    def pick(self) -> ExponentialMechanism:
        """The mechanism of one pick, on score steps."""
        moved = math.ceil(self.certificate.sensitivity("linf", self.relation) * self.steps_per_record)
        return ExponentialMechanism(moved, self.share)

    @property
    def events(self) -> tuple[BoundedRangeEvent, ...]:
        """What the accountant is told: one event per pick."""
        return (self.pick.event,) * self.picks

    @property
    def std(self) -> float:
        """How far below the best a pick is on average, in records, in the worst case."""
        return self.pick.scale * self.pick.worst_loss(len(self.edges)) / self.steps_per_record

    def given(self, expected: Sequence[FloatArray], chance: Sequence[float] | None = None) -> Self:
        """Return the choice with the expected tables of an earlier release, one per pair.

        Args:
          expected: the tables.
          chance: what to take off every score, in records; what chance alone does if left out.
        """
        each = self.steps_per_record
        taken = [chance_deviation(table).sum() for table in expected] if chance is None else chance
        steps = np.rint(each * np.concatenate([table.ravel() for table in expected]))
        return replace(
            self,
            expected=steps.astype(np.int64),
            chance=np.rint(each * np.asarray(taken)).astype(np.int64),
        )

    def scores(self, raw_counts: IntArray) -> IntArray:
        """Return the score of every pair from the whole sum."""
        assert self.expected is not None and self.chance is not None
        raw_tables = raw_counts[self.first : self.first + sum(self.sizes)]
        apart = np.abs(round(self.steps_per_record * self.step) * raw_tables - self.expected)
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.asarray(np.add.reduceat(apart, starts) - self.chance, dtype=np.int64)


def chance_deviation(expected: FloatArray) -> FloatArray:
    """Return the mean distance of a Poisson count from its mean: what chance does to a cell.

    >>> chance_deviation(np.array([0.0, 0.5, 4.0])).round(3).tolist()
    [0.0, 0.607, 1.563]
    """
    from scipy.special import gammaln

    mean = np.maximum(expected, 1e-300)
    whole = np.floor(mean)
    # Crow (1958): E|X - m| = 2 exp(-m) m^(floor(m) + 1) / floor(m)!
    return np.asarray(2.0 * np.exp((whole + 1) * np.log(mean) - mean - gammaln(whole + 1)))
