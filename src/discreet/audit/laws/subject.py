"""What is on trial: a law, a promise, and the neighbours over which the promise was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.laws.divergence import FloatArray, Law
from discreet.numerics import check_positive, check_probability
from discreet.privacy.accounting import ApproximateEvent, BoundedRangeEvent, Event, PureEvent
from discreet.privacy.accounting.conversion import pure_delta

Pairs = Callable[[], Iterable[tuple[Any, Any]]]


@dataclass(frozen=True)
class Promise:
    """What a mechanism says of itself.

    Args:
      epsilon: the loss that is not exceeded ...
      delta: ... but with this probability.
      events: what the accountant is told; their curve is part of the promise.
    """

    epsilon: float
    delta: float = 0.0
    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)

    def curve(self, epsilons: FloatArray) -> FloatArray:
        """Return the delta that is promised at each epsilon.

        One event says it itself. Several pure ones are as good as one of their sum. Of all others
        the pair of epsilon and delta is all that is known.
        """
        at = self._delta_at()
        return np.array([at(float(epsilon)) for epsilon in epsilons])

    @property
    def rho(self) -> float:
        """The zCDP cost that is told; infinite where nothing is."""
        return math.fsum(event.rho for event in self.events) if self.events else math.inf

    def _delta_at(self) -> Callable[[float], float]:
        pure = all(isinstance(event, PureEvent | BoundedRangeEvent) for event in self.events)
        if self.delta == 0 and pure:
            whole = math.fsum(getattr(event, "epsilon", 0.0) for event in self.events) or self.epsilon
            return lambda epsilon: pure_delta(epsilon, whole)
        if len(self.events) == 1:
            return self.events[0].delta
        return ApproximateEvent(self.epsilon, self.delta, "promise").delta


@dataclass(frozen=True)
class Subject:
    """A mechanism whose law can be computed, with neighbours to try.

    Args:
      name: of the mechanism, and of what is chosen or counted.
      law: the exact law of what is released, for an input.
      promise: what must not be exceeded.
      pairs: neighbouring inputs to try, the most telling first.
      loose: why the true loss stays below nine tenths of the promise, where it does.
      caught: the promise divided by this is exceeded by one of the pairs.
    """

    name: str
    law: Callable[[Any], Law]
    promise: Promise
    pairs: Pairs
    loose: str = ""
    caught: float = 2.0

    def promising(self, epsilon: float) -> Subject:
        """Return the same mechanism under another promise: a control that must be caught."""
        return replace(self, promise=Promise(epsilon, self.promise.delta))
