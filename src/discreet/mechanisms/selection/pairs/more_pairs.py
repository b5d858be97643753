"""Choose more pairs of columns: those whose counts a released model knows least of.

The model is whatever was fitted to earlier releases; a pair is scored by how far the model's table is
from the exact one, less what noise would add if the pair were measured. The exponential mechanism picks
one pair after the other, none twice, and none of those that were measured before.

Reference: McKenna and others (2022), "AIM: an adaptive and iterative mechanism". Deviations: several
picks by the same scores; exact sampling on whole scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.selection.pairs.pair_scores import Edge, PairChoice, certify_scores
from discreet.mechanisms.selection.registry import pick_share
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource


@dataclass(frozen=True)
class MoreChoice(PairChoice):
    """Pick ``wanted`` pairs by noisy scores, of those that are not ``measured`` yet.

    Guarantees:
      - (epsilon, delta)-differentially private, whatever earlier releases made the expected tables and
        measured pairs: so many exponential mechanisms, one after the other. [tree-score] [top-k]
    """

    wanted: int = field(default=1, kw_only=True)
    measured: frozenset[int] = field(default=frozenset(), kw_only=True)

    @property
    def picks(self) -> int:
        """How many pairs are chosen."""
        return self.wanted

    def besides(self, measured: Sequence[int]) -> MoreChoice:
        """Return the choice among pairs other than these."""
        return replace(self, measured=frozenset(measured))

    @property
    def open(self) -> IntArray:
        """The places of the pairs to choose from."""
        return np.array([p for p in range(len(self.edges)) if p not in self.measured], dtype=np.int64)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the places of the chosen pairs among ``edges``, in the order of choice."""
        chosen = self.pick.peel(self.scores(raw_steps)[self.open], self.wanted, source)[:, 0]
        return self.open[chosen.astype(np.int64)].astype(np.float64)

    def probability(self, raw_steps: IntArray, order: Sequence[int]) -> float:
        """Return the exact probability of one answer."""
        raw_scores, left, share = self.scores(raw_steps), self.open.tolist(), []
        for place in order:
            if place not in left:
                return 0.0
            share.append(self.pick.probabilities(raw_scores[left])[left.index(place)])
            left.remove(place)
        return float(math.prod(share))


def more_choice(
    edges: Sequence[Edge],
    sizes: Sequence[int],
    first: int,
    *,
    wanted: int,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
) -> MoreChoice:
    """Return the mechanism that chooses ``wanted`` more pairs.

    Args:
      edges: all pairs, those that were measured included.
      sizes: the number of cells of every pair's table.
      first: where the first table begins in the sum.
      wanted: how many are chosen.
      relation: the neighbouring relation.
      epsilon: the promise for all picks together.
      delta: zero for a pure promise; else picks are charged by zCDP composition if that is less.

    Guarantees:
      - The picks' epsilons add up to at most epsilon, or their rhos convert. [top-k]
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_whole("wanted", wanted, 1, len(edges))
    share, spent = pick_share("exponential", epsilon, delta, wanted)
    certificate = certify_scores(len(edges), "top-k")
    terms = (certificate, relation, epsilon, spent, share, tuple(edges), tuple(sizes), first)
    return MoreChoice(*terms, wanted=wanted)
