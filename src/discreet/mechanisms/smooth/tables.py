"""Tables of whole weights: the law of a choice that depends on the winner and on its stability alone.

The *stability* of a table is a whole number s >= 0 such that tables with the same winner that are
neighbours differ in it by at most one, and s = 0 wherever a neighbour has another winner; the least
number of edits that change the winner, minus one, is the greatest such number. A law gives the winner
``top[s]`` of ``WHOLE`` chances and every other candidate ``other[s]``. Since what is released is drawn
from these whole numbers, privacy is a finite statement about them, checked without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.smooth.densities import (
    SMOOTH_NOISES,
    FloatArray,
    SmoothNoise,
    leader_law,
    smooth_noise,
)
from discreet.numerics import check_choice, check_positive, check_probability, check_whole, down

TableName = Literal["stability", "student-t", "laplace", "laplace-log-normal"]
TABLES: tuple[TableName, ...] = ("stability", *SMOOTH_NOISES)

WHOLE = 2**62
"""The number of chances a law divides."""

_RAREST = 2.0**-40
"""Smooth noise grows no smaller once each other candidate is as rare as this: so rounding to whole
weights moves a ratio by less than a millionth, and the states of a table are finitely many."""

_LONGEST = 2**16
"""The most states of a table; a greater stability is treated like the greatest."""

_LARGEST_EPSILON = 60.0
"""Beyond this no law with whole weights could use more."""

_MARGINS = (1e-6, 1e-5, 1e-4, 1e-3)
_GRID_STEP = 0.04


@dataclass(frozen=True)
class StabilityTable:
    """The chances of every candidate that is not the winner, for stabilities 0, 1, 2, ...

    Guarantees:
      - ``keeps(epsilon, delta)`` is exact: it enumerates every pair of laws that neighbours can have,
        in whole numbers. [snm-exact]
    """

    candidates: int
    other: tuple[int, ...]

    def __post_init__(self) -> None:
        check_whole("candidates", self.candidates, 2, WHOLE)
        if not self.other or min(self.other) < 0 or max(self.other) * (self.candidates - 1) > WHOLE:
            raise ArgumentError("other must be chances that leave some for the winner, got others.")

    @property
    def greatest(self) -> int:
        """The greatest stability that makes a difference."""
        return len(self.other) - 1

    def top(self, stability: int) -> int:
        """Return the winner's chances out of ``WHOLE``."""
        return WHOLE - (self.candidates - 1) * self.other[min(stability, self.greatest)]

    def shares(self, stability: int) -> tuple[float, float]:
        """Return the probability of the winner and of each other candidate."""
        return self.top(stability) / WHOLE, self.other[min(stability, self.greatest)] / WHOLE

    def keeps(self, epsilon: float, delta: float = 0.0) -> bool:
        """Return whether no pair of neighbours exceeds (epsilon, delta)."""
        times, per = _factor(epsilon).as_integer_ratio()
        laws = [(WHOLE - (self.candidates - 1) * other, other) for other in self.other]
        # Another winner: two candidates swap their chances, at stability zero; all others keep them.
        excess = [max(laws[0]) * per - min(laws[0]) * times]
        for a, b in pairwise(laws):
            excess += [self._excess(a, b, times, per), self._excess(b, a, times, per)]
        return max(excess) <= Fraction(delta) * WHOLE * per

    def loss(self, delta: float = 0.0) -> float:
        """Return the least epsilon the table keeps with this delta, to six digits and rounded up."""
        low, high = 0.0, 100.0
        while high - low > 1e-7 * max(1.0, low):
            middle = (low + high) / 2
            low, high = (low, middle) if self.keeps(middle, delta) else (middle, high)
        return high

    def _excess(self, law: tuple[int, int], after: tuple[int, int], times: int, per: int) -> int:
        """Return by how much ``per`` times a law exceeds ``times`` another one of the same winner."""
        top, other = law[0] * per - after[0] * times, law[1] * per - after[1] * times
        return max(0, top) + (self.candidates - 1) * max(0, other)


@lru_cache(maxsize=64)
def stability_table(
    name: TableName, candidates: int, epsilon: float, delta: float = 0.0
) -> StabilityTable:
    """Return the table that keeps (epsilon, delta): the best one, or the one of a smooth noise.

    Guarantees:
      - Checked exactly before it is handed out. [snm-exact]
      - ``stability`` gives the winner at every stability at least the chances any table does that
        keeps the promise, up to one in 2^62. [stability-ladder]
    """
    check_choice("table", name, TABLES)
    check_whole("candidates", candidates, 2, 2**40)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    if name == "stability":
        found = _best_table(candidates, epsilon, delta)
        if found.keeps(epsilon, delta):
            return found
    else:
        for margin in _MARGINS:
            found = _calibrated(smooth_noise(name), candidates, epsilon * (1 - margin), delta)
            if found.keeps(epsilon, delta):
                return found
    raise CertificateError(f"No table of {name} was found that keeps epsilon={epsilon!r}.")


def table_of(candidates: int, other: FloatArray) -> StabilityTable:
    """Return the table of the given probabilities of each other candidate."""
    return StabilityTable(candidates, tuple(round(share * WHOLE) for share in other.tolist()))


def _best_table(candidates: int, epsilon: float, delta: float) -> StabilityTable:
    """Climb: every state has the least chances of a miss its predecessor allows."""
    (times, per), others = _factor(epsilon).as_integer_ratio(), candidates - 1
    spare = math.floor(Fraction(delta) * WHOLE)  # chances that need no cover
    other = -(-(WHOLE - spare) * per // (others * per + times))
    found = [other]
    while len(found) < _LONGEST:
        top = WHOLE - others * other
        missing = WHOLE - min(WHOLE, times * top // per + spare)
        fallen = max(0, -(-(other - spare // others) * per // times))
        following = max(fallen, -(-missing // others))
        if following >= other:
            break
        other = following
        found.append(other)
    return StabilityTable(candidates, tuple(found))


def _calibrated(noise: SmoothNoise, candidates: int, epsilon: float, delta: float) -> StabilityTable:
    """Find the least first gap and the greatest growth of it that the promise allows."""
    from scipy.interpolate import CubicSpline

    epsilon = min(epsilon, _LARGEST_EPSILON)
    last = _root(lambda x: math.log(_RAREST) - _logs(noise, candidates, x)[1])

    def unfinished(x: float) -> float:
        top, other = _logs(noise, candidates, x)
        return math.exp(top) - delta - math.exp(min(epsilon + other, 700.0))

    first = min(_root(unfinished), last)
    if last - first < 1e-6:
        return table_of(candidates, np.exp([_logs(noise, candidates, last)[1]]))
    grid = np.linspace(first, last, max(16, math.ceil((last - first) / _GRID_STEP)))
    top, other = leader_law(noise, candidates, np.exp(grid))
    curves = CubicSpline(grid, np.log(top)), CubicSpline(grid, np.log(other))
    beta = _growth(curves, grid, candidates, epsilon, delta)
    states = min(_LONGEST, math.ceil((last - first) / beta) + 1)
    gaps = np.minimum(first + beta * np.arange(states), last)
    return table_of(candidates, np.exp(curves[1](gaps)))


def _growth(
    curves: tuple[Callable[..., FloatArray], Callable[..., FloatArray]],
    grid: FloatArray,
    candidates: int,
    epsilon: float,
    delta: float,
) -> float:
    """Return the greatest beta with which no step on the grid exceeds the promise."""
    places = np.linspace(grid[0], grid[-1], 8 * len(grid))
    others, factor = candidates - 1, math.exp(epsilon)

    def fits(beta: float) -> bool:
        start = np.minimum(places, grid[-1] - beta)  # the last whole step is one of them
        top, other = (np.exp(curve(start)) for curve in curves)
        top_after, other_after = (np.exp(curve(start + beta)) for curve in curves)
        rise, fall = top_after - factor * top, others * (other - factor * other_after)
        return bool(max(rise.max(), fall.max()) <= delta)

    low, high = 0.0, float(grid[-1] - grid[0])
    if fits(high):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low <= 0:
        raise CertificateError(f"No growth of the noise keeps epsilon={epsilon!r}.")
    return low


def _logs(noise: SmoothNoise, candidates: int, log_gap: float) -> tuple[float, float]:
    top, other = leader_law(noise, candidates, np.exp([log_gap]))
    return math.log(top[0]), math.log(max(other[0], 1e-300))


def _root(function: Callable[[float], float], low: float = -25.0, high: float = 40.0) -> float:
    """Return where an increasing function of the log of the gap crosses zero, by bisection."""
    for _ in range(52):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) >= 0 else (middle, high)
    return high


def _factor(epsilon: float) -> Fraction:
    """Return a rational just below exp(epsilon)."""
    return Fraction(down(math.exp(min(epsilon, _LARGEST_EPSILON))))
