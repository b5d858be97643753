"""Choose the strongest pairs of columns so that they form a tree: Kruskal with a noisy maximum.

Pairs are scored against the tables that noisy one-way tables would have them be if the two columns were
independent. What chance alone puts into a score is taken off, so that a pair is not ahead for having
more cells. Every round the exponential mechanism picks one of the pairs that join two trees; after the
last round no such pair is left.

Reference: McKenna, Miklau, Sheldon (2021), "Winning the NIST Contest" (MST).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.selection.pairs.pair_scores import Edge, PairChoice, certify_scores
from discreet.mechanisms.selection.registry import pick_share
from discreet.numerics import check_positive, check_probability
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class TreeChoice(PairChoice):
    """Pick a spanning tree (a forest, if the pairs leave several parts) by noisy scores.

    Guarantees:
      - (epsilon, delta)-differentially private, whatever earlier release made the expected tables:
        so many exponential mechanisms, one after the other. [spanning-tree]
    """

    @property
    def picks(self) -> int:
        """How many pairs are chosen."""
        return count_picks(self.edges)

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
