"""The distribution function of a column, from counts in blocks of several widths."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms import NOISES
from discreet.plans import Expected, Program, Releaser, Setting
from discreet.plans.expected import RECORDS, Unknown
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice, Whole
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.distribution import Distribution
from discreet.plans.results.range_histogram import RangeTree
from discreet.plans.stages.ranges import RangeStage, range_stage
from discreet.schema import Bins, FloatArray, Number
from discreet.statistics.bounds import known_rows

_MOST_BINS = 4096


class cdf(PartPlan):
    """Plan the distribution function of a numeric column, over the records that have a value.

    It never falls. Shares of all ranges and all quantiles follow from it, for free.

    Args:
      column: a numeric column or a date.
      bins: at how many points of the range it is found; on a step grid at most one for every value.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - Records are counted in blocks of several widths, each once per width, where that is better.
        [histogram] [marginals] [range-tree]
      - Shares are made to rise by the nearest function that does, in the sum of squares. [isotonic]

    >>> cdf("income", epsilon=0.5)
    cdf(column='income', bins=64, mechanism='auto', epsilon=0.5)
    """

    column: Annotated[str, Column()]
    _: KW_ONLY
    bins: Annotated[int, Whole(2, _MOST_BINS)] = 64
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose the blocks by the variance of sums from the least value on, and calibrate."""
        number = setting.schema[self.column]
        if not isinstance(number, Number):
            raise ArgumentError(f"column must be a number or a date, got the category {self.column!r}.")
        if self.mechanism != "auto" and not NOISES[self.mechanism].independent:
            raise ArgumentError(
                f"mechanism must draw every count's noise by itself, got {self.mechanism!r}."
            )
        bins = number.bins(self.bins)
        inside = len(bins) - bins.reserved
        tree, stage = range_stage(
            self.column,
            bins,
            setting,
            lambda tree: float(_variances(tree, inside).mean()),
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        rows = known_rows(setting, (self.column,))

        def finish(releaser: Releaser) -> Distribution:
            (noisy,) = releaser.answer(stage)
            total = None if setting.rows is None else float(setting.rows)
            counts = tree.estimate(noisy, total)[:inside]
            return self._distribution(number, bins, tree, stage, counts, rows)

        unknown: Unknown = None if setting.rows else "noise"
        variances, times = _variances(tree, inside), _times(stage, LEVEL) * stage.noise.std
        half = times * math.sqrt(float(variances.mean())) / (setting.rows or 1)
        error = Expected(half, 1.0, RECORDS, unknown=unknown)
        sized = None if rows else times * math.sqrt(float(variances[-1]))
        return Program((stage,), finish, {"share": error}, sized=sized)

    def _distribution(
        self,
        number: Number,
        bins: Bins,
        tree: RangeTree,
        stage: RangeStage,
        counts: FloatArray,
        rows: int | None,
    ) -> Distribution:
        below, std, size = np.cumsum(counts), stage.noise.std, len(counts)
        records = float(below[-1]) if rows is None else float(rows)
        first = std * np.sqrt(_variances(tree, size))
        # What is left above: it is noisy on its own where the number of records is private.
        ends, starts = np.full(size, size), np.arange(1, size + 1)
        rest = np.where(
            starts < size, std * np.sqrt(tree.variance(np.minimum(starts, size - 1), ends)), 0
        )
        rest = rest if rows is None else first
        shares = risen(below / max(records, 1.0))
        each, together = (
            _ends(below, first, rest, records, _times(stage, level), shares)
            for level in (LEVEL, at_once(LEVEL, size))
        )
        assert bins.edges is not None
        edges = np.asarray(bins.edges)
        half = 0.0 if number.step is None else number.step / 2  # a step grid's edges lie in between
        return Distribution(
            feature=self.column,
            x=tuple((edges[1:] - half).tolist()),
            labels=None,
            y=tuple(shares.tolist()),
            low=tuple(each[0].tolist()),
            high=tuple(each[1].tolist()),
            level=LEVEL,
            noise_std=float(first.mean()) / max(records, 1.0),
            quantity="share of the records",
            rug=None,
            ends_all=(tuple(together[0].tolist()), tuple(together[1].tolist())),
            least=float(number.low),
            records=max(records, 0.0),
        )


def risen(shares: FloatArray) -> FloatArray:
    """Return the nearest function that rises from 0 to 1 to noisy shares.

    Guarantees:
      - No further from the exact shares, in the sum of squares, than the noisy ones were. [isotonic]

    >>> risen(np.array([0.2, 0.1, 0.9])).tolist()
    [0.15, 0.15, 1.0]
    """
    from scipy.optimize import isotonic_regression

    rising = isotonic_regression(np.clip(shares[:-1], 0.0, 1.0)).x
    return np.append(np.round(rising, 15), 1.0)


def _variances(tree: RangeTree, cells: int) -> FloatArray:
    """Return the variances of the sums from the first cell to each of so many."""
    ends = np.arange(1, cells + 1)
    return tree.variance(np.zeros(cells, dtype=np.int64), ends)


def _times(stage: RangeStage, level: float) -> float:
    """Return how many deviations hold sums of noise: those of one Laplace variable, or a normal one."""
    if stage.noise.normal:
        from scipy.special import ndtri

        return float(ndtri(0.5 + level / 2))
    return -math.log(1 - level) / math.sqrt(2)


def _ends(
    below: FloatArray,
    first: FloatArray,
    rest: FloatArray,
    records: float,
    times: float,
    shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the shares t for which noise explains (1 - t) below - t above."""
    more = times * (rest - first)
    with np.errstate(all="ignore"):
        low = (below - times * first) / (records + more)
        high = (below + times * first) / (records - more)
    lost = (records + more <= 0) | (records - more <= 0)
    low, high = np.where(lost, 0.0, low), np.where(lost, 1.0, high)
    low[-1] = high[-1] = 1.0
    return np.clip(np.minimum(low, shares), 0, 1), np.clip(np.maximum(high, shares), 0, 1)
