"""Many releases of one plan for little work: rows are read once, noise is drawn often, seeded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.curves_tasks import Task
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import BLOCK_ROWS
from discreet.explain import pdp_contributions
from discreet.plans import Plan
from discreet.randomness import SimulatedNoise

_USERS = ("pdp_contributions", "pdp_question")
_REMEMBERED = 400
"""Columns of predictions kept for one feature."""


class Releaser:
    """Answers stages with seeded noise; the sums of a contribution are taken once."""

    def __init__(self, task: Task, seed: int) -> None:
        self._table, self._noise = task.table, SimulatedNoise(seed)
        self._sums: dict[int, tuple[Any, Any]] = {}

    def answer(self, *stages: Any) -> list[Any]:
        """Return the noisy sums."""
        return [stage.noise.release(self._sum(stage), self._noise) for stage in stages]

    def _sum(self, stage: Any) -> Any:
        known = self._sums.get(id(stage.contribution))
        if known is None:  # the contribution is kept too, so that no other gets its id
            (raw,) = add_up(self._table, [Summand(stage.contribution, stage.noise.step)])
            known = self._sums[id(stage.contribution)] = (stage.contribution, raw)
        return known[1]


class Once:
    """Answers stages as a session does: one pass over the table, then noise."""

    def __init__(self, table: PrivateTable) -> None:
        self._table = table

    def answer(self, *stages: Any) -> list[Any]:
        """Return the noisy sums."""
        sums = add_up(self._table, [Summand(s.contribution, s.noise.step) for s in stages])
        source = SimulatedNoise(0)
        return [s.noise.release(raw, source) for s, raw in zip(stages, sums, strict=True)]


def release_often(task: Task, plan: Plan, times: int, seed: int = 0) -> Iterator[Any]:
    """Yield results of the same plan with fresh noise."""
    program, releaser = plan.prepare(task.setting), Releaser(task, seed)
    for _ in range(times):
        yield program.finish(releaser)


@contextmanager
def remembered_curves(task: Task, feature: str) -> Iterator[None]:
    """Let partial dependence of one feature look up predictions at points that were asked before.

    A deep forest needs seconds for a grid, and the same grid is asked for many budgets.
    """
    curves, columns = pdp_contributions.record_curves, {}
    rows = task.rows[:, :-1]

    def record(model: Any, features: Any, grids: Any) -> Any:
        (grid,) = grids
        direct = curves(model, features, grids)

        def compute(block: Any) -> Any:
            part = slice(block.start, block.start + len(block))
            if (
                not np.array_equal(rows[part], block.values)
                or len(columns) > _REMEMBERED * len(rows) / BLOCK_ROWS
            ):
                return direct(block)
            missing = np.array([x for x in grid.tolist() if (x, block.start) not in columns])
            if len(missing):
                found = curves(model, features, (missing,))(block)
                for x, column in zip(missing.tolist(), found.T, strict=True):
                    columns[x, block.start] = column.copy()
            return np.asfortranarray(np.column_stack([columns[x, block.start] for x in grid.tolist()]))

        return compute

    with ExitStack() as stack:
        for user in _USERS:
            stack.enter_context(patch(f"discreet.explain.{user}.record_curves", record))
        yield
