"""Trials of anybody's mechanism: time, Ctrl-C, failures and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.linkage import linkage
from discreet.audit.attacks.membership import membership
from discreet.audit.attacks.trials import Trials, ask, run_trials
from discreet.errors import ArgumentError
from tests.oracles.clocks import Clock


def test_all_trials_are_made_in_order() -> None:
    assert run_trials(lambda number: number**2, trials=4, seconds=9.0, fewest=1) == Trials([0, 1, 4, 9])


def test_time_that_is_up_keeps_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("discreet.audit.attacks.trials.time", clock)
    found = run_trials(lambda number: clock.passes(1.0), trials=10**6, seconds=10.5, fewest=2)
    assert len(found.outcomes) == 11 and found.stopped == "out of time"
    with pytest.raises(ArgumentError, match=r"seconds must be enough for 5 trials, got 0.5 and 1"):
        run_trials(lambda number: clock.passes(1.0), trials=10, seconds=0.5, fewest=5)


@pytest.mark.parametrize(("fewest", "kept"), [(3, True), (6, False)])
def test_ctrl_c_keeps_what_is_there_if_it_is_enough(fewest: int, kept: bool) -> None:
    def trial(number: int) -> int:
        if number == 5:
            raise KeyboardInterrupt
        return number

    if kept:
        found = run_trials(trial, trials=9, seconds=9.0, fewest=fewest)
        assert found == Trials([0, 1, 2, 3, 4], "interrupted")
        return
    with pytest.raises(KeyboardInterrupt):
        run_trials(trial, trials=9, seconds=9.0, fewest=fewest)


def test_a_mechanism_that_fails_is_told_with_its_seed() -> None:
    def fails(table: object, seed: int) -> None:
        raise RuntimeError("no disk")

    with pytest.raises(ArgumentError, match=r"got .RuntimeError: no disk. at seed 7\."):
        ask(fails, None, 7)


def test_a_mechanism_that_fails_late_keeps_the_trials_there_are() -> None:
    def late(table: int, seed: int) -> list[float]:
        if seed >= 300:
            raise RuntimeError("no disk")
        return [float(table)]

    found = membership(late, 1, 0, ceiling=Ceiling(1.0), attack="threshold", trials=1_000)
    assert found.accuracy.value == 1.0 and found.beats()
    assert "no disk' at seed 300" in found.stopped and found.stopped in str(found)
    guessed = linkage(late, [0, 1], lambda output: int(output[0]), ceiling=Ceiling(1.0), trials=1_000)
    assert guessed.accuracy.trials == 300 and "seed 300" in guessed.to_json()["stopped"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"ceiling": None}, "ceiling must be a Ceiling, got None"),
        ({"ceiling": 1.0}, "ceiling must be a Ceiling, got 1.0"),
        ({"seconds": "a"}, "seconds must be a positive finite number, got 'a'"),
        ({"seconds": 0}, "seconds must be a positive finite number, got 0"),
        ({"score": 5}, "score must answer for every seed, got .TypeError: 'int' object"),
        ({"score": lambda output: output / 0}, "score must answer for every seed"),
        ({"score": lambda output: "a"}, "score must return floats, got .a. at seed 0"),
        (
            {"release": lambda table, seed: 10**400},
            "release must return floats, got a number of 1329 bits",
        ),
        ({"release": lambda table, seed: None}, "release must return floats, got None"),
    ],
)
def test_bad_input_is_told_in_a_sentence(wrong: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"release": lambda table, seed: table, "ceiling": Ceiling(1.0)}
    with pytest.raises(ArgumentError, match=told):
        membership(with_record=1.0, without_record=0.0, trials=100, **(given | wrong))


@pytest.mark.parametrize("attack", ["threshold", "classifier"])
def test_infinite_outputs_are_great_ones(attack: Any) -> None:
    found = membership(
        lambda table, seed: table, np.inf, -np.inf, ceiling=Ceiling(1.0), attack=attack, trials=100
    )
    assert found.accuracy.value == 1.0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tables": 5}, "tables must be a list, got 5"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"ceiling": 1}, "ceiling must be a Ceiling"),
        ({"guess": lambda output: 1 / 0}, "guess must return the place of a candidate, got Zero"),
        (
            {"guess": lambda output: 2},
            "guess must be a whole number of at least 0 and at most 1, got 2",
        ),
        ({"guess": lambda output: np.inf}, "guess must return the place of a candidate, got Overflow"),
    ],
)
def test_linkage_tells_bad_input_too(wrong: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"tables": [0, 1], "guess": lambda output: 0, "ceiling": Ceiling(1.0)}
    with pytest.raises(ArgumentError, match=told):
        linkage(lambda table, seed: table, trials=40, **(given | wrong))
