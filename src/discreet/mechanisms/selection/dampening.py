"""Local dampening (Farias et al. 2020): utilities measured in edits instead of units.

With b(t) the sum of an admissible function over distances below t, a utility u becomes the number of
edits it stands for, b^-1(u). Flat pieces of b (the utility cannot change near here) are what makes
dampening pay: they count as edits although no utility is gained in them.

The original defines the inverse interval by interval; ours is sup {d : b(d) <= u}, which is the same
where it is defined and covers flat pieces of the function, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.pick import FloatArray
from discreet.numerics import check_positive, check_whole
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.randomness import IntArray, NoiseSource

PARTS = 2**20
"""A dampened utility is a whole number of so many parts of an edit, rounded down."""

_LARGEST = 2**40


@dataclass(frozen=True)
class LocalDampening:
    """The exponential mechanism on dampened utilities.

    Args:
      epsilon: the promise.
      beyond: the global sensitivity, used beyond the distances that are given.
      shift: a public number taken off every utility first; a bound on the greatest utility gives
        *shifted* local dampening, in which far candidates lose instead of win by their distance.

    The admissible function is ``sensitivities[r, t]`` (or one row for all r): at least the change of
    utility r to any neighbour at t = 0, and at t + 1 at least every neighbour's at t.

    Guarantees:
      - epsilon-differentially private and epsilon-bounded range. [dampening]
    """

    epsilon: float
    beyond: int
    shift: int = 0

    name = "local dampening"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_whole("beyond", self.beyond, 1, _LARGEST)
        check_whole("shift", self.shift, -_LARGEST, _LARGEST)

    @property
    def step(self) -> ExponentialMechanism:
        """The mechanism that chooses by dampened utilities."""
        return ExponentialMechanism(PARTS, self.epsilon)

    @property
    def event(self) -> BoundedRangeEvent:
        """What the accountant is told."""
        return self.step.event

    def scores(self, raw_utilities: IntArray, raw_sensitivities: IntArray) -> IntArray:
        """Return the dampened utilities in whole parts; an edit moves each by at most ``PARTS``."""
        utilities = np.asarray(raw_utilities, dtype=np.int64) - self.shift
        table = np.atleast_2d(np.asarray(raw_sensitivities, dtype=np.int64))
        if table.shape[0] not in (1, len(utilities)):
            raise ArgumentError("sensitivities must have one row, or one for every utility.")
        if np.any((table < 0) | (table > _LARGEST)) or np.any(np.abs(utilities) > _LARGEST):
            raise ArgumentError("utilities and sensitivities must be whole numbers up to 2^40.")
        if table.shape[0] == 1:
            return _dampened(utilities, table[0], self.beyond)
        rows = zip(utilities[:, None], table, strict=True)
        return np.concatenate([_dampened(u, row, self.beyond) for u, row in rows])

    def probabilities(self, utilities: IntArray, sensitivities: IntArray) -> FloatArray:
        """Return the exact law of the chosen index."""
        return self.step.probabilities(self.scores(utilities, sensitivities))

    def release(self, raw_utilities: IntArray, raw_sensitivities: IntArray, source: NoiseSource) -> int:
        """Return the chosen index."""
        return self.step.release(self.scores(raw_utilities, raw_sensitivities), source)


def _dampened(utilities: IntArray, sensitivities: IntArray, beyond: int) -> IntArray:
    """Return floor(PARTS sup {d : b(d) <= u}) for utilities that share one admissible function."""
    reached = np.concatenate([[0], np.cumsum(sensitivities)])
    slopes = np.append(sensitivities, beyond)
    size = np.abs(utilities)
    # u >= 0: the last whole distance with b <= u. u < 0: the one before the first with b >= -u.
    above = np.searchsorted(reached, size, side="right") - 1
    before = np.maximum(np.searchsorted(reached, size, side="left") - 1, 0)
    whole = np.where(utilities >= 0, above, before)
    rest, slope = (size - reached[whole]) * PARTS, np.maximum(slopes[whole], 1)
    parts = np.where(utilities >= 0, rest // slope, -(rest // -slope))
    dampened = whole * PARTS + parts
    return np.asarray(np.where(utilities >= 0, dampened, -dampened))
