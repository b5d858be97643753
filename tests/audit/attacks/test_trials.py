"""Trials that fail say so; trials that were made are kept."""

from __future__ import annotations

import time

import pytest

from discreet.audit.attacks.trials import ask, run_trials
from discreet.errors import ArgumentError


def test_all_trials_are_made_in_order() -> None:
    assert run_trials(lambda number: number**2, trials=4, seconds=9.0, fewest=1) == [0, 1, 4, 9]


def test_time_that_is_up_keeps_what_is_there() -> None:
    found = run_trials(lambda number: time.sleep(0.01), trials=10**6, seconds=0.1, fewest=2)
    assert 2 <= len(found) <= 12
    with pytest.raises(ArgumentError, match=r"seconds must be enough for 5 trials, got 0\.0 and 1"):
        run_trials(lambda number: number, trials=10, seconds=0.0, fewest=5)


@pytest.mark.parametrize(("fewest", "kept"), [(3, True), (6, False)])
def test_ctrl_c_keeps_what_is_there_if_it_is_enough(fewest: int, kept: bool) -> None:
    def trial(number: int) -> int:
        if number == 5:
            raise KeyboardInterrupt
        return number

    if kept:
        assert run_trials(trial, trials=9, seconds=9.0, fewest=fewest) == [0, 1, 2, 3, 4]
        return
    with pytest.raises(KeyboardInterrupt):
        run_trials(trial, trials=9, seconds=9.0, fewest=fewest)


def test_a_mechanism_that_fails_is_told_with_its_seed() -> None:
    def fails(table: object, seed: int) -> None:
        raise RuntimeError("no disk")

    with pytest.raises(ArgumentError, match=r"got .RuntimeError: no disk. at seed 7\."):
        ask(fails, None, 7)
