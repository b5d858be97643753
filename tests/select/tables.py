"""All small tables over a few values, their neighbours, and distances by breadth-first search."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from fractions import Fraction

Counts = tuple[int, ...]


def percentile_of(counts: Counts, p: Fraction) -> int | None:
    """Return the place of the value of rank ceil(p n / 100); nothing for no records."""
    rows = sum(counts)
    rank = max(1, -(-p.numerator * rows // (100 * p.denominator)))
    reached = itertools.accumulate(counts)
    return next((place for place, upto in enumerate(reached) if upto >= rank), None) if rows else None


def small_tables(values: int, most: int) -> list[Counts]:
    return [c for c in itertools.product(range(most + 1), repeat=values) if sum(c) <= most]


def neighbours(counts: Counts, relation: str) -> Iterator[Counts]:
    """Yield every table one edit away."""
    for i in range(len(counts)):
        if relation == "add-remove":
            moves = [{i: 1}] + ([{i: -1}] if counts[i] else [])
        else:
            moves = [{i: -1, j: 1} for j in range(len(counts)) if j != i and counts[i]]
        for move in moves:
            yield tuple(c + move.get(place, 0) for place, c in enumerate(counts))


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
            for other in neighbours(counts, relation):
                if other in found and found[other][answer] is None:
                    found[other][answer] = found[counts][answer] + 1  # type: ignore[operator]
                    waiting.append(other)
    return found
