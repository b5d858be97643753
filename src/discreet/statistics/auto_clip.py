"""Where to clip a column whose bounds are wider than its values: chosen by private counts.

A schema knows no skew: incomes up to ten million, of which nearly all are below a hundredth of that,
make a sum as noisy as if all were ten million. A fifth of epsilon chooses a narrower range among powers
of the root of two of the whole one, by the exponential mechanism: a candidate's score is minus the
number of records beyond it, minus a public price for every doubling. So about that many records are
beyond what is chosen, and far fewer where their tail is short. Fewer records than that which stand
together far out cannot be told from none, and are clipped as well.

A record moves all scores that it moves in one direction, so the choice has twice the usual exponent.
All prices together are less than half of the records, so that it never pays to clip all of them: with
fewer records there are fewer candidates, and with too few none but the whole range, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.plans import Program, Releaser, Setting, Shared, Stage, share_out
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages.parts import has_value
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.privacy.certificate import Box, Certificate
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray, Number
from discreet.statistics.bounds import number_of

SHARE = 0.2
"""What the choice gets of epsilon."""

_DOUBLING = 1.5
"""The price of a doubling, in records times the choice's epsilon."""

_ENOUGH = 30.0
"""So many records times the choice's epsilon are needed for it to pay."""

_DOUBLINGS = 20
_DOUBLINGS_UNKNOWN = 10
"""Where the number of records is private, about 15 over the choice's epsilon have to be there."""

Build = Callable[[Box, float], Program]
"""Makes the question ready for a range and an epsilon."""

Bias = Callable[[Statistic, float, float, float], float]
"""Tells what clipping changes: from the answer, what is cut off, the width and the records."""


@dataclass(frozen=True)
class ClipChoice:
    """Choose how far from an anchor values may be, by the number of records beyond.

    Guarantees:
      - A record that comes, goes or is replaced moves scores by at most one, all of them down or all of
        them up: weights exp(epsilon score) are epsilon-differentially private. [clip-auto]
    """

    certificate: Certificate
    epsilon: float
    distances: tuple[float, ...]

    name = "exponential"
    step = 1.0
    delta = 0.0

    @property
    def _pick(self) -> ExponentialMechanism:
        # Its law has half the exponent, for scores that may move up and down at once.
        return ExponentialMechanism(1, 2 * self.epsilon)

    @property
    def events(self) -> tuple[BoundedRangeEvent]:
        """What the accountant is told: ratios of probabilities lie within a range of epsilon."""
        return (BoundedRangeEvent(self.epsilon),)

    @property
    def std(self) -> float:
        """By how many records the choice is off on average, in the worst case."""
        return self._pick.scale * self._pick.worst_loss(len(self.distances))

    @property
    def prices(self) -> IntArray:
        """What every candidate costs, in records: nothing for the least."""
        each = _DOUBLING / self.epsilon / 2  # candidates are half a doubling apart
        return np.asarray(np.ceil(each * np.arange(len(self.distances))), dtype=np.int64)

    def scores(self, raw_counts: IntArray) -> IntArray:
        """Return the score of every candidate from the records beyond the candidate before it."""
        counts = np.asarray(raw_counts, dtype=np.int64)
        beyond = counts.sum() - np.cumsum(counts)[: len(self.distances)]
        return np.asarray(-beyond - self.prices)

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the chosen distance."""
        return np.array([self.distances[self._pick.release(self.scores(raw_counts), source)]])


def anchor_of(number: Number) -> float:
    """Return where distances are measured from: zero, or the end of the range that is nearest to it."""
    return min(max(0.0, number.low), number.high)


def choice_stage(column: str, setting: Setting, epsilon: float) -> Stage[ClipChoice]:
    """Return the stage that chooses how far from the anchor values of a column may be."""
    number = number_of(setting.schema, column)
    anchor = anchor_of(number)
    farthest = max(number.high - anchor, anchor - number.low)
    least = number.step or 0.0
    found = [farthest * 2.0 ** (-place / 2) for place in range(_candidates(setting.rows, epsilon))]
    distances = tuple(sorted(one for one in found if one >= least))

    def index(block: Block) -> NDArray[np.int64]:
        apart = np.abs(block[column] - anchor)
        cells = np.searchsorted(np.asarray(distances), apart, side="left")
        return np.where(has_value(number, block[column]), np.minimum(cells, len(distances) - 1), -1)

    contribution = CellContribution((column,), len(distances), index)
    proven = replace(contribution.certificate, statements=("histogram", "clip-auto"))
    return Stage("clip", contribution, ClipChoice(proven, epsilon, distances))


def _candidates(rows: int | None, epsilon: float) -> int:
    """Return how many ranges to choose from, so that their prices are below half of the records."""
    if rows is None:
        return 2 * _DOUBLINGS_UNKNOWN + 1
    return min(2 * _DOUBLINGS, math.floor(rows * epsilon / _DOUBLING)) + 1


def auto_clipped(column: str, setting: Setting, epsilon: float, build: Build, bias: Bias) -> Program:
    """Return the question asked within a range that is chosen first, if that can pay.

    Args:
      column: the column that is clipped.
      setting: what is public.
      epsilon: the whole budget.
      build: makes the question ready for a range and an epsilon.
      bias: tells what clipping is expected to change.
    """
    number = number_of(setting.schema, column)
    whole = Box(number.low, number.high)
    if setting.most_rows * epsilon * SHARE < _ENOUGH:
        return build(whole, epsilon)
    rest, first = share_out(epsilon, (1 - SHARE, SHARE))
    stage = choice_stage(column, setting, first)

    def within(box: Box) -> Program:
        program = build(box, rest)

        def finish(releaser: Releaser) -> Statistic:
            found: Any = program.finish(releaser)
            # Of a tail that halves with every doubling; records that stand far out lose more.
            excess = 0.0 if box == whole else _DOUBLING / first * box.width / 2
            records = max(found.records or setting.rows or 1.0, 1.0)
            told: Statistic = replace(found, bias=bias(found, excess, box.width, records))
            return told

        return replace(program, finish=finish)

    def ask(releaser: Releaser) -> Program:
        ((distance,),) = releaser.answer(stage)
        return within(range_within(number, float(distance)))

    return Shared((stage,), within(whole), ask).program()


def range_within(number: Number, distance: float) -> Box:
    """Return the part of a column's range that is no farther from the anchor than a distance."""
    anchor = anchor_of(number)
    low, high = max(number.low, anchor - distance), min(number.high, anchor + distance)
    return Box(low, high) if low < high else Box(number.low, number.high)
