"""One run with many canaries: bounds hold as often as they say, and canaries must be drawn fairly."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit.sampling.canaries import chance_of_right, least_epsilon, one_run
from discreet.errors import ArgumentError
from discreet.randomness import public_generator


def responses(seed: int, epsilon: float) -> Any:
    """A mechanism with exactly this epsilon per canary: randomised response on each."""
    generator = public_generator(seed)

    def train(included: np.ndarray) -> np.ndarray:
        true = generator.random(len(included)) < 1 / (1 + math.exp(-epsilon))
        return np.where(true, included, ~included).astype(float)

    return train


def loop_chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The bound of Theorem 5.2, written as a loop over how many guesses delta may turn."""
    share = 1 / (1 + math.exp(-epsilon))
    alpha, near = 0.0, 0.0
    for turned in range(1, right + 1):
        near += binom.pmf(right - turned, guesses, share)
        alpha = max(alpha, near / turned)
    return min(1.0, binom.sf(right - 1, guesses, share) + 2 * canaries * delta * alpha)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize(("guesses", "right"), [(1, 1), (50, 49), (200, 120), (200, 0)])
def test_chances_are_those_of_the_theorem(guesses: int, right: int, delta: float) -> None:
    for epsilon in (0.0, 0.7, 3.0):
        found = chance_of_right(300, guesses, right, epsilon, delta)
        expected = loop_chance(300, guesses, right, epsilon, delta) if right else 1.0
        assert found == pytest.approx(expected, rel=1e-9)


def test_bounds_are_above_the_truth_as_seldom_as_they_say() -> None:
    bounds = [
        one_run(
            responses(seed, 1.0), canaries=200, confidence=0.8, guesses=200, seed=1000 + seed
        ).epsilon
        for seed in range(300)
    ]
    allowed = int(binom.isf(1e-4, 300, 0.2))
    assert sum(bound > 1.0 for bound in bounds) <= allowed < sum(bound > 0.6 for bound in bounds)


def test_many_canaries_come_near_the_truth() -> None:
    audit = one_run(responses(1, 1.0), canaries=20_000, epsilon=1.0, seed=2)
    assert 0.9 < audit.epsilon <= 1.0 and audit.held and audit.tried == 5


def test_passing_over_the_middle_helps() -> None:
    """Gaussian scores: those far out are nearly always right."""
    generator = public_generator(3)
    mask = generator.integers(0, 2, 4000) == 1
    scores = mask + generator.normal(0.0, 0.6, 4000)
    everybody = one_run(scores, mask, guesses=4000)
    chosen = one_run(scores, mask, delta=1e-6)
    assert chosen.guesses < 4000 and chosen.epsilon > everybody.epsilon + 0.5


def test_delta_lowers_the_bound() -> None:
    bounds = [least_epsilon(1000, 500, 450, delta=delta, error=0.05) for delta in (0.0, 1e-5, 1e-3)]
    assert bounds == sorted(bounds, reverse=True) and bounds[0] > bounds[2] > 0


def test_a_leak_breaks_the_promise() -> None:
    audit = one_run(lambda included: included.astype(int), canaries=500, epsilon=2.0, seed=1)
    assert not audit.held and "broken" in str(audit) and json.dumps(audit.to_json())


def test_scores_that_know_nothing_prove_nothing() -> None:
    audit = one_run(lambda included: np.arange(len(included)), canaries=500, seed=1)
    assert audit.epsilon < 0.2


def test_masks_without_a_seed_differ() -> None:
    masks: list[np.ndarray] = []

    def train(included: np.ndarray) -> np.ndarray:
        masks.append(included)
        return np.zeros(len(included))

    one_run(train, canaries=100), one_run(train, canaries=100)
    assert not np.array_equal(*masks) and 20 < masks[0].sum() < 80


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"scores": np.zeros(3), "included": [1, 0]}, "scores"),
        ({"scores": np.array([1.0, np.nan]), "included": [1, 0]}, "scores"),
        ({"scores": ["a", "b"], "included": [1, 0]}, "scores"),
        ({"scores": np.zeros(2)}, "included"),
        ({"scores": np.zeros(2), "included": [2, 0]}, "included"),
        ({"scores": np.zeros(200), "included": np.ones(200)}, "fair draws"),
        ({"scores": np.zeros}, "canaries"),
        ({"scores": np.zeros, "canaries": 0}, "canaries"),
        ({"scores": np.zeros(2), "included": [1, 0], "guesses": 3}, "guesses"),
        ({"scores": np.zeros(2), "included": [1, 0], "confidence": 1.0}, "confidence"),
        ({"scores": np.zeros(2), "included": [1, 0], "delta": -1.0}, "delta"),
        ({"scores": np.zeros(2), "included": [1, 0], "epsilon": -1.0}, "epsilon"),
    ],
)
def test_arguments_are_checked(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        one_run(**wrong)
