"""Mechanism F: its exact law over all neighbours of tiny universes, and three faults that show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.audit.laws.of_records import attempt_law
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.deniability import (
    DeniabilityTest,
    PlausibleDeniability,
    composed_delta,
    plan_attempts,
)
from discreet.privacy.certificate import certify_cells
from discreet.randomness import SimulatedNoise
from discreet.tables.synthesis.proposals import BallProposal, Draw, Resample

ROWS = 5
PAIR = Resample((0,), (Draw(1, 0, np.array([[3, 1], [1, 4]])),))
TRIPLE = Resample((0, 2), (Draw(1, 2, np.array([[3, 1], [1, 4]])),))
LINE = BallProposal((1,), (4,), 1.4)
WIDE = BallProposal((1,), (4,), 2.0)
CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "resample": (PAIR, (2, 2)),
    "keep two": (TRIPLE, (2, 2, 2)),
    "narrow ball": (LINE, (4,)),
    "wide ball": (WIDE, (4,)),
}
TESTS = {
    "easy": DeniabilityTest(k=3, t=1, gamma=2.0, scale=1.0, rows=ROWS),
    "strict": DeniabilityTest(k=4, t=2, gamma=2.0, scale=2.0, rows=ROWS),
    "sharp": DeniabilityTest(k=3, t=2, gamma=2.0, scale=0.25, rows=ROWS),
}
Passing = Callable[[DeniabilityTest, int], float]


def needed_delta(
    name: str, test: DeniabilityTest, change: Callable[[np.ndarray], np.ndarray], passes: Any
) -> float:
    """The greatest delta that any pair of neighbouring tables needs at the test's epsilon."""
    proposal, sizes = CASES[name]
    universe = list(itertools.product(*(range(size) for size in sizes)))
    laws = {
        table: change(attempt_law(proposal, sizes, table, passes))
        for table in itertools.combinations_with_replacement(range(len(universe)), ROWS)
    }
    worst = 0.0
    for table, first in laws.items():
        for place, new in itertools.product(range(ROWS), range(len(universe))):
            other = laws[tuple(sorted((*table[:place], new, *table[place + 1 :])))]
            worst = max(worst, np.maximum(first - math.exp(test.epsilon) * other, 0).sum())
    return float(worst)


@pytest.mark.proves("deniability")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", TESTS)
def test_no_pair_of_tables_needs_more_than_is_promised(name: str, kind: str) -> None:
    test = TESTS[kind]
    assert needed_delta(name, test, lambda p: p, test.pass_probability) <= test.delta + 1e-12


def bare(test: DeniabilityTest) -> Callable[[int], float]:
    return lambda count: test.pass_probability(count) / (1 - test.forced_failure)


@pytest.mark.refutes("deniability")
def test_null_without_a_forced_failure_is_caught() -> None:
    test = TESTS["sharp"]
    assert needed_delta("resample", test, lambda p: p, bare(test)) > 1.5 * test.delta


@pytest.mark.refutes("deniability")
def test_trying_until_one_passes_is_caught() -> None:
    def renormalised(found: np.ndarray) -> np.ndarray:
        records = found[:-1]
        return records / records.sum()

    test = TESTS["strict"]
    assert needed_delta("resample", test, renormalised, bare(test)) > 2 * test.delta


@pytest.mark.refutes("deniability")
def test_a_threshold_that_is_too_low_is_caught() -> None:
    test = DeniabilityTest(k=3, t=2, gamma=2.0, scale=0.2, rows=ROWS)
    lower = DeniabilityTest(k=1, t=2, gamma=2.0, scale=0.2, rows=ROWS)
    assert needed_delta("resample", test, lambda p: p, lower.pass_probability) > test.delta


@pytest.mark.parametrize("name", CASES)
def test_proposals_have_the_law_they_state(name: str) -> None:
    proposal, sizes = CASES[name]
    source, seed = SimulatedNoise(1), np.zeros(len(sizes), dtype=np.int64)
    drawn = [tuple(proposal.draw(seed, source).tolist()) for _ in range(4_000)]
    universe = itertools.product(*(range(size) for size in sizes))
    exact = {record: proposal.probability(seed, np.array(record)) for record in universe}
    assert sum(exact.values()) == pytest.approx(1)
    for record, chance in exact.items():
        assert drawn.count(record) / len(drawn) == pytest.approx(chance, abs=0.035)


@pytest.mark.proves("deniability")
@pytest.mark.parametrize("name", ["resample", "keep two", "wide ball"])
def test_the_loop_that_runs_has_the_exact_law(name: str) -> None:
    """Chi-squared distances at which a true loop fails once in 10^9, and a shifted one always."""
    proposal, sizes = CASES[name]
    universe = list(itertools.product(*(range(size) for size in sizes)))
    table = tuple(place % len(universe) for place in (0, 0, 1, 1, len(universe) - 1))
    test, times = DeniabilityTest(3, 1, 2.0, 1.5, ROWS), 8_000
    mechanism = PlausibleDeniability(certify_cells(2), test, times, 1.0, 0.1, proposal)
    codes = np.array([universe[place] for place in table])
    drawn = mechanism.release(codes.ravel(), SimulatedNoise(5)).reshape(times, -1)
    passed = drawn[~np.isnan(drawn[:, 0])].astype(np.int64)
    seen = np.bincount(np.ravel_multi_index(passed.T, sizes), minlength=len(universe))
    exact = attempt_law(proposal, sizes, table, test.pass_probability) * times
    counts = np.append(seen, times - len(passed))
    assert np.all(counts[exact == 0] == 0)
    often = exact > 5
    assert distance(counts, exact, often) < 70
    other = DeniabilityTest(2, 1, 2.0, 1.5, ROWS)
    wrong = attempt_law(proposal, sizes, table, other.pass_probability) * times
    assert distance(counts, wrong, often) > 70


def distance(counts: np.ndarray, exact: np.ndarray, often: np.ndarray) -> float:
    return float(np.sum((counts[often] - exact[often]) ** 2 / exact[often]))


@pytest.mark.parametrize("ball", [LINE, WIDE])
def test_a_class_is_no_wider_than_its_factor(ball: BallProposal) -> None:
    chances = {cell: ball.probability(np.array([cell]), np.array([cell])) for cell in range(4)}
    for first, second in itertools.combinations(range(4), 2):
        codes = np.array([[first], [second]])
        alike = ball.plausible(codes, codes[0], codes[0]) == 2
        if alike:
            assert 1 / ball.gamma <= chances[first] / chances[second] <= ball.gamma


def responses(each: float, attempts: int, epsilon: float) -> float:
    """The delta of randomised responses, by every sequence of answers."""
    p = math.exp(each) / (1 + math.exp(each))
    worst = 0.0
    for lies in itertools.product((0, 1), repeat=attempts):
        first = math.prod(1 - p if lie else p for lie in lies)
        second = math.prod(p if lie else 1 - p for lie in lies)
        worst += max(0.0, first - math.exp(epsilon) * second)
    return worst


@pytest.mark.proves("approximate-composition")
@pytest.mark.parametrize("attempts", [1, 2, 5, 9])
@pytest.mark.parametrize("each", [0.1, 0.7, 2.0])
def test_composition_is_that_of_randomised_responses(each: float, attempts: int) -> None:
    for epsilon in (0.0, 0.3, each, 1.5 * each, 0.6 * attempts * each, attempts * each):
        exact = responses(each, attempts, epsilon)
        found = composed_delta(each, 0.0, attempts, epsilon)
        assert exact - 1e-14 <= found <= exact * (1 + 1e-6) + 1e-12
        one = composed_delta(each, 0.01, attempts, epsilon)
        assert one == pytest.approx(1 - 0.99**attempts * (1 - exact), abs=1e-7)


@pytest.mark.refutes("approximate-composition")
def test_the_square_root_rule_without_its_delta_is_caught() -> None:
    each, attempts = 0.5, 16
    assert composed_delta(each, 0.0, attempts, math.sqrt(attempts) * each) > 1e-2


@pytest.mark.parametrize("attempts", [1, 10, 300])
@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_the_planner_meets_its_target_and_wastes_little(attempts: int, gamma: float) -> None:
    test = plan_attempts(attempts, epsilon=2.0, delta=1e-6, gamma=gamma, rows=10_000)
    assert composed_delta(test.epsilon, test.delta, attempts, 2.0) <= 1e-6
    lower = DeniabilityTest(test.k - 2, test.t, gamma, test.scale, 10_000)
    assert composed_delta(lower.epsilon, lower.delta, attempts, 2.0) > 0.5e-6


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="delta must be a positive"):
        plan_attempts(3, epsilon=1.0, delta=0.0, gamma=1.0, rows=10)
    with pytest.raises(ArgumentError, match="rows must be"):
        plan_attempts(3, epsilon=1.0, delta=1e-6, gamma=1.0, rows=1)
