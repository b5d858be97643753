"""Releases of many small made-up tables: a plan's own contributions and noise, without a session.

An attack runs a mechanism thousands of times on rows that it made up itself. They are encoded already
and nobody is charged; what is added up, how it is rounded and what noise it gets is the plan's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.data import Summand
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.engine import by_blocks, sum_block
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise
from discreet.plans import Perturbation, Plan, Program, Setting, Stage
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import IntArray, NoiseSource, SimulatedNoise
from discreet.schema import FloatArray, Schema


class EncodedTable:
    """Answers stages about encoded rows with simulated noise, as a program asks for them.

    Args:
      names: of the columns.
      rows: encoded, at most one block of them.
      source: of the noise; fresh for every release.
    """

    def __init__(self, names: tuple[str, ...], rows: FloatArray, source: NoiseSource) -> None:
        if rows.ndim != 2 or rows.shape[1] != len(names) or not 0 < len(rows) <= BLOCK_ROWS:
            raise ArgumentError(
                f"rows must be 1 to {BLOCK_ROWS} rows of {len(names)} numbers, got {rows.shape}."
            )
        values = np.asfortranarray(rows, dtype=np.float64).copy(order="F")
        values.setflags(write=False)
        self._block = Block(0, names, values)
        self.source = source

    def exact(self, stage: Stage[Perturbation]) -> IntArray:
        """Return the sum without noise, in whole steps."""
        if not by_blocks(stage.contribution):
            raise ArgumentError(f"stage {stage.name!r} must add up rows, got one that needs them all.")
        (raw,) = sum_block(self._block, [Summand(stage.contribution, stage.noise.step)])
        return raw

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return noisy answers."""
        return [stage.noise.release(self.exact(stage), self.source) for stage in stages]


def prepared(plan: Plan, schema: Schema, rows: int) -> Program:
    """Return a plan made ready for tables of so many rows, replace-one."""
    return plan.prepare(Setting(schema, REPLACE_ONE, rows))


def released(program: Program, names: tuple[str, ...], rows: FloatArray, seed: int) -> Any:
    """Return one result of a program for encoded rows, with noise from a seed."""
    return program.finish(EncodedTable(names, rows, SimulatedNoise(seed)))


def noisy_sums(program: Program, names: tuple[str, ...], tables: FloatArray, seed: int) -> FloatArray:
    """Return the noisy sums of a program with one stage, a row for every table.

    Args:
      program: made ready by ``prepared``.
      names: of the columns.
      tables: tables x rows x columns, encoded.
      seed: of the noise.
    """
    (stage,) = program.stages
    source = SimulatedNoise(seed)
    raw = [EncodedTable(names, rows, source).exact(stage) for rows in tables]
    if (
        isinstance(stage.noise, Noise) and stage.noise.independent
    ):  # all at once: draws that have nothing to do with each other
        return stage.noise.release(np.concatenate(raw), source).reshape(len(raw), -1)
    return np.vstack([stage.noise.release(sums, source) for sums in raw])
