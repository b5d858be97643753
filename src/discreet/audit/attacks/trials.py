"""Runs somebody's mechanism many times: failures are told in a sentence, what is there is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from discreet.errors import ArgumentError

Release = Callable[[Any, int], Any]
"""Runs a mechanism on a table with a seed."""

T = TypeVar("T")


def run_trials(trial: Callable[[int], T], *, trials: int, seconds: float, fewest: int) -> list[T]:
    """Return what trials came to: all of them, or those until time was up or Ctrl-C came.

    Args:
      trial: does one, by its number.
      trials: at most so many.
      seconds: no trial begins after so many.
      fewest: with fewer there is nothing to tell.
    """
    found: list[T] = []
    stop = time.monotonic() + seconds
    try:
        for number in range(trials):
            found.append(trial(number))
            if time.monotonic() > stop:
                break
    except KeyboardInterrupt:
        if len(found) < fewest:
            raise
    if len(found) < fewest:
        raise ArgumentError(
            f"seconds must be enough for {fewest} trials, got {seconds!r} and {len(found)} trials."
        )
    return found


def ask(release: Release, table: Any, seed: int) -> Any:
    """Return one output, or say at which seed the mechanism failed."""
    try:
        return release(table, seed)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ArgumentError(
            f"release must answer for every seed, got {what!r:.120} at seed {seed}."
        ) from error
