"""Several quantiles of a column in one release, in order and within its public bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.plans import Program, Releaser, Setting, Stage
from discreet.plans.expected import RECORDS, of_summed_choice
from discreet.plans.kinds import UNSAID, Delta, Epsilon, OneOf, Values
from discreet.plans.parts import PartPlan
from discreet.plans.results.choice import Quantiles
from discreet.privacy.relation import ADD_REMOVE, RELATIONS
from discreet.schema.fine_grid import FineGrid
from discreet.select.choose.chooser import reason
from discreet.select.quantiles.cuts import CUT_CHOICES, quantile_cuts
from discreet.select.quantiles.order_statistics import PercentileDistances, nearest, written_share
from discreet.select.quantiles.percentile import (
    Candidates,
    NumericColumn,
    PercentileChoice,
    certify_distances,
    decide_percentile,
    value_grid,
)

CutName = Literal["auto", "permute-and-flip", "exponential"]

_MOST_LEVELS = 1_000
_DIGITS = 8
_UNIT = "records from its percentile"
_MOST_VISITED = 2**15


def _level(level: Any) -> float:
    """Return a level to eight digits: evenly spaced ones have more, and nobody means them."""
    share = written_share(level)
    if share is not None and 1 < share <= 100:
        raise ArgumentError(
            f"levels must be between 0 and 1, got {shown(level)}. Divide percents by 100: "
            f"{float(share / 100):g}."
        )
    if share is None or not 0 < round(share, _DIGITS) < 1:
        raise ArgumentError(
            f"levels must be numbers between 0 and 1, got {shown(level)}. The median is 0.5; the least "
            "value is percentile(column, 0), the greatest percentile(column, 100)."
        )
    return float(round(share, _DIGITS))


def _levels(name: str, levels: Any) -> tuple[float, ...]:
    if not isinstance(levels, list | tuple | np.ndarray) or np.ndim(levels) != 1:
        raise ArgumentError(
            f"levels must be a list of numbers between 0 and 1, got {shown(levels)}. For one, use "
            "percentile."
        )
    listed = tuple(sorted({_level(level) for level in levels}))
    if not 1 <= len(listed) == len(levels) <= _MOST_LEVELS:
        raise ArgumentError(
            f"levels must be 1 to {_MOST_LEVELS} different numbers, got {len(levels)} of which "
            f"{len(listed)} differ in {_DIGITS} digits."
        )
    return listed


class quantiles(PartPlan):
    """Plan several quantiles of a column; they never cross and never leave its bounds.

    Args:
      column: a numeric column.
      levels: numbers between 0 and 1, as numpy and pandas take them, to eight digits: 0.25 is the
        first quartile; k of them cost as many choices as log2(k + 1), rounded up.
      candidates: public values to choose from; every record counts at the nearest. Left out: the
        column's step grid, or the round numbers of its range, to four or five digits.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with a delta many rounds are cheaper together.
      mechanism: ``permute-and-flip``, ``exponential``, or ``auto``: whichever errs less in the worst
        case, the second where there are more than 32,768 values.

    Guarantees:
      - (epsilon, delta)-differentially private over all of them, under both relations.
        [several-quantiles]
      - One level of a whole table is chosen by distances in records. [percentile-distance]
        [signed-distance]
      - Every group chooses by itself, all of them at the price of one: the median errs no more than
        that of one group alone, a level near an end by up to twice as many records.
        [groups-of-choices]

    >>> quantiles("age", [0.25, 0.5], epsilon=0.5)
    quantiles(column='age', levels=[0.25, 0.5], candidates=None, mechanism='auto', epsilon=0.5)
    """

    column: NumericColumn
    levels: Annotated[Sequence[float], Values(by=_levels)]
    _: KW_ONLY
    candidates: Candidates = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[CutName, OneOf(CUT_CHOICES)] = "auto"

    meaning: ClassVar = 2

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out the grid and divide the budget over the rounds."""
        grid = value_grid(self.column, self.candidates, setting)
        find = nearest(grid.values)

        def index(block: Block) -> NDArray[np.int64]:
            return find(block[self.column])

        contribution = CellContribution((self.column,), len(grid.values), index)
        noise, errors = quantile_cuts(
            contribution.certificate,
            _marks(self.levels),
            relation=setting.relation,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            weights=grid.weights,
            most_rows=setting.most_rows,
        )
        # Where records lie densely a choice by distances follows the same law.
        expected, worst = noise.std, noise.worst
        stage: Stage[Any] = Stage("quantiles", contribution, noise)
        if self._by_distance(setting, grid):
            stage = Stage("quantiles", contribution, self._one(setting, len(grid.values)))
            worst, errors = stage.noise.std, stage.noise.errors
        known = None if setting.schema[self.column].may_be_missing else setting.rows

        def finish(releaser: Releaser) -> Quantiles:
            (drawn,) = releaser.answer(stage)
            places = drawn[: len(self.levels)].astype(np.int64)
            return Quantiles(
                column=self.column,
                ps=tuple(float(100 * Fraction(repr(level))) for level in self.levels),
                values=tuple(grid.values[places].tolist()),
                mechanism=stage.noise.name,
                why=self._why(stage.noise.name, errors, len(grid.values)),
                expected_error=expected,
                unit=_UNIT,
                worst_error=worst,
                percent_error=100 * expected / known if known else None,
            )

        error = of_summed_choice(expected, setting.rows, 1.0, RECORDS)
        return Program((stage,), finish, {_UNIT: error})

    def _by_distance(self, setting: Setting, grid: FineGrid) -> bool:
        """Say whether there is one level, of all records or of groups, on a grid to be visited."""
        few, relation = len(self.levels) == 1 and len(grid.values) <= _MOST_VISITED, setting.relation
        told = relation.of_rows in RELATIONS or relation.groups_touched == 2
        return few and relation.whole and told and bool(np.all(grid.weights == 1))

    def _one(self, setting: Setting, values: int) -> PercentileChoice:
        """Return the choice of one value by its distance in records: sharper where values are shared.

        Guarantees:
          - Distances move by at most one per edit. [percentile-distance] [signed-distance]
            [percentile-part]
          - Between groups a record comes and goes: two edits, of half of epsilon each.
            [groups-of-choices]
        """
        relation = setting.relation
        parted = setting.schema[self.column].may_be_missing and relation.rows_public
        p, most = 100 * Fraction(repr(self.levels[0])), float(setting.most_rows)
        edits = relation.groups_touched
        chooser, errors = decide_percentile(self.mechanism, values, self.epsilon / edits, 0.0, most)
        chooser = replace(chooser, epsilon=self.epsilon, sensitivity=edits * chooser.sensitivity)
        measure = PercentileDistances(p, ADD_REMOVE if edits == 2 else relation)
        measure.check_fits("levels", setting.most_rows)
        proven = certify_distances(values, of_part=parted)
        return PercentileChoice(proven, chooser, 1.0, errors, measure, self.mechanism)

    def _why(self, taken: str, errors: Mapping[str, float], values: int) -> str:
        if self.mechanism != "auto" or errors[taken] == min(errors.values()):
            return reason(self.mechanism, taken, errors, _UNIT)
        return (
            f"{taken} was taken because there are {values:,} values, too many to visit one by one; "
            f"whatever the table, it errs by at most {errors[taken]:.3g} {_UNIT} on average"
        )


def _marks(levels: Sequence[float]) -> tuple[int, ...]:
    """Return levels as whole numbers from 0 to what stands for all records."""
    shares = [Fraction(0), *(Fraction(repr(level)) for level in levels), Fraction(1)]
    unit = math.lcm(*(share.denominator for share in shares))
    return tuple(int(share * unit) for share in shares)
