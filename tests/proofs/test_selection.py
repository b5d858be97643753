"""Choices by whole scores: how far scores move, and what that costs, for all scores."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from flint import arb

from discreet.mechanisms.selection.basic import AboveThreshold, ExponentialMechanism
from discreet.mechanisms.selection.pairs.pair_scores import STEPS_PER_RECORD, certify_scores
from discreet.mechanisms.selection.pick import Selection
from discreet.mechanisms.selection.propose_test_release import SupportTest
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.mechanisms.smooth.noisy_max import score_stability
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.oracles.selection import ScriptedNoise
from tests.proofs.machine.cases import code_agrees, small_floats
from tests.proofs.machine.reading import SYMBOL_ARRAYS, Row, Symbols
from tests.proofs.machine.solver import counterexample, greatest, proved, size_of

EPSILONS = small_floats(-8, 4)


def ratio_facts() -> tuple[list[Any], list[Any]]:
    """Return the ratio of a candidate's weights, both sums of weights and exp(D / scale)."""
    ratio, total, other_total, factor = z3.Reals("ratio total other_total factor")
    moved = [factor >= 1, ratio * factor >= 1, ratio <= factor]
    sums = [total > 0, other_total > 0, total <= factor * other_total, other_total <= factor * total]
    return [ratio, total, other_total, factor], [*moved, *sums]


@pytest.mark.checks("exponential")
def test_the_exponential_mechanism_loses_twice_the_move_of_a_score() -> None:
    (ratio, total, other_total, factor), facts = ratio_facts()
    # Sums of weights move by no more than a weight does: by induction, for any number of candidates.
    weight, share = z3.Reals("weight share")
    one_more = [weight > 0, share * factor >= 1, share <= factor]
    proved(total + weight <= factor * (other_total + share * weight), *facts, *one_more)
    proved(other_total + share * weight <= factor * (total + weight), *facts, *one_more)
    law_ratio = ratio * total / other_total
    proved(z3.And(law_ratio <= factor**2, law_ratio * factor**2 >= 1), *facts)
    # Bounded range: of two candidates the ratios differ by a factor of exp(2 D / scale) at most.
    proved(ratio <= factor**2 * share, *facts, *one_more)
    sensitivity, epsilon = z3.Reals("sensitivity epsilon")
    scale = Symbols().read(Selection.scale)(SimpleNamespace(sensitivity=sensitivity, epsilon=epsilon))
    proved(2 * (sensitivity / scale) == epsilon, sensitivity > 0, epsilon > 0)
    code_agrees(itertools.product(EPSILONS, (1, 3, 1024)), lambda pair: costs_epsilon(*pair))


def costs_epsilon(epsilon: float, moved: int) -> bool:
    """Say whether the float that is the scale loses no more than epsilon, as it is and as written."""
    loss = 2 * moved / Fraction(ExponentialMechanism(moved, epsilon).scale)
    return loss <= Fraction(epsilon) and loss <= Fraction(Decimal(repr(epsilon)))


@pytest.mark.refutes("exponential")
def test_the_exponential_mechanism_without_its_factor_of_two_is_refuted() -> None:
    (ratio, total, other_total, factor), facts = ratio_facts()
    counterexample(ratio * total / other_total <= factor, *facts)


def gap_facts() -> tuple[Any, Any, list[Any]]:
    """Return the place of a winner's noise, how far it is shifted, and what neighbours may do."""
    place, gap = z3.Reals("place gap")
    most = z3.Int("most")
    scores, others = (z3.Ints(f"{name}0 {name}1 {name}2") for name in ("score", "other"))
    noises = z3.Reals("noise1 noise2")
    rival, other_rival = (
        greatest(*(z3.ToReal(s) + z for s, z in zip(row[1:], noises, strict=True)))
        for row in (scores, others)
    )
    moved = [size_of(s - o) <= most for s, o in zip(scores, others, strict=True)]
    shift = (other_rival - z3.ToReal(others[0])) - (rival - z3.ToReal(scores[0]))
    return place, shift, [*moved, most >= 1, place == rival + gap - z3.ToReal(scores[0])]


@pytest.mark.checks("free-gap")
def test_the_winners_noise_is_shifted_by_two_moves_and_so_is_its_whole_part() -> None:
    place, shift, facts = gap_facts()
    most = z3.Int("most")
    proved(size_of(shift) <= 2 * z3.ToReal(most), *facts)
    whole, other = z3.ToInt(place), z3.ToInt(place + shift)
    proved(size_of(other - whole) <= 2 * most, size_of(shift) <= 2 * z3.ToReal(most), *facts)
    sensitivity, epsilon = z3.Reals("sensitivity epsilon")
    scale = Symbols().read(Selection.scale)(SimpleNamespace(sensitivity=sensitivity, epsilon=epsilon))
    proved(2 * sensitivity / scale <= epsilon, sensitivity > 0, epsilon > 0)


@pytest.mark.refutes("free-gap")
def test_a_gap_priced_by_the_winners_own_move_is_refuted() -> None:
    _, shift, facts = gap_facts()
    counterexample(size_of(shift) <= z3.ToReal(z3.Int("most")), *facts)


def threshold_facts() -> tuple[list[Any], list[Any]]:
    score, other, noise, threshold, drawn, most = z3.Ints("score other noise threshold drawn most")
    return [score, other, noise, threshold + drawn, most], [size_of(score - other) <= most, most >= 1]


@pytest.mark.checks("above-threshold")
def test_one_shift_of_the_threshold_and_one_of_the_winner_align_two_tables() -> None:
    (score, other, noise, noisy, most), facts = threshold_facts()
    proved(other + noise < noisy + most, *facts, score + noise < noisy)
    proved(other + noise + 2 * most >= noisy + most, *facts, score + noise >= noisy)
    code_agrees(itertools.product(EPSILONS, (1, 5)), lambda pair: threshold_cost(*pair) <= pair[0])


def threshold_cost(epsilon: float, moved: int) -> Fraction:
    """Return what the shifts cost with the scales that the release asks its source for."""
    source = ScriptedNoise((0, 0, 0))
    AboveThreshold(moved, epsilon).release(np.array([0, 0]), 10, source)
    threshold, first, second = (Fraction(scale) for scale in source.scales)
    assert first == second
    return moved / threshold + 2 * moved / first


@pytest.mark.refutes("above-threshold")
def test_scores_shifted_as_little_as_the_threshold_are_refuted() -> None:
    (score, other, noise, noisy, most), facts = threshold_facts()
    counterexample(other + noise + most >= noisy + most, *facts, score + noise >= noisy)
    private_threshold = z3.Int("moved_threshold")
    drifting = size_of(private_threshold - noisy) <= most
    counterexample(other + noise < private_threshold + most, *facts, drifting, score + noise < noisy)


def support_test(moved: int, epsilon: float = 1.0, delta: float = 1e-6) -> SupportTest:
    certificate = Certificate(
        ("ptr",), 3, {REPLACE_ONE: Bounds(3.0 * moved, 2.0 * moved, float(moved))}
    )
    return SupportTest(certificate, REPLACE_ONE, epsilon, delta, 1.0, 4)


def read_distance(moved: int, score: Any, threshold: Any) -> Any:
    """Return the code's distance to another support, for one symbolic score."""
    read = Symbols().read(SupportTest.distance, **SYMBOL_ARRAYS)
    told = SimpleNamespace(threshold=threshold, sensitivity=support_test(moved).sensitivity)
    return read(told, Row(score))


def support_facts(priced: int, moved: int) -> tuple[list[Any], list[Any]]:
    """Return both distances, priced for one move of a score, while another one happens."""
    score, other, threshold = z3.Ints("score other threshold")
    gammas = [read_distance(priced, s, threshold) for s in (score, other)]
    same = (size_of(score) > threshold) == (size_of(other) > threshold)
    return [*gammas, same], [size_of(score - other) <= moved, threshold >= 0]


@pytest.mark.checks("ptr")
def test_the_distance_to_another_support_moves_by_one_and_is_zero_at_its_edge() -> None:
    for moved in (1, 2, 3, 8, 1000):
        (gamma, other_gamma, same), facts = support_facts(moved, moved)
        proved(z3.And(gamma >= 0, size_of(gamma - other_gamma) <= 1), *facts)
        proved(gamma == 0, *facts, z3.Not(same))
    # For any number of steps: the quotient is a real number that moves by one, and so does its ceiling.
    before, after, up_before, up_after = *z3.Reals("before after"), *z3.Ints("up_before up_after")
    ceilings = [z3.And(q - 1 < x, x <= q) for q, x in ((up_before, before), (up_after, after))]
    proved(size_of(up_before - up_after) <= 1, *ceilings, size_of(before - after) <= 1)
    deltas = (1e-3, 1e-9, 0.25, 2.0**-30)
    code_agrees(itertools.product(small_floats(-5, 2, 3), deltas), lambda pair: has_right_limit(*pair))


def has_right_limit(epsilon: float, delta: float) -> bool:
    """Say whether noise exceeds the limit with a chance of at most delta, and two less with more."""
    limit, q = support_test(1, epsilon, delta).limit, (-arb(epsilon)).exp()
    exceeds = [q ** (limit + 1 - less) / (1 + q) for less in (0, 2)]
    return bool(exceeds[0] <= arb(delta)) and (limit == 0 or bool(exceeds[1] > arb(delta)))


@pytest.mark.refutes("ptr")
def test_a_distance_that_is_rounded_up_once_more_is_refuted() -> None:
    (gamma, _, same), facts = support_facts(3, 3)
    counterexample(gamma + 1 == 0, *facts, z3.Not(same))
    (gamma, other_gamma, same), facts = support_facts(2, 5)
    counterexample(size_of(gamma - other_gamma) <= 1, *facts)
    counterexample(gamma == 0, *facts, z3.Not(same))


def stability_facts() -> tuple[list[Any], Any, list[Any]]:
    """Return the slacks of two rivals before and after an edit, in units of a difference's move."""
    scores, others = (z3.Ints(f"{name}0 {name}1 {name}2") for name in ("score", "other"))
    move = z3.Int("move")
    pairs = [(i, j) for i in range(3) for j in range(i)]
    moved = [size_of((scores[i] - scores[j]) - (others[i] - others[j])) <= move for i, j in pairs]
    return [scores, others], move, [*moved, move >= 1]


def slack(scores: Any, winner: int, rival: int) -> Any:
    return scores[winner] - scores[rival] - (1 if rival < winner else 0)


def wins(scores: Any, winner: int) -> Any:
    return z3.And(*(slack(scores, winner, rival) >= 0 for rival in range(3) if rival != winner))


@pytest.mark.checks("gap-stability")
def test_a_gap_in_moves_is_a_stability() -> None:
    (scores, others), move, facts = stability_facts()
    for winner, rival in itertools.permutations(range(3), 2):
        before, after = slack(scores, winner, rival), slack(others, winner, rival)
        proved(size_of(before - after) <= move, *facts)
        proved(after >= 0, *facts, before >= move)
    x, y, low, high = *z3.Reals("x y"), *z3.Ints("low high")
    floors = [z3.And(n <= r, r < n + 1) for n, r in ((low, x), (high, y))]
    proved(size_of(low - high) <= 1, *floors, size_of(x - y) <= 1)
    code_agrees(
        itertools.product(itertools.product(range(6), repeat=3), (1, 2, 3)),
        lambda case: score_stability(np.array(case[0]), case[1]) == modelled_stability(*case),
    )


def modelled_stability(scores: tuple[int, ...], move: int) -> tuple[int, int]:
    winner = scores.index(max(scores))
    return winner, min(slack(scores, winner, rival) // move for rival in range(3) if rival != winner)


@pytest.mark.refutes("gap-stability")
def test_the_plain_gap_is_no_stability_where_a_rival_wins_ties() -> None:
    (scores, others), move, facts = stability_facts()
    winner = 2
    gaps = z3.And(*(scores[winner] - scores[rival] >= move for rival in (0, 1)))
    counterexample(wins(others, winner), *facts, gaps)


@pytest.mark.checks("quantiles")
def test_a_record_more_moves_the_score_of_a_cut_by_the_larger_side() -> None:
    left, parts, distance = z3.Ints("left parts distance")
    read = Symbols().read(QuantileNoise.pick, ExponentialMechanism=lambda moved, share: (moved, share))
    share, moves = z3.Reals("share moves")
    moved, each = read(SimpleNamespace(share=share, moves=moves, step=1.0), left, parts)
    given = [left >= 1, left < parts]
    for step in (parts - left, -left):  # the record is below the point, or not
        proved(size_of(size_of(distance + step) - size_of(distance)) <= moved, *given)
    proved(moves * each == share, moves > 0)
    assert {QuantileNoise.moves.fget(quantile_noise(r)) for r in (ADD_REMOVE, REPLACE_ONE)} == {1, 2}


def quantile_noise(relation: Any) -> Any:
    bounds = {ADD_REMOVE: Bounds(1.0, 1.0, 1.0), REPLACE_ONE: Bounds(2.0, 1.5, 1.0)}
    return SimpleNamespace(certificate=Certificate(("histogram",), 4, bounds), relation=relation)


@pytest.mark.refutes("quantiles")
def test_ranks_counted_over_the_whole_table_move_further() -> None:
    left, parts, distance = z3.Ints("left parts distance")
    read = Symbols().read(QuantileNoise.pick, ExponentialMechanism=lambda moved, share: moved)
    moved = read(SimpleNamespace(share=z3.RealVal(1), moves=z3.RealVal(1), step=1.0), left, parts)
    # A replaced record moves the rank of a point by one, and the number of records not at all.
    counterexample(
        size_of(size_of(distance + parts) - size_of(distance)) <= moved, left >= 1, left < parts
    )


@pytest.mark.checks("tree-score")
def test_the_distance_of_counts_from_fixed_tables_moves_by_one_a_record() -> None:
    unit, (first, second, e, f) = STEPS_PER_RECORD, z3.Ints("first second e f")
    bounds = certify_scores(1).bounds

    def score(a: Any, b: Any) -> Any:
        return size_of(unit * a - e) + size_of(unit * b - f)

    replaced = size_of(score(first - 1, second + 1) - score(first, second))
    proved(replaced <= int(bounds[REPLACE_ONE].linf * unit))
    proved(
        size_of(score(first + 1, second) - score(first, second)) <= int(bounds[ADD_REMOVE].linf * unit)
    )


@pytest.mark.refutes("tree-score")
def test_one_record_for_a_replaced_one_is_refuted() -> None:
    unit, (first, second, e, f) = STEPS_PER_RECORD, z3.Ints("first second e f")
    before = size_of(unit * first - e) + size_of(unit * second - f)
    after = size_of(unit * (first - 1) - e) + size_of(unit * (second + 1) - f)
    counterexample(size_of(after - before) <= int(certify_scores(1).bounds[ADD_REMOVE].linf * unit))
