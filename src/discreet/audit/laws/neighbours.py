"""Small inputs, and who is a neighbour of whom: vectors of scores, tables of counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from discreet.audit.laws.subject import Pairs
from discreet.privacy.relation import Relation

Counts = tuple[int, ...]
Scores = tuple[int, ...]

FAR = 24
"""Steps or records so far apart that an outcome is rare, and far from impossible at epsilon 1."""


def moved_scores(scores: Scores, sensitivity: int) -> Iterator[Scores]:
    """Yield every vector whose scores moved by at most ``sensitivity``, each on its own."""
    moves = range(-sensitivity, sensitivity + 1)
    for move in itertools.product(moves, repeat=len(scores)):
        yield tuple(s + m for s, m in zip(scores, move, strict=True))


def corner_scores(scores: Scores, sensitivity: int) -> Iterator[Scores]:
    """Yield the vectors whose scores all moved as far as they can, each up or down."""
    for signs in itertools.product((-sensitivity, sensitivity), repeat=len(scores)):
        yield tuple(s + m for s, m in zip(scores, signs, strict=True))


def small_vectors(candidates: int, spread: int) -> Iterator[Scores]:
    """Yield all score vectors up to a common shift: the least score is zero."""
    return level_vectors(candidates, range(spread + 1))


def level_vectors(candidates: int, levels: Iterable[int]) -> Iterator[Scores]:
    """Yield all vectors of the given levels, of which the least is zero, that have a zero."""
    for scores in itertools.product(tuple(levels), repeat=candidates):
        if min(scores) == 0:
            yield scores


def small_tables(values: int, most: int) -> list[Counts]:
    """Return all tables of at most so many records over so many values."""
    return [c for c in itertools.product(range(most + 1), repeat=values) if sum(c) <= most]


def neighbouring_tables(counts: Counts, relation: Relation | str) -> Iterator[Counts]:
    """Yield every table one edit away."""
    for i in range(len(counts)):
        moves: list[dict[int, int]] = []
        if not Relation(relation).rows_public:
            moves += [{i: 1}] + ([{i: -1}] if counts[i] else [])
        if Relation(relation).keeps_places:  # in a part of a table a record may do either
            moves += [{i: -1, j: 1} for j in range(len(counts)) if j != i and counts[i]]
        for move in moves:
            yield tuple(c + move.get(place, 0) for place, c in enumerate(counts))


def far_tables(values: int, rows: int = FAR) -> Iterator[Counts]:
    """Yield tables with many records at one value, at two of them, and at two but for a few."""
    for first, second in itertools.product(range(values), repeat=2):
        for moved in (0, 1, rows // 2):
            table = [0] * values
            table[first] += rows - moved
            table[second] += moved
            yield tuple(table)


def pairs_of_tables(relation: Relation | str, values: int = 3, most: int = 4) -> Pairs:
    """Return all neighbours of all small tables and of a few with many records; none is empty."""

    def pairs() -> Iterator[tuple[Counts, Counts]]:
        for counts in dict.fromkeys([*far_tables(values), *small_tables(values, most)]):
            for other in neighbouring_tables(counts, relation):
                if sum(counts) and sum(other):
                    yield counts, other

    return pairs


def pairs_of_scores(
    sensitivity: int,
    candidates: int = 3,
    levels: Iterable[int] = (0, 1, 2, FAR),
    moved: Callable[[Scores, int], Iterable[Scores]] = corner_scores,
) -> Pairs:
    """Return score vectors of some levels, in units of the sensitivity, with their neighbours."""
    steps = tuple(level * sensitivity for level in levels)

    def pairs() -> Iterator[tuple[Scores, Scores]]:
        for scores in level_vectors(candidates, steps):
            for other in moved(scores, sensitivity):
                yield scores, other

    return pairs
