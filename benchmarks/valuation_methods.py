"""Values of a task's records by every method of the valuation benchmarks, private ones with noise.

Exact values are taken once; noise is drawn again and again from the plans' own calibrated mechanisms,
seeded, so that means over draws cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.valuation_tasks import Task
from discreet.plans import Setting
from discreet.randomness import SimulatedNoise
from discreet.value.engines.shapley import permutation_shapley
from discreet.value.engines.utilities import Utility
from discreet.value.plan import data_shapley
from discreet.value.private_layered import Coreset, LayeredValues
from discreet.value.private_neighbours import near_and_right, owner_values
from discreet.value.private_rows import encode_rows, read_test

DELTA = 1e-5
STEEP = 1.5
MODEL = LogisticRegression(solver="liblinear")
Draw = Callable[[int], np.ndarray]
"""Values from the seed of their noise."""


@dataclass(frozen=True)
class Layered:
    """Layered values of all records: exact, clipped, and with noise."""

    task: Task
    rounds: int
    score: str = "log-loss"

    @property
    def setting(self) -> Setting:
        """What is public about the table."""
        return Setting(self.task.schema, "replace-one", len(self.task.train))

    @property
    def rows(self) -> np.ndarray:
        """The encoded records."""
        columns = (*self.task.schema.features, self.task.target)
        return encode_rows(self.task.train, self.task.schema, columns, "rows")

    def lay_out(self, decay: float, core: Coreset) -> LayeredValues:
        """Return the question of all values."""
        plan = data_shapley(
            MODEL,
            test=self.task.test,
            score=self.score,
            decay=decay,
            rounds=self.rounds,
            coreset=core,
            epsilon=1.0,
        )
        return plan.lay_out(self.setting)

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values without a clip, with the default one, and with a steeper one."""
        core, rows = Coreset(), self.rows
        asked, steep = (self.lay_out(decay, core) for decay in (1.0, STEEP))
        wide = replace(asked, clips=np.full(len(rows), asked.utility.width))
        return wide.values(rows), asked.values(rows), steep.values(rows)

    def noisy(
        self,
        clipped: np.ndarray,
        epsilon: float,
        *,
        together: bool,
        audience: str = "owner",
        decay: float = 1.0,
    ) -> Draw:
        """Return values with the noise of one plan for all, or of one plan for each."""
        plan = data_shapley(
            MODEL,
            test=self.task.test,
            score=self.score,
            records=None if together else 0,
            rounds=self.rounds,
            decay=decay,
            audience=audience,  # type: ignore[arg-type]
            epsilon=epsilon,
            delta=DELTA if together else 0.0,
        )
        noise = plan.prepare(self.setting).stages[0].noise
        steps = np.rint(clipped / noise.step).astype(np.int64)
        return lambda seed: noise.release(steps, SimulatedNoise(seed))

    def truncated(self, permutations: int) -> np.ndarray:
        """Return truncated Monte Carlo values, as DataShapley's."""
        test = read_test(self.task.test, self.task.schema)
        utility = Utility(MODEL, test.x, test.y, score=self.score, classes=np.arange(2.0))
        game = utility.on(*test.split(self.rows))
        found = permutation_shapley(game, permutations=permutations, truncate=0.01, progress=False)
        return found.values


@dataclass(frozen=True)
class Neighbours:
    """Threshold-KNN values of all owners: exact, with noisy counts, and with no counts at all."""

    task: Task
    points: int = 100

    def values(self, epsilon: float | None) -> Draw:
        """Return owners' values; exact for an epsilon of None, without any count for zero."""
        test_rows = self.task.test.iloc[: self.points]
        plan = data_shapley(test=test_rows, method="tknn", epsilon=epsilon or 1.0, delta=DELTA)
        setting = Setting(self.task.schema, "replace-one", len(self.task.train))
        noise = plan.prepare(setting).stages[0].noise
        test = read_test(test_rows, self.task.schema)
        rows = encode_rows(self.task.train, self.task.schema, test.columns, "rows")
        near, right = near_and_right(test, rows, plan.radius_for(test))
        counts = np.array([right.sum(axis=0), (near & ~right).sum(axis=0)])
        if epsilon is None:
            return lambda seed: owner_values(counts, near, right, 2, 0.0)
        if epsilon == 0:
            return lambda seed: owner_values(0.0 * counts, near, right, 2, noise.std)
        steps = np.rint(counts.ravel() / noise.step).astype(np.int64)

        def draw(seed: int) -> np.ndarray:
            noisy_counts = noise.release(steps, SimulatedNoise(seed)).reshape(2, -1)
            return owner_values(noisy_counts, near, right, 2, noise.std)

        return draw
