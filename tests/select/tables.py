"""Percentiles by their definition, and distances to them by breadth-first search."""

from __future__ import annotations

import itertools
from collections import deque
from fractions import Fraction

from discreet.audit.laws.neighbours import Counts, neighbouring_tables, small_tables


def percentile_of(counts: Counts, p: Fraction) -> int | None:
    """Return the place of the value of rank ceil(p n / 100); nothing for no records."""
    rows = sum(counts)
    rank = max(1, -(-p.numerator * rows // (100 * p.denominator)))
    reached = itertools.accumulate(counts)
    return next((place for place, upto in enumerate(reached) if upto >= rank), None) if rows else None


def searched_distances(
    values: int, most: int, p: Fraction, relation: str
) -> dict[Counts, list[int | None]]:
    """Return the least number of edits to every answer; right for tables far below ``most`` records."""
    known = small_tables(values, most)
    found: dict[Counts, list[int | None]] = {c: [None] * values for c in known}
    for answer in range(values):
        waiting = deque(c for c in known if percentile_of(c, p) == answer)
        for counts in waiting:
            found[counts][answer] = 0
        while waiting:
            counts = waiting.popleft()
            for other in neighbouring_tables(counts, relation):
                if other in found and found[other][answer] is None:
                    found[other][answer] = found[counts][answer] + 1  # type: ignore[operator]
                    waiting.append(other)
    return found
