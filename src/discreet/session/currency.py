"""How a plan is answered where a data set counts rho: by the same question, at equal rho.

A plan with a rho has no epsilon. It is answered at an epsilon whose stages cost no more, found by
trying; which mechanism it is answered by, if that is left to ``auto``, is what errs least at this rho.
A plan with epsilon and delta is worth the least rho at which one of its mechanisms keeps them, and the
others are compared at that. A plan with delta 0 keeps its pure promise and is left as it is.

Everything follows from the plan and the public setting, so nothing here costs anything; what is charged
are the events of the stages. [price-free] [filter-zcdp]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

from discreet.errors import ArgumentError, DiscreetError
from discreet.numerics import to_budget_units
from discreet.plans import Plan, Setting
from discreet.plans.persons import ready
from discreet.privacy.accounting import ACCOUNTANTS, AccountantName
from discreet.privacy.accounting.conversion import rho_worth
from discreet.session.together import (
    Answered,
    Way,
    answered_together,
    error_of,
    ready_together,
    rounded,
    tried,
)

_NEAR = 0.998
"""Of a rho: what is close enough to it."""

_INDEX = 1e-6
"""The delta at which Gaussian noise for a rho is looked for: rho decides how much there is."""

_TRIES = 16
_FIRST = 1.0


@dataclass(frozen=True)
class Currency:
    """How a data set counts: its accountant, and the delta at which rho is worth an epsilon."""

    accountant: AccountantName
    delta: float

    @property
    def counts_rho(self) -> bool:
        """Whether losses are rhos."""
        return ACCOUNTANTS[self.accountant].unit == "rho"

    def worth(self, loss: float) -> float | None:
        """Return the epsilon that a rho is worth by itself; None where epsilons are counted."""
        return rho_worth(loss, self.delta) if self.counts_rho else None

    def told(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return an entry of a ledger, its rho with the epsilon that it is worth by itself."""
        worth = self.worth(float(entry["loss"]))
        return dict(entry) if worth is None else {**entry, "epsilon_worth": worth}

    def ready(self, plan: Plan, setting: Setting) -> Answered:
        """Return what answers a plan, made ready for a setting."""
        if plan.rho is None and plan.delta == 0:
            return plan, ready(plan, setting)
        if self.counts_rho:
            return self._at_equal_rho(plan, setting)
        if plan.rho is not None:
            raise ArgumentError(self._refusal(plan))
        return ready_together(plan, setting)

    def _refusal(self, plan: Plan) -> str:
        assert plan.rho is not None
        told = (
            f"rho must be asked of a data set that counts rho, got {plan.rho!r} for one with the "
            f"accountant {self.accountant!r}. Give epsilon and delta"
        )
        if self.delta > 0:
            epsilon = rho_worth(plan.rho, self.delta)
            told += f" (this rho is worth epsilon={epsilon:.3g} at delta={self.delta:g})"
        return told + ", or register data with accountant='zcdp'."

    def _at_equal_rho(self, plan: Plan, setting: Setting) -> Answered:
        if plan.rho is None:
            return self._worth_its_rho(plan, setting)
        most = to_budget_units(plan.rho)
        start = max(rho_worth(plan.rho, min(self.delta, _INDEX)), math.sqrt(2 * plan.rho))
        options = self._options(plan)
        found = [_at(make, setting, most, start) for make in options]
        usable = [answer for answer in found if answer is not None]
        if not usable:
            self._refuse(plan, options[0], setting)
        return min(usable, key=lambda answer: error_of(answer[1]))

    def _worth_its_rho(self, plan: Plan, setting: Setting) -> Answered:
        """Answer a plan with epsilon and delta at the least rho at which an option keeps them."""
        if not plan.laws():
            return ready_together(plan, setting)
        options, promise = self._options(plan), (plan.epsilon, plan.delta)
        own = [answered_together(make, setting, promise) for make in options]
        most = min(map(_cost, own))
        if most == math.inf:  # no mechanism of it has a rho: the accountant says so
            return plan, ready(plan, setting)
        starts = [plan.epsilon if answer is None else answer[0].epsilon for answer in own]
        found = [_at(make, setting, most, at) for make, at in zip(options, starts, strict=True)]
        usable = [answer for answer in found if answer is not None]
        by, program = min(usable, key=lambda answer: error_of(answer[1]))
        return by, replace(program, joint=promise) if len(program.events) > 1 else program

    def _options(self, plan: Plan) -> list[Way]:
        """Return the options to answer a plan for an epsilon; of pure ones the best is ``auto``'s."""
        delta = min(self.delta, _INDEX) if plan.rho is not None else plan.delta
        laws = plan.laws()
        if not laws:
            return [partial(plan.paid, delta=delta)]
        pure = partial(plan.paid, delta=0.0)
        return [pure, *(partial(plan.paid, delta=delta, mechanism=law) for law in laws)]

    def _refuse(self, plan: Plan, make: Way, setting: Setting) -> NoReturn:
        """Raise what keeps a plan from being answered: its own error, or that it has no rho."""
        ready(make(_FIRST), setting).cost(self.accountant)
        raise ArgumentError(
            f"rho must be one at which {plan.plan_name} can be answered, got {plan.rho!r}. "
            "Give a larger one."
        )


def _cost(answer: Answered | None) -> float:
    """Return the rho of an answer, in whole units; infinite if it has none."""
    try:
        return math.inf if answer is None else answer[1].cost("zcdp").loss
    except DiscreetError:
        return math.inf


def _at(make: Way, setting: Setting, most: float, start: float) -> Answered | None:
    """Return the answer that costs nearly ``most`` units and never more; None if there is none.

    Rho grows about as the square of epsilon, so a step by the root of what is missing is close.
    """
    epsilon, low, high = start, 0.0, math.inf
    best: Answered | None = None
    for _ in range(_TRIES):
        answer = tried(make, epsilon, setting)
        cost = 0.0 if answer is None else _cost(answer)
        if math.isinf(cost):
            return None
        if cost > most:
            high = epsilon
        else:
            best, low = answer or best, epsilon
            if cost >= _NEAR * most:
                break
        # Refused is what has too much noise, at a smaller epsilon.
        aim = epsilon * (math.sqrt((1 + _NEAR) / 2 * most / cost) if cost else 2.0)
        inside = low < aim < high
        middle = math.sqrt(low * high) if low and high < math.inf else aim
        epsilon = rounded(aim if inside else middle)
        if epsilon in (low, high, 0.0):
            break
    return best
