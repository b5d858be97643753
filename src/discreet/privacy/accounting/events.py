"""What happened, described so that anyone can price it.

Rules of the vocabulary: an event is frozen; it is never removed and never changes its meaning (a
new meaning is a new class); an accountant that does not know an event refuses it. An event speaks
of one record under the relation its certificate was proven for.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from discreet.errors import UnsupportedEvent
from discreet.numerics import (
    check_positive,
    check_probability,
    check_whole,
    float_of_units,
    to_units,
    up,
)
from discreet.privacy.accounting.conversion import (
    bounded_range_rho,
    gaussian_delta,
    pure_delta,
    pure_rho,
    zcdp_delta,
)
from discreet.privacy.accounting.discrete import count_gaussian_delta


@dataclass(frozen=True)
class PureEvent:
    """Any mechanism with probability ratios of at most exp(epsilon); ``mechanism`` says which.

    Guarantees:
      - The loss is at most epsilon; under zCDP epsilon * tanh(epsilon / 2). [pure-zcdp]
    """

    epsilon: float
    mechanism: str

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    @property
    def rho(self) -> float:
        """The zCDP cost."""
        return pure_rho(self.epsilon)

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        return pure_delta(epsilon, self.epsilon)


@dataclass(frozen=True)
class BoundedRangeEvent:
    """An exponential mechanism: the log-ratios of all outcomes lie in one interval of length epsilon.

    Guarantees:
      - The loss is at most epsilon; under zCDP epsilon^2 / 8. [exponential-zcdp]
    """

    epsilon: float
    mechanism: str = "exponential"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    @property
    def rho(self) -> float:
        """The zCDP cost."""
        return bounded_range_rho(self.epsilon)

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        return pure_delta(epsilon, self.epsilon)


@dataclass(frozen=True)
class GaussianEvent:
    """Discrete Gaussian noise on a fine lattice, added to a vector.

    ``multiplier`` is the standard deviation over the L2 bound; ``slack`` bounds the total variation
    distance between the discrete noise and a rounded continuous one (all coordinates together).

    Guarantees:
      - delta(epsilon) = analytic delta + (1 + e^epsilon) * slack. [gauss-lattice]
      - Under zCDP 1 / (2 multiplier^2), without slack: the discrete law has it exactly. [gauss-zcdp]
    """

    multiplier: float
    slack: float
    mechanism: str = "gaussian"

    def __post_init__(self) -> None:
        check_positive("multiplier", self.multiplier)
        check_probability("slack", self.slack)

    @property
    def rho(self) -> float:
        """The zCDP cost."""
        return up(0.5 / self.multiplier / self.multiplier)

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        return up(gaussian_delta(epsilon, self.multiplier) + lattice_term(epsilon, self.slack))


@dataclass(frozen=True)
class CountGaussianEvent:
    """Discrete Gaussian noise with standard parameter ``scale`` on whole counts.

    A neighbour moves exactly ``moves`` of the counts, by one each.

    Guarantees:
      - delta(epsilon) is the exact sum over the discrete law. [gauss-counts]
      - Under zCDP moves / (2 scale^2). [gauss-zcdp]
    """

    scale: float
    moves: int
    mechanism: str = "discrete gaussian"

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_whole("moves", self.moves, 1, 2)

    @property
    def rho(self) -> float:
        """The zCDP cost."""
        return up(0.5 * self.moves / self.scale / self.scale)

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        return min(count_gaussian_delta(epsilon, self.scale, self.moves), zcdp_delta(epsilon, self.rho))


@dataclass(frozen=True)
class ApproximateEvent:
    """A mechanism of which (epsilon, delta) is all that is known, such as propose-test-release.

    Guarantees:
      - delta at ``epsilon`` and above; nothing below, and no zCDP cost. [ptr]
    """

    epsilon: float
    certain_delta: float
    mechanism: str

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("certain_delta", self.certain_delta)

    @property
    def rho(self) -> float:
        """Infinite: no zCDP cost follows from one pair of epsilon and delta."""
        return math.inf

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        return self.certain_delta if epsilon >= self.epsilon else 1.0


@dataclass(frozen=True)
class GroupEvent:
    """What an event is for a group of records, of which it was told for one.

    Guarantees:
      - delta at ``rows`` times an epsilon is the event's there times 1 + exp(epsilon) + ... for so many
        terms; under zCDP ``rows`` squared times the event's rho. [person-group]
    """

    one: PureEvent | BoundedRangeEvent | GaussianEvent | CountGaussianEvent | ApproximateEvent
    rows: int

    def __post_init__(self) -> None:
        check_whole("rows", self.rows, 1)

    @property
    def mechanism(self) -> str:
        """Which mechanism it was."""
        return self.one.mechanism

    @property
    def rho(self) -> float:
        """The zCDP cost."""
        return up(self.one.rho * self.rows**2)

    def delta(self, epsilon: float) -> float:
        """Return delta at ``epsilon``."""
        each = epsilon / self.rows
        times_delta = chained(each, self.rows)
        return 1.0 if math.isinf(times_delta) else min(1.0, up(self.one.delta(each) * times_delta, 8))


def chained(epsilon: float, rows: int) -> float:
    """Return 1 + exp(epsilon) + ... for so many terms: how often a group has a record's delta."""
    most = epsilon * rows
    if epsilon <= 0:
        return float(rows)
    return math.expm1(most) / math.expm1(epsilon) if most < 700 else math.inf


def times(epsilon: float, rows: int) -> float:
    """Return an epsilon so many times, in whole units of a budget, rounded up."""
    return float_of_units(to_units(epsilon) * rows)


def of_group(event: Event, rows: int) -> Event:
    """Return what an event of one record is for a group of them.

    Guarantees:
      - Ratios of probabilities multiply along a chain of neighbours. [person-group]
    """
    if rows == 1:
        return event
    match event:
        case PureEvent():
            return PureEvent(times(event.epsilon, rows), event.mechanism)
        case BoundedRangeEvent():
            return BoundedRangeEvent(times(event.epsilon, rows), event.mechanism)
        case GroupEvent():
            return GroupEvent(event.one, event.rows * rows)
    return GroupEvent(event, rows)


Event = (
    PureEvent | BoundedRangeEvent | GaussianEvent | CountGaussianEvent | ApproximateEvent | GroupEvent
)

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        PureEvent,
        BoundedRangeEvent,
        GaussianEvent,
        CountGaussianEvent,
        ApproximateEvent,
        GroupEvent,
    )
}


def lattice_term(epsilon: float, slack: float) -> float:
    """Return what discrete instead of rounded continuous noise adds to delta [gauss-lattice]."""
    if slack == 0:
        return 0.0
    return up((1.0 + math.exp(epsilon)) * slack) if epsilon < 700 else math.inf


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event as plain data."""
    inner = {"one": event_to_json(event.one)} if isinstance(event, GroupEvent) else {}
    return {"event": type(event).__name__, **vars(event), **inner}


def event_from_json(plain: dict[str, Any]) -> Event:
    """Read an event back."""
    fields = dict(plain)
    kind = _KINDS.get(fields.pop("event", ""))
    if kind is None or set(fields) != {field.name for field in dataclasses.fields(kind)}:
        raise UnsupportedEvent(f"{plain!r} is not an event this version knows.")
    if kind is GroupEvent:
        fields["one"] = event_from_json(fields["one"])
    built: Event = kind(**fields)
    return built
