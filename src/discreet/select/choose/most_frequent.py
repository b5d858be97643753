"""The most frequent value of a column: a vote of every record, counted without rounding."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import count_step
from discreet.mechanisms.selection.registry import ON_SCORES
from discreet.plans import Program, Releaser, Setting, Stage, kinds
from discreet.plans.expected import RECORDS, of_summed_choice
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon
from discreet.plans.parts import PartPlan
from discreet.plans.results.choice import Choice
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import Category, FloatArray
from discreet.select.choose.chooser import CHOICES, ChoiceName, ScoreChoice, build_choice, decide

_UNIT = "records fewer than the most frequent"


@dataclass(frozen=True)
class CountChoice(ScoreChoice):
    """A choice by counts, measured in half records: one record moves a difference by two halves.

    Guarantees:
      - Measured from half of all records, a doubled count moves by one when a record comes or goes and
        by two when one is replaced; taking that half off changes no difference. [choose]
    """

    @property
    def keeps_groups(self) -> bool:
        """Whether every group may choose: a choice by scores loses in proportion to what they move.

        Guarantees:
          - One record that comes or goes moves a doubled count by one, half of what a replaced one
            does, and loses half as much. [groups-of-choices]
        """
        return self.chooser.kind in ON_SCORES

    @property
    def numbers(self) -> int:
        """The index and the gap."""
        return 2

    def standing(self, raw_counts: IntArray) -> Any:
        """Return what the choice looks at."""
        return super().standing(2 * np.asarray(raw_counts, dtype=np.int64))

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index, and the gap in records."""
        index, gap = self.chooser.draw(self.standing(raw_counts), source)
        return np.array([index, gap / 2 * self.step])


class most_frequent(PartPlan):
    """Plan the most frequent value of a category; the candidates are those of the schema.

    Args:
      column: a category of at least two values; records without one of them have no vote.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; of use for mechanisms on stability alone.
      mechanism: as in ``choose``.

    Guarantees:
      - The choice of ``choose`` with one vote per record. [choose]
      - Of every group by itself at the price of one. [groups-of-choices]

    >>> most_frequent("education", epsilon=0.5)
    most_frequent(column='education', mechanism='auto', epsilon=0.5)
    """

    column: Annotated[str, Column()]
    _: KW_ONLY
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[ChoiceName, kinds.OneOf(CHOICES)] = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Take the candidates from the schema and pick a mechanism."""
        column = setting.schema[self.column]
        if not isinstance(column, Category) or len(column.values) < 2:
            raise ArgumentError(
                f"column must be a category of at least two values, got {self.column!r}. "
                "Of a number, ask for percentile or quantiles."
            )
        values = len(column.values)
        contribution = CellContribution((self.column,), values, _codes(self.column, values))
        step = count_step(setting.relation)
        moved, most = setting.relation.edits * round(1 / step), 2.0 * setting.most_rows / step
        chooser, errors = decide(self.mechanism, values, self.epsilon, self.delta, moved, most)
        halves = {name: error / 2 * step for name, error in errors.items()}
        counted = contribution.certificate
        proven = replace(counted, statements=(*counted.statements, "choose"))
        noise = CountChoice(proven, chooser, step, halves)
        stage = Stage("choice", contribution, noise)

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(column.values, drawn, halves, self.mechanism, noise.name, _UNIT)

        error = of_summed_choice(noise.std, setting.rows, 1.0, RECORDS)
        return Program((stage,), finish, {_UNIT: error})


def _codes(name: str, values: int) -> Any:
    """Return which value a record votes for; one that is missing or not listed has no vote."""

    def index(block: Block) -> NDArray[np.int64]:
        codes = block[name].astype(np.int64)
        return np.where(codes < values, codes, -1)

    return index
