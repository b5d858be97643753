"""The exponential mechanism over runs of equal scores: its exact law, and a planted fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.selection import alike
from discreet.mechanisms.selection.alike import draw_candidate, draw_run, run_law
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.goodness import fits

SCORES, SIZES = np.array([-9, -4, 0, -1, -25, -6]), np.array([400, 30, 1, 7, 10**7, 60])


def law() -> dict[object, float]:
    return dict(enumerate(run_law(SCORES, SIZES, 1.5).tolist()))


@pytest.mark.proves("runs")
@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(7)], ids=["system", "simulated"])
def test_draws_have_the_law(source: Any) -> None:
    assert fits([draw_run(SCORES, SIZES, 1.5, source) for _ in range(1_500)], law())


@pytest.mark.proves("runs")
def test_the_law_is_that_of_all_candidates() -> None:
    sizes = np.array([3, 1, 4])
    scores = np.array([-2, 0, -5])
    whole = ExponentialMechanism(1, 1.0).probabilities(np.repeat(scores, sizes))
    runs = run_law(scores, sizes, ExponentialMechanism(1, 1.0).scale)
    assert np.allclose(np.add.reduceat(whole, [0, 3, 4]), runs)


@pytest.mark.refutes("runs")
def test_shells_alone_do_not_have_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposals weigh (3/8)^k and not exp(-x): without the Bernoulli variables the law is another."""
    monkeypatch.setattr(alike, "_accepted", lambda behind, k, source: True)
    source = SimulatedNoise(7)
    assert not fits([draw_run(SCORES, SIZES, 1.5, source) for _ in range(1_500)], law())


def test_scores_far_behind_are_proposed_together_and_hardly_ever_taken() -> None:
    scores, sizes = np.array([0, -(10**6), -500]), np.array([1, 2**40, 5])
    source = SystemNoise()
    assert {draw_run(scores, sizes, 1.0, source) for _ in range(200)} == {0}


INSIDE = np.array([-3, 0, -1, -1, -4, -2, -2])
BEST, WIDTHS = np.array([0, -1, -2]), np.array([3, 2, 2])


def candidates(seen: Any) -> list[object]:
    """Return draws from runs that are known by the best of their candidates."""
    ends, source = np.cumsum(WIDTHS) - WIDTHS, SimulatedNoise(11)
    drawn = (draw_candidate(BEST, WIDTHS, seen, 1.5, source) for _ in range(3_000))
    return [int(ends[run]) + place for run, place in drawn]


def own_score(run: int, place: int) -> int:
    return int(INSIDE[int((np.cumsum(WIDTHS) - WIDTHS)[run]) + place])


@pytest.mark.proves("runs")
def test_runs_that_stay_whole_have_the_law_of_their_candidates() -> None:
    law = dict(enumerate(run_law(INSIDE, np.ones(7, dtype=np.int64), 1.5).tolist()))
    assert fits(candidates(own_score), law)


@pytest.mark.refutes("runs")
def test_the_best_score_of_a_run_is_not_that_of_all_its_candidates() -> None:
    law = dict(enumerate(run_law(INSIDE, np.ones(7, dtype=np.int64), 1.5).tolist()))
    assert not fits(candidates(lambda run, _: int(BEST[run])), law)
