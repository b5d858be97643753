"""Figures are what their names say, and intervals cover what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.scoring import Rate, score_attack, score_guesses
from discreet.errors import ArgumentError
from discreet.randomness import public_generator

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
LAWS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, n: (g.normal(1, 1, n), g.normal(0, 1, n)), 0.7602499),
    "exponential": (lambda g, n: (g.exponential(3, n), g.exponential(1, n)), 0.75),
    "two answers": (lambda g, n: (g.random(n) < 0.75, g.random(n) < 0.25), 0.75),
    "two peaks": (lambda g, n: (9.0 * g.choice([-1, 1], n), g.normal(0, 1, n)), 0.5),
    "all but certain": (lambda g, n: (g.normal(5, 1, n), g.normal(0, 1, n)), 0.9997965),
}


@pytest.mark.parametrize(("successes", "trials"), [(0, 30), (7, 30), (30, 30), (998, 1000)])
def test_the_interval_is_that_of_clopper_and_pearson(successes: int, trials: int) -> None:
    exact = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    rate = Rate(successes, trials)
    assert (rate.low, rate.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def cover(law: str, shrink: float = 1.0, runs: int = 600, trials: int = 60) -> float:
    """Return how often the interval of the area, shrunk or not, has the true one."""
    draw, truth = LAWS[law]
    generator = public_generator(17)
    held = 0
    for _ in range(runs):
        area = score_attack(*draw(generator, trials), NOTHING_PROMISED).auc
        assert area is not None
        low = area.value - shrink * (area.value - area.low)
        held += low <= truth <= area.value + shrink * (area.high - area.value)
    return held / runs


@pytest.mark.parametrize("law", LAWS)
def test_the_interval_of_the_area_covers(law: str) -> None:
    assert cover(law) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 600)


def test_an_interval_of_half_the_width_does_not_cover() -> None:
    assert cover("two peaks", shrink=0.5) < 0.9


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    generator = public_generator(3)
    here, gone = generator.integers(0, 6, 40), generator.integers(-1, 5, 40)
    difference = here[:, None] - gone[None, :]
    area = score_attack(here, gone, NOTHING_PROMISED).auc
    assert area is not None
    assert area.value == pytest.approx((np.sum(difference > 0) + np.sum(difference == 0) / 2) / 1600)


def test_scores_that_say_all_say_it_and_scores_that_say_nothing_do_not() -> None:
    sure = score_attack(np.ones(200), np.zeros(200), NOTHING_PROMISED)
    assert sure.accuracy.value == 1.0 and sure.auc and sure.auc.value == 1.0
    assert sure.tpr and sure.fpr and (sure.tpr.value, sure.fpr.value) == (1.0, 0.0)
    vain = score_attack(np.zeros(200), np.zeros(200), Ceiling(0.0))
    assert vain.accuracy.value == 0.5 and vain.auc and vain.auc.value == 0.5
    assert sure.beats(Ceiling(3.0)) and not sure.beats() and not vain.beats()


def test_scores_with_few_values_attain_their_false_positive_rate() -> None:
    generator = public_generator(4)
    result = score_attack(generator.random(9000) < 0.73, generator.random(9000) < 0.27, Ceiling(1.0))
    assert result.fpr and result.tpr and 0.005 < result.fpr.value < 0.016
    assert 0.015 < result.tpr.value < 0.04 and not result.beats()


def test_a_threshold_is_not_judged_by_the_trials_it_was_chosen_on() -> None:
    generator = public_generator(5)
    found = [score_attack(*generator.random((2, 40)), Ceiling(0.0)).accuracy.value for _ in range(400)]
    assert abs(np.mean(found) - 0.5) < 0.015


@pytest.mark.parametrize("attacks", [1, 20])
def test_attacks_at_their_ceiling_are_seldom_called_too_good(attacks: int) -> None:
    generator = public_generator(11)
    truth = math.exp(1.0) / (1 + math.exp(1.0))
    results = [
        score_attack(
            generator.random(500) < truth, generator.random(500) > truth, Ceiling(1.0), threshold=0.5
        )
        for _ in range(400)
    ]
    wrong = sum(result.beats(attacks=attacks) for result in results)
    assert wrong <= 400 * 0.05 / attacks + 3 * math.sqrt(400 * 0.05 / attacks)
    assert sum(result.beats(Ceiling(0.5)) for result in results) > 390


def test_each_figure_can_break_a_promise_by_itself() -> None:
    generator = public_generator(2)
    told = np.where(generator.random(4000) < 0.1, 5.0, generator.random(4000))
    result = score_attack(told, generator.random(4000), Ceiling(0.3))
    assert set(result.above()) == {"tpr at 1 % fpr"}
    guesses = score_guesses(generator.random(2000) < 0.5, 4, Ceiling(0.5))
    assert set(guesses.above()) == {"accuracy"} and not guesses.beats(Ceiling(1.2))


def test_results_are_told_as_a_frame_as_json_and_as_a_picture() -> None:
    generator = public_generator(0)
    result = score_attack(generator.normal(1, 1, 300), generator.normal(0, 1, 300), NOTHING_PROMISED)
    frame = result.to_frame()
    assert list(frame.index) == ["accuracy", "auc", "tpr at 1 % fpr"]
    assert ((frame["low"] <= frame["value"]) & (frame["value"] <= frame["high"])).all()
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["epsilon"] == "inf" and plain["figures"]["auc"]["value"] == frame["value"]["auc"]
    display = result.plot()
    assert len(display.ax_.get_yticks()) == 3 and "accuracy" in str(result)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: score_attack([1.0], [1.0], Ceiling(1.0)), "present must be at least 20 scores"),
        (lambda: score_attack(np.ones(30), np.full(30, np.nan), Ceiling(1.0)), "absent must be"),
        (lambda: score_attack(["a"] * 30, np.ones(30), Ceiling(1.0)), "present must be"),
        (lambda: score_attack(np.ones(30), np.ones(31), Ceiling(1.0)), "as many scores, got 30 and 31"),
        (lambda: score_guesses([], 2, Ceiling(1.0)), "right must be a list of true and false"),
        (lambda: score_guesses([0.5], 2, Ceiling(1.0)), "right must be a list of true and false"),
        (lambda: score_guesses([1], 1, Ceiling(1.0)), "candidates must be a whole number"),
        (lambda: score_guesses([1], 2, Ceiling(1.0)).beats(attacks=0), "attacks must be a whole"),
    ],
)
def test_bad_input_is_told_in_a_sentence(work: Callable[[], object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        work()
