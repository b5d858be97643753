"""The price of a batch that is fixed in advance, by privacy loss distributions.

The composition itself is dp-accounting's. Events that are equal are grouped and composed by powers,
through distribution objects: its accountant ignores the count for some events. Its grid rounds every
loss up, which for very many tiny losses is worse than adding them, so the answer is the least of
three bounds: distributions, the sum of pure epsilons, the sum of rhos.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from discreet.errors import UnsupportedEvent
from discreet.numerics import check_probability, up
from discreet.privacy.accounting.conversion import zcdp_epsilon
from discreet.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    lattice_term,
)
from discreet.privacy.accounting.joint import continuous, flatten

_GRID = 1e-4
"""Losses are rounded up to whole multiples of this."""

_USUAL_LOSS, _GREATEST_LOSS = 50.0, 300.0
"""Beyond the first loss the grid is coarser, beyond the second no distribution is formed."""

_LARGEST_COUNT_SCALE = 2.0**16
"""Counts with more noise than this are composed as continuous noise plus slack."""


def batch_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return epsilon, at ``delta``, of releasing all events together.

    Guarantees:
      - Holds for any order and for adaptively chosen queries as long as the events themselves are
        fixed in advance; each event is replaced by a pair of laws that dominates it. [pld-batch]
    """
    check_probability("delta", delta)
    happened = [flatten(event) for event in events]
    # Of these one pair of epsilon and delta is known: they are added to the rest.
    pairs = [event for event in happened if isinstance(event, ApproximateEvent)]
    counts = Counter(_composable(e) for e in happened if not isinstance(e, ApproximateEvent))
    left = delta - up(math.fsum(event.certain_delta for event in pairs)) if pairs else delta
    if left < 0:
        return math.inf
    summed = math.fsum(event.epsilon for event in pairs)
    if not counts:
        return up(summed) if pairs else 0.0
    rest = min(_summed_epsilon(counts, left), _distributed_epsilon(counts, left))
    return up(summed + rest) if pairs else rest


def _composable(event: Event) -> Event:
    if not isinstance(event, PureEvent | BoundedRangeEvent | GaussianEvent | CountGaussianEvent):
        raise UnsupportedEvent(f"{type(event).__name__} has no privacy loss distribution.")
    if isinstance(event, CountGaussianEvent) and event.scale > _LARGEST_COUNT_SCALE:
        return continuous(event)
    return event


def _summed_epsilon(counts: Mapping[Event, int], delta: float) -> float:
    """Return the better of adding rhos, and adding pure epsilons to the rhos of the rest."""
    rho = math.fsum(event.rho * count for event, count in counts.items())
    pure = {e: n for e, n in counts.items() if isinstance(e, PureEvent | BoundedRangeEvent)}
    pure_epsilon = up(math.fsum(event.epsilon * count for event, count in pure.items()))
    if len(pure) == len(counts):
        return min(pure_epsilon, _rho_epsilon(rho, delta))
    rest = math.fsum(event.rho * n for event, n in counts.items() if event not in pure)
    return min(up(pure_epsilon + _rho_epsilon(rest, delta)), _rho_epsilon(rho, delta))


def _rho_epsilon(rho: float, delta: float) -> float:
    return zcdp_epsilon(delta, up(rho)) if delta > 0 and rho < math.inf else math.inf


def _distributed_epsilon(counts: Mapping[Event, int], delta: float) -> float:
    rho = math.fsum(event.rho * count for event, count in counts.items())
    single = max(event.rho for event in counts)
    furthest = max(_furthest_loss(rho), _furthest_loss(single))
    if delta == 0 or furthest > _GREATEST_LOSS:
        return math.inf
    grid = _GRID * max(1.0, furthest / _USUAL_LOSS)
    composed = None
    for event, count in counts.items():
        part = _distribution(event, grid).self_compose(count)
        composed = part if composed is None else composed.compose(part)
    slack = math.fsum(getattr(event, "slack", 0.0) * count for event, count in counts.items())
    return _epsilon(composed, delta, slack)


def _furthest_loss(rho: float) -> float:
    """Return a loss that is hardly ever exceeded: mean plus ten standard deviations."""
    return rho + 10.0 * math.sqrt(2.0 * rho)


def _epsilon(composed: Any, delta: float, slack: float) -> float:
    if slack == 0:
        return up(float(composed.get_epsilon_for_delta(delta)))
    # At half of delta the lattice may take the other half; then what it takes is at most its share
    # at that epsilon, because the share grows with epsilon.
    bound = float(composed.get_epsilon_for_delta(delta / 2))
    share = lattice_term(bound, up(slack))
    if share > delta / 2:
        return math.inf
    return up(float(composed.get_epsilon_for_delta(delta - share)))


@lru_cache(maxsize=256)
def _distribution(event: Event, grid: float) -> Any:
    """Return the dominating pair of an event as a distribution of dp-accounting."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(event, GaussianEvent):
        return pld.from_gaussian_mechanism(event.multiplier, value_discretization_interval=grid)
    if isinstance(event, CountGaussianEvent):
        one = pld.from_discrete_gaussian_mechanism(event.scale, value_discretization_interval=grid)
        return one.self_compose(event.moves)
    assert isinstance(event, PureEvent | BoundedRangeEvent)  # composable
    parameters = common.DifferentialPrivacyParameters(event.epsilon, 0.0)
    return pld.from_privacy_parameters(parameters, value_discretization_interval=grid)
