"""Variance and standard deviation of a column."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar

from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Unknown
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import PartPlan
from discreet.plans.results.statistic import Statistic
from discreet.privacy.certificate import Box
from discreet.statistics.bounds import PublicClip, box_of
from discreet.statistics.estimates import NoisyNumber, told_clip, unit_of
from discreet.statistics.spread import Spread, spread_of


class variance(PartPlan):
    """Plan the variance of a numeric column, over the records that have a value.

    It is the mean of squared distances from the mean (``ddof=0`` in numpy).

    Args:
      column: a numeric column.
      clip: clip values to this (low, high), public and narrower than the schema's bounds.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Where the number of records is public, noise is on the sum of squares about the mean, or about a
        mean that was released first. [variance-replace] [variance-centred]
      - Where it is private, or values may be missing, every record is shared by three cells. [shares]

    >>> variance("age", epsilon=0.5)
    variance(column='age', clip=None, mechanism='auto', epsilon=0.5)
    """

    column: Annotated[str, Column()]
    _: KW_ONLY
    clip: PublicClip = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose a strategy from public facts and calibrate its noise."""
        return _program(self, setting, root=False)


class std(PartPlan):
    """Plan the standard deviation of a numeric column, over the records that have a value.

    It is the root of the variance (``ddof=0`` in numpy), and costs what that costs.

    Args:
      column: a numeric column.
      clip: clip values to this (low, high), public and narrower than the schema's bounds.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - A function of a released variance. [variance-replace] [variance-centred] [shares]

    >>> std("age", epsilon=0.5)
    std(column='age', clip=None, mechanism='auto', epsilon=0.5)
    """

    column: Annotated[str, Column()]
    _: KW_ONLY
    clip: PublicClip = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose a strategy from public facts and calibrate its noise."""
        return _program(self, setting, root=True)


def _program(plan: variance | std, setting: Setting, *, root: bool) -> Program:
    terms: Any = {"epsilon": plan.epsilon, "delta": plan.delta, "mechanism": plan.mechanism}
    box = box_of(setting.schema, plan.column, plan.clip)
    spread = spread_of(plan.column, box, setting, terms)
    name, power, ends = ("standard deviation", 1, 0.5) if root else ("variance", 2, 0.25)
    unit = unit_of(setting.schema, plan.column)

    def finish(releaser: Releaser) -> Statistic:
        found = spread.find(releaser)
        return _scaled(_root(found) if root else found, box.width**power).estimate(
            f"{name} of {plan.column}",
            spread.stages[-1].noise.name,
            ends=(0.0, ends * box.width**power),
            unit=unit if root or not unit else f"{unit}²",
            column=plan.column,
            clip=told_clip(box, setting.schema, plan.column),
        )

    return Program(spread.stages, finish, {name: _expected(spread, setting, box, root)})


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
