"""What events keep together: one curve for all stages of a plan, instead of a sum of promises.

The events are fixed in advance; what is asked may depend on earlier answers. Pure events are replaced
by randomised response, lattice Gaussians by continuous ones plus their slack: the loss of the former
takes finitely many values, and given each of them the delta of the latter is known. Where choices are
among the events, which rho knows better than a pure epsilon does, the sum of rhos is often less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CertificateError
from discreet.numerics import check_positive, check_probability, down, to_units, up
from discreet.privacy.accounting.calibration import gaussian_multiplier
from discreet.privacy.accounting.conversion import gaussian_deltas, zcdp_budget, zcdp_delta
from discreet.privacy.accounting.discrete import lattice_slack
from discreet.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    GroupEvent,
    PureEvent,
    chained,
    lattice_term,
    of_group,
    times,
)

Floats = NDArray[np.float64]

_RELATIVE_ERROR = 1e-12
"""What is allowed for sums of products of floats."""

_MOST_RESPONSES = 500
"""Pure events up to which binomial coefficients are floats; of more the sum of rhos is less anyway."""

_MOST_LOSSES = 2048
"""Different losses of pure events that are told apart; more are rounded up."""

_ROOM = 1e-8
"""By how much more than priced Gaussian noises may tell, if the promise has room for it: other lattices
round a little otherwise."""

_NO_USE = 0.75
"""A slack that leaves no promise: at every epsilon its term exceeds one."""

_SPARE = 1e-4
"""Of delta: what is left for the lattices of Gaussian stages."""

_LEAST = 1e-12
"""An epsilon below which nothing is told apart: a unit of charge."""

_NEAR, _NOTHING = 1e-7, 1e-18
"""How near the greatest rho beside choices is found, and a rho that is of no use."""


def joint_delta(events: Iterable[Event], epsilon: float, room: float = 0.0) -> float:
    """Return delta at ``epsilon`` of all events together, told to lose this share more than they do.

    Guarantees:
      - Holds for queries that depend on earlier answers, as long as the events themselves are fixed in
        advance. [joint-stages]
    """
    return _curve(events, room)(epsilon)


def _curve(events: Iterable[Event], room: float) -> Callable[[float], float]:
    """Return what gives delta of all events together at any epsilon."""
    told = list(events)
    happened = [flatten(event) for event in told]
    if len(told) == 1:
        return _curve_of_one(told[0])
    # Of these one pair of epsilon and delta is known: they are added to the rest.
    pairs = [event for event in happened if isinstance(event, ApproximateEvent)]
    rest = _composed(tuple(e for e in happened if not isinstance(e, ApproximateEvent)), room)
    certain = math.fsum(event.certain_delta for event in pairs)
    taken = math.fsum(event.epsilon for event in pairs)

    def delta(epsilon: float) -> float:
        left = down(epsilon - taken) if pairs else epsilon
        if left < 0:
            return 1.0
        return min(1.0, up(certain + rest.delta(left)) if pairs else rest.delta(left))

    return delta


def _curve_of_one(event: Event) -> Callable[[float], float]:
    """Return the curve of an event alone; of noise on counts the least that is known of it."""
    continued = partial(_own_delta, flatten(event))
    if not _is_on_counts(event):
        return continued
    return lambda epsilon: min(continued(epsilon), _own_delta(event, epsilon))


def joint_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return about the least epsilon, never less, at which events have ``delta`` together.

    It is never zero, even where delta is enough without an epsilon.
    """
    check_positive("delta", delta)
    curve, low, high = _curve(events, 0.0), 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 1.25 * high  # far beyond, what lattices add to delta takes over
        if high > 1e6:
            return math.inf
    while high - low > 1e-6 * high and high > _LEAST:
        middle = (low + high) / 2
        if curve(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def joint_rho(epsilon: float, delta: float, *, choices: bool = False) -> float:
    """Return the rho that the Gaussian stages of a plan may have in all, rounded down.

    Args:
      epsilon: the promise of all stages together.
      delta: see ``epsilon``.
      choices: whether exponential mechanisms, of epsilon^2 / 8 each, are among the stages; then it is
        the rho that any stages may have.

    Guarantees:
      - Lattice sums of these rhos keep (epsilon, delta) together. [joint-stages] [filter-zcdp]
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    if choices:
        return zcdp_budget(epsilon, delta)
    multiplier = gaussian_multiplier(epsilon, delta * (1 - _SPARE))
    return down(0.5 / multiplier / multiplier * (1 - 1e-9))


def rho_beside(epsilon: float, delta: float, choices: Sequence[PureEvent]) -> float:
    """Return the rho that the Gaussian stages of a plan may have beside choices, rounded down.

    Choices are pure events, which the curve of all stages together counts exactly; where there are few
    of them that leaves more than one rho for all stages does. Zero if choices alone take everything.

    Guarantees:
      - Lattice sums of these rhos and the choices keep (epsilon, delta) together. [joint-stages]
    """
    low, high = 0.0, joint_rho(epsilon, delta)
    if not choices:
        return high
    while high - low > _NEAR * high:
        middle = (low + high) / 2
        events: tuple[Event, ...] = (GaussianEvent((0.5 / middle) ** 0.5, 0.0), *choices)
        kept = joint_delta(events, epsilon) <= delta * (1 - _SPARE)
        low, high = (middle, high) if kept else (low, middle)
        if high < _NOTHING:
            return 0.0
    return down(low * (1 - 1e-9))


class JointEvents:
    """The events that a plan was priced for, and what is left of them while stages are asked.

    Gaussian noise, on whatever lattice, is taken from one sum of inverse squares and one of slacks; of
    delta the slacks may also have what the price left over. Everything else must have been priced as
    it is asked, or for more; so must noise on counts that was priced alone, by its own curve.

    Guarantees:
      - Stages that were let pass keep the promise, whatever they were chosen by. [joint-stages]
    """

    def __init__(self, events: Iterable[Event], epsilon: float, delta: float) -> None:
        told = list(events)
        exact = len(told) == 1 and _is_on_counts(told[0])
        priced = told if exact else [flatten(event) for event in told]
        roomy = len(priced) > 1 and joint_delta(priced, epsilon, _ROOM) <= delta
        # What is left of delta is told once: by less noise first, the rest by its lattices.
        over = max(0.0, delta - joint_delta(priced, epsilon, _ROOM if roomy else 0.0))
        pooled = [] if exact else [event for event in priced if _is_gaussian(event)]
        noises = [continuous(event) for event in pooled]
        self._power = _total(_powers(noises), 8) * (1 + (_ROOM / 2 if roomy else 0.0))
        spare = max(0.0, down(over / lattice_term(epsilon, 1.0)))
        self._slack = _total(_slacks(noises), 1) + spare
        self._powers: list[float] = []
        self._slacks: list[float] = []
        self._left = priced if exact else [event for event in priced if not _is_gaussian(event)]

    def take(self, events: Sequence[Event]) -> None:
        """Strike events off, or raise and change nothing."""
        left = list(self._left)
        asked = [event if event in left else flatten(event) for event in events]
        pooled: list[GaussianEvent] = []
        for event in asked:
            enough = [priced for priced in left if covers(priced, event)]
            if _is_gaussian(event) and not enough:
                pooled.append(continuous(event))
                continue
            if not enough:
                raise CertificateError(f"{event} is none of the events that this plan was priced for.")
            left.remove(min(enough, key=lambda priced: _waste(priced, event)))
        # Summed anew each time, so that what was priced is never exceeded by rounding alone.
        powers, slacks = self._powers + _powers(pooled), self._slacks + _slacks(pooled)
        if _total(powers, 8) > self._power or _total(slacks, 1) > self._slack:
            raise CertificateError(f"{asked} has less noise than this plan was priced for.")
        self._left, self._powers, self._slacks = left, powers, slacks


def covers(priced: Event, asked: Event) -> bool:
    """Say whether an event loses no more than another, of the same kind, that was priced."""
    match priced, asked:
        case PureEvent(), PureEvent() | BoundedRangeEvent():
            return asked.epsilon <= priced.epsilon
        case BoundedRangeEvent(), BoundedRangeEvent():
            return asked.epsilon <= priced.epsilon
    return priced == asked


def _waste(priced: Event, asked: Event) -> tuple[bool, float]:
    """Return how much more was priced than is asked: another kind first, then the epsilon."""
    return type(priced) is not type(asked), getattr(priced, "epsilon", 0.0)


def _is_gaussian(event: Event) -> TypeGuard[GaussianEvent | CountGaussianEvent]:
    return isinstance(event, GaussianEvent | CountGaussianEvent)


def _is_on_counts(event: Event) -> bool:
    """Say whether an event is noise on counts, of a record or of a group of them."""
    return isinstance(event.one if isinstance(event, GroupEvent) else event, CountGaussianEvent)


def _powers(noises: Sequence[GaussianEvent]) -> list[float]:
    """Return twice the rhos of Gaussian noises: their inverse squares."""
    return [1 / noise.multiplier**2 for noise in noises]


def _slacks(noises: Sequence[GaussianEvent]) -> list[float]:
    return [noise.slack for noise in noises]


def _total(amounts: Sequence[float], steps: int) -> float:
    return up(math.fsum(amounts), steps) if amounts else 0.0


def flatten(event: Event) -> Event:
    """Return an event of a group of records as one of the other kinds.

    Of a pair of epsilon and delta of which a group would have no delta below one nothing is known: it
    stays as it is.
    """
    if not isinstance(event, GroupEvent):
        return event
    one = flatten(event.one)
    if isinstance(one, ApproximateEvent):
        together = up(one.certain_delta * chained(one.epsilon, event.rows), 8)
        if together >= 1:
            return event
        return ApproximateEvent(times(one.epsilon, event.rows), together, one.mechanism)
    if isinstance(one, CountGaussianEvent):
        one = continuous(one)
    if isinstance(one, GaussianEvent):
        return GaussianEvent(
            down(one.multiplier / event.rows), min(_NO_USE, up(event.rows * one.slack))
        )
    return of_group(one, event.rows)


def continuous(event: GaussianEvent | CountGaussianEvent) -> GaussianEvent:
    """Return noise on counts as noise on a fine lattice, with the slack that this takes."""
    if isinstance(event, GaussianEvent):
        return event
    multiplier = event.scale / up(math.sqrt(event.moves))
    return GaussianEvent(multiplier, min(_NO_USE, lattice_slack(event.scale, event.moves)))


@lru_cache(maxsize=4096)
def _own_delta(event: Event, epsilon: float) -> float:
    """Return an event's own delta, remembered: exact sums are asked for again and again."""
    return event.delta(epsilon)


@dataclass(frozen=True, eq=False)
class _Composed:
    """Events that are composed, and what bounds of delta need of them at whatever epsilon.

    ``room`` is the share by which all of them are told to lose more than they do.
    """

    events: tuple[Event, ...]
    room: float

    def delta(self, epsilon: float) -> float:
        """Return the least of three bounds: pairs of laws, rhos, pure epsilons beside rhos.

        Guarantees:
          - One for an event of which neither a law nor a rho is known. [joint-stages]
        """
        if len(self._pure) == len(self.events) and self._units <= to_units(epsilon):
            return 0.0
        left = epsilon - up(math.fsum(event.epsilon for event in self._pure))
        bounds = [zcdp_delta(epsilon, self._rho), zcdp_delta(left, self._beside) if left >= 0 else 1.0]
        known = len(self._pure) <= _MOST_RESPONSES and len(self._noises) == len(self._others)
        return min(*bounds, self._paired(epsilon) if known else 1.0)

    def _paired(self, epsilon: float) -> float:
        """Return the mean, over the losses of pure events, of what the Gaussians keep beside each."""
        losses, chances = self._losses
        if self._noises:
            deltas = gaussian_deltas(epsilon - losses, self._multiplier)
        else:
            deltas = -np.expm1(np.minimum(epsilon - losses, 0.0))
        paired = float(np.dot(chances, deltas)) * (1 + _RELATIVE_ERROR)
        return paired + lattice_term(epsilon, self._slack)

    @cached_property
    def _pure(self) -> list[PureEvent | BoundedRangeEvent]:
        return [event for event in self.events if isinstance(event, PureEvent | BoundedRangeEvent)]

    @cached_property
    def _others(self) -> list[Event]:
        return [e for e in self.events if not isinstance(e, PureEvent | BoundedRangeEvent)]

    @cached_property
    def _noises(self) -> list[GaussianEvent]:
        return [continuous(event) for event in self._others if _is_gaussian(event)]

    @cached_property
    def _units(self) -> int:
        return sum(to_units(event.epsilon) for event in self._pure)

    @cached_property
    def _rho(self) -> float:
        return up(math.fsum(event.rho for event in self.events)) * (1 + self.room)

    @cached_property
    def _beside(self) -> float:
        return up(math.fsum(event.rho for event in self._others)) * (1 + self.room)

    @cached_property
    def _slack(self) -> float:
        return _total(_slacks(self._noises), 1)

    @cached_property
    def _multiplier(self) -> float:
        return down((_total(_powers(self._noises), 8) * (1 + self.room)) ** -0.5)

    @cached_property
    def _losses(self) -> tuple[Floats, Floats]:
        return _pure_losses(Counter(event.epsilon for event in self._pure))


_composed = lru_cache(maxsize=1024)(_Composed)


def _pure_losses(epsilons: Mapping[float, int]) -> tuple[Floats, Floats]:
    """Return the losses of so many randomised responses, rounded up, and their chances."""
    losses, chances = np.zeros(1), np.ones(1)
    for epsilon, count in epsilons.items():
        own, chance = _responses(epsilon, count)
        losses, chances = np.add.outer(losses, own).ravel(), np.outer(chances, chance).ravel()
        if len(losses) > _MOST_LOSSES:
            grid = 2 * float(np.abs(losses).max()) / _MOST_LOSSES
            steps, places = np.unique(np.ceil(losses / grid), return_inverse=True)
            losses, chances = steps * grid, np.bincount(places, weights=chances).astype(np.float64)
    return losses * (1 + _RELATIVE_ERROR * np.sign(losses)), chances


def _responses(epsilon: float, count: int) -> tuple[Floats, Floats]:
    """Return the losses of ``count`` equal randomised responses and their binomial chances."""
    truths, truth = np.arange(count + 1, dtype=np.float64), 1 / (1 + math.exp(-epsilon))
    orders = np.array([float(math.comb(count, k)) for k in range(count + 1)])
    chances = orders * np.power(truth, truths) * np.power(1 - truth, count - truths)
    return (2.0 * truths - count) * epsilon, chances
