"""Programs of the examples, run once: what they ask of the rows, later stages included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from discreet.data import PrivateTable
from discreet.data.blocks import Block
from discreet.data.rows import open_rows
from discreet.plans import Program, Stage
from discreet.privacy.relation import Relation
from tests.laws import world
from tests.laws.examples import Case
from tests.oracles.releaser import SimulatedReleaser


class AskedStages(SimulatedReleaser):
    """A releaser that remembers what it was asked."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        super().__init__(table, seed)
        self.stages: list[Stage[Any]] = []

    def answer(self, *stages: Stage[Any]) -> list[np.ndarray]:
        self.stages += stages
        return super().answer(*stages)


@dataclass(frozen=True)
class Run:
    """A program and the stages it asked for, those it decided on along the way included."""

    program: Program
    stages: Sequence[Stage[Any]]
    relation: Relation


@cache
def run(case: Case) -> Run:
    """Return what a case asked for; it is run once for all laws."""
    program = case.plan().prepare(case.setting)
    releaser = AskedStages(private(), 3)
    program.finish(releaser)
    different = {(id(stage.contribution), stage.noise.step): stage for stage in releaser.stages}
    return Run(program, tuple(different.values()), program.relation or case.relation)


@cache
def private() -> PrivateTable:
    """Return the table of the laws, sealed."""
    return PrivateTable(world.table(), world.SCHEMA)


def block_of(frame: Any, columns: tuple[str, ...]) -> Block:
    """Return the rows of a frame as the one block a contribution would get."""
    (block,) = open_rows(PrivateTable(frame, world.SCHEMA), columns)
    return block
