"""The band that a result states holds the answer without noise as often as it says.

Tried once for every kind of result with a band: 400 draws over sums that are taken once. A band of 95 %
that holds falls below .92 of 400 draws with a probability of one in a hundred; draws are seeded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.plans import Stage
from discreet.randomness import IntArray, SimulatedNoise
from tests.laws.examples import Case, cases_of
from tests.laws.runs import private

DRAWS, LEAST = 400, 0.92
NEAR = 1e-4
"""Answers are sums of rounded numbers: ends are compared up to this."""


class NoNoise(SimulatedNoise):
    """A source that adds nothing; what is drawn by chance is drawn from a seed."""

    def laplace(self, scale: float, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, scale: float, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def below(self, limit: int) -> int:
        """Return the least number: a cube of no width, which chance alone would hardly ever draw."""
        return 0


class Watched(SimulatedReleaser):
    """A releaser that remembers which sums it was asked for."""

    def __init__(self, noise: SimulatedNoise) -> None:
        super().__init__(private(), 0)
        self.source, self.asked = noise, []

    def answer(self, *stages: Stage[Any]) -> list[np.ndarray]:
        self.asked += [id(stage.contribution) for stage in stages]
        return super().answer(*stages)


def values_of(result: Any) -> np.ndarray:
    """Return the numbers a band is about, a ranking's by name."""
    if isinstance(result, dc.Scalar):
        return np.array([result.value])
    for name in ("values", "y", "counts"):
        if hasattr(result, name):
            return in_order(result, np.array(getattr(result, name), dtype=float))
    raise AssertionError("a result without values")


def band_of(result: Any, of: str) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(result, dc.Scalar):
        return np.array([result.low]), np.array([result.high])
    shape = np.array(result.band(of)[0]).shape
    low, high = (in_order(result, np.asarray(end).reshape(shape)) for end in result.band(of))
    return low, high


def in_order(result: Any, numbers: np.ndarray) -> np.ndarray:
    """Return numbers of a ranking in the order of all features; others have an order of their own."""
    if not isinstance(result, dc.Ranking):
        return numbers
    order = [result.names.index(name) for name in result.features]
    return numbers.reshape(-1, len(order))[:, order]


def has_band(result: Any) -> bool:
    if isinstance(result, dc.Scalar):
        return True
    if isinstance(result, dc.Ranking) and result.half_width is None:
        return False
    return hasattr(result, "band") and getattr(result, "half_width", 0.0) is not None


@cache
def families() -> dict[str, Case]:
    """Return the first example of every kind of result with a band whose sums no noise decides on."""
    found: dict[str, Case] = {}
    for case in cases_of("linear", "trees"):
        if not case.relation.rows_public:
            continue
        program = case.plan().prepare(case.setting)
        still, noisy = Watched(NoNoise(1)), Watched(SimulatedNoise(1))
        truth, _ = program.finish(still), program.finish(noisy)
        if still.asked and still.asked == noisy.asked and has_band(truth):
            found.setdefault(type(truth).__name__, case)
    return found


BANDED = (
    "Attribution",
    "Curve",
    "Distribution",
    "Drift",
    "Statistic",
    "Histogram",
    "Matrix",
    "MeanCurve",
    "RangeHistogram",
    "Ranking",
    "Scalar",
    "Surface",
    "Valuation",
)


def test_every_kind_of_result_with_a_band_is_met() -> None:
    assert sorted(families()) == sorted(BANDED)


def held(case: Case, shrink: float = 1.0) -> dict[str, np.ndarray]:
    """Return how often each band held every value; ``shrink`` makes bands narrower than stated."""
    program = case.plan().prepare(case.setting)
    truth = values_of(program.finish(Watched(NoNoise(1))))
    releaser = Watched(SimulatedNoise(7))
    seen: dict[str, list[np.ndarray]] = {"each": [], "all": []}
    for _ in range(DRAWS):
        result = program.finish(releaser)
        for of, holds in seen.items():
            low, high = band_of(result, of)
            middle, half = (low + high) / 2, (high - low) / 2 * shrink + NEAR
            holds.append(np.abs(truth.reshape(middle.shape) - middle) <= half)
    return {of: np.array(holds).reshape(DRAWS, -1) for of, holds in seen.items()}


@pytest.mark.parametrize("family", BANDED)
def test_both_bands_hold_as_often_as_they_say(family: str) -> None:
    found = held(families()[family])
    assert found["each"].mean(axis=0).min() > LEAST
    assert found["all"].all(axis=1).mean() > LEAST or family in ("Scalar", "Drift")


@pytest.mark.parametrize("family", BANDED)
def test_bands_of_a_third_of_the_width_are_caught(family: str) -> None:
    assert held(families()[family], 1 / 3)["each"].mean(axis=0).min() < LEAST
