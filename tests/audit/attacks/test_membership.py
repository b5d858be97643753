"""Membership attacks attain what theory says they can, and say what is wrong with a mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.membership import attack_membership, membership
from discreet.audit.attacks.targets import exact_target
from discreet.errors import ArgumentError
from discreet.randomness import public_generator
from tests.oracles.clocks import Clock

ATTACKS = ["threshold", "classifier", "likelihood ratio"]


def noisy_count(table: list[int], seed: int) -> list[float]:
    return [len(table) + float(public_generator(seed).laplace()), 0.0]


def ratio(output: list[float]) -> float:
    return abs(output[0] - 1) - abs(output[0] - 2)


@pytest.mark.parametrize("attack", ATTACKS)
def test_any_mechanism_can_be_attacked(attack: Any) -> None:
    score = ratio if attack == "likelihood ratio" else None
    found = membership(
        noisy_count, [1, 1], [1], ceiling=Ceiling(1.0), attack=attack, score=score, trials=2_000
    )
    assert found.attack == attack and not found.beats()
    best = 1 - math.exp(-0.5) / 2
    assert best - 0.06 < found.accuracy.value < best + 0.03
    assert found.beats(Ceiling(0.3)), "a promise a third as large is broken"


def test_the_likelihood_ratio_touches_the_ceiling_of_counts() -> None:
    target = scenes.sums_scene("histogram", 1.0, "add-remove")
    found = attack_membership(target, trials=20_000, seed=1)
    assert found.accuracy.value == pytest.approx(target.ceiling.accuracy, abs=0.01)
    assert not found.beats() and found.beats(Ceiling(0.9))


@pytest.mark.parametrize("attack", ["threshold", "classifier"])
def test_learned_attacks_are_no_better_than_the_likelihood_ratio(attack: Any) -> None:
    target = scenes.sums_scene("SHAP values", 2.0)
    best = attack_membership(target, trials=6_000, seed=2)
    learned = attack_membership(target, attack=attack, trials=6_000, seed=2)
    assert learned.accuracy.value < best.accuracy.high + 0.01
    assert learned.accuracy.low > 0.5


@pytest.mark.parametrize("attack", ["threshold", "classifier"])
@pytest.mark.parametrize("name", scenes.PLANS)
def test_exact_answers_fall(name: str, attack: Any) -> None:
    target = exact_target(scenes.PLANS[name](1.0), scenes.neighbours(), scenes.SCHEMA)
    found = attack_membership(target, attack=attack, trials=100)
    assert found.accuracy.value == 1.0 and found.beats(Ceiling(1.0), attacks=64)


def test_time_that_is_up_keeps_the_trials_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("discreet.audit.attacks.trials.time", clock)

    def slow(table: list[int], seed: int) -> list[float]:
        clock.passes(1.0)
        return noisy_count(table, seed)

    found = membership(slow, [1, 1], [1], ceiling=Ceiling(1.0), trials=10**6, seconds=399.5)
    assert (
        found.stopped == "out of time" and found.accuracy.trials == 100
    )  # of 200 pairs, half to learn


def test_ctrl_c_keeps_the_trials_there_are() -> None:
    def interrupted(after: int) -> Callable[[list[int], int], list[float]]:
        calls = iter(range(after))

        def release(table: list[int], seed: int) -> list[float]:
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return noisy_count(table, seed)

        return release

    found = membership(interrupted(400), [1, 1], [1], ceiling=Ceiling(1.0), attack="threshold")
    assert found.accuracy.trials == 100  # of 200 pairs, half to learn, a quarter for the threshold
    with pytest.raises(KeyboardInterrupt):
        membership(interrupted(20), [1, 1], [1], ceiling=Ceiling(1.0))


def fails(table: list[int], seed: int) -> list[float]:
    raise RuntimeError("no disk")


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (fails, "release must answer for every seed, got .RuntimeError: no disk. at seed 0"),
        (lambda table, seed: ["many"], r"release must return floats, got \['many'\] at seed 0"),
        (lambda table, seed: [math.nan], r"release must return floats, got \[nan\] at seed 0"),
        (lambda table, seed: [], r"release must return floats, got \[\] at seed 0"),
        (lambda table, seed: [1.0] * (1 + seed % 3), "as many numbers each time"),
    ],
)
def test_a_mechanism_that_misbehaves_is_told_so(release: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        membership(release, [1, 1], [1], ceiling=Ceiling(1.0), trials=80)


def test_a_mechanism_without_noise_is_attacked_as_it_is() -> None:
    found = membership(lambda t, s: len(t), [1, 1], [1], ceiling=Ceiling(1.0), trials=100)
    assert found.accuracy.value == 1.0 and found.beats()
    same = membership(lambda t, s: 7, [1, 1], [1], ceiling=Ceiling(0.0), trials=100)
    assert same.accuracy.value == 0.5 and not same.beats()


def test_bad_input_is_told_in_a_sentence() -> None:
    with pytest.raises(ArgumentError, match="attack must be one of"):
        membership(noisy_count, [1], [], ceiling=Ceiling(1.0), attack="luck")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="trials must be a whole number of at least 80"):
        membership(noisy_count, [1], [], ceiling=Ceiling(1.0), trials=5)
    with pytest.raises(ArgumentError, match="score must be the log likelihood ratio"):
        membership(noisy_count, [1], [], ceiling=Ceiling(1.0), attack="likelihood ratio")
    with pytest.raises(ArgumentError, match="seconds must be enough for 80 trials"):
        membership(noisy_count, [1], [], ceiling=Ceiling(1.0), seconds=1e-9)
    with pytest.raises(ArgumentError, match="target must be a Target, such as sums_target"):
        attack_membership(noisy_count, trials=100)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="target must have two tables, got 6"):
        attack_membership(scenes.linkage_scene(1.0), trials=100)
    target = exact_target(dc.histogram("home", epsilon=1.0), scenes.neighbours(), scenes.SCHEMA)
    with pytest.raises(ArgumentError, match="its law is not known"):
        attack_membership(target, trials=100)


def test_synthetic_rows_that_are_all_but_exact_fall() -> None:
    found = attack_membership(scenes.synthetic_scene(200.0), attack="threshold", trials=100)
    assert found.accuracy.value > 0.9
    assert np.isfinite(found.accuracy.low)
