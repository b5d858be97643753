"""Several quantiles in one release: that nearest to the middle first, then both sides alike.

The recursion of Kaplan, Schnapp and Stemmer (2022), for any levels. The sides of a cut hold different
records, so all choices of one round cost what one of them costs.

Deviations: values are those of a public grid, so ties are the rule. Instead of moving records by random
jitter, the count of a value is dealt out over ``slots`` places inside it, one record after the other:
one record more is one more in one place. So a value that many records share can take several cuts, and
none of them leaves a side with records it should not have. Nothing is random but the choices. Cuts
between two records that follow each other have one score, so a long grid takes no longer (``runs``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.alike import RADIUS, draw_candidate
from discreet.mechanisms.selection.quantiles import moved_counts
from discreet.mechanisms.selection.registry import ON_SCORES, pick_share
from discreet.numerics import check_choice, check_whole
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ROWS_CAP, Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.select.choose.chooser import Chooser
from discreet.select.quantiles.order_statistics import Standing, check_digits
from discreet.select.quantiles.runs import DealtCounts, Wanted

SLOTS = 64
"""Places inside a value. A cut inside one divides its records to a 64th of them."""

_MOST_SLOTS = 2**21
"""So many places are visited one by one for permute-and-flip; the exponential mechanism needs not."""

CUT_CHOICES = ("auto", "permute-and-flip", "exponential")

Split = tuple[int, int, int]


@dataclass(frozen=True)
class QuantileCuts:
    """Choose one value for every level, in order; ``release`` takes counts and returns their places.

    ``marks`` are the levels between 0 and the last mark, which stands for all records; ``share`` is
    the epsilon of one round; a value of weight w has w cuts in every slot instead of one.

    Guarantees:
      - (epsilon, delta)-differentially private over all levels, and never crossing. [several-quantiles]
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    share: float
    kind: str
    marks: tuple[int, ...]
    slots: int = SLOTS
    weights: IntArray | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.marks) < 3 or any(a >= b for a, b in pairwise(self.marks)) or self.marks[0] != 0:
            raise ArgumentError(f"marks must rise from 0, got {self.marks!r}.")
        check_whole("slots", self.slots, 1, 2**12)

    @property
    def name(self) -> str:
        """The law of a choice."""
        return self.kind

    @property
    def step(self) -> float:
        """What is counted: records, or parts of them."""
        return count_step(self.relation)

    @property
    def moves(self) -> int:
        """By how many records two neighbours differ."""
        return moved_counts(self.certificate, self.relation)

    @property
    def keeps_groups(self) -> bool:
        """Whether every group may choose: what comes and what goes are paid for each by itself.

        Guarantees:
          - One record more or less loses half of a round's share, where records are replaced between
            groups; all of it where they only come and go. [groups-of-choices]
        """
        return self._between_groups or Relation(self.relation).edits == 1

    @property
    def _between_groups(self) -> bool:
        return Relation(self.relation).groups_touched == 2

    @property
    def numbers(self) -> int:
        """One place for every level."""
        return len(self.marks) - 2

    @property
    def rounds(self) -> int:
        """How often the records are divided."""
        return (len(self.marks) - 2).bit_length()

    @property
    def events(self) -> tuple[BoundedRangeEvent | PureEvent, ...]:
        """What the accountant is told: one event per round."""
        return (ON_SCORES[self.kind](1, self.share).event,) * self.rounds

    @property
    def std(self) -> float:
        """How many records a value is off on average, where records lie densely around it.

        A choice then follows Laplace's law in records, with the mechanism's rate, and a wanted rank is
        off by a mean of what its two ends are off.
        """
        spread = [0.0] * len(self.marks)
        for split in (split for level in self.splits for split in level):
            first, middle, last = split
            left, parts = self._parts(split)
            ends = (spread[first] * (parts - left) ** 2 + spread[last] * left**2) / parts**2
            scale = self.step * self._pick(split, 2).on_scores.scale
            spread[middle] = ends + 2 * (scale / parts) ** 2
        return math.sqrt(2 / math.pi * max(spread))

    @property
    def worst(self) -> float:
        """How many records a value is off on average, in the worst case, beyond what ties force.

        A wanted rank is off by a mean of what its two ends are off, and its choice adds its own error.
        """
        size = int(self.starts[-1]) + 1
        return self.step * math.fsum(
            max(
                self._pick(split, size).worst_error(math.inf) / self._parts(split)[1] for split in level
            )
            for level in self.splits
        )

    @property
    def splits(self) -> list[list[Split]]:
        """The marks (first, chosen, last) of every round."""
        waiting, found = [(0, len(self.marks) - 1)], []
        for left in reversed(range(self.rounds)):
            level = [(a, self._middle(a, b, left), b) for a, b in waiting if b - a > 1]
            waiting = [side for a, middle, b in level for side in ((a, middle), (middle, b))]
            found.append(level)
        return found

    def _middle(self, first: int, last: int, rounds: int) -> int:
        """Return the mark that halves the records best, if the rounds left suffice for both sides.

        A score moves least, against the records it counts, where both sides are alike.
        """
        most = 2**rounds
        marks = range(max(first + 1, last - most), min(last - 1, first + most) + 1)
        return min(marks, key=lambda m: abs(2 * self.marks[m] - self.marks[first] - self.marks[last]))

    def probability(self, counts: IntArray, cuts: Sequence[int]) -> float:
        """Return the exact probability of one answer, as cuts among all slots."""
        share, given = 1.0, iter(self._by_split(cuts))

        def pick(chooser: Chooser, dealt: DealtCounts, wanted: Wanted) -> int:
            nonlocal share
            place, runs = next(given), dealt.runs(wanted)
            if not 0 <= place < runs.sizes.sum():
                share = 0.0
                return wanted.first
            share *= float(chooser.law(Standing(np.repeat(runs.scores, runs.sizes), 0, 0))[place])
            return wanted.first + place

        self._walk(counts, pick)
        return share

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the place of the chosen value of every level."""

        def pick(chooser: Chooser, dealt: DealtCounts, wanted: Wanted) -> int:
            if chooser.on_scores.by_weights:
                scale = chooser.on_scores.scale
                runs = dealt.runs(wanted, RADIUS * scale)

                def cut(run: int, place: int) -> int:
                    return int(runs.begins[run]) + place

                best, size = runs.scores, runs.sizes
                drawn = draw_candidate(
                    best, size, lambda *at: dealt.score(cut(*at), wanted), scale, source
                )
                return cut(*drawn)
            runs = dealt.runs(wanted)
            places = np.repeat(runs.scores, runs.sizes)
            if len(places) == 1:
                return wanted.first
            return wanted.first + int(chooser.draw(Standing(places, 0, 0), source)[0])

        return self.places(self._walk(raw_counts, pick)).astype(np.float64)

    def places(self, cuts: IntArray) -> IntArray:
        """Return the values that hold the last slot below every cut."""
        return np.maximum(np.searchsorted(self.starts, np.asarray(cuts) - 1, side="right") - 1, 0)

    @property
    def starts(self) -> IntArray:
        """The first cut of every value, and the last of all."""
        weights = (
            np.ones(self.certificate.size, dtype=np.int64) if self.weights is None else self.weights
        )
        return np.concatenate([[0], self.slots * np.cumsum(weights)])

    def _walk(self, counts: IntArray, pick: Callable[[Chooser, DealtCounts, Wanted], int]) -> IntArray:
        """Choose all cuts, round by round; ``pick`` returns one between two others."""
        dealt = DealtCounts(np.asarray(counts, dtype=np.int64), self.starts, self.slots)
        cuts = np.zeros(len(self.marks), dtype=np.int64)
        cuts[-1] = dealt.starts[-1]
        for split in (split for level in self.splits for split in level):
            first, middle, last = split
            wanted = Wanted(int(cuts[first]), int(cuts[last]), *self._parts(split))
            chooser = self._pick(split, wanted.last - wanted.first + 1)
            cuts[middle] = pick(chooser, dealt, wanted)
        return cuts[1:-1]

    def _by_split(self, cuts: Sequence[int]) -> list[int]:
        """Return cuts in the order of the splits, counted from the cut to the left."""
        known = [0, *cuts, 0]
        return [known[b] - known[a] for level in self.splits for a, b, _ in level]

    def _parts(self, split: Split) -> tuple[int, int]:
        """Return which share of the records belongs to the left, in lowest terms."""
        first, middle, last = (self.marks[i] for i in split)
        shared = math.gcd(middle - first, last - first)
        return (middle - first) // shared, (last - first) // shared

    def _pick(self, split: Split, candidates: int) -> Chooser:
        """Return the mechanism of one choice.

        Guarantees:
          - One record more or less on this side moves a score by at most max(left, parts - left); one
            replaced, on the only side there is at first, by at most parts. Of groups there are several
            sides from the first. [several-quantiles] [groups-of-choices]
          - A part of a record moves it by that part, and loses as much less. [person-weights]
        """
        (left, parts), each = self._parts(split), round(1 / self.step)
        whole = split[0] == 0 and split[2] == len(self.marks) - 1
        if whole and self.moves == 2 and not self._between_groups:
            return Chooser(self.kind, candidates, self.share, 0.0, parts * each)
        moved = max(left, parts - left) * each
        return Chooser(self.kind, candidates, self.share / self.moves, 0.0, moved)


def quantile_cuts(
    certificate: Certificate,
    marks: Sequence[int],
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "auto",
    weights: IntArray | None = None,
    most_rows: int = ROWS_CAP,
) -> tuple[QuantileCuts, dict[str, float]]:
    """Return the mechanism, and the worst expected error of those compared, in records.

    ``auto`` takes permute-and-flip or the exponential mechanism, whichever errs less: the first unless
    there are so many values that they differ by little, or a delta makes many rounds of the second
    cheaper together. ``weights`` of the values are for the second: the first visits cuts one by one.
    Shares too fine for ``most_rows`` records are refused.
    """
    check_choice("mechanism", mechanism, CUT_CHOICES)
    check_digits("levels", max(marks), most_rows, count_step(relation))
    proven = replace(certificate, statements=(*certificate.statements, "several-quantiles"))
    fewer = min(SLOTS, max(1, _MOST_SLOTS // certificate.size))
    found: dict[str, QuantileCuts] = {}
    for kind, slots in (("permute-and-flip", fewer), ("exponential", SLOTS)):
        share, spent = pick_share(kind, epsilon, delta, (len(marks) - 2).bit_length())
        heavier = weights if ON_SCORES[kind].by_weights else None
        terms = (proven, relation, epsilon, spent, share, kind, tuple(marks), slots, heavier)
        found[kind] = QuantileCuts(*terms)
    errors = {kind: cuts.worst for kind, cuts in found.items()}
    taken = "exponential" if fewer < SLOTS else min(errors, key=lambda kind: errors[kind])
    return found[taken if mechanism == "auto" else mechanism], errors
