"""Filters: may the next, adaptively chosen release still be made?

There are two accountants, fixed per data set at registration, both with O(1) work per charge:

* ``basic`` adds epsilons and deltas (Rogers, Roth, Ullman, Vadhan 2016). [filter-basic]
* ``zcdp`` adds rhos against the rho that converts to the budget (Whitehouse, Ramdas, Rogers, Wu
  2023). [filter-zcdp]

Composition by privacy loss distributions is tighter but only right for a sequence fixed in advance;
it prices batches (``pld``) and never polices.

What is charged are whole units of loss and of delta, so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.errors import ArgumentError, BudgetExhausted, CertificateError, UnsupportedEvent
from discreet.numerics import (
    LARGEST_AMOUNT,
    check_choice,
    check_positive,
    check_probability,
    format_units,
    parse_units,
    to_budget_units,
    to_units,
)
from discreet.privacy.accounting.conversion import zcdp_budget
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.joint import joint_delta


@dataclass(frozen=True, slots=True)
class Amount:
    """A charge or a budget, in units of 1e-12.

    ``loss`` is epsilon for the accountant ``basic`` and rho for ``zcdp``; ``delta`` is a probability.
    """

    loss: int = 0
    delta: int = 0

    @classmethod
    def charge(cls, loss: float, delta: float = 0.0) -> Amount:
        """Return a charge: both parts rounded up."""
        return cls(to_units(loss), to_units(delta))

    @classmethod
    def budget(cls, loss: float, delta: float = 0.0) -> Amount:
        """Return a budget: both parts rounded down."""
        return cls(to_budget_units(loss), to_budget_units(delta))

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.loss + other.loss, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.loss - other.loss, self.delta - other.delta)

    def fits(self, budget: Amount) -> bool:
        """Say whether this amount is within ``budget`` in both parts."""
        return self.loss <= budget.loss and self.delta <= budget.delta

    def __repr__(self) -> str:
        return f"Amount(loss={format_units(self.loss)}, delta={format_units(self.delta)})"

    def to_json(self) -> dict[str, str]:
        """Return both parts as exact decimal texts."""
        return {"loss": format_units(self.loss), "delta": format_units(self.delta)}

    @classmethod
    def from_json(cls, plain: Mapping[str, str]) -> Amount:
        """Read what ``to_json`` wrote.

        >>> Amount.from_json(Amount.charge(0.5, 1e-6).to_json())
        Amount(loss=0.5, delta=0.000001)
        """
        return cls(parse_units(plain["loss"]), parse_units(plain["delta"]))


AccountantName = Literal["basic", "zcdp"]


class Accountant(Protocol):
    """How losses add up; a data set is registered with one of them.

    ``unit`` is what its loss is called, ``spends_delta`` whether a charge takes from delta as well.
    """

    unit: str
    spends_delta: bool

    def budget(self, epsilon: float, delta: float) -> Amount:
        """Return what may be handed out in total, rounded down."""

    def cost(self, events: Sequence[Event], epsilon: float, delta: float) -> Amount:
        """Return what events cost that were checked to keep (epsilon, delta), rounded up."""


class Basic:
    """Adds epsilons and deltas, whatever the events are."""

    unit, spends_delta = "epsilon", True

    def budget(self, epsilon: float, delta: float) -> Amount:
        """See ``Accountant``."""
        return Amount.budget(epsilon, delta)

    def cost(self, events: Sequence[Event], epsilon: float, delta: float) -> Amount:
        """See ``Accountant``."""
        return Amount.charge(epsilon, delta)


class Zcdp:
    """Adds rhos; delta is that of the one conversion at the end."""

    unit, spends_delta = "rho", False

    def budget(self, epsilon: float, delta: float) -> Amount:
        """See ``Accountant``."""
        if delta == 0:
            raise ArgumentError(
                "delta must be positive for the accountant zcdp, got 0. Use accountant='basic'."
            )
        return Amount.budget(zcdp_budget(epsilon, delta))

    def cost(self, events: Sequence[Event], epsilon: float, delta: float) -> Amount:
        """See ``Accountant``."""
        rhos = [event.rho for event in events]
        if math.inf in rhos:
            raise UnsupportedEvent(
                f"{events[0].mechanism} has no zCDP cost. Use a data set with accountant='basic'."
            )
        return total([Amount.charge(rho) for rho in rhos])


ACCOUNTANTS: Mapping[AccountantName, Accountant] = {"basic": Basic(), "zcdp": Zcdp()}
"""All there are, by the names users write."""

DEFAULT_ACCOUNTANT: AccountantName = "basic"


def budget_amount(accountant: AccountantName, epsilon: float, delta: float) -> Amount:
    """Return what a filter may hand out in total, rounded down."""
    check_choice("accountant", accountant, ACCOUNTANTS)
    check_positive("epsilon", epsilon, "Give the total budget of the data set.")
    if epsilon >= LARGEST_AMOUNT:
        raise ArgumentError(
            f"epsilon must be below {LARGEST_AMOUNT}, got {epsilon!r}. So much protects nobody."
        )
    check_probability("delta", delta)
    return ACCOUNTANTS[accountant].budget(epsilon, delta)


def event_cost(
    accountant: AccountantName, events: Event | Sequence[Event], epsilon: float, delta: float
) -> Amount:
    """Return what events that together promise (epsilon, delta) cost, rounded up.

    Guarantees:
      - The promise is checked against the events, never believed: one event by its own curve,
        several by that of all of them together. [filter-basic] [filter-zcdp] [joint-stages]
    """
    check_choice("accountant", accountant, ACCOUNTANTS)
    happened = list(events) if isinstance(events, Sequence) else [events]
    if not joint_delta(happened, epsilon) <= delta:
        raise CertificateError(f"{events} does not keep epsilon={epsilon!r}, delta={delta!r}.")
    return ACCOUNTANTS[accountant].cost(happened, epsilon, delta)


def total(amounts: Sequence[Amount]) -> Amount:
    """Return the sum of charges."""
    return sum(amounts, Amount())


class Filter:
    """Hands out a budget charge by charge and refuses what no longer fits, without a trace."""

    def __init__(self, budget: Amount) -> None:
        self.budget = budget
        self.spent = Amount()

    @property
    def remaining(self) -> Amount:
        """What may still be charged."""
        return self.budget - self.spent

    def charge(self, amount: Amount) -> None:
        """Take ``amount`` or raise ``BudgetExhausted`` and change nothing."""
        if not Amount().fits(amount):
            raise ArgumentError(f"A charge must not be negative, got {amount.to_json()}.")
        if not (self.spent + amount).fits(self.budget):
            raise BudgetExhausted(
                f"A charge of {amount.to_json()} does not fit into {self.remaining.to_json()}.",
                requested=amount.to_json(),
                remaining=self.remaining.to_json(),
            )
        self.spent = self.spent + amount
