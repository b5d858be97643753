"""Filters: what they hand out, however it is asked for, stays inside the promise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import ArgumentError, BudgetExhausted, CertificateError
from discreet.privacy.accounting import (
    ACCOUNTANTS,
    AccountantName,
    Amount,
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    Filter,
    GaussianEvent,
    PureEvent,
    budget_amount,
    count_gaussian_scale,
    event_cost,
    gaussian_multiplier,
)
from tests.oracles.gaussians import analytic_delta

PROPERTY = settings(max_examples=40, deadline=None)
LOSSES = st.floats(1e-13, 2.0)
CHARGES = st.lists(st.tuples(LOSSES, st.sampled_from([0.0, 1e-13, 1e-7, 1e-6])), max_size=30)
Cost = Callable[[AccountantName, Event, float, float], Amount]


def spend_all(budget: Amount, costs: list[Amount]) -> tuple[list[bool], Filter]:
    """Ask for every cost in turn; say which were granted, and check that refusals leave no trace."""
    door = Filter(budget)
    granted = []
    for cost in costs:
        before = (door.spent, door.remaining)
        try:
            door.charge(cost)
            granted.append(True)
        except BudgetExhausted as refusal:
            assert (door.spent, door.remaining) == before
            assert refusal.requested == cost.to_json() and refusal.remaining == before[1].to_json()
            granted.append(False)
    return granted, door


# Sums of epsilon and delta


@pytest.mark.proves("filter-basic")
@PROPERTY
@given(CHARGES, st.floats(0.01, 5.0), st.sampled_from([0.0, 1e-9, 1e-6]))
def test_granted_promises_never_add_up_to_more_than_the_budget(
    charges: list[tuple[float, float]], epsilon: float, delta: float
) -> None:
    costs = [Amount.charge(*charge) for charge in charges]
    budget = budget_amount("basic", epsilon, delta)
    granted, door = spend_all(budget, costs)
    taken = [charge for charge, yes in zip(charges, granted, strict=True) if yes]
    for position, limit in ((0, epsilon), (1, delta)):
        assert sum(Fraction(repr(charge[position])) for charge in taken) <= Fraction(repr(limit))
    # A twin that adds whole numbers decides every single time the same.
    loss = small = 0
    for cost, yes in zip(costs, granted, strict=True):
        fits = loss + cost.loss <= budget.loss and small + cost.delta <= budget.delta
        assert fits == yes
        loss, small = (loss + cost.loss, small + cost.delta) if fits else (loss, small)
    assert door.spent == Amount(loss, small)
    assert door.remaining == budget - door.spent


def overspends(cost: Cost) -> bool:
    """Hand out a budget of epsilon 1 to randomised responses of 0.3 each; compare the exact loss.

    Composed randomised response loses exactly the sum of its epsilons.
    """
    event = PureEvent(0.3, "randomised response")
    granted, _ = spend_all(
        budget_amount("basic", 1.0, 0.0), [cost("basic", event, 0.3, 0.0) for _ in range(10)]
    )
    return sum(granted) * Fraction("0.3") > 1


@pytest.mark.proves("filter-basic")
def test_randomised_responses_fit_three_times_into_one() -> None:
    assert not overspends(event_cost)


@pytest.mark.refutes("filter-basic")
def test_a_believed_promise_is_caught() -> None:
    def believed(accountant: AccountantName, event: Event, epsilon: float, delta: float) -> Amount:
        return Amount.charge(0.1, delta)  # the plan said so

    assert overspends(believed)
    with pytest.raises(CertificateError, match=r"does not keep epsilon=0\.1"):
        event_cost("basic", PureEvent(0.3, "x"), 0.1, 0.0)


# Sums of rho


def composed_delta(events: list[GaussianEvent], epsilon: float) -> mp.mpf:
    """Return the exact delta of Gaussian noises together: multipliers add as inverse squares."""
    if not events:
        return mp.mpf(0)
    return analytic_delta(
        epsilon, float(1 / mp.sqrt(mp.fsum(mp.mpf(e.multiplier) ** -2 for e in events)))
    )


def zcdp_keeps(
    rho: Callable[[GaussianEvent], float], epsilon: float, delta: float, each: float
) -> bool:
    """Hand out a zCDP budget to as many Gaussian releases as it takes; compare the exact delta."""
    event = GaussianEvent(gaussian_multiplier(each, delta), 0.0)
    costs = [Amount.charge(rho(event))] * 2000
    granted, _ = spend_all(budget_amount("zcdp", epsilon, delta), costs)
    assert 0 < sum(granted) < 2000
    return bool(composed_delta([event] * sum(granted), epsilon) <= delta)


@pytest.mark.proves("filter-zcdp")
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_a_zcdp_budget_keeps_epsilon_and_delta(epsilon: float, delta: float) -> None:
    assert zcdp_keeps(
        lambda event: event_cost("zcdp", event, 0.1, delta).loss / 1e12, epsilon, delta, 0.1
    )


@pytest.mark.refutes("filter-zcdp")
def test_a_halved_rho_is_caught() -> None:
    assert zcdp_keeps(lambda event: event.rho, 1.0, 1e-6, 0.1)
    assert not zcdp_keeps(lambda event: event.rho / 2, 1.0, 1e-6, 0.1)


@pytest.mark.proves("filter-zcdp")
@PROPERTY
@given(st.lists(st.floats(3.0, 300.0), min_size=1, max_size=25), st.sampled_from([0.3, 1.0]))
def test_any_mixture_of_gaussians_keeps_the_budget(multipliers: list[float], epsilon: float) -> None:
    events = [GaussianEvent(multiplier, 0.0) for multiplier in multipliers]
    granted, _ = spend_all(
        budget_amount("zcdp", epsilon, 1e-6), [Amount.charge(event.rho) for event in events]
    )
    taken = [event for event, yes in zip(events, granted, strict=True) if yes]
    assert composed_delta(taken, epsilon) <= 1e-6


# What a charge says


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize(
    ("event", "epsilon", "delta"),
    [
        (PureEvent(0.5, "laplace"), 0.5, 0.0),
        (PureEvent(0.5, "laplace"), 0.4, 0.06),
        (BoundedRangeEvent(0.5), 0.5, 0.0),
        (GaussianEvent(gaussian_multiplier(0.5, 1e-6), 0.0), 0.5, 1e-6),
        (CountGaussianEvent(count_gaussian_scale(0.5, 1e-6, 2), 2), 0.5, 1e-6),
    ],
)
def test_costs(accountant: AccountantName, event: Event, epsilon: float, delta: float) -> None:
    cost = event_cost(accountant, event, epsilon, delta)
    if accountant == "basic":
        assert cost == Amount.charge(epsilon, delta)
    else:
        assert cost == Amount.charge(event.rho)
    for less in ((epsilon * 0.9, delta), (epsilon, delta * 0.9 if delta else -1.0)):
        with pytest.raises(CertificateError, match="does not keep"):
            event_cost(accountant, event, *less)


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_gaussian_noise_is_never_billed_as_pure(accountant: AccountantName) -> None:
    for event in (GaussianEvent(1e4, 0.0), CountGaussianEvent(1e4, 1), CountGaussianEvent(1e6, 2)):
        with pytest.raises(CertificateError, match="does not keep"):
            event_cost(accountant, event, 5.0, 0.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(math.nan, 0.0), (1.0, math.nan)])
def test_a_promise_that_is_no_number_is_no_promise(epsilon: float, delta: float) -> None:
    for event in (PureEvent(0.5, "x"), GaussianEvent(5.0, 1e-20), CountGaussianEvent(5.0, 1)):
        with pytest.raises(CertificateError, match="does not keep"):
            event_cost("basic", event, epsilon, delta)


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="accountant must be one of basic, zcdp"):
        event_cost("gdp", PureEvent(1.0, "x"), 1.0, 0.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="accountant must be one of"):
        budget_amount("gdp", 1.0, 0.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="delta must be positive for the accountant zcdp"):
        budget_amount("zcdp", 1.0, 0.0)
    for bad in (0.0, -1.0, math.nan, math.inf, True, "1"):
        with pytest.raises(ArgumentError, match=r"epsilon must be .* Give the total budget"):
            budget_amount("basic", bad, 0.0)  # type: ignore[arg-type]
    for bad in (-1e-9, 1.0, math.nan, "0"):
        with pytest.raises(ArgumentError, match="delta must be"):
            budget_amount("basic", 1.0, bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("amount", [Amount(-1, 0), Amount(0, -1), Amount(5, -1)])
def test_a_negative_charge_gives_nothing_back(amount: Amount) -> None:
    door = Filter(Amount(10, 10))
    with pytest.raises(ArgumentError, match="must not be negative"):
        door.charge(amount)
    assert door.spent == Amount()


def test_the_last_unit_can_be_spent_and_no_more() -> None:
    door = Filter(Amount(3, 0))
    door.charge(Amount(3, 0))
    door.charge(Amount())
    with pytest.raises(BudgetExhausted):
        door.charge(Amount(1, 0))
    with pytest.raises(BudgetExhausted):
        door.charge(Amount(0, 1))


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("epsilon", [4611686.5, 1e9, 1e300])
def test_a_budget_that_is_too_large_is_refused_in_its_own_words(
    accountant: AccountantName, epsilon: float
) -> None:
    with pytest.raises(ArgumentError) as caught:
        budget_amount(accountant, epsilon, 1e-6)
    assert str(caught.value) == (
        f"epsilon must be below 4611686, got {epsilon!r}. So much protects nobody."
    )


def test_an_accountant_is_told_from_the_others_by_what_it_is_registered_with() -> None:
    src = Path(discreet.__file__).parent
    room = src / "accounting"
    named = {
        str(path.relative_to(src))
        for path in src.rglob("*.py")
        if room not in path.parents and re.search(r'[!=]= "(basic|zcdp)"', path.read_text())
    }
    assert named == set()
    assert {rule.unit for rule in ACCOUNTANTS.values()} == {"epsilon", "rho"}
