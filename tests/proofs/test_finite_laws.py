"""Laws and worlds small enough to go through, in exact numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import z3

from discreet.mechanisms.selection.basic import PermuteAndFlip
from discreet.mechanisms.selection.dampening import PARTS, LocalDampening
from discreet.mechanisms.smooth.tables import WHOLE, StabilityTable, stability_table
from tests.proofs.machine.cases import code_agrees, every_case, failing_case
from tests.proofs.machine.solver import counterexample, greatest, proved


def table_laws(table: StabilityTable) -> Iterator[tuple[list[int], list[int]]]:
    """Return the laws, in chances, of every pair of neighbours: one winner or two, either way."""
    laws = [[table.top(s), *[table.other[s]] * (table.candidates - 1)] for s in range(len(table.other))]
    swapped = [laws[0][1], laws[0][0], *laws[0][2:]]
    yield from itertools.permutations((laws[0], swapped), 2)
    for pair in itertools.pairwise(laws):
        yield from itertools.permutations(pair, 2)


def keeps_every_event(table: StabilityTable, epsilon: float, delta: float) -> bool:
    """Say whether no event of any pair exceeds the promise, event by event."""
    factor, spare = Fraction(math.exp(epsilon)), Fraction(delta) * WHOLE
    for law, other in table_laws(table):
        for event in itertools.product((0, 1), repeat=table.candidates):
            first, second = (sum(itertools.compress(chances, event)) for chances in (law, other))
            if first - factor * second > spare:
                return False
    return True


TABLES = [
    (StabilityTable(candidates, tuple(WHOLE // 40 * c for c in chances)), epsilon, delta)
    for candidates in (2, 3)
    for chances in itertools.combinations(range(12, 0, -2), 2)
    for epsilon, delta in itertools.product((0.3, 0.8, 1.5), (0.0, 0.07))
]


@pytest.mark.checks("snm-exact")
def test_a_table_keeps_what_every_event_of_every_pair_keeps() -> None:
    every_case(TABLES, lambda case: case[0].keeps(*case[1:]) == keeps_every_event(*case))
    assert {case[0].keeps(*case[1:]) for case in TABLES} == {True, False}


@pytest.mark.refutes("snm-exact")
def test_a_table_that_looks_at_the_winner_alone_is_refuted() -> None:
    def winner_alone(case: tuple[StabilityTable, float, float]) -> bool:
        table, epsilon, delta = case
        tops = [table.top(s) / WHOLE for s in range(len(table.other))]
        kept = all(b <= math.exp(epsilon) * a + delta for a, b in itertools.permutations(tops, 2))
        return keeps_every_event(*case) or not kept

    failing_case(TABLES, winner_alone)


def ladder_symbols() -> tuple[list[Any], list[Any]]:
    """Return chances of the winner and of a miss in two states, misses, exp(epsilon) and delta."""
    top, other, next_top, next_other = z3.Reals("top other next_top next_other")
    others, factor, delta = z3.Reals("others factor delta")
    sizes = [others >= 1, factor > 1, delta >= 0, delta < 1]
    laws = [p + others * o == 1 for p, o in ((top, other), (next_top, next_other))]
    signs = [x >= 0 for x in (top, other, next_top, next_other)]
    return [top, other, next_top, next_other, others, factor, delta], [*sizes, *laws, *signs]


def next_misses(top: Any, factor: Any, delta: Any) -> Any:
    """Return the least chance of all misses together that the state before allows."""
    fallen = (1 - top - delta) / factor
    return greatest(fallen, 1 - factor * top - delta, z3.RealVal(0))


@pytest.mark.checks("stability-ladder")
def test_no_law_has_a_likelier_winner_than_the_table() -> None:
    (top, other, next_top, next_other, others, factor, delta), given = ladder_symbols()
    proved(other >= (1 - delta) / (others + factor), *given, top - factor * other <= delta)
    private = [next_top - factor * top <= delta, others * (other - factor * next_other) <= delta]
    proved(others * next_other >= next_misses(top, factor, delta), *given, *private)
    lower = z3.Real("lower")
    proved(
        next_misses(lower, factor, delta) >= next_misses(top, factor, delta),
        *given,
        lower <= top,
    )
    terms = itertools.product((2, 3, 50), (0.2, 1.0), (0.0, 1e-6))
    code_agrees(terms, lambda case: is_the_ladder(*case))


def is_the_ladder(candidates: int, epsilon: float, delta: float) -> bool:
    """Say whether the code's states are those of the formula, to a few chances out of 2^62."""
    table, factor = (
        stability_table("stability", candidates, epsilon, delta),
        Fraction(math.exp(epsilon)),
    )
    others, spare = candidates - 1, Fraction(delta)
    wanted = (1 - spare) / (others + factor)
    for s, chances in enumerate(table.other[:40]):
        if not abs(Fraction(chances, WHOLE) - wanted) < Fraction(1, 10**12):
            return False
        top = Fraction(table.top(s), WHOLE)
        wanted = max((1 - top - spare) / factor, 1 - factor * top - spare, Fraction(0)) / others
    return True


@pytest.mark.refutes("stability-ladder")
def test_a_state_improved_by_a_thousandth_breaks_the_promise() -> None:
    (top, other, _, _, others, factor, delta), given = ladder_symbols()
    better = other >= (1 - delta) / (others + factor) * z3.Q(1001, 1000)
    counterexample(better, *given, top - factor * other <= delta)
    table = stability_table("stability", 5, 1.0)
    states = range(min(6, len(table.other)))
    failing_case(states, lambda s: improved(table, s).keeps(1.0))


def improved(table: StabilityTable, state: int) -> StabilityTable:
    chances = list(table.other)
    chances[state] -= chances[state] // 1000
    return StabilityTable(table.candidates, tuple(chances))


ROWS = list(itertools.product(range(4), repeat=2))
UTILITIES = np.arange(-9, 10)


def dampened_pairs() -> Iterator[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Return utilities and admissible sensitivities of two neighbours, all small ones there are."""
    for here, there in itertools.product(ROWS, repeat=2):
        if here[1] >= there[0] and there[1] >= here[0]:
            for u, change in itertools.product(UTILITIES.tolist(), range(-3, 4)):
                if abs(change) <= min(here[0], there[0]) and abs(u + change) <= 9:
                    yield u, u + change, here, there


@cache
def dampened(row: tuple[int, ...]) -> dict[int, int]:
    scores = LocalDampening(1.0, beyond=3).scores(UTILITIES, np.array([row]))
    return dict(zip(UTILITIES.tolist(), scores.tolist(), strict=True))


@pytest.mark.checks("dampening")
def test_dampened_utilities_move_by_one_edit() -> None:
    every_case(dampened_pairs(), lambda c: abs(dampened(c[2])[c[0]] - dampened(c[3])[c[1]]) <= PARTS)


@pytest.mark.refutes("dampening")
def test_sensitivities_that_are_not_admissible_are_refuted() -> None:
    rows = [(here, there) for here, there in itertools.product(ROWS, repeat=2) if here[0] and there[0]]
    pairs = ((u, u + 1, *both) for both in rows for u in range(-9, 9))
    failing_case(pairs, lambda c: abs(dampened(c[2])[c[0]] - dampened(c[3])[c[1]]) <= PARTS)


@cache
def flip_law(scores: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Return the law of permute-and-flip where a step halves a chance, from every set of ones."""
    best, law = max(scores), [Fraction(0)] * len(scores)
    accept = [Fraction(1, 2 ** (best - s)) for s in scores]
    for ones in itertools.product((0, 1), repeat=len(scores)):
        if any(ones):
            chances = [a if one else 1 - a for a, one in zip(accept, ones, strict=True)]
            chance = math.prod(chances, start=Fraction(1))
            for i in np.flatnonzero(ones):
                law[i] += chance / sum(ones)
    return tuple(law)


def moved_scores(most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for size, spread in ((2, 5), (3, 4)):
        for scores in itertools.product(range(spread), repeat=size):
            for moves in itertools.product(range(-most, most + 1), repeat=size):
                yield scores, tuple(s + m for s, m in zip(scores, moves, strict=True))


HALVING = 1 / math.log(2)


def flips_within(pair: tuple[tuple[int, ...], tuple[int, ...]], factor: int) -> bool:
    return all(a <= factor * b for a, b in zip(*map(flip_law, pair), strict=True))


@pytest.mark.checks("permute-and-flip")
def test_permute_and_flip_loses_two_moves_and_beats_the_exponential_law() -> None:
    every_case(moved_scores(1), lambda pair: flips_within(pair, 4))
    every_case((scores for scores, _ in moved_scores(0)), is_no_worse)
    mechanism = PermuteAndFlip(1, 2 / HALVING)
    assert abs(mechanism.scale - HALVING) < 1e-12
    code_agrees((s for s, _ in moved_scores(0)), lambda s: has_flip_law(mechanism, s))


def has_flip_law(mechanism: PermuteAndFlip, scores: tuple[int, ...]) -> bool:
    exact_law = [float(p) for p in flip_law(scores)]
    return bool(np.allclose(mechanism.probabilities(np.array(scores)), exact_law, atol=1e-12))


def is_no_worse(scores: tuple[int, ...]) -> bool:
    """Say whether every threshold is passed at least as often as by the exponential mechanism."""
    weights = [Fraction(2**s) for s in scores]
    law, other = flip_law(scores), [w / sum(weights) for w in weights]
    return all(
        sum(p for p, s in zip(law, scores, strict=True) if s >= least)
        >= sum(p for p, s in zip(other, scores, strict=True) if s >= least)
        for least in scores
    )


@pytest.mark.refutes("permute-and-flip")
def test_permute_and_flip_without_its_factor_of_two_is_refuted() -> None:
    failing_case(moved_scores(1), lambda pair: flips_within(pair, 2))
