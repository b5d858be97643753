"""Variance and standard deviation of a column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Unknown
from discreet.plans.results.statistic import Statistic
from discreet.privacy.certificate import Box
from discreet.statistics.column import ColumnPlan
from discreet.statistics.estimates import NoisyNumber, told_clip, unit_of
from discreet.statistics.spread import Spread, spread_of


class variance(ColumnPlan):
    """Plan the variance of a numeric column, over the records that have a value.

    It is the mean of the squared deviations from the mean (``ddof=0`` in numpy).

    Guarantees:
      - Where the number of records is public, noise is on the sum of squares about the mean, or about a
        mean that was released first. [variance-replace] [variance-centred]
      - Where it is private, or values may be missing, every record is shared by three cells. [shares]

    >>> variance("age", epsilon=0.5)
    variance(column='age', clip=None, mechanism='auto', epsilon=0.5)
    """

    root: ClassVar = False

    @staticmethod
    def bias(found: Statistic, excess: float, width: float, records: float) -> float:
        """See ``ColumnPlan``; squares of what is beyond exceed by about the width more."""
        return excess * 2 * width / records

    def within(self, box: Box, setting: Setting, epsilon: float) -> Program:
        """Choose a strategy from public facts and calibrate its noise."""
        spread = spread_of(self.column, box, setting, self.terms(epsilon))
        name, power, ends = ("standard deviation", 1, 0.5) if self.root else ("variance", 2, 0.25)
        unit = unit_of(setting.schema, self.column)

        def finish(releaser: Releaser) -> Statistic:
            found = spread.find(releaser)
            return _scaled(_root(found) if self.root else found, box.width**power).estimate(
                f"{name} of {self.column}",
                spread.stages[-1].noise.name,
                ends=(0.0, ends * box.width**power),
                unit=unit if self.root or not unit else f"{unit}²",
                column=self.column,
                clip=told_clip(box, setting.schema, self.column),
            )

        error = _expected(spread, setting, box, self.root)
        return Program(spread.stages, finish, {name: error}, sized=spread.sized)


class std(variance):
    """Plan the standard deviation of a numeric column, over the records that have a value.

    It is the root of the variance (``ddof=0`` in numpy), and costs what that costs.

    Guarantees:
      - A function of a released variance. [variance-replace] [variance-centred] [shares]

    >>> std("age", epsilon=0.5)
    std(column='age', clip=None, mechanism='auto', epsilon=0.5)
    """

    root = True

    @staticmethod
    def bias(found: Statistic, excess: float, width: float, records: float) -> float:
        """See ``ColumnPlan``."""
        return math.sqrt(found.value**2 + excess * 2 * width / records) - found.value


def _expected(spread: Spread, setting: Setting, box: Box, root: bool) -> Expected:
    unknown: Unknown = None if setting.rows else "noise"
    half = spread.half / (setting.rows or 1)
    if not root:
        width = box.width**2
        return Expected(half * width, 0.25 * width, GREATEST, unknown=unknown)
    # A deviation of a quarter of the range moves by twice as much as its square, in such units.
    return Expected(2 * half * box.width, 0.5 * box.width, GREATEST, unknown=unknown)


def _root(found: NoisyNumber) -> NoisyNumber:
    value = math.sqrt(found.value)
    # Noise on a root: by the slope there, or by half the interval where it has none.
    low, high = math.sqrt(found.low), math.sqrt(found.high)
    slope = 1 / (2 * max(value, (high - low) / 2, math.ulp(1.0)))
    return replace(found, value=value, low=low, high=high, std=found.std * slope)


def _scaled(found: NoisyNumber, factor: float) -> NoisyNumber:
    return replace(
        found,
        value=found.value * factor,
        low=found.low * factor,
        high=found.high * factor,
        std=found.std * factor,
    )
