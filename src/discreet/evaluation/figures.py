"""Figures with intervals in which noise, sampling and binning are told apart.

A ratio of two noisy sums, as a rate or an area, is known as well as its denominator allows. Fieller's
set holds all ratios that the sums do not rule out: with r the ratio, ``x - r y`` is centred at zero,
and its spread is known for every r. Without noise and with the binomial spread that is Wilson's
interval; a denominator that may be zero leaves the whole range, never a number that is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.plans.results.bands import LEVEL

Spread = Callable[[float], float]
"""The variance of ``x - r y``, by r."""

_HALVINGS = 48

PARTS = ("value", "low", "high", "noise", "sampling", "binning")
"""What a frame tells of a figure."""


@dataclass(frozen=True)
class Figure:
    """One number that was computed from a release, and how well it is known.

    Attributes:
      value: the number.
      low: lower end of the interval that holds the truth of the population the records were drawn
        from, with probability ``level``.
      high: upper end.
      noise: half width that privacy noise alone would make.
      sampling: half width that the choice of records alone would make.
      binning: the most that answers inside a bin can change; a bound, not a spread.
      level: see ``low``.
    """

    value: float
    low: float
    high: float
    noise: float
    sampling: float
    binning: float
    level: float = LEVEL

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        parts = f"noise ± {self.noise:.2g}, sampling ± {self.sampling:.2g}"
        binned = f", binning ± {self.binning:.2g}" if self.binning else ""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({parts}{binned})"

    def to_json(self) -> dict[str, float]:
        """Return the number, its ends and what they are made of."""
        return {name: getattr(self, name) for name in PARTS}

    def scaled(self, factor: float) -> Figure:
        """Return the figure times a public number; a negative one turns its interval around."""
        value, *ends = (factor * end for end in (self.value, self.low, self.high))
        halves = (abs(factor) * half for half in (self.noise, self.sampling, self.binning))
        noise, sampling, binning = halves
        return Figure(value, min(ends), max(ends), noise, sampling, binning, self.level)

    def within(self, low: float, high: float) -> Figure:
        """Return the figure with its interval inside a range."""
        inside = (min(max(end, low), high) for end in (self.value, self.low, self.high))
        value, first, last = inside
        return replace(self, value=value, low=min(first, value), high=max(last, value))


def ratio_figure(
    x: float,
    y: float,
    *,
    noise: tuple[float, float, float],
    sampling: Spread,
    z: float,
    z_sampling: float = 1.96,
    binning: tuple[float, float] = (0.0, 0.0),
    range_: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """Return the ratio of two noisy sums as a figure.

    Args:
      x: the noisy numerator.
      y: the noisy denominator.
      noise: variances of the noise on x, its covariance with that on y, the variance on y.
      sampling: the variance that the choice of records gives to ``x - r y``, by r.
      z: how many standard deviations noise is out with the probability that a level leaves.
      z_sampling: the same for sampling.
      binning: how far the ratio may be below and above, for what a bin does not tell.
      range_: the least and the greatest that the ratio can be.
    """
    xx, xy, yy = noise

    def of_noise(r: float) -> float:
        return z**2 * max(xx - 2 * r * xy + r * r * yy, 0.0)

    def of_sampling(r: float) -> float:
        return z_sampling**2 * max(sampling(r), 0.0)

    low, high = range_
    known = y > z * math.sqrt(max(yy, 0.0)) and y > 0
    value = min(max(x / y, low), high) if known else low / 2 + high / 2
    if not known:
        half = high / 2 - low / 2
        return Figure(value, low, high, half, 0.0, min(max(binning), half))
    widths = [_ends(x, y, value, part, range_) for part in (of_noise, of_sampling)]
    first, last = _ends(x, y, value, lambda r: of_noise(r) + of_sampling(r), range_)
    noisy, sampled = (max(value - a, b - value) for a, b in widths)
    return Figure(value, first - binning[0], last + binning[1], noisy, sampled, max(binning)).within(
        low, high
    )


def _ends(
    x: float, y: float, value: float, spread: Spread, range_: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of all ratios whose ``x - r y`` is no farther from zero than its spread."""

    def outside(r: float) -> bool:
        return (x - r * y) ** 2 > spread(r)

    return _edge(value, range_[0], outside), _edge(value, range_[1], outside)


def _edge(inside: float, end: float, outside: Callable[[float], bool]) -> float:
    if not outside(end):
        return end
    if outside(inside):  # the ratio lies beyond its range: the range's end is the nearest to it
        return inside
    near, far = inside, end
    for _ in range(_HALVINGS):
        middle = near / 2 + far / 2
        near, far = (near, middle) if outside(middle) else (middle, far)
    return far


def difference(first: Figure, second: Figure) -> Figure:
    """Return a difference of figures of different records, whose errors have nothing in common.

    The distances from values to ends add up as squares, each side by itself (Zou and Donner 2008).
    Bounds of bins are no spreads and add up as they are.
    """
    low = first.value - second.value - _side(first, second, -1)
    high = first.value - second.value + _side(first, second, 1)
    return Figure(
        first.value - second.value,
        low,
        high,
        math.hypot(first.noise, second.noise),
        math.hypot(first.sampling, second.sampling),
        first.binning + second.binning,
        first.level,
    )


def mean_of(first: Figure, second: Figure) -> Figure:
    """Return the mean of two figures of different records."""
    return difference(first, second.scaled(-1.0)).scaled(0.5)


def _side(first: Figure, second: Figure, sign: int) -> float:
    own, other = _distance(first, sign), _distance(second, -sign)
    bins = min(first.binning, own), min(second.binning, other)
    return math.hypot(own - bins[0], other - bins[1]) + sum(bins)


_RANGE_ENDS = (-1.0, 0.0, 1.0)


def _distance(figure: Figure, sign: int) -> float:
    """Return how far an end is from the value; where a rate's range cuts it off, as if it did not.

    A truth at the very end of the range would else have all of the room, and the other figure none.
    """
    end = figure.high if sign > 0 else figure.low
    away = sign * (end - figure.value)
    if end not in _RANGE_ENDS:
        return away
    return max(away, math.hypot(figure.noise, figure.sampling) + figure.binning)


def ratio(first: Figure, second: Figure) -> Figure:
    """Return the ratio of two rates of different records, between the ends that theirs allow.

    On the scale of logarithms distances add up as squares; where an end is zero, the ratio has none
    that is sure, and the interval goes on to zero or to ``FAR``.
    """
    floor = 1.0 / FAR
    tops = [math.log(max(end, floor)) for end in (first.value, first.low, first.high)]
    foots = [math.log(max(end, floor)) for end in (second.value, second.low, second.high)]
    middle = tops[0] - foots[0]
    low = middle - math.hypot(tops[0] - tops[1], foots[2] - foots[0])
    high = middle + math.hypot(tops[2] - tops[0], foots[0] - foots[1])
    value = min(math.exp(middle), FAR)
    parts = (
        value * math.hypot(a / max(first.value, floor), b / max(second.value, floor))
        for a, b in (
            (first.noise, second.noise),
            (first.sampling, second.sampling),
            (first.binning, second.binning),
        )
    )
    noise, sampling, binning = (min(part, FAR) for part in parts)
    unsure = first.low <= 0
    return Figure(
        value,
        0.0 if unsure else min(math.exp(low), value),
        FAR if second.low <= 0 else min(max(math.exp(high), value), FAR),
        noise,
        sampling,
        binning,
        first.level,
    )


FAR = 1e6
"""The greatest ratio that is told: beyond it a denominator is as good as zero."""
