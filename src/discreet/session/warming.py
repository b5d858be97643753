"""What a release needs is compiled before it is charged for, on public rows.

A kernel is compiled when it first meets its types of arguments; met on private rows, that would be a
silent wait after the charge. Stages that a program decides on along the way are compiled when they
come, and code of others is not called: it was tried on public rows when its model was bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from discreet.data import Contribution, Summand
from discreet.data.blocks import Block
from discreet.data.engine import by_blocks, sum_block
from discreet.mechanisms.lattice import SHARE
from discreet.plans import Perturbation, Program, Stage
from discreet.progress import tell_of_compiling
from discreet.schema import Schema

_ROWS = 3
"""Few, but more than one: a single row has both layouts in memory, and is another kind of array."""


@contextmanager
def before_the_charge(show: bool | None) -> Iterator[None]:
    """Tell of a wait for compiled code; an interruption says that nothing was spent."""
    try:
        with tell_of_compiling(show):
            yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "The release was interrupted before its reservation. Nothing was spent."
        ) from None


def compile_ahead(programs: Sequence[Program], schema: Schema) -> None:
    """Sum up what public rows contribute, so that every kernel these stages need is compiled.

    Guarantees:
      - Reads no row of a table. [reserve-first]
    """
    stages = {id(stage.contribution): stage for program in programs for stage in program.stages}
    for stage in stages.values():
        if _ours(stage.contribution):
            _sum_public_rows(stage, schema)


def _ours(contribution: Contribution) -> bool:
    """Say whether rows are added up block by block, by code of ours alone."""
    return by_blocks(contribution) and contribution.pulse is None


def _sum_public_rows(stage: Stage[Perturbation], schema: Schema) -> None:
    columns = stage.contribution.columns
    places = [schema.position(name) for name in columns]
    values = np.asfortranarray(schema.draw(_ROWS)[:, places])
    values.setflags(write=False)  # as blocks of a table are: another kind of array is compiled anew
    person = schema.person
    shared = person is not None and person.rows == "weighted"
    units = np.full(_ROWS, round(1 / SHARE), dtype=np.int32) if shared else None
    block = Block(0, columns, values, units=units)
    sum_block(block, [Summand(stage.contribution, stage.noise.step)])
