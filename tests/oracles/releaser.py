"""A releaser without a session: seeded noise on sums that are taken once and remembered."""

from __future__ import annotations

import numpy as np

from discreet.data import PrivateTable, Summand, add_up
from discreet.plans import Stage
from discreet.randomness import SimulatedNoise


class SimulatedReleaser:
    """Answers the same stages many times with fresh seeded noise, reading the rows once."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table = table
        self._noise = SimulatedNoise(seed)
        self._sums: dict[str, np.ndarray] = {}

    def answer(self, *stages: Stage) -> list[np.ndarray]:
        return [stage.noise.release(self.exact(stage), self._noise) for stage in stages]

    def exact(self, stage: Stage) -> np.ndarray:
        """Return the sum without noise, in whole steps."""
        if stage.name not in self._sums:
            summand = Summand(stage.contribution, stage.noise.step)
            (self._sums[stage.name],) = add_up(self._table, [summand])
        return self._sums[stage.name]
