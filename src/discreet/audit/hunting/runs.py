"""Run a program without a session: seeded noise on sums that are taken once and remembered.

Later stages are decided on by what earlier ones released, so they are known only after a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.data import Contribution, PrivateTable, Summand, add_up
from discreet.plans import Program, Stage
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource, SimulatedNoise
from discreet.schema import FloatArray


class SimulatedReleaser:
    """Answers the same stages many times with fresh seeded noise, reading the rows once.

    A sum is known by what is summed and on which lattice, as in a session: a plan may ask two
    questions under one name.
    """

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table = table
        self.source: NoiseSource = SimulatedNoise(seed)
        self._sums: dict[tuple[int, float], tuple[Contribution, IntArray]] = {}

    def answer(self, *stages: Stage[Any]) -> list[FloatArray]:
        """Return the noisy answers of the stages."""
        return [stage.noise.release(self.exact(stage), self.source) for stage in stages]

    def exact(self, stage: Stage[Any]) -> IntArray:
        """Return the sum without noise, in whole steps."""
        contribution, step = stage.contribution, stage.noise.step
        place = (id(contribution), step)
        if place not in self._sums:
            (raw,) = add_up(self._table, [Summand(contribution, step)])
            # The contribution is kept with its sum: an id may be given again to another one.
            self._sums[place] = (contribution, raw)
        return self._sums[place][1]


class AskedStages(SimulatedReleaser):
    """A releaser that remembers what it was asked."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        super().__init__(table, seed)
        self.stages: list[Stage[Any]] = []

    def answer(self, *stages: Stage[Any]) -> list[FloatArray]:
        """Return the noisy answers of the stages, and remember them."""
        self.stages += stages
        return super().answer(*stages)


@dataclass(frozen=True)
class Run:
    """A program and the stages it asked for, those it decided on along the way included."""

    program: Program
    stages: Sequence[Stage[Any]]
    relation: Relation


def run_program(program: Program, table: PrivateTable, relation: Relation, seed: int) -> Run:
    """Return what a program asks for if it runs on a table; of equal sums one stage is kept."""
    releaser = AskedStages(table, seed)
    program.finish(releaser)
    different = {(id(stage.contribution), stage.noise.step): stage for stage in releaser.stages}
    return Run(program, tuple(different.values()), program.relation or relation)
