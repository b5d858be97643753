"""What events keep together: one curve for all stages of a plan, instead of a sum of promises.

The events are fixed in advance; what is asked may depend on earlier answers. Pure events are replaced
by randomised response, lattice Gaussians by continuous ones plus their slack: the loss of the former
takes finitely many values, and given each of them the delta of the latter is known. Where choices are
among the events, which rho knows better than a pure epsilon does, the sum of rhos is often less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
    lattice_term,
    of_group,
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
    told = list(events)
    happened = [flatten(event) for event in told]
    if (
        len(happened) == 1
    ):  # of a group both are known: what follows from one record, and from the noise
        return min(_own_delta(happened[0], epsilon), _own_delta(told[0], epsilon))
    # Of these one pair of epsilon and delta is known: they are added to the rest.
    pairs = [event for event in happened if isinstance(event, ApproximateEvent)]
    rest = tuple(event for event in happened if not isinstance(event, ApproximateEvent))
    left = down(epsilon - math.fsum(event.epsilon for event in pairs)) if pairs else epsilon
    if left < 0:
        return 1.0
    certain = math.fsum(event.certain_delta for event in pairs)
    found = _composed_delta(rest, left, room)
    return min(1.0, up(certain + found) if pairs else found)


def joint_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return about the least epsilon, never less, at which events have ``delta`` together.

    It is never zero, even where delta is enough without an epsilon.
    """
    check_positive("delta", delta)
    happened, low, high = tuple(events), 0.0, 1.0
    while joint_delta(happened, high) > delta:
        low, high = high, 1.25 * high  # far beyond, what lattices add to delta takes over
        if high > 1e6:
            return math.inf
    while high - low > 1e-6 * high and high > _LEAST:
        middle = (low + high) / 2
        if joint_delta(happened, middle) <= delta:
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
    it is asked, or for more.

    Guarantees:
      - Stages that were let pass keep the promise, whatever they were chosen by. [joint-stages]
    """

    def __init__(self, events: Iterable[Event], epsilon: float, delta: float) -> None:
        priced = [flatten(event) for event in events]
        over = max(0.0, delta - joint_delta(priced, epsilon))
        noises = [continuous(event) for event in priced if _is_gaussian(event)]
        roomy = len(priced) > 1 and joint_delta(priced, epsilon, _ROOM) <= delta
        self._power = _total(_powers(noises), 8) * (1 + (_ROOM / 2 if roomy else 0.0))
        self._slack = _total(_slacks(noises), 1) + down(over / lattice_term(epsilon, 1.0))
        self._powers: list[float] = []
        self._slacks: list[float] = []
        self._left = [event for event in priced if not _is_gaussian(event)]

    def take(self, events: Sequence[Event]) -> None:
        """Strike events off, or raise and change nothing."""
        asked, left = [flatten(event) for event in events], list(self._left)
        for event in asked:
            if _is_gaussian(event):
                continue
            enough = [priced for priced in left if covers(priced, event)]
            if not enough:
                raise CertificateError(f"{event} is none of the events that this plan was priced for.")
            left.remove(min(enough, key=lambda priced: _waste(priced, event)))
        # Summed anew each time, so that what was priced is never exceeded by rounding alone.
        noises = [continuous(event) for event in asked if _is_gaussian(event)]
        powers, slacks = self._powers + _powers(noises), self._slacks + _slacks(noises)
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


def _powers(noises: Sequence[GaussianEvent]) -> list[float]:
    """Return twice the rhos of Gaussian noises: their inverse squares."""
    return [1 / noise.multiplier**2 for noise in noises]


def _slacks(noises: Sequence[GaussianEvent]) -> list[float]:
    return [noise.slack for noise in noises]


def _total(amounts: Sequence[float], steps: int) -> float:
    return up(math.fsum(amounts), steps) if amounts else 0.0


def flatten(event: Event) -> Event:
    """Return an event of a group of records as one of the other kinds."""
    if not isinstance(event, GroupEvent):
        return event
    one = flatten(event.one)
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


@lru_cache(maxsize=4096)
def _composed_delta(events: tuple[Event, ...], epsilon: float, room: float) -> float:
    """Return the least of three bounds: pairs of laws, rhos, pure epsilons beside rhos."""
    pure = [event for event in events if isinstance(event, PureEvent | BoundedRangeEvent)]
    summed = sum(to_units(event.epsilon) for event in pure)
    if len(pure) == len(events) and summed <= to_units(epsilon):
        return 0.0
    others = [event for event in events if not isinstance(event, PureEvent | BoundedRangeEvent)]
    rho = up(math.fsum(event.rho for event in events)) * (1 + room)
    beside = up(math.fsum(event.rho for event in others)) * (1 + room)
    left = epsilon - up(math.fsum(event.epsilon for event in pure))
    bounds = [zcdp_delta(epsilon, rho), zcdp_delta(left, beside) if left >= 0 else 1.0]
    few = len(pure) <= _MOST_RESPONSES
    return min(*bounds, _paired_delta(pure, others, epsilon, room) if few else 1.0)


def _paired_delta(
    pure: Sequence[PureEvent | BoundedRangeEvent],
    others: Sequence[Event],
    epsilon: float,
    room: float,
) -> float:
    """Return the mean, over the losses of pure events, of what the Gaussians keep beside each."""
    known = [continuous(event) for event in others if _is_gaussian(event)]
    slack = _total(_slacks(known), 1)
    losses, chances = _pure_losses(Counter(event.epsilon for event in pure))
    if known:
        multiplier = down((_total(_powers(known), 8) * (1 + room)) ** -0.5)
        deltas = gaussian_deltas(epsilon - losses, multiplier)
    else:
        deltas = -np.expm1(np.minimum(epsilon - losses, 0.0))
    return float(np.dot(chances, deltas)) * (1 + _RELATIVE_ERROR) + lattice_term(epsilon, slack)


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
