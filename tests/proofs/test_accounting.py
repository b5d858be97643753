"""Conversions, filters and composition: nothing is charged below what was spent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from flint import arb

from discreet.mechanisms.selection.deniability import DeniabilityTest, composed_delta
from discreet.numerics import LARGEST_UNITS, to_budget_units, to_units
from discreet.privacy.accounting.conversion import bounded_range_rho, pure_rho, zcdp_budget, zcdp_delta
from discreet.privacy.accounting.filters import Amount, Filter
from tests.proofs.machine.balls import fails_somewhere, holds_everywhere, slope
from tests.proofs.machine.cases import (
    code_agrees,
    every_case,
    failing_case,
    replacements,
    small_floats,
    tables,
)
from tests.proofs.machine.reading import Symbols, read_over_balls
from tests.proofs.machine.solver import counterexample, proved

ball_rho = read_over_balls(pure_rho)


def response_divergence(epsilon: Any, order: Any) -> Any:
    """Return (order - 1) times the Renyi divergence of randomised response."""
    lies = ((1 - 2 * order) * epsilon).exp().log1p() - (-epsilon).exp().log1p()
    return (order - 1) * epsilon + lies


@pytest.mark.checks("pure-zcdp")
def test_randomised_response_costs_epsilon_tanh_at_every_order() -> None:
    holds_everywhere(
        lambda e, order: order * (order - 1) * ball_rho(e) - response_divergence(e, order),
        (0.8, 20.0),
        (1.4, 40.0),
    )
    # With a = epsilon / 2 the cost is 2 a^2 tanh(x) / x for some x >= a (mean value theorem), so orders
    # near one and small epsilons need that tanh(x) / x falls: it does, and its limit is the code's.
    # Below 0.05 that is plain, as sinh(2 x) - 2 x has positive coefficients alone; beyond 40, as 1 / x.
    tanh = read_over_balls(lambda x: math.tanh(x) / x)
    holds_everywhere(lambda x: -slope(tanh, x), (0.05, 40.0))
    code_agrees(
        small_floats(-10, 6), lambda e: ball_rho(arb(e)).overlaps(arb(e) ** 2 / 2 * tanh(arb(e) / 2))
    )
    code_agrees(small_floats(-10, 6), lambda e: arb(pure_rho(e)) >= ball_rho(arb(e)))


@pytest.mark.refutes("pure-zcdp")
def test_the_cost_of_continuous_laplace_noise_is_too_small() -> None:
    fails_somewhere(
        lambda e, order: order * (order - 1) * (e + (-e).exp() - 1) - response_divergence(e, order),
        (0.5, 4.0),
        (1.01, 2.0),
    )


@pytest.mark.checks("exponential-zcdp")
def test_a_loss_in_an_interval_of_length_epsilon_has_curvature_two_rho() -> None:
    """The logarithm of its moments is zero at 0 and 1, so curvature of 2 rho bounds it elsewhere."""
    epsilon, share, order, height, curve = z3.Reals("epsilon share order height curve")
    rho = Symbols().read(bounded_range_rho)(epsilon)
    proved(epsilon**2 * share * (1 - share) <= 2 * rho, share >= 0, share <= 1, epsilon > 0)
    # A concave function that is zero at 0 and 1 is not above zero at an order beyond.
    concave = (1 - 1 / order) * 0 + height / order <= 0
    proved(height <= 0, concave, order > 1, height == curve - rho * order * (order - 1))
    code_agrees(small_floats(-20, 8), lambda e: Fraction(bounded_range_rho(e)) >= Fraction(e) ** 2 / 8)


@pytest.mark.refutes("exponential-zcdp")
def test_a_tenth_of_the_square_is_too_little() -> None:
    epsilon, share = z3.Reals("epsilon share")
    rho = Symbols().read(bounded_range_rho)(epsilon) * z3.Q(8, 10)
    counterexample(epsilon**2 * share * (1 - share) <= 2 * rho, share >= 0, share <= 1, epsilon > 0)


@pytest.mark.checks("zcdp-conversion")
def test_the_conversion_takes_the_greatest_of_every_loss() -> None:
    """With x = exp(epsilon - loss): (1 - x) x^(order - 1) rises up to 1 - 1/order, then it falls."""
    order, x, best = z3.Reals("order x best")
    given = [order > 1, x > 0, x < 1, best == 1 - 1 / order]
    rising = (order - 1) / x - 1 / (1 - x)  # the slope of its logarithm
    proved(z3.And(z3.Implies(x < best, rising > 0), z3.Implies(x > best, rising < 0)), *given)
    proved(1 - best == 1 / order, *given)  # so the greatest value is (1 - 1/order)^order / (order - 1)
    proved((1 - best) == best / (order - 1), *given)
    pairs = itertools.product((0.1, 0.5, 1.0, 3.0, 10.0), (1e-4, 0.01, 0.1, 0.5, 2.0))
    code_agrees(pairs, lambda pair: arb(zcdp_delta(*pair)) >= least_conversion(*pair))


def least_conversion(epsilon: float, rho: float) -> Any:
    """Return the least bound over all orders, found in two rounds of a search and made a hair less."""
    excess = np.geomspace(1e-6, 1e8, 4000)
    for _ in range(2):
        logs = excess * ((1 + excess) * rho - epsilon) - np.log(excess)
        logs += (1 + excess) * np.log1p(-1 / (1 + excess))
        place = min(max(int(np.argmin(logs)), 1), len(excess) - 2)
        best, excess = float(excess[place]), np.geomspace(excess[place - 1], excess[place + 1], 2001)
    order = 1 + arb(best)
    exponent = (order - 1) * (order * arb(rho) - arb(epsilon))
    found = exponent.exp() * (1 - 1 / order) ** order / (order - 1)
    return found.min(arb(1)) * (1 - arb(1e-8))


@pytest.mark.refutes("zcdp-conversion")
def test_a_conversion_with_another_constant_is_below_a_loss() -> None:
    def spare(order: Any, x: Any) -> Any:
        smaller = (1 - 1 / order) ** order / order
        return smaller - (1 - x) * x ** (order - 1)

    fails_somewhere(spare, (1.5, 4.0), (0.1, 0.9))


@dataclass(frozen=True)
class SymbolicAmount:
    """An amount of symbols; what is asked of it on the way through the code is kept."""

    loss: Any = 0
    delta: Any = 0

    def __add__(self, other: SymbolicAmount) -> SymbolicAmount:
        return SymbolicAmount(self.loss + other.loss, self.delta + other.delta)

    def fits(self, budget: SymbolicAmount) -> bool:
        ASKED.append(z3.And(self.loss <= budget.loss, self.delta <= budget.delta))
        return True


ASKED: list[Any] = []


def charged() -> tuple[Any, list[Any]]:
    """Return a filter of symbols after a charge, and what the code asked before it was made."""
    ASKED.clear()
    names = z3.Ints("budget budget_delta spent spent_delta charge charge_delta")
    budget, spent, amount = (SymbolicAmount(*names[i : i + 2]) for i in (0, 2, 4))
    kept = SimpleNamespace(budget=budget, spent=spent)
    Symbols().read(Filter.charge, Amount=SymbolicAmount)(kept, amount)
    return kept, [*ASKED]


@pytest.mark.checks("filter-basic")
def test_a_filter_never_hands_out_more_than_its_budget() -> None:
    kept, asked = charged()
    before = [z3.Int("spent") <= z3.Int("budget"), z3.Int("spent_delta") <= z3.Int("budget_delta")]
    within = z3.And(kept.spent.loss <= kept.budget.loss, kept.spent.delta <= kept.budget.delta)
    proved(within, *before, *asked)
    true_spent, true_charge, true_budget = z3.Reals("true_spent true_charge true_budget")
    unit = z3.RealVal(10**12)
    rounded_up = [
        true_spent * unit <= z3.ToReal(z3.Int("spent")),
        true_charge * unit <= z3.ToReal(z3.Int("charge")),
    ]
    rounded_down = z3.ToReal(z3.Int("budget")) <= true_budget * unit
    proved(true_spent + true_charge <= true_budget, *asked, *rounded_up, rounded_down)
    a, b = z3.BitVecs("a b", 64)
    small = [a >= 0, b >= 0, a < LARGEST_UNITS, b < LARGEST_UNITS]
    proved(z3.BVAddNoOverflow(a, b, True), *small)
    assert Amount(3, 4) + Amount(1, 1) == Amount(4, 5) and not Amount(3, 4).fits(Amount(9, 3))
    code_agrees(small_floats(-44, 8), rounds_against_itself)


def rounds_against_itself(amount: float) -> bool:
    units, budget = to_units(amount), to_budget_units(amount)
    exact_units = Fraction(Decimal(repr(amount))) * 10**12
    return budget <= exact_units <= units and units - budget == int(exact_units.denominator > 1)


@pytest.mark.refutes("filter-basic")
def test_charges_that_are_rounded_down_overdraw() -> None:
    _, asked = charged()
    true_charge, true_budget = z3.Reals("true_charge true_budget")
    unit, charge = z3.RealVal(10**12), z3.ToReal(z3.Int("charge"))
    down = [charge <= true_charge * unit, true_charge * unit < charge + 1]
    budget = z3.ToReal(z3.Int("budget")) == true_budget * unit
    counterexample(true_charge <= true_budget, *asked, *down, budget, z3.Int("spent") == 0)


@pytest.mark.checks("filter-zcdp")
def test_rhos_rounded_up_one_by_one_stay_within_what_converts() -> None:
    kept, asked = charged()
    rhos, each, budget = z3.Reals("rhos each budget")
    unit = z3.RealVal(10**12)
    up = [rhos * unit <= z3.ToReal(z3.Int("spent")), each * unit <= z3.ToReal(z3.Int("charge"))]
    down = z3.ToReal(kept.budget.loss) <= budget * unit
    proved(rhos + each <= budget, *asked, *up, down)
    pairs = itertools.product((0.1, 0.5, 1.0, 3.0, 10.0), (1e-9, 1e-6, 1e-3))
    code_agrees(pairs, lambda pair: zcdp_delta(pair[0], zcdp_budget(*pair)) <= pair[1])


@pytest.mark.refutes("filter-zcdp")
def test_a_sum_that_is_rounded_once_at_the_end_overdraws() -> None:
    _, asked = charged()
    rhos, each, budget = z3.Reals("rhos each budget")
    unit, charge = z3.RealVal(10**12), z3.ToReal(z3.Int("charge"))
    nearest = [charge - z3.Q(1, 2) <= each * unit, each * unit <= charge + z3.Q(1, 2)]
    known = [rhos * unit == z3.ToReal(z3.Int("spent")), z3.ToReal(z3.Int("budget")) == budget * unit]
    counterexample(rhos + each <= budget, *asked, *nearest, *known)


def composed_truth(ratio: Fraction, delta: Fraction, attempts: int, factor: Fraction) -> Fraction:
    """Return the hockey-stick divergence of so many responses that fail openly, over all outcomes."""
    truth = {"open": delta, "a": (1 - delta) * ratio / (1 + ratio), "b": (1 - delta) / (1 + ratio)}
    lie = {"open": Fraction(0), "a": truth["b"], "b": truth["a"]}
    found = Fraction(0)
    for outcome in itertools.product(truth, repeat=attempts):
        chances = [math.prod((law[o] for o in outcome), start=Fraction(1)) for law in (truth, lie)]
        found += max(Fraction(0), chances[0] - factor * chances[1])
    return found


COMPOSED = [
    (ratio, delta, attempts, factor)
    for ratio in (Fraction(2), Fraction(3, 2))
    for delta in (Fraction(0), Fraction(1, 1024))
    for attempts in (1, 2, 3, 4, 5)
    for factor in (Fraction(1), Fraction(5, 4), Fraction(3), Fraction(100))
]


def told_delta(ratio: Fraction, delta: Fraction, attempts: int, factor: Fraction) -> float:
    return composed_delta(math.log(ratio), float(delta), attempts, math.log(factor))


@pytest.mark.checks("approximate-composition")
def test_composed_attempts_have_the_delta_of_their_whole_law() -> None:
    every_case(COMPOSED, lambda case: 0 <= told_delta(*case) - float(composed_truth(*case)) <= 1e-7)


@pytest.mark.refutes("approximate-composition")
def test_deltas_that_are_summed_alone_are_refuted() -> None:
    failing_case(COMPOSED, lambda c: composed_truth(*c) <= c[2] * c[1])


def proposal_law(counts: tuple[int, ...], test: DeniabilityTest, forced: Any) -> list[Any]:
    """Return the law of an attempt: a record y from seeds y - 1 and y, or nothing."""
    q, cells, rows = (-1 / arb(test.scale)).exp(), len(counts), sum(counts)
    law = []
    for y in range(cells):
        plausible = counts[y] + counts[y - 1]
        over = plausible - test.k
        passed = 1 - q ** (over + 1) / (1 + q) if over >= 0 else q ** (-over) / (1 + q)
        law.append((1 - forced) * arb(plausible) / (2 * rows) * passed)
    return [*law, 1 - sum(law, arb(0))]


Law = Callable[[tuple[int, ...], DeniabilityTest], list[Any]]


def attempt_pairs() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], DeniabilityTest]]:
    for rows, (k, t), scale in itertools.product((3, 5), ((2, 1), (4, 2)), (0.7, 2.0)):
        test = DeniabilityTest(k, t, 1.0, scale, rows)
        for counts in tables(4, rows):
            for other in replacements(counts):
                yield counts, other, test


def keeps(law: Law, counts: tuple[int, ...], other: tuple[int, ...], test: DeniabilityTest) -> bool:
    factor = arb(test.epsilon).exp()
    over = [
        p - factor * p_other for p, p_other in zip(law(counts, test), law(other, test), strict=True)
    ]
    return bool(sum((x for x in over if x > 0), arb(0)) <= arb(test.delta))


@pytest.mark.checks("deniability")
def test_an_attempt_keeps_its_promise_on_every_small_table() -> None:
    every_case(
        attempt_pairs(), lambda p: keeps(lambda c, t: proposal_law(c, t, arb(t.forced_failure)), *p)
    )
    # Nothing as an answer: the forced failure that the code asks for, for any number of records.
    fails, other, rows, factor, noise = z3.Reals("fails other rows factor noise")
    exps = SimpleNamespace(expm1=lambda _: factor - 1)
    told = SimpleNamespace(rows=rows, epsilon=0)
    forced = Symbols().read(DeniabilityTest.forced_failure, math=exps)(told)
    given = [rows >= 1, noise >= 1, noise <= factor, factor > 1, fails >= 0, fails <= 1, other <= 1]
    worst = other <= noise * fails + 1 / rows
    nothing = [forced + (1 - forced) * chance for chance in (other, fails)]
    proved(nothing[0] <= factor * nothing[1], *given, worst)


@pytest.mark.refutes("deniability")
def test_an_attempt_without_a_forced_failure_is_refuted() -> None:
    failing_case(attempt_pairs(), lambda p: keeps(lambda c, t: proposal_law(c, t, arb(0)), *p))
