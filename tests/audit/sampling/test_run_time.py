"""The run-time probe finds a difference in time, and none where there is none, by a clock of ours."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit.sampling.run_time import timing
from discreet.errors import ArgumentError
from discreet.randomness import public_generator


class Machine:
    """A clock and a release that takes a while, with noise and a drift."""

    def __init__(self, seed: int, slower: float) -> None:
        self.now, self.runs, self.slower, self.generator = 0.0, 0, slower, public_generator(seed)

    def clock(self) -> float:
        return self.now

    def release(self, table: int) -> None:
        self.runs += 1
        drift = 1.0 + self.runs / 100
        self.now += drift * (1.0 + self.slower * table + 0.2 * self.generator.exponential())


def report(seed: int, slower: float, **options: Any) -> Any:
    machine = Machine(seed, slower)
    return timing(machine.release, 1, 0, clock=machine.clock, seed=seed, **options)


def test_a_slower_table_is_seen_in_spite_of_the_drift() -> None:
    found = report(1, 0.1)
    assert found.slower_interval[0] > 0.5 and found.p_value < 1e-6
    assert found.difference_interval[0] > 0 and found.first > found.second and found.pairs == 200
    assert json.dumps(found.to_json()) and "200 pairs" in str(found)


def test_intervals_hold_what_they_say() -> None:
    found = [report(seed, 0.0, repeats=60, confidence=0.8) for seed in range(200)]
    allowed = int(binom.isf(1e-4, 200, 0.2))
    assert sum(not low <= 0.5 <= high for low, high in (f.slower_interval for f in found)) <= allowed
    assert sum(not low <= 0 <= high for low, high in (f.difference_interval for f in found)) <= allowed
    assert sum(f.p_value < 0.2 for f in found) <= allowed
    slower = [report(seed, 0.1, repeats=60, confidence=0.8) for seed in range(50)]
    assert sum(f.p_value < 0.2 for f in slower) > 30


def test_equal_times_are_no_difference() -> None:
    found = timing(lambda table: None, 0, 1, repeats=20, clock=lambda: 0.0)
    assert found.slower == 0.5 and found.p_value == 1.0 and found.difference == 0.0


def test_few_pairs_bound_no_median() -> None:
    found = report(1, 0.0, repeats=5, confidence=0.99)
    assert found.difference_interval == (-np.inf, np.inf)


def test_time_and_interruptions_keep_what_was_timed() -> None:
    found = report(1, 0.1, seconds=40.0)
    assert found.stopped == "out of time" and 5 <= found.pairs < 200 and "Stopped early" in str(found)
    left = [30]

    def release(table: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    found = timing(release, 0, 1)
    assert found.stopped == "interrupted" and found.pairs == 14


@pytest.mark.parametrize(
    "wrong", [{"repeats": 4}, {"confidence": 1.0}, {"seconds": 0.0}, {"release": None}]
)
def test_arguments_are_checked(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ArgumentError, match=name):
        timing(**({"release": print, "first": 0, "second": 1} | wrong))
    machine = Machine(1, 0.0)
    with pytest.raises(ArgumentError, match="5 pairs"):
        timing(machine.release, 0, 1, seconds=1e-9, clock=machine.clock)
