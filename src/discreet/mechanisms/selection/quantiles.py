"""Cut ordered cells into parts of equal counts: all cuts in one release, by halving again and again.

The recursion of Kaplan, Schnapp and Stemmer (2022): choose the middle cut by the exponential
mechanism, with minus its distance from the wanted rank as score, then treat the two sides alike. The
sides hold different records, so all choices of one level cost what one of them costs.

Deviations: cuts lie between the cells of a public grid, so no jitter is needed and ties are cells
like others; a side's wanted ranks are shares of the records *it* holds. So a cell that holds more
than a part takes one cut or two, and the other cuts are spread over the records outside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.additive.noise import FloatArray
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.registry import pick_share
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource

Split = tuple[int, int, int]


def moved_counts(certificate: Certificate, relation: Relation) -> int:
    """Return by how many records two neighbours differ: one came or went, or one went and one came."""
    moved = math.floor(certificate.sensitivity("l1", relation))
    if not 1 <= moved <= 2:
        raise CertificateError(f"Quantiles need counts of which one or two move, got {moved}.")
    return moved


@dataclass(frozen=True)
class QuantileNoise:
    """Choose ``parts - 1`` of the ``points`` so that each part between them holds as many records.

    ``points`` are the ends of the cells, in order: cell c lies between ``points[c]`` and
    ``points[c + 1]``. ``share`` is the epsilon of one level of halving. ``release`` takes the counts
    of the cells and returns the chosen points, in order.

    Guarantees:
      - (epsilon, delta)-differentially private over all cuts. [quantiles]
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    share: float
    parts: int
    points: tuple[float, ...]

    name = "exponential"

    @property
    def step(self) -> float:
        """What is counted: records, or parts of them."""
        return count_step(self.relation)

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_positive("share", self.share)
        check_whole("parts", self.parts, 2)
        if len(self.points) != self.certificate.size + 1:
            raise ArgumentError(
                f"points must be the {self.certificate.size + 1} ends of the cells, "
                f"got {len(self.points)}."
            )
        if any(a > b for a, b in pairwise(self.points)):
            raise ArgumentError("points must be in order, got one below the point before it.")

    @property
    def moves(self) -> int:
        """By how many records two neighbours differ."""
        return moved_counts(self.certificate, self.relation)

    @property
    def levels(self) -> int:
        """How often the records are halved."""
        return (self.parts - 1).bit_length()

    @property
    def events(self) -> tuple[BoundedRangeEvent, ...]:
        """What the accountant is told: one event per level."""
        return (BoundedRangeEvent(self.share),) * self.levels

    @property
    def std(self) -> float:
        """How many records the middle cut is off on average, in the worst case."""
        left = self.parts // 2
        pick = self.pick(left, self.parts)
        return self.step * pick.scale / self.parts * pick.worst_loss(len(self.points))

    @property
    def splits(self) -> list[Split]:
        """The cuts (first, chosen, last), a level after the other: 0 and ``parts`` are the ends."""
        waiting, found = [(0, self.parts)], []
        while waiting:
            first, last = waiting.pop(0)
            if last - first > 1:
                middle = first + (last - first) // 2
                found.append((first, middle, last))
                waiting += [(first, middle), (middle, last)]
        return found

    def pick(self, left: int, parts: int) -> ExponentialMechanism:
        """Return the mechanism that puts ``left`` of ``parts`` parts to the left of a cut.

        Guarantees:
          - One record more or less in the records that are cut moves a score by at most
            max(left, parts - left), of which ``share`` over the moves is kept. [quantiles]
          - A part of a record moves it by that part, and loses as much less. [person-weights]
        """
        moved = max(left, parts - left) * round(1 / self.step)
        return ExponentialMechanism(moved, self.share / self.moves)

    def probability(self, raw_counts: IntArray, places: Sequence[int]) -> float:
        """Return the exact probability of one answer, the places of the cuts among the points."""
        below, cuts, share = _below(raw_counts), [0, *places, len(self.points) - 1], 1.0
        if len(cuts) != self.parts + 1 or any(a > b for a, b in pairwise(cuts)):
            raise ArgumentError(f"places must be {self.parts - 1} points in order, got {places!r}.")
        for first, middle, last in self.splits:
            scores = _scores(below[cuts[first] : cuts[last] + 1], middle - first, last - first)
            law = self.pick(middle - first, last - first).probabilities(scores)
            share *= float(law[cuts[middle] - cuts[first]])
        return share

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the chosen points."""
        below = _below(raw_counts)
        places = np.zeros(self.parts + 1, dtype=np.int64)
        places[-1] = len(self.points) - 1
        for first, middle, last in self.splits:
            scores = _scores(below[places[first] : places[last] + 1], middle - first, last - first)
            pick = self.pick(middle - first, last - first)
            places[middle] = places[first] + pick.release(scores, source)
        return np.asarray(self.points, dtype=np.float64)[places[1:-1]]


def quantile_noise(
    certificate: Certificate,
    points: Sequence[float],
    *,
    parts: int,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
) -> QuantileNoise:
    """Return the mechanism that cuts counted cells into ``parts`` parts of equal counts.

    Args:
      certificate: bounds on the counts of the cells.
      points: the ends of the cells, one more than there are cells.
      parts: how many parts.
      relation: the neighbouring relation.
      epsilon: the promise for all cuts together.
      delta: zero for a pure promise; with a delta the levels are cheaper together.
    """
    moved_counts(certificate, Relation(relation))
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    check_whole("parts", parts, 2, None, "One part needs no cut.")
    share, spent = pick_share("exponential", epsilon, delta, (parts - 1).bit_length())
    proven = replace(certificate, statements=(*certificate.statements, "quantiles"))
    return QuantileNoise(proven, relation, epsilon, spent, share, parts, tuple(points))


def _below(raw_counts: IntArray) -> IntArray:
    """Return how many records lie below every point."""
    return np.concatenate([[0], np.cumsum(np.asarray(raw_counts, dtype=np.int64))])


def _scores(below: IntArray, left: int, parts: int) -> IntArray:
    """Return minus ``parts`` times the distance of every point's rank from the wanted one."""
    ranks = below - below[0]
    return np.asarray(-np.abs(parts * ranks - left * ranks[-1]))
