"""Noisy numbers with their intervals, made into results."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.mechanisms import Noise
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.statistic import Statistic
from discreet.privacy.certificate import Box
from discreet.schema import Number, Schema


@dataclass(frozen=True)
class NoisyNumber:
    """A noisy number, its interval, its noise, and how many records it is of, if that is known."""

    value: float
    low: float
    high: float
    std: float
    records: float | None

    def scaled(self, box: Box) -> NoisyNumber:
        """Return a share of a range as a value of it."""
        value, low, high = (
            min(max(box.low + share * box.width, box.low), box.high)
            for share in (self.value, self.low, self.high)
        )
        return replace(self, value=value, low=low, high=high, std=self.std * box.width)

    def estimate(
        self,
        name: str,
        method: str,
        *,
        ends: tuple[float, float],
        unit: str = "",
        column: str = "",
        clip: tuple[float, float] | None = None,
        bias: float | None = None,
    ) -> Statistic:
        """Return the result.

        Args:
          name: what it is.
          method: the mechanism.
          ends: the least and the greatest it can be.
          unit: its unit.
          column: the column it is of.
          clip: the range values were clipped to, if it is narrower than the schema's.
          bias: what clipping is expected to change.
        """
        return Statistic(
            name=name,
            value=self.value,
            half_width=max(self.high - self.value, self.value - self.low),
            level=LEVEL,
            noise_std=self.std,
            unit=unit,
            range=(_finite(ends[0]), _finite(ends[1])),
            method=method,
            why="",
            compared=(),
            ends=(self.low, self.high),
            column=column,
            records=None if self.records is None else max(self.records, 0.0),
            clip=clip,
            bias=bias,
        )


def within(value: float, half: float, ends: tuple[float, float]) -> tuple[float, float, float]:
    """Return a number and the ends of its interval, clipped to where the exact one is known to lie.

    Guarantees:
      - None of them moves away from the exact number. [feasible]
    """
    around = (value, value - half, value + half)
    inside = [min(max(one, ends[0]), ends[1]) for one in around]
    return inside[0], inside[1], inside[2]


def records_within(noise: Noise, cells: int) -> float:
    """Return how near a number of records is that so many noisy cells add up to."""
    return math.sqrt(cells) * noise.half_width_of_sums(LEVEL)


def counted(value: float, half: float, std: float, most: int | None, method: str) -> Statistic:
    """Return a number of records, known to within half a width, of at most so many."""
    ends = (0.0, math.inf if most is None else float(most))
    inside = within(value, half, ends)
    found = NoisyNumber(*inside, std, inside[0])
    return found.estimate("count", method, ends=ends, unit="records")


def unit_of(schema: Schema, column: str) -> str:
    """Return the unit of a numeric column; empty if it says none."""
    found = schema[column]
    return (found.unit or "") if isinstance(found, Number) else ""


def told_clip(box: Box, schema: Schema, column: str) -> tuple[float, float] | None:
    """Return the range values were clipped to, if it is narrower than the schema's."""
    number = schema[column]
    assert isinstance(number, Number)
    return None if box.limits == (number.low, number.high) else box.limits


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None
