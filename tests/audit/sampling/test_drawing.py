"""Runs are drawn in turn, on several cores, and whatever stops them, those that were drawn are kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest

from discreet.audit.sampling.drawing import INTERRUPTED, OUT_OF_TIME, MechanismRuns, draw
from discreet.errors import ArgumentError
from discreet.randomness import public_generator
from tests.oracles.clocks import Clock


def noisy(value: float, generator: np.random.Generator) -> float:
    return value + generator.laplace()


def noisy_normal(value: float, generator: np.random.Generator) -> float:
    return value + generator.normal()


def many_noisy(value: float, size: int, generator: np.random.Generator) -> np.ndarray:
    return value + generator.laplace(size=(size, 2))


class After:
    """Answer so many times, then do something else."""

    def __init__(self, answers: int, then: BaseException) -> None:
        self.left, self.then = answers, then

    def __call__(self, value: float) -> float:
        self.left -= 1
        if self.left < 0:
            raise self.then
        return value + self.left


def trial(mechanism: Any, batched: bool = False, score: Any = None) -> MechanismRuns:
    return MechanismRuns(mechanism, (0.0, 100.0), batched, score)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "batched"), [(noisy, False), (many_noisy, True)])
def test_workers_do_not_change_results(mechanism: Any, batched: bool) -> None:
    one, two = (draw(trial(mechanism, batched), 1000, workers=n, seed=7) for n in (1, 2))
    for side in (0, 1):
        assert np.array_equal(one.side(side), two.side(side))
    other = draw(trial(mechanism, batched), 1000, seed=8)
    assert not np.array_equal(one.side(0), other.side(0))


def test_sides_and_tasks_have_noise_of_their_own() -> None:
    drawn = draw(trial(many_noisy, True), 50_000, seed=1)
    values = np.concatenate([drawn.side(0), drawn.side(1) - 100.0]).ravel()
    assert len(np.unique(values)) == 200_000


def test_without_a_seed_runs_differ() -> None:
    assert draw(trial(noisy), 10).side(0) != draw(trial(noisy), 10).side(0)


def test_scores_are_made_of_outcomes() -> None:
    drawn = draw(trial(lambda value: {"answer": value}, score=lambda found: found["answer"] + 1), 3)
    assert drawn.side(0) == [1.0] * 3 and drawn.side(1) == [101.0] * 3


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("discreet.audit.sampling.drawing.time", clock)
    return clock


@pytest.mark.parametrize(("seconds", "runs"), [(0.5, 1), (7.0, 4)])
def test_time_ends_the_drawing_between_runs(clock: Clock, seconds: float, runs: int) -> None:
    """A run takes two seconds: one that takes longer than there is time is finished."""

    def slow(value: float) -> float:
        clock.passes(1.0)
        return value

    drawn = draw(trial(slow), 100_000, seconds=seconds)
    assert drawn.stopped == OUT_OF_TIME and drawn.runs == runs


def test_whoever_begins_what_takes_hours_is_told(clock: Clock) -> None:
    left = [3]

    def slow(value: float) -> float:
        clock.passes(0.02)
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return value

    with pytest.warns(UserWarning, match=r"about 2\.2 hours on one core. Give seconds="):
        drawn = draw(trial(slow), 200_000)
    assert drawn.runs == 1


@pytest.mark.parametrize("answers", [2, 3, 11, 200])
def test_an_interruption_keeps_what_was_drawn(answers: int) -> None:
    drawn = draw(trial(After(answers, KeyboardInterrupt())), 1000)
    assert drawn.stopped == INTERRUPTED
    assert len(drawn.side(0)) + len(drawn.side(1)) == answers and drawn.runs == answers // 2


def test_an_interruption_before_the_first_answer_is_handed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        draw(trial(After(1, KeyboardInterrupt())), 1000)


@pytest.mark.slow
@pytest.mark.usefixtures("hears_ctrl_c")
def test_an_interruption_of_workers_keeps_what_was_drawn() -> None:
    def slow(value: float, generator: np.random.Generator) -> float:
        time.sleep(0.005)
        return noisy_normal(value, generator)

    done: list[int] = []

    def tell(runs: int) -> None:
        done.append(runs)
        if len(done) == 2:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    drawn = draw(trial(slow), 3000, workers=2, seed=1, progress=tell)
    assert drawn.stopped == INTERRUPTED and 0 < drawn.runs < 3000
    again = draw(trial(noisy_normal), 3000, seed=1)
    assert drawn.side(0) == again.side(0)[: len(drawn.side(0))]


def test_what_a_mechanism_raises_is_told_and_the_rest_kept() -> None:
    drawn = draw(trial(After(7, ValueError("no model"))), 1000)
    assert drawn.stopped == "raised ValueError on the second table: no model" and drawn.runs == 3
    ours = draw(trial(After(8, ArgumentError("no rows"))), 1000)
    assert ours.stopped == "raised ArgumentError on the first table: no rows" and ours.runs == 4


def test_a_mechanism_that_never_answers_is_refused() -> None:
    with pytest.raises(ArgumentError, match="raised ValueError on the second table: no"):
        draw(trial(After(1, ValueError("no"))), 1000)


@pytest.mark.parametrize("rows", [np.zeros(3), 5.0, None, []])
def test_a_batch_must_have_a_row_for_every_run(rows: Any) -> None:
    with pytest.raises(ArgumentError, match="a row for every run"):
        draw(trial(lambda value, size: rows, batched=True), 1000)


def test_batches_may_be_lists_of_anything() -> None:
    drawn = draw(trial(lambda value, size: ["a"] * size, batched=True), 100)
    assert drawn.side(0) == ["a"] * 100


@pytest.mark.slow
def test_a_generator_copied_into_workers_is_noticed() -> None:
    generator = public_generator(3)
    with pytest.raises(ArgumentError, match="draw anew in every worker"):
        draw(trial(lambda value: value + generator.laplace()), 2000, workers=2)
    # Few outcomes repeat by chance; that is no copy.
    draw(trial(lambda value: value), 2000, workers=2)


@pytest.mark.slow
def test_what_cannot_be_sent_to_a_process_runs_in_threads() -> None:
    dp.enable_features("contrib")
    laplace = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 1.0)
    lock = threading.Lock()  # cannot be pickled

    def measured(value: float) -> float:
        with lock:
            return float(laplace(value))

    assert draw(trial(measured), 100, workers=2).runs == 100


def test_progress_counts_all_runs() -> None:
    told: list[int] = []
    draw(trial(noisy), 300, progress=told.append)
    assert sum(told) == 600


@pytest.mark.parametrize(
    "wrong",
    [{"samples": 0}, {"samples": 1.5}, {"workers": 0}, {"seconds": -1.0}, {"seed": -1}, {"seed": "a"}],
)
def test_arguments_are_checked(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ArgumentError, match=name):
        draw(trial(noisy), **({"samples": 10} | wrong))
