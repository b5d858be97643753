"""A plan: what is asked, what one record contributes to it, and what it costs. No row is read.

``prepare`` turns a plan into a ``Program`` for a public ``Setting``: stages with certificates and
calibrated noise, and a function that makes the answer from what a ``Releaser`` hands out.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from discreet.arguments import shown
from discreet.data import Contribution
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_probability, float_of_units, to_budget_units
from discreet.plans.diagnosis import Diagnosis, rehearse
from discreet.plans.expected import Expected, Strategy
from discreet.plans.results.result import Result
from discreet.privacy.accounting import AccountantName, Amount, Event, event_cost, event_to_json, total
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import ROWS_CAP, Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray, Schema

if TYPE_CHECKING:
    from discreet.plans.shared import Shared

_LONGEST_ARGUMENT = 60


@dataclass(frozen=True)
class Setting:
    """What is public about the table a plan will run on; ``rows`` is None under add-remove.

    ``cap`` is the most rows that were registered for a table whose number of rows is private.
    ``placed`` tells whether a row stands where it stands whatever it says; not so in files named by a
    value.
    """

    schema: Schema
    relation: Relation
    rows: int | None
    cap: int = ROWS_CAP
    placed: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation(self.relation))

    @property
    def most_rows(self) -> int:
        """How many rows there are at most: their number, where it is public."""
        return self.cap if self.rows is None else self.rows

    def within(self, relation: Relation) -> Setting:
        """Return what is public about some of the rows, of which nobody knows how many there are."""
        return replace(self, relation=relation, rows=None, cap=self.most_rows)


class Perturbation(Protocol):
    """What makes an exact sum private: noise on it, or a noisy choice by it."""

    @property
    def name(self) -> str:
        """The mechanism."""

    @property
    def certificate(self) -> Certificate:
        """What was proven of the rounded sum."""

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told."""

    @property
    def epsilon(self) -> float:
        """The promise of all events together."""

    @property
    def delta(self) -> float:
        """See ``epsilon``."""

    @property
    def step(self) -> float:
        """The lattice step the sum is taken on."""

    @property
    def std(self) -> float:
        """How far noise moves an answer, in the sum's own unit."""

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the private answer."""


N = TypeVar("N", bound=Perturbation, covariant=True)


@dataclass(frozen=True)
class Stage(Generic[N]):
    """One noisy answer inside a plan: a contribution of every record, and calibrated noise."""

    name: str
    contribution: Contribution
    noise: N

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told."""
        return self.noise.events

    @property
    def certificate(self) -> Certificate:
        """What was proven of the noisy query, rounding included."""
        return self.noise.certificate

    def cost(self, accountant: AccountantName) -> Amount:
        """Return what the stage takes from a budget."""
        return event_cost(accountant, self.events, self.noise.epsilon, self.noise.delta)

    def describe(self) -> dict[str, Any]:
        """Return the public facts about the stage."""
        return {
            "name": self.name,
            "mechanism": self.noise.name,
            "epsilon": self.noise.epsilon,
            "delta": self.noise.delta,
            "noise_std": self.noise.std,
            "events": _grouped(self.events),
            "certificate": self.certificate.to_json(),
        }


class Releaser(Protocol):
    """Hands out noisy answers inside a reservation; keeps no tally of its own."""

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers of the stages, reading the rows once for all of them.

        A contribution that was summed before, on the same lattice, is not summed again.
        """


class ExactSums(Protocol):
    """Hands out sums without noise, for diagnoses alone."""

    def __call__(self, *stages: Stage[Perturbation]) -> list[IntArray]:
        """Return the exact sums of the stages, in whole steps."""


@dataclass(frozen=True)
class Program:
    """A plan made ready for a setting.

    ``stages`` are all events that may happen, so that the plan can be priced before a row is read;
    ``finish`` asks the releaser for them, later ones adaptively if it likes, and builds the result.
    ``expected_error`` names, in the result's own unit, how far it will be from the exact answer, the
    one that matters most first. ``protects`` says whose data the guarantee speaks of, ``relation`` how
    its neighbours differ, if not as the table's, ``assumptions`` what it takes on trust and
    ``statements`` what it rests on, besides what the certificates do. A program without stages answers
    from public facts, for free.

    ``joint`` is an epsilon and a delta that all stages keep together; without it each is promised by
    itself, and promises are added. ``reasons`` tell why a strategy was taken, by public facts.
    ``shared`` is what is asked of all records first, also where groups are told apart. ``sized`` is how
    near the number of records that the result tells is to the true one, where it is noisy.
    """

    stages: tuple[Stage[Perturbation], ...]
    finish: Callable[[Releaser], Result]
    expected_error: Mapping[str, Expected]
    protects: str = "one record of the table"
    relation: Relation | None = None
    assumptions: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    joint: tuple[float, float] | None = None
    reasons: tuple[str, ...] = ()
    shared: Shared | None = None
    sized: float | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """What the accountant is told of all stages."""
        return tuple(event for stage in self.stages for event in stage.events)

    def cost(self, accountant: AccountantName) -> Amount:
        """Return what the whole program takes from a budget.

        Guarantees:
          - Stages that are promised together are checked to keep that promise. [joint-stages]
        """
        if self.joint is not None:
            return event_cost(accountant, self.events, *self.joint)
        return total([stage.cost(accountant) for stage in self.stages])


class Holding(Protocol):
    """Something of a caller's that a plan was made of."""

    def check_unchanged(self) -> None:
        """Raise if it is not what it was when the plan was made."""

    def look_again(self) -> None:
        """Remember it as it is now."""


class Plan(ABC):
    """A question with a price. ``epsilon`` and ``delta`` are totals over everything it does.

    A plan with a ``rho`` has no epsilon of its own: where a data set counts rho it is answered by the
    same question at an epsilon that costs no more. See ``discreet.session.currency``.
    """

    rho: float | None = None

    clips: ClassVar[tuple[tuple[str, Any], ...]] = ()
    """Arguments that trade a bias for less noise, and the values with which they do not."""

    meaning: ClassVar[int] = 1
    """Which meaning of its arguments and of its answer this is. It grows with every change by which the
    same arguments ask for something else, so that an old answer never stands for a new question."""

    def __init__(self, epsilon: float, delta: float) -> None:
        check_positive("epsilon", epsilon, "It is the whole budget of this plan.")
        check_probability("delta", delta)
        self.epsilon = float(epsilon)
        self.delta = float(delta)

    @property
    def plan_name(self) -> str:
        """The name of the question."""
        name: str = getattr(type(self), "kind", type(self).__name__)
        return name

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, as plain data."""

    @abstractmethod
    def prepare(self, setting: Setting) -> Program:
        """Check the arguments against public facts and calibrate; read no row."""

    def parts(self, schema: Schema) -> Sequence[Plan]:
        """Return the plans that are asked: this one, or those it stands for, which share its budget."""
        return (self,)

    def label(self, value: Result) -> Result:
        """Return a released value with what its asker calls its rows; nothing of it is stored."""
        return value

    @property
    def curator_only(self) -> bool:
        """Whether an answer must not be seen by an analyst, as values meant for their owners alone."""
        return False

    def at(self, epsilon: float) -> Plan:
        """Return the same question with another epsilon."""
        other = copy(self)
        other.epsilon = float(epsilon)
        return other

    def paid(self, epsilon: float, delta: float, mechanism: str | None = None) -> Plan:
        """Return the same question for an epsilon and a delta, by another mechanism if one is given."""
        other = copy(self.at(epsilon))
        other.delta = float(delta)
        return other

    def laws(self) -> tuple[str, ...]:
        """Return what ``mechanism="auto"`` is compared with by rho; empty if it was not asked."""
        return ()

    @property
    def simulated(self) -> bool:
        """Whether it rests on something that was released with seeded noise, which protects nobody."""
        return any(getattr(part, "simulated", False) is True for part in self._parts())

    def held(self) -> Iterable[Holding]:
        """Return what the plan holds and a caller could change: models, functions, frames."""
        known = [part.held() for part in self._parts() if callable(getattr(type(part), "held", None))]
        return [kept for parts in known for kept in parts]

    def fills(self) -> tuple[str, ...]:
        """Return what its models were shown for values they do not take, once it is prepared."""
        known = [part.fills() for part in self._parts() if callable(getattr(type(part), "fills", None))]
        return tuple(text for texts in known for text in texts)

    def _parts(self) -> list[Any]:
        """Return what the plan is made of."""
        return list(vars(self).values())

    def strategies(self, setting: Setting, queries: int) -> tuple[Strategy, ...]:
        """Return the strategies to answer so many queries like this one with this plan's budget."""
        return ()

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return exact facts for the curator: how answers come out here, if noise is added to sums."""
        return rehearse(self, setting, exact)

    def whole(self) -> Plan:
        """Return the same question without clips."""
        other = copy(self)
        for name, unclipped in self.clips:
            setattr(other, name, unclipped)
        return other

    def describe(self) -> dict[str, Any]:
        """Return the whole plan as plain data; equal plans have equal descriptions."""
        return {
            "kind": self.plan_name,
            "meaning": self.meaning,
            **self.promise(),
            "arguments": _plain_data(self.plan_name, self.arguments()),
        }

    def promise(self) -> dict[str, float]:
        """Return the whole budget by its names: epsilon and delta, or rho."""
        promised = {"epsilon": self.epsilon, "delta": self.delta}
        return promised if self.rho is None else {"rho": self.rho}

    @property
    def key(self) -> str:
        """A fingerprint of the question: what is asked, in which meaning, at what promise."""
        return _fingerprint(self.describe())

    def key_on(self, schema: Schema) -> str:
        """Return the fingerprint by which the ledger knows the same question of the same encoding.

        Guarantees:
          - Another schema or another meaning of a plan has another key. [plan-keys]
        """
        return _fingerprint({"plan": self.describe(), "schema": schema.digest})

    def __repr__(self) -> str:
        asked = [f"{name}={_brief(value)}" for name, value in self.arguments().items()]
        told = [f"{name}={amount:g}" for name, amount in self.promise().items() if amount]
        return f"{self.plan_name}({', '.join(asked + told)})"


def _fingerprint(plain: Mapping[str, Any]) -> str:
    text = json.dumps(plain, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain_data(kind: str, value: Any) -> Any:
    """Return arguments as JSON has them: a key must not depend on a number's Python type."""
    if isinstance(value, Mapping):
        return {str(name): _plain_data(kind, entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_data(kind, entry) for entry in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise ArgumentError(f"Arguments of {kind} must be texts and finite numbers, got {shown(value)}.")


def _brief(value: Any) -> str:
    """Return an argument as one would say it: models by their kind, long ones by their beginning."""
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    text = repr(value)
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[: _LONGEST_ARGUMENT - 1]}…"


def _grouped(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return equal events once, with their number."""
    return [{**event_to_json(event), "times": times} for event, times in Counter(events).items()]


def share_out(amount: float, weights: tuple[float, ...]) -> list[float]:
    """Split an amount by weights so that the parts, charged in whole units, never exceed it.

    >>> share_out(0.1, (0.9, 0.1))
    [0.09, 0.01]
    """
    units = to_budget_units(amount)
    parts = [int(units * weight / sum(weights)) for weight in weights[1:]]
    parts.insert(0, units - sum(parts))
    return [float_of_units(part) for part in parts]
