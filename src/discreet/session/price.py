"""What plans would cost and how good their answers would be, before anything is spent.

How long models take that are called is tried on public rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.contributions import GroupedContribution
from discreet.data.state import quietly
from discreet.errors import DiscreetError
from discreet.numerics import format_units
from discreet.plans import Expected, Plan, Program, Setting, Strategy
from discreet.plans.expected import Usable, least_usable, usable_without_rows
from discreet.plans.persons import ready
from discreet.privacy.accounting import ACCOUNTANTS, AccountantName, Amount, batch_epsilon, total
from discreet.privacy.accounting.conversion import rho_worth
from discreet.privacy.accounting.joint import joint_epsilon
from discreet.schema import Schema
from discreet.session.currency import Currency

_ROWS = 3
_WORTH_TELLING = 5.0
"""Seconds that a model which is not isolated takes before a price speaks of it."""

_HIDES_LITTLE = 10.0
"""The epsilon beyond which a price says what somebody who guesses may know afterwards."""

_LONG_ENOUGH = 0.05
_MOST_TRIED = 256


def waiting(program: Program, setting: Setting) -> Waiting | None:
    """Return how long the stages take that call a model; None if none does, or if it is quick.

    That models which are asked for one record at a time take their time is always told.
    """
    summed = [stage.contribution for stage in program.stages]
    # Of a part or of groups, too, all records are asked about.
    each = [one.each if isinstance(one, GroupedContribution) else one for one in summed]
    found = {id(one): one for one in each}
    calling = [
        contribution
        for contribution in found.values()
        if isinstance(contribution, VectorContribution) and contribution.pulse is not None
    ]
    alone = any(one.evidence(setting.relation).grade == "isolated" for one in calling)
    seconds = sum(_seconds_per_record(one, setting) for one in calling)
    told = Waiting(seconds, setting.rows, alone)
    return told if alone or (calling and told.seconds >= _WORTH_TELLING) else None


def _seconds_per_record(contribution: VectorContribution, setting: Setting) -> float:
    """Return the time on so many public rows that it can be measured, but no longer."""
    alone = contribution.evidence(setting.relation).grade == "isolated"
    rows = _ROWS if alone else 1
    with quietly():
        contribution.compute(_public_block(contribution, setting.schema, 1))  # made once: not counted
        while True:
            block = _public_block(contribution, setting.schema, rows)
            start = time.perf_counter()
            contribution.compute(block)
            taken = time.perf_counter() - start
            if alone or taken >= _LONG_ENOUGH or rows >= _MOST_TRIED:
                return taken / rows
            rows *= 4


def _public_block(contribution: VectorContribution, schema: Schema, rows: int) -> Block:
    places = [schema.position(name) for name in contribution.columns]
    return Block(0, contribution.columns, np.asfortranarray(schema.draw(rows)[:, places]))


@dataclass(frozen=True)
class Remaining:
    """What a data set has left, or a plan costs: epsilon (or rho, for the accountant zcdp) and delta.

    A rho is also told as the epsilon that it is worth by itself at ``worth_delta``, the delta of the
    data set. What the data set keeps in all is its registered budget, not a sum of such epsilons.
    """

    amount: Amount
    accountant: AccountantName
    worth_delta: float = 0.0

    @property
    def unit(self) -> str:
        """The name of the loss: epsilon or rho."""
        return ACCOUNTANTS[self.accountant].unit

    @property
    def loss(self) -> float:
        """The loss that is left, as a float."""
        return float(format_units(self.amount.loss))

    @property
    def delta(self) -> float:
        """The delta that is left, as a float."""
        return float(format_units(self.amount.delta))

    @property
    def worth(self) -> float | None:
        """The epsilon that the rho is worth by itself; None where epsilon is what is counted."""
        counts_rho = self.unit == "rho" and self.worth_delta > 0
        return rho_worth(self.loss, self.worth_delta) if counts_rho else None

    def __str__(self) -> str:
        text = f"{self.unit}={format_units(self.amount.loss)}"
        if self.worth is not None:
            return f"{text} (worth epsilon={self.worth:.3g} at delta={self.worth_delta:g})"
        return f"{text}, delta={self.delta:g}" if ACCOUNTANTS[self.accountant].spends_delta else text

    def __repr__(self) -> str:
        return f"Remaining({self})"

    def _repr_html_(self) -> str:
        from discreet.session.showing import remaining_html

        return remaining_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return both parts as exact decimal texts, and what a rho is worth as numbers."""
        plain: dict[str, Any] = {self.unit: format_units(self.amount.loss)}
        if self.worth is not None:
            plain["worth"] = {"epsilon": self.worth, "delta": self.worth_delta}
        if ACCOUNTANTS[self.accountant].spends_delta:
            plain["delta"] = format_units(self.amount.delta)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Remaining:
        """Read what ``to_json`` wrote."""
        accountant: AccountantName = "zcdp" if "rho" in plain else "basic"
        loss = plain[ACCOUNTANTS[accountant].unit]
        amount = Amount.from_json({"loss": loss, "delta": plain.get("delta", "0")})
        return cls(amount, accountant, plain.get("worth", {}).get("delta", 0.0))


@dataclass(frozen=True)
class Waiting:
    """How long a model takes that is called, as seen on public rows, here and now.

    ``alone`` says that it is asked for one record at a time.
    """

    seconds_per_record: float
    records: int | None
    alone: bool = True

    @property
    def count(self) -> int:
        """The number of records; a thousand if it is private."""
        return 1_000 if self.records is None else self.records

    @property
    def seconds(self) -> float:
        """Seconds for all of them."""
        return self.seconds_per_record * self.count

    def __str__(self) -> str:
        seconds = self.seconds
        shown = f"{seconds:.2g} s" if seconds < 120 else f"{seconds / 60:.3g} min"
        how = "one record at a time" if self.alone else "the model is called"
        return f"{how}: about {shown} for {self.count:,} records"


@dataclass(frozen=True)
class PlanPrice:
    """One plan's share of a price: what it costs, how far off it will be, where that is usable."""

    plan: str
    cost: Remaining
    expected_error: Mapping[str, Expected]
    usable: Usable
    stages: tuple[dict[str, Any], ...]
    strategies: tuple[Strategy, ...] = ()
    waiting: Waiting | None = None
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the share as plain data."""
        return {
            "plan": self.plan,
            "cost": self.cost.to_json(),
            "expected_error": {n: e.to_json() for n, e in self.expected_error.items()},
            "usable": self.usable.to_json(),
            "stages": list(self.stages),
            "strategies": [asdict(strategy) for strategy in self.strategies],
            "waiting": None if self.waiting is None else asdict(self.waiting),
            "reasons": list(self.reasons),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> PlanPrice:
        """Read what ``to_json`` wrote."""
        return cls(
            plan=plain["plan"],
            cost=Remaining.from_json(plain["cost"]),
            expected_error={n: Expected.from_json(e) for n, e in plain["expected_error"].items()},
            usable=Usable.from_json(plain["usable"]),
            stages=tuple(plain["stages"]),
            strategies=tuple(Strategy(**strategy) for strategy in plain["strategies"]),
            waiting=None if plain["waiting"] is None else Waiting(**plain["waiting"]),
            reasons=tuple(plain["reasons"]),
        )


@dataclass(frozen=True)
class Price:
    """The price of one or several plans.

    Attributes:
      plans: every plan with its cost, noise and expected error.
      cost: what would be charged.
      remaining: what is left now.
      affordable: whether the charge would be accepted now.
      composed_epsilon: epsilon of the whole batch at the data set's delta, by privacy loss
        distributions; tighter than the sum, and right because the batch is fixed in advance.
    """

    plans: tuple[PlanPrice, ...]
    cost: Remaining
    remaining: Remaining
    affordable: bool
    composed_epsilon: float | None

    def __str__(self) -> str:
        lines = []
        for line in self.plans:
            lines.append(f"{line.plan}\n  costs {line.cost}")
            lines += [f"  {reason}" for reason in line.reasons]
            lines += [f"  {error.tell(name)}" for name, error in line.expected_error.items()]
            lines.append(f"  {line.usable}")
            lines += [f"  {line.waiting}"] if line.waiting is not None else []
            lines += [f"  {strategy}" for strategy in line.strategies]
        lines.append(f"together {self.cost}; left {self.remaining}")
        if self.composed_epsilon is not None:
            lines.append(f"as one fixed batch: epsilon={self.composed_epsilon:.4g}")
        if not self.affordable:
            lines.append(f"NOT affordable: lower {self.cost.unit} or ask for fewer answers")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from discreet.session.showing import price_html

        return price_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return the price as plain data."""
        return {
            "plans": [line.to_json() for line in self.plans],
            "cost": self.cost.to_json(),
            "remaining": self.remaining.to_json(),
            "affordable": self.affordable,
            "composed_epsilon": self.composed_epsilon,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Price:
        """Read what ``to_json`` wrote."""
        return cls(
            plans=tuple(PlanPrice.from_json(line) for line in plain["plans"]),
            cost=Remaining.from_json(plain["cost"]),
            remaining=Remaining.from_json(plain["remaining"]),
            affordable=plain["affordable"],
            composed_epsilon=plain["composed_epsilon"],
        )


def price_plans(
    plans: Sequence[Plan],
    setting: Setting,
    *,
    accountant: AccountantName,
    remaining: Remaining,
    delta: float,
    queries: int | None = None,
) -> Price:
    """Return what plans would cost and how large their noise would be, from public facts alone.

    Guarantees:
      - Follows from the plans, the public setting and what is left. [price-free]
    """
    currency = Currency(accountant, delta)
    answering, programs = zip(*(currency.ready(plan, setting) for plan in plans), strict=True)
    costs = [program.cost(accountant) for program in programs]
    return Price(
        plans=tuple(
            PlanPrice(
                repr(plan),
                Remaining(cost, accountant, delta),
                program.expected_error,
                _find_usable(plan, by, program, setting),
                tuple(stage.describe() for stage in program.stages),
                () if queries is None else _asked(plan, by).strategies(setting, queries),
                waiting(program, setting),
                (*program.reasons, *_weaknesses(Remaining(cost, accountant, delta), setting.rows)),
            )
            for plan, by, program, cost in zip(plans, answering, programs, costs, strict=True)
        ),
        cost=Remaining(total(costs), accountant, delta),
        remaining=remaining,
        affordable=total(costs).fits(remaining.amount),
        composed_epsilon=_composed(programs, delta),
    )


def _weaknesses(cost: Remaining, rows: int | None) -> list[str]:
    """Return why a promise is worth little: numbers do not say it to whoever sees them first."""
    epsilon = cost.loss if cost.worth is None else cost.worth
    found = []
    if epsilon > _HIDES_LITTLE:
        once_in = float(f"{1 + math.exp(min(epsilon, 30.0)):.2g}")
        found.append(
            f"epsilon {epsilon:.3g} hides little: whoever guesses something of a record right every "
            f"second time may then be wrong only once in {once_in:,.0f} times"
        )
    if rows is not None and cost.delta * rows >= 1:
        found.append(
            f"delta {cost.delta:g} hides little: to publish one of {rows:,} records as it is would "
            f"keep it; choose one far below {1 / rows:.1g}"
        )
    return found


def _composed(programs: Sequence[Program], delta: float) -> float | None:
    events = [event for program in programs for stage in program.stages for event in stage.events]
    return batch_epsilon(events, delta) if len(programs) > 1 and delta > 0 else None


def _find_usable(plan: Plan, by: Plan, program: Program, setting: Setting) -> Usable:
    """Return from where on a plan is usable that another answers, in rho if that was asked."""
    found = find_usable(by, program, setting)
    if found.epsilon is None or (plan.rho is None and by.epsilon == plan.epsilon):
        return found
    if plan.rho is None and found.over_rows:
        return replace(found, epsilon=found.epsilon * plan.epsilon / by.epsilon)
    if found.over_rows:
        return found
    usable = ready(by.at(found.epsilon), setting)
    if plan.rho is None:
        return replace(found, epsilon=joint_epsilon(usable.events, plan.delta))
    return replace(found, epsilon=float(format_units(usable.cost("zcdp").loss)), unit="rho")


def _asked(plan: Plan, by: Plan) -> Plan:
    """Return the plan that has an epsilon: its own, or that of what answers a rho."""
    return plan if plan.rho is None else by


def find_usable(plan: Plan, program: Program, setting: Setting) -> Usable:
    """Return from which epsilon, and from how many records on, a plan's errors are usable.

    The plan is made ready again for other epsilons and other public numbers of records: whatever it
    chooses by them, it chooses anew.

    Guarantees:
      - Follows from the plan and the public setting alone. [price-free]
    """
    errors = program.expected_error
    if any(error.unknown for error in errors.values()):
        return usable_without_rows(errors, plan.epsilon)
    now = max(error.relative() for error in errors.values())

    def with_epsilon(epsilon: float) -> float:
        return _share(plan.at(float(f"{epsilon:.3g}")), setting)

    def with_rows(rows: float) -> float:
        return _share(plan, replace(setting, rows=max(1, round(rows))))

    rows = None if setting.rows is None else least_usable(with_rows, setting.rows, now)
    enough = None if rows is None else math.ceil(rows)
    return Usable(least_usable(with_epsilon, plan.epsilon, now), enough)


def _share(plan: Plan, setting: Setting) -> float:
    """Return the greatest error beside its size; infinite if the plan would be refused."""
    try:
        errors = ready(plan, setting).expected_error
    except DiscreetError:
        return math.inf
    return max(error.relative() for error in errors.values())
