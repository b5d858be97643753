"""Trials of an attack on anybody's mechanism, one at a time; whatever ends them, they are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import check_positive

Release = Callable[[Any, int], Any]
"""Anybody's mechanism: runs on a table with a seed."""

T = TypeVar("T")


@dataclass(frozen=True)
class Trials(Generic[T]):
    """What trials came to.

    Args:
      outcomes: of every trial, in order.
      stopped: why there are fewer than were asked for, else empty.
    """

    outcomes: list[T]
    stopped: str = ""


def run_trials(trial: Callable[[int], T], *, trials: int, seconds: float, fewest: int) -> Trials[T]:
    """Return all trials, or those until time was up, Ctrl-C came or the mechanism failed.

    Args:
      trial: does one, by its number.
      trials: at most so many.
      seconds: no trial begins after so many.
      fewest: with fewer there is nothing to tell, and what ended them is raised.
    """
    check_positive("seconds", seconds, "It is the time the trials may take.")
    found: list[T] = []
    stopped, stop = "", time.monotonic() + seconds
    try:
        for number in range(trials):
            found.append(trial(number))
            if time.monotonic() > stop and len(found) < trials:
                stopped = "out of time"
                break
    except KeyboardInterrupt:
        if len(found) < fewest:
            raise
        stopped = "interrupted"
    except ArgumentError as error:
        if len(found) < fewest:
            raise
        stopped = str(error)
    if len(found) < fewest:
        raise ArgumentError(
            f"seconds must be enough for {fewest} trials, got {seconds!r} and {len(found)} trials. "
            "Give more, or a faster mechanism."
        )
    return Trials(found, stopped)


def ask(release: Release, table: Any, seed: int, name: str = "release") -> Any:
    """Return one output, or say at which seed the mechanism failed."""
    try:
        return release(table, seed)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ArgumentError(
            f"{name} must answer for every seed, got {shown(what)} at seed {seed}. Call it by hand."
        ) from error
