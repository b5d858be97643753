"""What models and valuations add up: trees, stumps, linear models, marginals of coalitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from flint import arb

from discreet.explain.shap.bounds.operator import (
    bound_linear_background,
    bound_stumps,
    stump_sensitivity,
)
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.trees.scores import STEPS_PER_RECORD, Criterion, last_log_step
from discreet.value.engines.layered import stated_error
from discreet.value.engines.neighbours import value_from_counts
from discreet.value.private_design import marginal_widths
from tests.proofs.machine.balls import fails_somewhere, holds_everywhere, slope
from tests.proofs.machine.cases import (
    code_agrees,
    every_case,
    failing_case,
    shapley_weight,
    small_floats,
)
from tests.proofs.machine.reading import SYMBOL_ARRAYS, Row, Symbols, read_over_balls
from tests.proofs.machine.solver import counterexample, exact, greatest, least, proved, size_of


@pytest.mark.checks("tree-utility")
def test_every_criterion_moves_inside_its_interval() -> None:
    a, squares, n, rest, before, after = z3.Reals("a squares n rest before after")
    unit = STEPS_PER_RECORD
    gini, norm = Criterion("gini", 100), Criterion("norm", 100)
    change = (squares + 2 * a + 1) / (n + 1) - squares / n
    counts = [n >= 1, a >= 0, a <= n, a**2 <= squares, squares <= n**2]
    # Rounding down widens each end by a step at most, which is in the code's numbers.
    proved(change * unit <= exact(gini.rise - 1), *counts)
    proved(-change * unit <= exact(gini.fall - 1), *counts)
    cubes = [
        before**3 == rest + a**3,
        after**3 == rest + (a + 1) ** 3,
        before >= 0,
        after >= 0,
        rest >= 0,
        a >= 0,
    ]
    proved(z3.And(after >= before, (after - before) * unit <= exact(norm.rise - 1)), *cubes)
    x, y = z3.Ints("x y")
    rise = greatest(x + 1, y) - greatest(x, y)
    proved(z3.And(rise >= -Criterion("max", 9).fall, rise * unit <= Criterion("max", 9).rise))
    # Information gain: steps of x log2 x rise, so a class' step is at most its node's and the last one.
    holds_everywhere(lambda cap: slope(read_over_balls(last_log_step), cap), (2.0, 2.0**32))
    caps = [*range(2, 2000), 2**16, 2**31]
    code_agrees(caps, lambda cap: Criterion("gain", cap).fall - 1 >= arb(unit) * log_step(cap))


def log_step(cap: int) -> Any:
    return (cap * arb(cap).log() - (cap - 1) * (arb(cap - 1).log() if cap > 2 else arb(0))) / arb(
        2
    ).log()


@pytest.mark.refutes("tree-utility")
def test_the_interval_of_max_is_too_short_for_gini() -> None:
    a, squares, n = z3.Reals("a squares n")
    change = (squares + 2 * a + 1) / (n + 1) - squares / n
    counts = [n >= 1, a >= 0, a <= n, a**2 <= squares, squares <= n**2]
    counterexample(-change * STEPS_PER_RECORD <= Criterion("max", 9).fall, *counts)
    fails_somewhere(
        lambda cap: cap.log() / arb(2).log() - read_over_balls(last_log_step)(cap), (2.0, 9.0)
    )


@pytest.mark.checks("stump-margin")
def test_a_stump_moves_by_its_weight_and_not_at_all_far_from_its_threshold() -> None:
    weight, threshold, mean, other, step = z3.Reals("weight threshold mean other step")
    before, after = (weight * z3.If(m > threshold, 1, 0) for m in (mean, other))
    proved(size_of(before - after) <= size_of(weight))
    names = {**SYMBOL_ARRAYS, "_mean_step": lambda *_: step}
    near = Symbols().read(stump_sensitivity, **names)
    moved = near(Row(weight), Row(threshold), Row(mean), clip=1.0, rows=1)[0]
    proved(size_of(before - after) <= moved, size_of(mean - other) <= step, step >= 0)
    floats = small_floats(-4, 4, 2)
    code_agrees(
        floats, lambda u: bound_stumps(np.array([u, 1.0])).bounds[ADD_REMOVE].l1 >= Fraction(u) + 1
    )


@pytest.mark.refutes("stump-margin")
def test_a_stump_that_is_divided_by_the_number_of_records_is_refuted() -> None:
    weight, threshold, mean, other, rows = z3.Reals("weight threshold mean other rows")
    before, after = (weight * z3.If(m > threshold, 1, 0) for m in (mean, other))
    close = [size_of(mean - other) <= 2 / rows, rows >= 2]
    counterexample(size_of(before - after) <= size_of(weight) / rows, *close)


@pytest.mark.checks("shap-linear-background")
def test_a_linear_models_values_move_by_its_greatest_weight_times_the_ball() -> None:
    w, v, u, x, most, product = z3.Reals("w v u x most product")
    # One more coordinate at a time: squares of w v are at most those of v times the greatest of w^2.
    proved(u + (w * v) ** 2 <= most**2 * (x + v**2), u <= most**2 * x, size_of(w) <= most)
    # The sum of |w v| by Cauchy and Schwarz, one more coordinate at a time.
    before = [product**2 <= u * x, u >= 0, x >= 0]
    proved((product + size_of(w * v)) ** 2 <= (u + w**2) * (x + v**2), *before, product >= 0)
    weights = np.array([3.0, -4.0])
    told = bound_linear_background(weights, clip=2.0).bounds[REPLACE_ONE]
    apart = [v**2 + x**2 <= 16]
    proved(size_of(3 * v) + size_of(4 * x) <= exact(told.l1), *apart)
    proved((3 * v) ** 2 + (4 * x) ** 2 <= exact(told.l2) ** 2, *apart)
    proved(greatest(size_of(3 * v), size_of(4 * x)) <= exact(told.linf), *apart)


@pytest.mark.refutes("shap-linear-background")
def test_a_ball_taken_once_is_too_small_for_a_replacement() -> None:
    v, x = z3.Reals("v x")
    told = bound_linear_background(np.array([3.0, -4.0]), clip=1.0).bounds[REPLACE_ONE]
    counterexample((3 * v) ** 2 + (4 * x) ** 2 <= exact(told.l2) ** 2, v**2 + x**2 <= 16)


@pytest.mark.checks("shapley-design")
def test_clipped_marginals_move_by_their_range_or_by_their_utilities() -> None:
    first, second, clip, step, later = z3.Reals("first second clip step later")

    def clipped(x: Any) -> Any:
        return greatest(-clip, least(clip, x))

    moved = size_of(clipped(first) - clipped(second))
    proved(moved <= least(2 * clip, size_of(first - second)), clip >= 0)
    utilities = [z3.Real(name) for name in ("with_i", "without_i", "with_i_after", "without_i_after")]
    moves = [
        size_of(utilities[0] - utilities[2]) <= later,
        size_of(utilities[1] - utilities[3]) <= step,
    ]
    difference = (utilities[0] - utilities[1]) - (utilities[2] - utilities[3])
    proved(size_of(difference) <= step + later, *moves)
    stability = SimpleNamespace(replacement=lambda sizes: 4.0 / sizes)
    pair, own = marginal_widths(np.array([1.0, 1.5, 0.25]), stability)
    assert pair.tolist() == [2.0, 3.0, 0.5] and own.tolist() == [2.0, 2.0, 0.5]
    assert marginal_widths(np.array([1.0, 1.5]), None)[0].tolist() == [2.0, 3.0]


@pytest.mark.refutes("shapley-design")
def test_the_clip_itself_is_not_the_range_of_a_marginal() -> None:
    first, second, clip = z3.Reals("first second clip")
    moved = greatest(-clip, least(clip, first)) - greatest(-clip, least(clip, second))
    counterexample(size_of(moved) <= clip, clip > 0)


@pytest.mark.checks("hoeffding-weighted")
def test_one_hoeffding_bound_covers_the_weighted_sum_of_all_rounds() -> None:
    """A number in [-c, c] of mean zero has moments below exp(s^2 c^2 / 2), by a curvature of c^2."""
    share, clip, rounds, weight = z3.Reals("share clip rounds weight")
    proved((2 * clip) ** 2 * share * (1 - share) <= clip**2, share >= 0, share <= 1)
    # A layer of r rounds with weight 1 / (n r): squares of half widths add up to c^2 / (n^2 r).
    proved(rounds * (clip * weight / rounds) ** 2 == clip**2 * weight**2 / rounds, rounds >= 1)
    spread, error, slope_ = z3.Reals("spread error slope")
    proved(
        spread * slope_**2 / 2 - error * slope_ == -(error**2) / (2 * spread),
        slope_ == error / spread,
        spread > 0,
    )
    cases = itertools.product(range(3, 9), (0.05, 0.3), (1, 4))
    code_agrees(cases, lambda case: stated_error_holds(*case))


def stated_error_holds(players: int, beta: float, rounds: int) -> bool:
    clips = np.array([1.0 / max(k, 1) for k in range(players)])
    alpha = arb(stated_error(clips, np.full(players, rounds), beta)) * (1 + arb(2) ** -45)
    spread = sum((arb(c) ** 2 / rounds for c in clips[1:-1]), arb(0))
    return bool(2 * (-(alpha**2) * players**2 / (2 * spread)).exp() <= arb(beta))


@pytest.mark.refutes("hoeffding-weighted")
def test_widths_of_one_clip_are_too_narrow() -> None:
    share, clip = z3.Reals("share clip")
    counterexample((2 * clip) ** 2 * share * (1 - share) <= (clip / 2) ** 2, share >= 0, share <= 1)


def owner_value(others: int, right: int, own: int, classes: int) -> Fraction:
    """Return the Shapley value of one record among near ones, over all coalitions by their counts."""
    total, players = Fraction(0), others + 1
    for a, b in itertools.product(range(right + 1), range(others - right + 1)):
        k = a + b
        before = Fraction(a, k) if k else Fraction(1, classes)
        count = math.comb(right, a) * math.comb(others - right, b)
        total += count * shapley_weight(k, players) * (Fraction(a + own, k + 1) - before)
    return total


OWNERS = [(o, r, e, c) for o in range(9) for r in range(o + 1) for e in (0, 1) for c in (2, 3, 5)]


@pytest.mark.checks("tknn-owner")
def test_an_owners_value_from_counts_is_the_shapley_value() -> None:
    every_case(
        OWNERS, lambda case: abs(float(value_from_counts(*case)) - float(owner_value(*case))) < 1e-12
    )


@pytest.mark.refutes("tknn-owner")
def test_a_value_that_counts_its_own_record_among_the_others_is_refuted() -> None:
    assert failing_case(
        OWNERS,
        lambda c: (
            abs(float(value_from_counts(c[0] + 1, c[1] + c[2], *c[2:])) - float(owner_value(*c)))
            < 1e-12
        ),
    ) == (0, 0, 0, 2)
