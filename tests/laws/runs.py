"""Programs of the examples, run once: what they ask of the rows, later stages included."""

from __future__ import annotations

from functools import cache
from typing import Any

from discreet.audit.hunting import rows as single_rows
from discreet.audit.hunting.runs import Run, run_program
from discreet.data import PrivateTable
from discreet.data.blocks import Block
from tests.laws import world
from tests.laws.examples import Case


@cache
def run(case: Case) -> Run:
    """Return what a case asked for; it is run once for all laws."""
    return run_program(case.plan().prepare(case.setting), private(), case.relation, 3)


@cache
def private() -> PrivateTable:
    """Return the table of the laws, sealed."""
    return PrivateTable(world.table(), world.SCHEMA)


def block_of(frame: Any, columns: tuple[str, ...]) -> Block:
    """Return the rows of a frame as the one block a contribution would get."""
    return single_rows.block_of(frame, world.SCHEMA, columns)
