"""The direct way: compute the number from exact counts, and add noise to that one number."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.mechanisms import Noise, NoiseName, sum_noise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.numerics import up
from discreet.plans import Setting
from discreet.privacy.certificate import Bounds, Certificate
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.tables.entropy.bounds import bernoulli_entropy
from discreet.tables.entropy.values import FLOAT_ERROR, Measure

RELATIVE = "the number is measured in units of its bound at the released number of records"
RELATIVE_TO_RANGE = "the number is measured in units of its bound for the released range of counts"

_LONGEST, _LEAST_UNIT = 2.0**40, 2.0**-34
"""A number in its unit stays below the one, because no unit is below the other."""


@dataclass(frozen=True)
class Narrowed:
    """Shannon's entropy of counts that are expected between ``low`` and ``high``.

    c ln c is continued by straight lines outside, which is exact as long as all counts are inside.

    Guarantees:
      - The sum of the continued terms moves by at most h(high) - h(low), whatever the counts are.
        [entropy-narrowed]
    """

    rows: int
    low: int
    high: int

    @property
    def bound(self) -> float:
        """How far replacing a record moves the value."""
        exact = up(_slope(self.high) - _slope(self.low)) / self.rows * (1 + 1e-9)
        return max(exact + 2 * FLOAT_ERROR, _LEAST_UNIT)

    def __call__(self, counts: FloatArray) -> FloatArray:
        """Return the entropy in nats, exact if all counts are inside."""
        inside = np.clip(counts, self.low, self.high)
        terms = inside * np.log(inside)
        terms = terms - np.maximum(self.low - counts, 0.0) * _slope(self.low)
        terms = terms + np.maximum(counts - self.high, 0.0) * _slope(self.high)
        return np.asarray(math.log(self.rows) - terms.sum(axis=-1) / self.rows)


@dataclass(frozen=True)
class MeasureNoise(WrappedNoise):
    """Noise on one number that is computed from counts.

    Args:
      noise: on the number divided by ``unit``, rounded to the noise's lattice.
      measure: from counts to nats.
      unit: what one stands for, in nats.
      floor: a table with fewer records is filled up to so many, all in the first cell.

    Guarantees:
      - As private as ``noise``, if the certificate covers the measure of tables so filled up.
        [laplace] [lattice]
    """

    noise: Noise
    measure: Measure | Narrowed
    unit: float = 1.0
    floor: int = 0

    step = 1.0

    @property
    def std(self) -> float:
        """The standard deviation of the released number, in nats."""
        return self.noise.std * self.unit

    def half_width(self, level: float) -> float:
        """Return the distance from the exact number that is kept with probability ``level``."""
        return self.noise.half_width(level) * self.unit

    def filled(self, counts: IntArray) -> FloatArray:
        """Return the counts of a table filled up to the floor."""
        whole = np.asarray(counts, dtype=np.int64).copy()
        whole[0] += max(0, self.floor - int(whole.sum()))
        return whole.astype(np.float64)

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the number in nats, with noise."""
        raw_value = float(self.measure(self.filled(raw_counts))) / self.unit
        raw_steps = np.array([np.rint(raw_value / self.noise.step)]).astype(np.int64)
        return self.noise.release(raw_steps, source) * self.unit


def direct_noise(
    measure: Measure, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> MeasureNoise:
    """Return noise on a measure of a table; ``above`` fits it to a number of records that is private.

    Guarantees:
      - Calibrated to the exact bound under replace-one. [entropy-shannon] [entropy-renyi]
        [entropy-joint]
    """
    public = setting.rows is not None
    bound = measure.bound(setting.rows) if setting.rows is not None else 1.0
    statements = measure.statements if public else (*measure.statements, "entropy-add-remove")
    certificate = _one_number(bound, setting, statements)
    noise = sum_noise(
        certificate if public else certificate.assume(RELATIVE),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=measure.greatest if public else _LONGEST,
    )
    return MeasureNoise(noise, measure)


def above(noise: MeasureNoise, floor: int) -> MeasureNoise:
    """Return the noise for tables filled up to ``floor`` records, a number that is public by now.

    Guarantees:
      - In units of its bound the number moves by one, whatever the floor. [entropy-add-remove]
    """
    assert isinstance(noise.measure, Measure)
    return replace(noise, unit=noise.measure.bound_above(floor), floor=floor)


def narrowed_noise(
    rows: int, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> MeasureNoise:
    """Return noise on Shannon's entropy of counts whose range ``between`` will tell."""
    certificate = _one_number(1.0, setting, ("entropy-narrowed",)).assume(RELATIVE_TO_RANGE)
    noise = sum_noise(
        certificate,
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=_LONGEST,
    )
    worst = Narrowed(rows, 1, rows)
    return MeasureNoise(noise, worst, worst.bound)


def between(noise: MeasureNoise, low: int, high: int) -> MeasureNoise:
    """Return the noise for counts between two numbers that are public by now.

    Guarantees:
      - In units of its bound the number moves by one, whatever the range. [entropy-narrowed]
    """
    assert isinstance(noise.measure, Narrowed)
    measure = replace(noise.measure, low=low, high=high)
    return replace(noise, measure=measure, unit=measure.bound)


def _one_number(bound: float, setting: Setting, statements: tuple[str, ...]) -> Certificate:
    return Certificate(statements, 1, {setting.relation.of_rows: Bounds(bound, bound, bound)})


def _slope(size: int) -> float:
    """Return h(size), what the record that makes a cell so large adds to the sum of c ln c."""
    return size * bernoulli_entropy(size, 1.0)
