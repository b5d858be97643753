"""Choose pairs of columns whose records a released model predicts worst: by sums of residuals.

A record adds its residual, a vector whose absolute values add up to at most one, to one cell of every
pair's table. The score of a pair is

    score = sum over cells and channels of |R|  -  a number that is known before R is,

a whole number of the lattice step that residuals are cut to. Only R depends on records.

Reference: McKenna and Sheldon (2020), "Permute-and-Flip"; Nori and others (2021) score pairs by what
trees of two features explain, with records of their own. Deviations: exact sampling on whole scores;
the bound 2 under replace-one beside 1 under add-remove.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.selection.registry import ON_SCORES
from discreet.numerics import check_whole, float_of_units, to_units, up
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import IntArray, NoiseSource

_LAW = "permute-and-flip"


def certify_residual_scores(pairs: int, rounded: float = 0.0) -> Certificate:
    """Certify the scores of ``pairs`` pairs, in records.

    Args:
      pairs: how many there are.
      rounded: by how much rounding may lengthen what a record adds.

    Guarantees:
      - A record that comes or goes moves every score by at most what its residual is long, one that is
        replaced by at most twice that, whatever was released before. [additive-pairs]
    """
    check_whole("pairs", pairs, 1)
    one = up(1.0 + rounded)

    def everywhere(moved: float) -> Bounds:
        return Bounds(up(pairs * moved), up(math.sqrt(pairs) * moved), moved)

    bounds = {ADD_REMOVE: everywhere(one), REPLACE_ONE: everywhere(2 * one)}
    return Certificate(("additive-pairs", "top-k"), pairs, bounds)


@dataclass(frozen=True)
class ResidualChoice:
    """Pick ``wanted`` pairs by noisy scores, none twice.

    Args:
      certificate: what was proven of the scores.
      relation: the neighbouring relation.
      share: the epsilon of one pick.
      wanted: how many pairs are chosen.
      sizes: how many numbers every pair's table has.
      step: of the sums of residuals; scores are whole numbers of it.
      chance: what to take off every score, in steps.

    Guarantees:
      - Differentially private for all picks' epsilons together, whatever earlier releases the residuals
        and ``chance`` were made of. [additive-pairs] [permute-and-flip] [top-k]
    """

    certificate: Certificate
    relation: Relation
    share: float
    wanted: int
    sizes: tuple[int, ...]
    step: float
    chance: tuple[int, ...]

    name = _LAW
    delta = 0.0

    @property
    def epsilon(self) -> float:
        """The promise of all picks together."""
        return float_of_units(self.wanted * to_units(self.share))

    @property
    def pick(self) -> Pick:
        """The mechanism of one pick, on scores in steps."""
        moved = math.ceil(self.certificate.sensitivity("linf", self.relation) / self.step)
        return ON_SCORES[_LAW](moved, self.share)

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told: one event per pick."""
        return (self.pick.event,) * self.wanted

    @property
    def std(self) -> float:
        """How far below the best a pick is on average, in records, in the worst case."""
        return self.pick.scale * self.pick.worst_loss(len(self.sizes)) * self.step

    def less(self, chance: FloatArray) -> ResidualChoice:
        """Return the choice with this taken off every score, in records; no record may be in it."""
        return replace(self, chance=tuple(np.rint(chance / self.step).astype(np.int64).tolist()))

    def scores(self, raw_steps: IntArray) -> IntArray:
        """Return the score of every pair, in steps, from the sums of all tables."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        found = np.add.reduceat(np.abs(raw_steps), starts)
        return np.asarray(found - np.array(self.chance), dtype=np.int64)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the places of the chosen pairs, in the order of choice."""
        return self.pick.peel(self.scores(raw_steps), self.wanted, source)[:, 0]

    def probability(self, raw_steps: IntArray, order: Sequence[int]) -> float:
        """Return the exact probability of one answer."""
        raw_scores, left, share = self.scores(raw_steps), list(range(len(self.sizes))), []
        for place in order:
            share.append(self.pick.probabilities(raw_scores[left])[left.index(place)])
            left.remove(place)
        return float(math.prod(share))


def residual_choice(
    sizes: Sequence[int], *, wanted: int, step: float, rounded: float, relation: Relation, share: float
) -> ResidualChoice:
    """Return the mechanism that chooses ``wanted`` of some pairs.

    Args:
      sizes: how many numbers every pair's table has.
      wanted: how many are chosen.
      step: of the sums of residuals.
      rounded: by how much rounding may lengthen what a record adds.
      relation: the neighbouring relation.
      share: the epsilon of one pick.
    """
    check_whole("wanted", wanted, 1, len(sizes))
    certificate = certify_residual_scores(len(sizes), rounded)
    flat = (0,) * len(sizes)
    return ResidualChoice(certificate, relation, share, wanted, tuple(sizes), step, flat)
