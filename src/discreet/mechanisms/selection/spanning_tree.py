"""Choose the strongest pairs of columns so that they form a tree: Kruskal with a noisy maximum.

The score of a pair is the L1 distance between its exact two-way table of counts C and the table E
that its noisy one-way tables would have it be if the two columns were independent,

    score = sum over cells of |C - E|  -  what chance alone puts there,

a whole number on a public scale of ``STEPS_PER_RECORD``. E and the last term come from an
earlier release, so only C depends on records. Every round the exponential mechanism picks one of the
pairs that join two trees; after the last round no such pair is left.

Reference: McKenna, Miklau, Sheldon (2021), "Winning the NIST Contest" (MST). Deviations: discrete
scores and exact sampling; the bound 2 under replace-one beside 1 under add-remove; what chance does to
a score is taken off, so that a pair is not ahead for having more cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.registry import pick_share
from discreet.numerics import check_positive, check_probability, check_whole, up
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import IntArray, NoiseSource

STEPS_PER_RECORD = 1024
"""Score steps per record."""

Edge = tuple[int, int]


def certify_scores(pairs: int) -> Certificate:
    """Certify the scores of ``pairs`` pairs, in records.

    Guarantees:
      - Replacing a record moves a score by at most two, adding or removing one by at most one,
        whatever the expected tables are. [tree-score]
    """
    check_whole("pairs", pairs, 1)

    def everywhere(moved: float) -> Bounds:
        return Bounds(pairs * moved, up(math.sqrt(pairs) * moved), moved)

    return Certificate(
        ("tree-score", "spanning-tree"),
        pairs,
        {REPLACE_ONE: everywhere(2.0), ADD_REMOVE: everywhere(1.0)},
    )


@dataclass(frozen=True)
class TreeChoice:
    """Pick a spanning tree (a forest, if the pairs leave several parts) by noisy scores.

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

    Guarantees:
      - (epsilon, delta)-differentially private, whatever earlier release made the expected tables:
        so many exponential mechanisms, one after the other. [spanning-tree]
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
        return count_picks(self.edges)

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

    def given(self, expected: Sequence[FloatArray]) -> TreeChoice:
        """Return the choice with the expected tables of an earlier release, one per pair."""
        each = self.steps_per_record
        steps = np.rint(each * np.concatenate([table.ravel() for table in expected]))
        chance = [each * chance_deviation(table).sum() for table in expected]
        return replace(
            self,
            expected=steps.astype(np.int64),
            chance=np.rint(chance).astype(np.int64),
        )

    def scores(self, raw_counts: IntArray) -> IntArray:
        """Return the score of every pair from the whole sum."""
        assert self.expected is not None and self.chance is not None
        raw_tables = raw_counts[self.first : self.first + sum(self.sizes)]
        apart = np.abs(round(self.steps_per_record * self.step) * raw_tables - self.expected)
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.asarray(np.add.reduceat(apart, starts) - self.chance, dtype=np.int64)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the places of the chosen pairs among ``edges``, in the order of choice."""
        raw_scores, forest, chosen = self.scores(raw_steps), Forest(self.edges), []
        for _ in range(self.picks):
            joining = forest.joining()
            place = int(joining[self.pick.release(raw_scores[joining], source)])
            forest.join(place)
            chosen.append(place)
        return np.array(chosen, dtype=np.float64)

    def probability(self, raw_steps: IntArray, order: Sequence[int]) -> float:
        """Return the exact probability of one answer."""
        raw_scores, forest, share = self.scores(raw_steps), Forest(self.edges), 1.0
        for place in order:
            joining = forest.joining()
            law = self.pick.probabilities(raw_scores[joining])
            share *= float(law[joining == place].sum())
            forest.join(place)
        return share


def tree_choice(
    edges: Sequence[Edge],
    sizes: Sequence[int],
    first: int,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
) -> TreeChoice:
    """Return the mechanism that chooses a spanning tree of the pairs.

    Args:
      edges: the pairs to choose from, as places of columns.
      sizes: the number of cells of every pair's table.
      first: where the first table begins in the sum.
      relation: the neighbouring relation.
      epsilon: the promise for all picks together.
      delta: zero for a pure promise; else picks are charged by zCDP composition if that is less.

    Guarantees:
      - The picks' epsilons add up to at most epsilon, or their rhos convert. [spanning-tree]
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    share, spent = pick_share("exponential", epsilon, delta, count_picks(edges))
    certificate = certify_scores(len(edges))
    return TreeChoice(certificate, relation, epsilon, spent, share, tuple(edges), tuple(sizes), first)


class Forest:
    """Which columns are connected by the pairs chosen so far."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self._ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        self._tree = np.arange(self._ends.max(initial=0) + 1)

    def joining(self) -> IntArray:
        """Return the places of the edges that connect two trees."""
        trees = self._tree[self._ends]
        return np.flatnonzero(trees[:, 0] != trees[:, 1])

    def join(self, place: int) -> None:
        """Make one tree of the two that an edge connects."""
        first, second = self._tree[self._ends[place]]
        self._tree[self._tree == second] = first


def count_picks(edges: Sequence[Edge]) -> int:
    """Return how many edges a spanning forest has: public, it depends on no score.

    >>> count_picks([(0, 1), (1, 2), (0, 2), (3, 4)])
    3
    """
    forest, picks = Forest(edges), 0
    while len(joining := forest.joining()):
        forest.join(int(joining[0]))
        picks += 1
    return picks


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
