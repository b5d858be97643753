"""Measure pairs of neighbours one by one, and keep those that are worst somewhere."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.arguments import shown
from discreet.audit.laws.divergence import Law, PrivacyProfile, both_directions
from discreet.audit.laws.subject import Promise
from discreet.errors import ArgumentError
from discreet.randomness import public_generator

GRID = 41
"""Epsilons, from none to twice the promise, at which the worst pairs are kept."""

_LAWS = 512
_AT_LEAST = 16
_RESTART = 5
"""One in so many inputs is taken at random instead of the most promising one."""


class Sweep:
    """What was measured so far; bounded by pairs and by seconds, and never by fewer than some pairs."""

    def __init__(
        self, law: Callable[[Any], Law], promise: Promise, *, tries: int, seconds: float
    ) -> None:
        self.promise = promise
        self.tries = 0
        self.loss = -1.0
        self.worst: PrivacyProfile | None = None
        self._law = _remembered(law)
        self._most, self._until = tries, time.monotonic() + seconds
        self._grid = epsilon_grid(promise)
        self._deltas = np.full(len(self._grid), -1.0)
        self._kept: list[PrivacyProfile | None] = [None] * len(self._grid)

    def spent(self) -> bool:
        """Whether no more pairs should be measured."""
        late = time.monotonic() > self._until and self.tries >= _AT_LEAST
        return self.tries >= self._most or late

    @property
    def profiles(self) -> tuple[PrivacyProfile, ...]:
        """Those that are worst at some epsilon of the grid, and the worst at the promise first."""
        kept = [profile for profile in (self.worst, *self._kept) if profile is not None]
        return tuple({id(profile): profile for profile in kept}.values())

    def measure(self, first: Any, second: Any) -> float:
        """Return the loss of a pair at the promised delta, in the worse direction."""
        profiles = both_directions(self._law(first), self._law(second), (first, second))
        self.tries += 1
        return max(self._take(profile) for profile in profiles)

    def _take(self, profile: PrivacyProfile) -> float:
        loss, deltas = profile.epsilon(self.promise.delta), profile.deltas(self._grid)
        if loss > self.loss:
            self.loss, self.worst = loss, profile
        for place in np.flatnonzero(deltas > self._deltas):
            self._deltas[place], self._kept[place] = deltas[place], profile
        return loss


def epsilon_grid(promise: Promise) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return epsilons from none to twice the promise, the promise among them."""
    return np.linspace(0.0, 2.0, GRID) * promise.epsilon


def measure_all(sweep: Sweep, pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Measure given pairs; return whether there was room for all."""
    for pair in pairs:
        if sweep.spent():
            return False
        try:
            first, second = pair
        except (TypeError, ValueError):
            raise ArgumentError(f"pairs must be pairs of inputs, got {shown(pair)}.") from None
        sweep.measure(first, second)
    return True


def search_worst(
    sweep: Sweep, neighbours: Callable[[Any], Iterable[Any]], starts: Iterable[Any], seed: int
) -> bool:
    """Climb from input to neighbouring input towards greater losses; return whether none was left.

    Of all inputs seen so far the one that belongs to the greatest loss is next, so that a small domain
    is seen whole and in a large one the search climbs; now and then an input is taken at random, which
    is a restart from where the search has been.
    """
    draw = public_generator(seed)
    waiting = [(0.0, place, start) for place, start in enumerate(starts)]
    heapq.heapify(waiting)
    seen, count = {_key(entry[2]) for entry in waiting}, len(waiting)
    while waiting:
        _, _, here = _next(waiting, draw) if count % _RESTART == 0 else heapq.heappop(waiting)
        for other in neighbours(here):
            if sweep.spent():
                return False
            loss = sweep.measure(here, other)
            count += 1
            if _key(other) not in seen:
                seen.add(_key(other))
                heapq.heappush(waiting, (-loss, count, other))
    return True


def _next(waiting: list[tuple[float, int, Any]], draw: np.random.Generator) -> tuple[float, int, Any]:
    entry = waiting.pop(int(draw.integers(len(waiting))))
    heapq.heapify(waiting)
    return entry


def _key(entry: Any) -> Any:
    try:
        hash(entry)
    except TypeError:
        return repr(entry)
    return entry


def _remembered(law: Callable[[Any], Law]) -> Callable[[Any], Law]:
    """Return a law that is computed once per input, if the input can be remembered."""
    known = lru_cache(maxsize=_LAWS)(law)

    def at(entry: Any) -> Law:
        try:
            hash(entry)
        except TypeError:
            return law(entry)
        return known(entry)

    return at
