"""Finite laws and finite worlds: every case is looked at, in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeVar

Case = TypeVar("Case")


def every_case(cases: Iterable[Case], holds: Callable[[Case], bool]) -> int:
    """Fail unless every case holds; return how many there were, which is more than none."""
    seen = 0
    for case in cases:
        assert holds(case), f"fails at {case}"
        seen += 1
    assert seen, "there is no case"
    return seen


def code_agrees(cases: Iterable[Case], agrees: Callable[[Case], bool]) -> None:
    """Fail unless code and model agree on every case: small floats, small tables, ends of ranges.

    It does not cover all values, so by itself it checks no statement.
    """
    every_case(cases, agrees)


def failing_case(cases: Iterable[Case], holds: Callable[[Case], bool]) -> Case:
    """Return the first case that does not hold, or fail if all do."""
    for case in cases:
        if not holds(case):
            return case
    raise AssertionError("every case holds")


def small_floats(least: int = -8, most: int = 8, bits: int = 4) -> list[float]:
    """Return all positive floats with few digits and exponents in a range, and their neighbours."""
    whole = [
        m * 2.0**e for m in range(2**bits, 2 ** (bits + 1)) for e in range(least - bits, most - bits)
    ]
    return sorted({x for w in whole for x in (math.nextafter(w, 0), w, math.nextafter(w, math.inf))})


def tables(cells: int, rows: int) -> Iterator[tuple[int, ...]]:
    """Return every vector of counts with so many cells and records."""
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        ends = (-1, *bars, rows + cells - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


def replacements(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Return every table in which one record is in another cell."""
    for source, target in itertools.permutations(range(len(counts)), 2):
        if counts[source]:
            moved = list(counts)
            moved[source] -= 1
            moved[target] += 1
            yield tuple(moved)


def additions(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Return every table with one record more."""
    for target in range(len(counts)):
        yield (*counts[:target], counts[target] + 1, *counts[target + 1 :])


def coalitions(players: int) -> list[frozenset[int]]:
    """Return all coalitions, by size."""
    return [frozenset(c) for k in range(players + 1) for c in itertools.combinations(range(players), k)]


def shapley_weight(size: int, players: int) -> Fraction:
    """Return the weight of joining a coalition of so many others."""
    return Fraction(1, players * math.comb(players - 1, size))


def shapley_row(player: int, players: int) -> dict[frozenset[int], Fraction]:
    """Return the coefficients of one player's Shapley value in the values of all coalitions."""
    row = {}
    for coalition in coalitions(players):
        inside = player in coalition
        weight = shapley_weight(len(coalition) - inside, players)
        row[coalition] = weight if inside else -weight
    return row
