"""Means and sums of a column: noise on a sum where n is public, on two shared cells where it is not."""

from __future__ import annotations

import math

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.direct import direct_sum
from discreet.mechanisms import Noise
from discreet.numerics import up
from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Unknown
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages import sum_stage
from discreet.plans.stages.parts import in_part, may_lack
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Number, Schema
from discreet.statistics.bounds import known_rows, number_of
from discreet.statistics.column import ColumnPlan
from discreet.statistics.estimates import NoisyNumber, records_within, told_clip, unit_of, within
from discreet.statistics.shares import Shares, noisy_share, shares_contribution, two_shares

RANGE = "the range of the values"


class mean(ColumnPlan):
    """Plan the mean of a numeric column, over the records that have a value.

    Guarantees:
      - Where the number of records is public, noise is on the sum alone, which moves by the width of
        the range. [mean-replace]
      - Where it is private, or values may be missing, every record is shared by two cells, which move
        as any two counts do. [shares] [part]
      - A mean outside the range of the values is brought back into it. [feasible]

    >>> mean("age", clip=(20, 60), epsilon=0.5)
    mean(column='age', clip=[20.0, 60.0], mechanism='auto', epsilon=0.5)
    """

    @staticmethod
    def bias(found: Statistic, excess: float, width: float, records: float) -> float:
        """See ``ColumnPlan``."""
        return excess / records

    def within(self, box: Box, setting: Setting, epsilon: float) -> Program:
        """Calibrate noise on the sum, or on the two cells that share the records."""
        rows = known_rows(setting, (self.column,))
        terms = self.terms(epsilon)
        if rows is None:
            stage = sum_stage(
                "shares of the records",
                shares_contribution((self.column,), 2, self._shares(box, setting.schema)),
                setting,
                statement="shares",
                **terms,
            )
            noise, unit = stage.noise, box.width
        else:
            stage = sum_stage(
                "sum",
                centred(self.column, number_of(setting.schema, self.column), box),
                setting,
                statement="mean-replace",
                **terms,
            )
            noise, unit = stage.noise, 1.0

        def finish(releaser: Releaser) -> Statistic:
            (noisy,) = releaser.answer(stage)
            if rows is None:
                found = noisy_share(noisy, noise, LEVEL).scaled(box)
            else:
                found = _of_sum(float(noisy[0]), noise, rows, box)
            return described("mean", found, self.column, box, setting.schema, noise, box.limits)

        half = noise.half_width(LEVEL) * unit
        unknown: Unknown = None if setting.rows else "noise"
        error = Expected(half / (setting.rows or 1), box.width, RANGE, unknown=unknown)
        sized = None if rows else records_within(noise, 2)
        return Program((stage,), finish, {"mean": error}, sized=sized)

    def _shares(self, box: Box, schema: Schema) -> Shares:
        def shares(block: Block) -> FloatArray:
            return two_shares(box, block[self.column], in_part(schema, (self.column,), block))

        return shares


def _of_sum(noisy_sum: float, noise: Noise, rows: int, box: Box) -> NoisyNumber:
    """Return the mean of a noisy sum measured from the middle of the range.

    Guarantees:
      - Clipped to the range, neither mean nor interval moves away from the exact one. [feasible]
    """
    middle, half = box.low / 2 + box.high / 2, noise.half_width(LEVEL) / rows
    inside = within(middle + noisy_sum / rows, half, box.limits)
    return NoisyNumber(*inside, noise.std / rows, float(rows))


class total(ColumnPlan):
    """Plan the sum of a numeric column, over the records that have a value.

    Guarantees:
      - Replacing a record moves the sum by at most the width of the range, adding or removing one by at
        most its greatest absolute value. [mean-replace] [sum-addremove]
      - Where values may be missing the range is taken to hold zero, which such records add. [part]

    >>> total("income", epsilon=0.5)
    total(column='income', clip=None, mechanism='auto', epsilon=0.5)
    """

    @staticmethod
    def bias(found: Statistic, excess: float, width: float, records: float) -> float:
        """See ``ColumnPlan``."""
        return excess

    def within(self, box: Box, setting: Setting, epsilon: float) -> Program:
        """Calibrate noise on the sum."""
        schema, column = setting.schema, self.column
        rows, region = known_rows(setting, (column,)), box
        if may_lack(schema[column]):
            region = Box(min(box.low, 0.0), max(box.high, 0.0))

        def compute(block: Block) -> FloatArray:
            inside = in_part(schema, (column,), block)
            return np.where(inside, np.clip(block[column], *box.limits), 0.0)[:, None]

        stage = sum_stage(
            "sum",
            VectorContribution(
                (column,),
                1,
                region,
                0.0,
                compute,
                calls=None,
                direct=direct_sum(number_of(schema, column), box, 0.0, region),
            ),
            setting,
            statement="part",
            **self.terms(epsilon),
        )
        noise, most = stage.noise, setting.rows
        ends = _ends_of_sum(region, most)

        def finish(releaser: Releaser) -> Statistic:
            ((noisy,),) = releaser.answer(stage)
            inside = within(float(noisy), noise.half_width(LEVEL), ends)
            found = NoisyNumber(*inside, noise.std, None if rows is None else float(rows))
            return described("sum", found, column, box, schema, noise, ends)

        unknown: Unknown = None if most else "size"
        error = Expected(
            noise.half_width(LEVEL), region.magnitude * (most or 1), GREATEST, unknown=unknown
        )
        return Program((stage,), finish, {"sum": error})


def _ends_of_sum(region: Box, most: int | None) -> tuple[float, float]:
    """Return the least and the greatest sum of at most so many numbers, of any number if that is None.

    >>> _ends_of_sum(Box(0.0, 5.0), None), _ends_of_sum(Box(-1.0, 5.0), 3)
    ((0.0, inf), (-3.0, 15.0))
    """
    if most is not None:
        return most * region.low, most * region.high
    return (-math.inf if region.low < 0 else 0.0), (math.inf if region.high > 0 else 0.0)


def centred(column: str, number: Number, box: Box) -> VectorContribution:
    """Return what a record adds to the sum of a column that is never missing, from the middle."""
    middle = box.low / 2 + box.high / 2
    half = up(box.high / 2 - box.low / 2, 1)
    region = Box(-half, half)

    def compute(block: Block) -> FloatArray:
        return (np.clip(block[column], *box.limits) - middle)[:, None]

    direct = direct_sum(number, box, middle, region)
    return VectorContribution((column,), 1, region, 0.0, compute, calls=None, direct=direct)


def described(
    name: str,
    found: NoisyNumber,
    column: str,
    box: Box,
    schema: Schema,
    noise: Noise,
    ends: tuple[float, float],
) -> Statistic:
    """Return a statistic of a column in its unit, with the range its values were clipped to."""
    return found.estimate(
        f"{name} of {column}",
        noise.name,
        ends=ends,
        unit=unit_of(schema, column),
        column=column,
        clip=told_clip(box, schema, column),
    )
