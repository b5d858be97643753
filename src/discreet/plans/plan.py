"""A plan: what is asked, what one record contributes to it, and what it costs. No row is read.

``prepare`` turns a plan into a ``Program`` for a public ``Setting``: stages with certificates and
calibrated noise, and a function that makes the answer from what a ``Releaser`` hands out.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from discreet.accounting import Accountant, Amount, Event, event_cost, event_to_json, total
from discreet.certificates import Certificate, Relation
from discreet.data import Contribution
from discreet.mechanisms import Noise
from discreet.numerics import check_positive, check_probability, down, from_units, to_units
from discreet.plans.results import Result
from discreet.schema import FloatArray, Schema


@dataclass(frozen=True)
class Setting:
    """What is public about the table a plan will run on; ``rows`` is None under add-remove."""

    schema: Schema
    relation: Relation
    rows: int | None


@dataclass(frozen=True)
class Stage:
    """One noisy answer inside a plan: a contribution of every record, and calibrated noise."""

    name: str
    contribution: Contribution
    noise: Noise

    @property
    def event(self) -> Event:
        """What the accountant is told."""
        return self.noise.event

    @property
    def certificate(self) -> Certificate:
        """What was proven of the noisy query, rounding included."""
        return self.noise.certificate

    def cost(self, accountant: Accountant) -> Amount:
        """Return what the stage takes from a budget."""
        return event_cost(accountant, self.event, self.noise.epsilon, self.noise.delta)

    def describe(self) -> dict[str, Any]:
        """Return the public facts about the stage."""
        return {
            "name": self.name,
            "mechanism": self.noise.name,
            "epsilon": self.noise.epsilon,
            "delta": self.noise.delta,
            "noise_std": self.noise.std,
            "event": event_to_json(self.event),
            "certificate": self.certificate.to_json(),
        }


class Releaser(Protocol):
    """Hands out noisy answers inside a reservation; keeps no tally of its own."""

    def answer(self, *stages: Stage) -> list[FloatArray]:
        """Return the noisy sums of the stages, reading the rows once for all of them."""


@dataclass(frozen=True)
class Program:
    """A plan made ready for a setting.

    ``stages`` are all events that may happen, so that the plan can be priced before a row is read;
    ``finish`` asks the releaser for them, later ones adaptively if it likes, and builds the result.
    ``expected_error`` names, in the result's own unit, how far noise moves it (one standard
    deviation).
    """

    stages: tuple[Stage, ...]
    finish: Callable[[Releaser], Result]
    expected_error: Mapping[str, float]

    def cost(self, accountant: Accountant) -> Amount:
        """Return what the whole program takes from a budget."""
        return total([stage.cost(accountant) for stage in self.stages])


class Plan(ABC):
    """A question with a price. ``epsilon`` and ``delta`` are totals over everything it does."""

    kind: ClassVar[str]

    def __init__(self, epsilon: float, delta: float) -> None:
        check_positive("epsilon", epsilon, "It is the whole budget of this plan.")
        check_probability("delta", delta)
        self.epsilon = float(epsilon)
        self.delta = float(delta)

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, as plain data."""

    @abstractmethod
    def prepare(self, setting: Setting) -> Program:
        """Check the arguments against public facts and calibrate; read no row."""

    def describe(self) -> dict[str, Any]:
        """Return the whole plan as plain data; equal plans have equal descriptions."""
        return {
            "kind": self.kind,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "arguments": self.arguments(),
        }

    @property
    def key(self) -> str:
        """A fingerprint by which the ledger knows the same question again."""
        text = json.dumps(self.describe(), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        asked = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        promise = f"epsilon={self.epsilon:g}" + (f", delta={self.delta:g}" if self.delta else "")
        return f"{self.kind}({asked}, {promise})"


def share_out(amount: float, weights: tuple[float, ...]) -> list[float]:
    """Split an amount by weights so that the parts, billed in whole units, never exceed it.

    >>> share_out(0.1, (0.9, 0.1))
    [0.09, 0.01]
    """
    units = to_units(amount)
    parts = [int(units * weight / sum(weights)) for weight in weights[1:]]
    parts.insert(0, units - sum(parts))
    return [_billed_as(part) for part in parts]


def _billed_as(units: int) -> float:
    """Return the greatest float near ``units`` that is billed as no more than them."""
    amount = float(from_units(units))
    while to_units(amount) > units:
        amount = down(amount, 1)
    return amount
