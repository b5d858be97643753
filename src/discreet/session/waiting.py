"""How long isolated models take: tried on public rows, for a price to say."""

from __future__ import annotations

import time

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.quiet import quietly
from discreet.plans import Program, Setting
from discreet.schema import Schema
from discreet.session.price import Waiting

_ROWS = 3


def waiting(program: Program, setting: Setting) -> Waiting | None:
    """Return how long the stages take that ask a model for one record at a time; None if none does."""
    found = {id(stage.contribution): stage.contribution for stage in program.stages}
    slow = [
        contribution
        for contribution in found.values()
        if isinstance(contribution, VectorContribution)
        and contribution.evidence(setting.relation).grade == "isolated"
    ]
    if not slow:
        return None
    seconds = sum(_seconds_per_record(contribution, setting.schema) for contribution in slow)
    return Waiting(seconds, setting.rows)


def _seconds_per_record(contribution: VectorContribution, schema: Schema) -> float:
    places = [schema.position(name) for name in contribution.columns]
    block = Block(0, contribution.columns, np.asfortranarray(schema.draw(_ROWS)[:, places]))
    with quietly():
        contribution.compute(block.rows(0, 1))  # what is made once is not counted
        start = time.perf_counter()
        contribution.compute(block)
        return (time.perf_counter() - start) / _ROWS
