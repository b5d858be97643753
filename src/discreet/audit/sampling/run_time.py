"""Does the time of a release tell whether a record is there?

Differential privacy bounds what an answer tells, not how long it takes. Releases of two neighbours are
timed in pairs, in an order drawn anew for every pair, so that whatever else the machine does meets both
alike. The result is a report, not a verdict: no promise is made about time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.arguments import shown
from discreet.audit.sampling.drawing import INTERRUPTED, OUT_OF_TIME
from discreet.audit.sampling.intervals import FloatArray, check_confidence, lower_share, upper_share
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.randomness import public_generator


@dataclass(frozen=True)
class TimingReport:
    """How long releases of two neighbours took.

    Args:
      first: the median seconds on the first table.
      second: the median seconds on the second table.
      slower: the share of pairs in which the first took longer, ties as halves; one half if time tells
        nothing.
      slower_interval: in which the true share is, at ``confidence``.
      difference: the median of the differences within pairs, in seconds.
      difference_interval: in which the true median is, at ``confidence``.
      p_value: of the signed-rank test (Wilcoxon 1945) of no difference.
      confidence: of the intervals.
      pairs: how many were timed.
      stopped: why there are fewer pairs than were asked for, else empty.
    """

    first: float
    second: float
    slower: float
    slower_interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]
    p_value: float
    confidence: float
    pairs: int
    stopped: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        low, high = self.slower_interval
        early = f" Stopped early: {self.stopped}." if self.stopped else ""
        return (
            f"The first table took longer in {self.slower:.1%} of {self.pairs} pairs (from {low:.1%} "
            f"to {high:.1%} at {self.confidence:.9g} confidence), by {self.difference:.3g} s in the "
            f"median; p = {self.p_value:.2g} for no difference.{early}"
        )


def timing(
    release: Callable[[Any], Any],
    first: Any,
    second: Any,
    *,
    repeats: int = 200,
    confidence: float = 0.95,
    seconds: float | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> TimingReport:
    """Time releases of two neighbouring tables in pairs, and say whether time tells them apart.

    Args:
      release: called with a table.
      first: one table.
      second: its neighbour.
      repeats: pairs that are timed, after one that warms up.
      confidence: of the intervals.
      seconds: no pair is begun after so many.
      seed: of the order within pairs.
      clock: returns seconds.
    """
    check_whole("repeats", repeats, 5, hint="Fewer pairs tell nothing.")
    check_confidence(confidence)
    check_whole("seed", seed, 0)
    if seconds is not None:
        check_positive("seconds", seconds, "Use None for as long as it takes.")
    if not callable(release):
        raise ArgumentError(f"release must be a function of a table, got {shown(release)}.")
    times, stopped = _timed(release, (first, second), repeats, seconds, seed, clock)
    if len(times) < 5:
        _refuse(stopped, len(times))
    return _report(times, confidence, stopped)


def _refuse(stopped: str, pairs: int) -> None:
    """Raise what is to be known of too few pairs."""
    if stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if stopped == OUT_OF_TIME:
        raise ArgumentError(
            f"seconds must leave time for 5 pairs, and {stopped} after {pairs}. Give more seconds."
        )
    raise ArgumentError(
        f"release must answer for 5 pairs at least, and {stopped} after {pairs}. Call it by hand on "
        "both tables first."
    )


def _timed(
    release: Callable[[Any], Any],
    tables: tuple[Any, Any],
    repeats: int,
    seconds: float | None,
    seed: int,
    clock: Callable[[], float],
) -> tuple[FloatArray, str]:
    """Return pairs x 2 seconds, and what stopped it."""
    order = public_generator(seed).integers(0, 2, repeats).tolist()
    times, stopped = [], ""
    try:
        release(tables[0]), release(tables[1])
        begun = clock()
        for earlier in order:
            pair = [0.0, 0.0]
            for side in (earlier, 1 - earlier):
                start = clock()
                release(tables[side])
                pair[side] = clock() - start
            times.append(pair)
            if seconds is not None and clock() - begun > seconds and len(times) < repeats:
                stopped = OUT_OF_TIME
                break
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    except Exception as error:  # whatever a release of anybody's raises is told, not lost
        stopped = f"raised {type(error).__name__}: {error}"
    return np.array(times).reshape(-1, 2), stopped


def _report(times: FloatArray, confidence: float, stopped: str) -> TimingReport:
    from scipy.stats import wilcoxon

    difference = times[:, 0] - times[:, 1]
    pairs, error = len(difference), (1.0 - confidence) / 2
    longer, ties = int(np.sum(difference > 0)), int(np.sum(difference == 0))
    interval = lower_share(longer, pairs, error), upper_share(longer + ties, pairs, error)
    p_value = 1.0 if ties == pairs else float(wilcoxon(difference, method="approx").pvalue)
    return TimingReport(
        first=float(np.median(times[:, 0])),
        second=float(np.median(times[:, 1])),
        slower=(longer + ties / 2) / pairs,
        slower_interval=(float(interval[0]), float(interval[1])),
        difference=float(np.median(difference)),
        difference_interval=_median_interval(difference, error),
        p_value=p_value,
        confidence=confidence,
        pairs=pairs,
        stopped=stopped,
    )


def _median_interval(values: FloatArray, error: float) -> tuple[float, float]:
    """Return two values between which the true median is, by the law of how many are below it."""
    from scipy.special import bdtr

    ordered, size = np.sort(values), len(values)
    below = np.arange(size)
    place = int(np.sum(bdtr(below, size, 0.5) <= error))
    if place == 0:
        return -np.inf, np.inf
    return float(ordered[place - 1]), float(ordered[size - place])
