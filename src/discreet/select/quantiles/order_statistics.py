"""How far a table is from another percentile: exact distances, in edits, from counts on a public grid.

The p-th percentile of n records is the value of rank k(n) = ceil(p n / 100), at least 1. With L
records below a candidate and E at it, the candidate is the answer iff 100 L < p n <= 100 (L + E). An
edit moves these slacks by p or by 100 - p, so distances are quotients, rounded up. Whole numbers
throughout: a percentile P / Q uses P and 100 Q. The least value, p = 0, is the greatest of the
mirrored table.

Deviations from Chaves et al. (2025): candidates are public values instead of positions in the data,
whose local sensitivity is always one; 2j + 1 is not the distance, nor smooth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import LARGEST_SUM
from discreet.mechanisms.selection.inverse_sensitivity import signed_distances
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import MISSING, FloatArray
from discreet.schema.even_walls import EvenWalls

_FINEST = 10**6
"""Percentiles are multiples of a hundredth of a millionth; see ``check_digits`` for many records."""


def read_percentile(p: float) -> Fraction:
    """Return p as it was written, as an exact fraction of 100."""
    share = written_share(p)
    if share is None or not 0 <= share <= 100 or share.denominator > _FINEST:
        raise ArgumentError(
            f"p must be from 0 to 100 with at most six digits, got {shown(p)}. The median is p=50."
        )
    return share


def written_share(number: object) -> Fraction | None:
    """Return a finite number exactly as it is written; None for anything else."""
    numeric = isinstance(number, int | float | np.integer | np.floating)
    if not numeric or isinstance(number, bool) or not np.isfinite(float(number)):  # type: ignore[arg-type]
        return None
    return Fraction(repr(float(number)))  # type: ignore[arg-type]


def check_digits(name: str, parts: int, most_rows: int, step: float = 1.0) -> None:
    """Refuse shares so fine that ranks of so many records, counted in steps, would leave 64 bits."""
    most = int(LARGEST_SUM * step / max(most_rows, 1))
    if parts > most:
        raise ArgumentError(
            f"{name} must be shares with a common denominator of at most {most} where there may be "
            f"{most_rows} records, got one of {parts}. Write fewer digits."
        )


@dataclass(frozen=True)
class Standing:
    """What a choice may look at: signed distances as scores, the winner and its stability."""

    scores: IntArray
    winner: int
    stability: int


@dataclass(frozen=True)
class PercentileDistances:
    """Distances of all candidates to being the p-th percentile.

    Guarantees:
      - The least number of edits of the relation; none of them moves by more than one per edit, and
        nor do scores and stability. [percentile-distance]
    """

    p: Fraction
    relation: Relation

    def distances(self, raw_counts: IntArray) -> IntArray:
        """Return, for every candidate, the least number of edits that make it the percentile."""
        if self.p == 0:
            greatest = replace(self, p=Fraction(100))
            return greatest.distances(np.asarray(raw_counts)[::-1])[::-1]
        at = np.asarray(raw_counts, dtype=np.int64)
        below = np.cumsum(at) - at
        rows = int(at.sum())
        if self.can_empty:
            return self._by_adding_and_removing(below, at, rows)
        rank = max(1, -(-self.p.numerator * rows // (100 * self.p.denominator)))
        return np.asarray(np.maximum(0, np.maximum(rank - below - at, below + 1 - rank)))

    def standing(self, raw_counts: IntArray) -> Standing:
        """Return scores, winner and stability; of an empty table, the first candidate wins."""
        distances = self.distances(raw_counts)
        rows = int(np.sum(raw_counts))
        winner = int(np.argmin(distances))
        # Under add-remove the answer also goes with the last record.
        leave = min(int(np.delete(distances, winner).min()), rows if self.can_empty else rows + 1)
        if rows == 0:
            return Standing(-distances, 0, 0)
        return Standing(signed_distances(distances, leave), winner, leave - 1)

    def check_fits(self, name: str, most_rows: int) -> None:
        """Refuse more records than slacks have room for; ranks under replace-one always have it."""
        if self.can_empty:
            check_digits(name, 100 * self.p.denominator, most_rows)

    @property
    def can_empty(self) -> bool:
        """Whether edits can lead to a table without records, which has no percentile."""
        return not Relation(self.relation).rows_public

    def _by_adding_and_removing(self, below: IntArray, at: IntArray, rows: int) -> IntArray:
        p, whole = self.p.numerator, 100 * self.p.denominator
        rest = whole - p
        target = p * rows
        short = target - whole * (below + at)  # > 0: too low to be the answer
        over = whole * below - target + 1  # > 0: too high
        if 2 * p <= whole:  # inserting the candidate moves most
            rising = _quotient(short, rest)
        else:  # removing from above does, and an absent candidate has to be inserted
            rising = np.where(
                at > 0, _quotient(short, p), 1 + np.maximum(0, _quotient(short - rest, p))
            )
        if 2 * p >= whole:
            falling = _quotient(over, p)
        else:
            falling = np.where(
                at > 0, _quotient(over, rest), 1 + np.maximum(0, _quotient(over - p, rest))
            )
        return np.where(short > 0, rising, np.where(over > 0, falling, 0))


def value_sensitivities(raw_counts: IntArray, measure: PercentileDistances, most: int) -> IntArray:
    """Return an admissible function of the utility -|percentile - candidate|, in grid steps.

    Entry t bounds how far one edit moves the percentile of any table within t edits: both values can be
    the answer within t + 1 edits, and at most t + 2 records lie strictly between them now. Once the
    table can be emptied, anything goes. Stops after the entries add up to ``most``.

    Guarantees:
      - Admissible for local dampening under both relations. [value-sensitivity]
    """
    distances = measure.distances(raw_counts)
    upto = np.cumsum(np.asarray(raw_counts, dtype=np.int64))
    places = np.arange(len(upto))

    def widest(t: int) -> int:
        if measure.can_empty and upto[-1] <= t + 1:
            return len(upto) - 1
        near = np.flatnonzero(distances <= t + 1)
        low, high = int(near[0]), int(near[-1])
        # The greatest b with at most t + 2 records strictly between a and b.
        furthest = np.searchsorted(upto, upto[low : high + 1] + t + 2, side="right")
        return int(np.max(np.minimum(furthest, high) - places[low : high + 1]))

    found: list[int] = []
    total = 0
    while total < most:
        here = widest(len(found))
        times = _run_length(widest, len(found), here, -(-(most - total) // max(here, 1)))
        found += [here] * times
        total += here * times
    return np.array(found, dtype=np.int64)


def _run_length(function: Callable[[int], int], start: int, value: int, most: int) -> int:
    """Return for how many arguments from ``start`` a rising function keeps its value, at most ``most``.

    Without a value (zero) the run ends by itself, however long it is.
    """
    known, step = 1, 1
    while function(start + known + step - 1) == value and (known < most or value == 0):
        known, step = known + step, 2 * step
    low, high = known, known + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if function(start + middle - 1) == value else (low, middle)
    return low if value == 0 else min(low, most)


def nearest(candidates: FloatArray) -> Callable[[FloatArray], NDArray[np.int64]]:
    """Return the function that finds the nearest candidate of every value; -1 if it is missing."""
    middles = candidates[:-1] / 2 + candidates[1:] / 2
    ends = 1.5 * candidates[[0, -1]] - 0.5 * candidates[[1, -2]] if len(middles) else candidates[[0, 0]]
    walls = EvenWalls.under(float(ends[0]), float(ends[1]), middles, None)

    def find(encoded: FloatArray) -> NDArray[np.int64]:
        cells = (
            np.searchsorted(middles, encoded, side="right") if walls is None else walls.find(encoded)
        )
        return np.where(encoded == MISSING, -1, cells)

    return find


def _quotient(number: IntArray, divisor: int) -> IntArray:
    """Return the quotient rounded up."""
    return np.asarray(-(-number // max(divisor, 1)))
