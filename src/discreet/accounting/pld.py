"""The price of a batch that is fixed in advance, by privacy loss distributions.

The composition itself is dp-accounting's. Events that are equal are grouped and composed by powers,
through distribution objects: its accountant ignores the count for some events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from discreet.accounting.events import (
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    lattice_term,
)
from discreet.errors import ArgumentError, UnsupportedEvent
from discreet.numerics import check_probability, up

_GRID = 1e-4


def batch_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return epsilon, at ``delta``, of releasing all events together.

    Guarantees:
      - Holds for any order and for adaptively chosen queries as long as the events themselves are
        fixed in advance; each event is replaced by a pair of laws that dominates it. [pld-batch]
    """
    check_probability("delta", delta)
    counts = Counter(events)
    if not counts:
        return 0.0
    composed = None
    for event, count in counts.items():
        part = _distribution(event).self_compose(count)
        composed = part if composed is None else composed.compose(part)
    slack = sum(getattr(event, "slack", 0.0) * count for event, count in counts.items())
    return _epsilon(composed, delta, slack)


def _epsilon(composed: Any, delta: float, slack: float) -> float:
    if slack == 0:
        return up(float(composed.get_epsilon_for_delta(delta)))
    # Epsilon only grows when the lattice's share leaves delta, so a doubled first answer bounds it.
    bound = 2 * float(composed.get_epsilon_for_delta(delta / 2)) + 1
    left = delta - lattice_term(bound, slack)
    if left <= 0:
        raise ArgumentError(f"delta must exceed the lattice's own share, got {delta!r}.")
    epsilon = up(float(composed.get_epsilon_for_delta(left)))
    assert epsilon <= bound
    return epsilon


@lru_cache(maxsize=256)
def _distribution(event: Event) -> Any:
    """Return the dominating pair of an event as a distribution of dp-accounting."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    match event:
        case PureEvent(epsilon=epsilon) | BoundedRangeEvent(epsilon=epsilon):
            parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
            return pld.from_privacy_parameters(parameters, value_discretization_interval=_GRID)
        case GaussianEvent(multiplier=multiplier):
            return pld.from_gaussian_mechanism(multiplier, value_discretization_interval=_GRID)
        case CountGaussianEvent(scale=scale, moves=moves):
            one = pld.from_discrete_gaussian_mechanism(scale, value_discretization_interval=_GRID)
            return one.self_compose(moves)
    raise UnsupportedEvent(f"{type(event).__name__} has no privacy loss distribution.")
