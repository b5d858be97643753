"""How the variance of a column is found, in units of the squared width of its range.

*Public n.* The sum of squares about the mean moves by at most 1 - 1/n when a record is replaced: noise
on that number itself. Where there are records enough, a small share of epsilon finds the mean first;
the sum of squares about the released mean moves by the square of its distance from the farther end,
which is a quarter for a mean in the middle, and the variance is that less the square of what the mean
is off by.

*Private n.* A record at the place p of its range is shared by three cells, (1 - p)^2, 2 p (1 - p) and
p^2, which add up to one: number of records, mean and mean square at the price of one count.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data import VectorContribution, WholeContribution
from discreet.data.blocks import Block
from discreet.data.direct import direct_sum
from discreet.mechanisms import Noise
from discreet.numerics import UNIT_ROUNDOFF, up
from discreet.plans import Releaser, Setting, Stage, share_out
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import sum_stage
from discreet.plans.stages.parts import in_part
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import REPLACE_ONE
from discreet.schema import FloatArray
from discreet.statistics.bounds import known_rows, number_of
from discreet.statistics.estimates import NoisyNumber, records_within, within
from discreet.statistics.fiducial import ends_of, plausible_sums
from discreet.statistics.mean import centred
from discreet.statistics.shares import shares_contribution

_SHARES = (0.02, 0.03, 0.05, 0.08)
"""Of epsilon, that may go to the mean."""

_WORSE = 1.05
"""How much more noise than on the variance itself the strategy by the mean may have, at the worst."""

_MISSED = 0.005
"""Of the probability with which an interval fails: that the mean is off by more than this allows."""

GREATEST = 0.25
"""No variance of values in a range exceeds this share of its squared width."""


@dataclass(frozen=True)
class Spread:
    """A strategy: its stages, what it finds, and half the width of the band of n times the variance.

    ``sized`` is how near the number of records is that it finds, where that is private.
    """

    stages: tuple[Stage[Noise], ...]
    find: Callable[[Releaser], NoisyNumber]
    half: float
    sized: float | None = None


def spread_of(column: str, box: Box, setting: Setting, terms: Any) -> Spread:
    """Return the strategy for a setting, from public facts alone."""
    rows = known_rows(setting, (column,))
    if rows is None:
        return _shared(column, box, setting, terms)
    share = _share_of_mean(rows * terms["epsilon"])
    if share:
        return _about_mean(column, box, setting, rows, share, terms)
    if not setting.relation.keeps_places:  # all rows at once are looked at only where they are records
        return _shared(column, box, setting, terms)
    return _direct(column, box, setting, rows, terms)


def places(column: str, box: Box, values: FloatArray) -> FloatArray:
    """Return where values lie in a range, from 0 to 1."""
    apart = np.clip(values, *box.limits) - box.low
    if box.width < sys.float_info.min:  # one over it is no float
        return np.clip(apart / box.width, 0.0, 1.0)
    return np.clip(apart * (1.0 / box.width), 0.0, 1.0)


def certify_squares(rows: int) -> Certificate:
    """Certify the sum of squares about the mean of so many numbers between 0 and 1, as computed.

    Guarantees:
      - Replacing one of n numbers moves it by at most 1 - 1/n. [variance-replace]
    """
    moved = up(1 - 1 / rows + 8 * rows * UNIT_ROUNDOFF)
    return Certificate(("variance-replace",), 1, {REPLACE_ONE: Bounds(moved, moved, moved)})


def squares_about_mean(numbers: FloatArray) -> float:
    """Return the sum of squares about the mean; sums are exact, so it is off by few roundings.

    >>> squares_about_mean(np.array([0.0, 1.0, 0.5]))
    0.5
    """
    total, squares = math.fsum(numbers.tolist()), math.fsum((numbers * numbers).tolist())
    return max(squares - total * total / max(len(numbers), 1), 0.0)


def _direct(column: str, box: Box, setting: Setting, rows: int, terms: Any) -> Spread:
    def compute(encoded: FloatArray) -> FloatArray:
        return np.array([squares_about_mean(places(column, box, encoded[:, 0]))])

    most = Box(0.0, max(rows * GREATEST, 1.0))
    whole = WholeContribution((column,), 1, most, 0.0, compute, certify_squares(rows), pulse=None)
    stage = sum_stage("squares", whole, setting, statement="variance-replace", **terms)
    noise = stage.noise

    def find(releaser: Releaser) -> NoisyNumber:
        ((noisy,),) = releaser.answer(stage)
        inside = within(float(noisy) / rows, noise.half_width(LEVEL) / rows, (0.0, GREATEST))
        return NoisyNumber(*inside, noise.std / rows, float(rows))

    return Spread((stage,), find, noise.half_width(LEVEL))


def _share_of_mean(budget: float) -> float:
    """Return the share of epsilon for the mean at so much n epsilon; zero if it does not pay.

    In units of the noise on the variance itself, 1 / (n epsilon), the squares have at most 1 / (1 - s)
    and the square of what the mean is off by has sqrt(20) / 2 / (n epsilon s^2) deviations beside it.
    """
    errors = {s: math.hypot(1 / (1 - s), math.sqrt(10) / (budget * s**2)) for s in _SHARES}
    best = min(errors, key=lambda s: errors[s])
    return best if errors[best] <= _WORSE else 0.0


def _about_mean(column: str, box: Box, setting: Setting, rows: int, share: float, terms: Any) -> Spread:
    """Return the strategy that finds the mean first.

    Guarantees:
      - The sum of squares about a released number moves by the square of its distance from the farther
        end at most, under both relations. [variance-centred]
    """
    rest, first = share_out(terms["epsilon"], (1 - share, share))
    deltas = share_out(terms["delta"], (1 - share, share)) if terms["delta"] else (0.0, 0.0)
    law = {"mechanism": terms["mechanism"]}

    number = number_of(setting.schema, column)
    start = sum_stage(
        "sum",
        centred(column, number, box),
        setting,
        statement="mean-replace",
        epsilon=first,
        delta=deltas[1],
        **law,
    )

    def squares_about(centre: float) -> Stage[Noise]:
        def compute(block: Block) -> FloatArray:
            return ((places(column, box, block[column]) - centre) ** 2)[:, None]

        region = Box(0.0, up(max(centre, 1 - centre) ** 2))
        direct = direct_sum(number, box, centre, region, places=True, square=True)
        contribution = VectorContribution((column,), 1, region, 0.0, compute, calls=None, direct=direct)
        return sum_stage(
            "squares about the mean",
            contribution,
            setting,
            statement="variance-centred",
            epsilon=rest,
            delta=deltas[0],
            **law,
        )

    def find(releaser: Releaser) -> NoisyNumber:
        ((noisy_sum,),) = releaser.answer(start)
        stage = squares_about(min(max(0.5 + float(noisy_sum) / rows / box.width, 0.0), 1.0))
        ((noisy,),) = releaser.answer(stage)
        half = stage.noise.half_width(LEVEL + _MISSED) / rows
        off = start.noise.half_width(1 - _MISSED) / rows / box.width
        squares, bias = float(noisy) / rows, (start.noise.std / rows / box.width) ** 2
        low = min(max(squares - half - off**2, 0.0), GREATEST)
        high = min(max(squares + half, 0.0), GREATEST)
        value = min(max(squares - bias, low), high)
        return NoisyNumber(value, low, high, stage.noise.std / rows, float(rows))

    worst = squares_about(0.0)
    return Spread((start, worst), find, worst.noise.half_width(LEVEL + _MISSED))


def _shared(column: str, box: Box, setting: Setting, terms: Any) -> Spread:
    def shares(block: Block) -> FloatArray:
        p = places(column, box, block[column])
        cells = np.column_stack([(1 - p) ** 2, 2 * p * (1 - p), p**2])
        return np.where(in_part(setting.schema, (column,), block)[:, None], cells, 0.0)

    contribution = shares_contribution((column,), 3, shares)
    stage = sum_stage("shares of the records", contribution, setting, statement="shares", **terms)
    noise = stage.noise

    def find(releaser: Releaser) -> NoisyNumber:
        (noisy,) = releaser.answer(stage)
        value, records = float(_of_cells(noisy[None, :])[0]), float(noisy.sum())
        draws = _of_cells(plausible_sums(noisy, noise))[:, None]
        low, high = (float(np.clip(end[0], 0.0, GREATEST)) for end in ends_of(draws, LEVEL))
        value = GREATEST / 2 if math.isnan(value) else min(max(value, low), high)
        known = np.clip(draws[~np.isnan(draws)], 0.0, GREATEST)
        std = float(known.std()) if len(known) else GREATEST
        return NoisyNumber(value, low, high, std, records)

    # Of the squares of the mean's place and of the rest, the greater is one for a mean at an end.
    return Spread((stage,), find, noise.half_width(LEVEL), records_within(noise, 3))


def _of_cells(cells: FloatArray) -> FloatArray:
    """Return variances of rows of three cells; NaN where there are no records."""
    records = cells.sum(axis=1)
    known = np.where(records > 0, records, np.nan)
    mean, square = (cells[:, 1] / 2 + cells[:, 2]) / known, cells[:, 2] / known
    return np.asarray(square - mean**2)
