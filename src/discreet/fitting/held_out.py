"""Choose between private models by records that none of them was trained on.

A fifth of the records is held out: by their places where places are kept, else by a keyed hash of what
they say. Every candidate is trained on the others; each of the records held out then says how likely
every candidate thought its class, and the candidate with the greatest sum is chosen privately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.data.contributions import (
    CellContribution,
    Contribution,
    GroupedContribution,
    TablesContribution,
    VectorContribution,
)
from discreet.plans import Perturbation, Program, Releaser, Setting, Stage
from discreet.plans.results.result import Result
from discreet.plans.stages import assign_subsets
from discreet.privacy.certificate import Box, Certificate
from discreet.schema import FloatArray
from discreet.select.choose.chooser import ScoreChoice, score_choice

CHOICE = 0.1
"""The part of epsilon that the choice gets."""

_SUBSETS = 5
_HELD = _SUBSETS - 1
"""Of so many subsets of the records, which one is held out."""

_KEY = b"discreet held out"
"""Public and always the same: the proof holds for every key, and equal plans hold the same records."""

_LEAST = 1 / 64
"""A class that a candidate thought less likely than this counts as if it had thought so."""


@dataclass(frozen=True)
class DealtStage(Stage[Perturbation]):
    """A stage summed over the records that are trained on, or over those that are held out."""

    placed: bool

    @property
    def certificate(self) -> Certificate:
        """What was proven, of the records on one side."""
        proven = self.noise.certificate if self.placed else self.noise.certificate.in_part()
        return replace(proven, statements=(*proven.statements, "row-to-subset"))


@dataclass
class Side:
    """The records that are trained on, or those that are held out.

    Guarantees:
      - Where places are kept a record is on the side of its place, whatever it says, so that one that
        is replaced is replaced there; else it is on a side by what it says, as in a part. How many
        there are is public in the first case alone. [row-to-subset] [where]
    """

    setting: Setting
    columns: tuple[str, ...]
    held: bool
    made: dict[int, tuple[Contribution, Contribution]] = field(default_factory=dict)

    @property
    def placed(self) -> bool:
        """Whether the place of a record decides."""
        return self.setting.relation.keeps_places

    @property
    def within(self) -> Setting:
        """What is public about the records of the side."""
        if not self.placed:
            return self.setting.within(self.setting.relation.within_part)
        rows = self.setting.rows
        if rows is None:
            return self.setting
        own = (rows + _SUBSETS - 1 - _HELD) // _SUBSETS
        return replace(self.setting, rows=max(1, own if self.held else rows - own))

    def place(self, block: Block) -> NDArray[np.int64]:
        """Return 0 for the records of the side, -1 for the others."""
        subset = assign_subsets(block, _SUBSETS, relation=self.setting.relation, key=_KEY)
        return np.where((subset == _HELD) == self.held, 0, -1)

    def stage(self, stage: Stage[Perturbation]) -> Stage[Perturbation]:
        """Return a stage of all records as one of the side's; equal contributions stay equal."""
        each = stage.contribution
        if id(each) not in self.made:
            assert isinstance(each, VectorContribution | CellContribution | TablesContribution)
            self.made[id(each)] = (each, GroupedContribution(each, 1, self.columns, self.place))
        return DealtStage(stage.name, self.made[id(each)][1], stage.noise, self.placed)

    def answering(self, releaser: Releaser, name: str) -> Releaser:
        """Return a releaser that answers the stages of a candidate for the side."""
        return _SideReleaser(self, releaser, name)


@dataclass(frozen=True)
class _SideReleaser:
    side: Side
    releaser: Releaser
    name: str

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers of the side."""
        return self.releaser.answer(*(named(self.name, self.side.stage(stage)) for stage in stages))


def named(name: str, stage: Stage[Perturbation]) -> Stage[Perturbation]:
    """Return a stage with the candidate's name before its own."""
    return replace(stage, name=f"{name}: {stage.name}")


@dataclass(frozen=True)
class Contest:
    """Candidates that are trained on one side of the records and tried on the other.

    Guarantees:
      - All candidates and the choice together keep the plan's promise: their stages are priced
        together, or added. [filter-basic] [joint-stages]
      - A record held out moves the score of a candidate by half of the range when it comes or goes and
        by the range when it is replaced. [choose]
    """

    candidates: Mapping[str, Program]
    trained: Side
    held: Side
    classes: int
    epsilon: float

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """The stages of all candidates, and the choice, which stands for that of trained ones."""
        own = [
            named(name, self.trained.stage(stage))
            for name, program in self.candidates.items()
            for stage in program.stages
        ]
        return (*own, self.choice(None))

    def choice(self, models: list[Any] | None) -> Stage[Perturbation]:
        """Return the stage that chooses, of trained models or, to be priced, of none yet."""
        each = self._scores(models)
        return self.held.stage(Stage("choice", each, self.noise))

    @cached_property
    def noise(self) -> ScoreChoice:
        """What chooses."""
        return score_choice(
            self._scores(None),
            self.held.within,
            mechanism="auto",
            epsilon=self.epsilon,
            delta=0.0,
        )

    def _scores(self, models: list[Any] | None) -> VectorContribution:
        columns, size = self.held.columns, len(self.candidates)

        def compute(block: Block) -> FloatArray:
            if models is None:
                return np.zeros((len(block), size))
            return np.column_stack(
                [class_score(model, block, columns, self.classes) for model in models]
            )

        return VectorContribution(columns, size, Box(-0.5, 0.5), 0.0, compute, calls=None)

    def finish(self, releaser: Releaser) -> Result:
        """Train all candidates, and return the one that is chosen."""
        models: list[Any] = [
            program.finish(self.trained.answering(releaser, name))
            for name, program in self.candidates.items()
        ]
        (drawn,) = releaser.answer(self.choice(models))
        chosen: Result = models[int(drawn[0])]
        return chosen


def class_score(model: Any, block: Block, columns: tuple[str, ...], classes: int) -> FloatArray:
    """Return how likely a model thought the class of every record, by its logarithm, around zero.

    From -1/2 for what it thought least likely to 1/2 for what it was certain of; NaN, which counts
    nothing, for a record without a class.
    """
    target = block[columns[-1]]
    known = target < classes
    code = np.where(known, target, 0).astype(np.int64)
    features = np.ascontiguousarray(block.narrow(columns[:-1]).values)
    shares = np.asarray(model.encoded_shares(features))[np.arange(len(block)), code]
    told = np.log(np.maximum(shares, _LEAST)) / -math.log(_LEAST) + 0.5
    return np.where(known, told, np.nan)
