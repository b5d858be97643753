"""Many releases of one plan for little work: rows are read once, noise is drawn often, seeded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.curves_tasks import Task
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.engines.table import engine_for
from discreet.explain.pdp.contribution import record_curves
from discreet.models import TreeEnsemble
from discreet.plans import Plan
from discreet.randomness import SimulatedNoise

_USERS = ("pdp", "ale")
_MOST_STEPS = 100_001
"""Step grids are tried point by point up to this length."""


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
def remembered(task: Task, feature: str) -> Iterator[None]:
    """Let plans look up the answers for the task's own rows with a feature set to any value.

    A deep forest needs a minute for what ten repetitions of all budgets ask. Trees answer alike between
    two thresholds, other models are tried at the points of a step grid; without either nothing changes.
    """
    found = _answers(task, feature)
    if found is None:
        yield
        return
    cells, table = found
    places = {row.tobytes(): place for place, row in enumerate(np.ascontiguousarray(task.rows[:, :-1]))}

    def engine(question: Any, model: Any, *needed: Any) -> Any:
        direct = engine_for(question, model, *needed)
        grid = cells(needed[1][0]) if question == "curve" else None
        return _Remembered(direct, places, table, cells, grid)

    with ExitStack() as stack:
        for user in _USERS:
            stack.enter_context(patch(f"discreet.explain.{user}.contribution.engine_for", engine))
        yield


@dataclass(frozen=True)
class _Remembered:
    """An engine that looks up the answers for rows it knows: over a grid, or at values of their own."""

    direct: Any
    places: dict[bytes, int]
    table: Any
    cells: Any
    grid: Any

    @property
    def third_party(self) -> Any:
        return self.direct.third_party

    def predict(self, rows: Any, *values: Any) -> Any:
        known = [self.places.get(row.tobytes(), -1) for row in np.ascontiguousarray(rows)]
        if min(known) < 0:
            return self.direct.predict(rows, *values)
        if self.grid is not None:
            return np.asfortranarray(self.table[np.ix_(known, self.grid)])
        return np.array([self.table[known, self.cells(wanted)] for wanted in values[0]])


def _answers(task: Task, feature: str) -> tuple[Any, Any] | None:
    """Return which column a value belongs to, and every row's answers, a column each."""
    column, trees = task.schema[feature], task.bound.form
    steps = column.grid(_MOST_STEPS)
    if isinstance(trees, TreeEnsemble):
        ends = np.unique(trees.threshold[trees.feature == task.features.index(feature)])
        met = np.unique(np.searchsorted(ends, steps))
        points = np.append(ends, np.nextafter(ends[-1], np.inf))[met]
    elif len(steps) < _MOST_STEPS:
        ends, points = steps, steps
        met = np.arange(len(steps))
    else:
        return None
    curves = record_curves(task.bound, (feature,), (points,))
    parts = []
    for start in range(0, len(task.rows), BLOCK_ROWS):
        part = np.asfortranarray(task.rows[start : start + BLOCK_ROWS, :-1])
        parts.append(curves(Block(start, task.features, part)))
    low, high = task.bounds
    table = np.clip(np.vstack(parts) + task.bound.fill, low, high)
    return lambda values: np.searchsorted(met, np.searchsorted(ends, values)), table
