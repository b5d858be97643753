"""A releaser without a session: seeded noise on sums that are taken once and remembered."""

from __future__ import annotations

import numpy as np

from discreet.data import Contribution, PrivateTable, Summand, add_up
from discreet.plans import Stage
from discreet.randomness import SimulatedNoise


class SimulatedReleaser:
    """Answers the same stages many times with fresh seeded noise, reading the rows once.

    A sum is known by what is summed and on which lattice, as in a session: a plan may ask two
    questions under one name.
    """

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table = table
        self._noise = SimulatedNoise(seed)
        self._sums: dict[tuple[int, float], tuple[Contribution, np.ndarray]] = {}

    def answer(self, *stages: Stage) -> list[np.ndarray]:
        return [stage.noise.release(self.exact(stage), self._noise) for stage in stages]

    def exact(self, stage: Stage) -> np.ndarray:
        """Return the sum without noise, in whole steps."""
        contribution, step = stage.contribution, stage.noise.step
        place = (id(contribution), step)
        if place not in self._sums:
            (raw,) = add_up(self._table, [Summand(contribution, step)])
            # The contribution is kept with its sum: an id may be given again to another one.
            self._sums[place] = (contribution, raw)
        return self._sums[place][1]
