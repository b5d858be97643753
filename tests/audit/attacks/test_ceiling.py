"""Ceilings are true of every attack, and attained: mechanisms that are enumerated touch them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling, ceiling_of
from discreet.errors import ArgumentError

PROMISES = [(0.0, 0.0), (0.5, 0.0), (1.0, 0.1), (2.0, 1e-3), (3.0, 0.5)]


def worst_pair(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of randomised response that tells the truth outright with probability delta."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    there = np.array([delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0.0])
    return there, there[::-1]


def attacks(there: np.ndarray, gone: np.ndarray) -> list[tuple[float, float]]:
    """Return (false, true) positive rates of every set of outputs."""
    sets = [np.array(chosen, bool) for chosen in itertools.product((0, 1), repeat=len(there))]
    return [(gone[chosen].sum(), there[chosen].sum()) for chosen in sets]


def area(points: list[tuple[float, float]]) -> float:
    """Return the area below the upper hull of all attacks, which mixtures of two of them attain."""
    heights: dict[float, float] = {}
    for fpr, tpr in points:
        heights[round(fpr, 15)] = max(tpr, heights.get(round(fpr, 15), 0.0))
    grid = sorted(heights)
    best = [
        max(
            heights[x],
            *(
                heights[a] + (heights[b] - heights[a]) * (x - a) / (b - a)
                for a in grid
                for b in grid
                if a < x < b
            ),
            0.0,
        )
        for x in grid
    ]
    return float(np.trapezoid(best, grid))


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_no_attack_on_the_worst_pair_is_above_and_the_best_touch(epsilon: float, delta: float) -> None:
    ceiling = Ceiling(epsilon, delta)
    points = attacks(*worst_pair(epsilon, delta))
    assert all(tpr <= ceiling.tpr(min(1.0, fpr)) + 1e-12 for fpr, tpr in points)
    corner = max(points, key=lambda point: point[1] - point[0])
    assert ceiling.tpr(corner[0]) == pytest.approx(corner[1], abs=1e-12)
    assert ceiling.accuracy == pytest.approx(max((1 + t - f) / 2 for f, t in points), abs=1e-12)
    assert ceiling.auc == pytest.approx(area(points), abs=1e-12)


def best_guess(epsilon: float, delta: float, candidates: int) -> float:
    """Return the share of right guesses of the best attack on randomised response among candidates."""
    noisy = np.ones((candidates, candidates)) + (math.exp(epsilon) - 1) * np.eye(candidates)
    noisy *= (1 - delta) / noisy.sum(axis=1, keepdims=True)
    laws = np.hstack([noisy, delta * np.eye(candidates)])
    return float(laws.max(axis=0).sum() / candidates)


@pytest.mark.parametrize("candidates", [2, 3, 10])
@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_randomised_response_attains_the_guess(epsilon: float, delta: float, candidates: int) -> None:
    assert Ceiling(epsilon, delta).guess(candidates) == pytest.approx(
        best_guess(epsilon, delta, candidates), abs=1e-12
    )


def test_two_candidates_are_membership_and_one_is_known() -> None:
    assert Ceiling(1.0, 0.1).guess(2) == Ceiling(1.0, 0.1).accuracy
    assert Ceiling(1.0, 0.1).guess(1) == 1.0


WRONG: dict[str, Callable[[float, float, int], float]] = {
    "delta left out": lambda e, d, k: math.exp(e) / (math.exp(e) + k - 1),
    "epsilon once for both sides": lambda e, d, k: math.exp(e / 2) / (math.exp(e / 2) + k - 1) + d,
    "delta shared by the candidates": lambda e, d, k: math.exp(e) / (math.exp(e) + k - 1) + d / k**2,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_formula_is_noticed_by_enumeration(name: str) -> None:
    assert best_guess(1.0, 0.1, 5) > WRONG[name](1.0, 0.1, 5) + 1e-3


def test_a_wrong_trade_off_is_noticed_by_enumeration() -> None:
    points = attacks(*worst_pair(1.0, 0.1))
    assert any(tpr > math.exp(1.0) * fpr + 1e-3 for fpr, tpr in points)
    assert any(tpr > 1 - math.exp(-1.0) * (1 - fpr) + 1e-3 for fpr, tpr in points)


def test_releases_add_up_as_two_randomised_responses_do() -> None:
    there, gone = worst_pair(0.7, 0.0)
    twice = Ceiling(0.7).composed(2)
    both = attacks(np.outer(there, there)[1:3, 1:3].ravel(), np.outer(gone, gone)[1:3, 1:3].ravel())
    assert all(tpr <= twice.tpr(fpr) + 1e-12 for fpr, tpr in both)
    assert twice.tpr(gone[1] ** 2) == pytest.approx(there[1] ** 2)
    assert there[1] ** 2 > Ceiling(0.7).tpr(gone[1] ** 2) + 0.01


@pytest.mark.parametrize("size", [1, 2, 3])
def test_groups_are_as_far_as_the_geometric_mechanism_takes_them(size: int) -> None:
    ratio = math.exp(-0.5)
    there, gone = 1 / (1 + ratio), ratio**size / (1 + ratio)
    assert Ceiling(0.5).group(size).tpr(gone) == pytest.approx(there)
    with_delta = Ceiling(0.5, 1e-3).group(size)
    assert with_delta.delta == pytest.approx(1e-3 * sum(math.exp(0.5 * i) for i in range(size)))


def gaussian_delta(mean: float) -> Callable[[float], float]:
    """Return the curve of Gaussian noise (Balle and Wang 2018)."""
    return lambda e: float(norm.cdf(mean / 2 - e / mean) - math.exp(e) * norm.cdf(-mean / 2 - e / mean))


def test_a_curve_gives_the_trade_off_of_gaussian_noise() -> None:
    curve = gaussian_delta(1.0)
    promise = SimpleNamespace(epsilon=4.0, delta=curve(4.0))
    ceiling = ceiling_of(promise, curve=curve, at=np.linspace(0, 6, 121))
    assert ceiling.accuracy == pytest.approx(norm.cdf(0.5))
    assert ceiling.tpr(0.01) == pytest.approx(norm.cdf(norm.ppf(0.01) + 1), abs=1e-4)
    assert norm.cdf(1 / math.sqrt(2)) <= ceiling.auc <= norm.cdf(1 / math.sqrt(2)) + 1e-3
    assert ceiling.accuracy < ceiling_of(promise).accuracy - 0.2


def test_without_a_promise_all_is_allowed() -> None:
    assert NOTHING_PROMISED.accuracy == NOTHING_PROMISED.auc == NOTHING_PROMISED.tpr(0.0) == 1.0
    assert Ceiling(5_000.0).tpr(1e-3) == 1.0 and Ceiling(5_000.0, 1e-9).group(3).delta == 1.0


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: Ceiling(-1.0), "epsilon must be a number of at least 0, got -1.0"),
        (lambda: Ceiling(math.nan), "epsilon must be a number of at least 0, got nan"),
        (lambda: Ceiling(1.0, 2.0), "delta must be from 0 to 1, got 2.0"),
        (lambda: Ceiling(1.0, curve=((1.0, -1.0),)), "delta must be from 0 to 1, got -1.0"),
        (lambda: Ceiling("1"), "epsilon must be a number of at least 0, got '1'"),
        (lambda: Ceiling(None), "epsilon must be a number of at least 0, got None"),
        (lambda: Ceiling(1.0, "a"), "delta must be from 0 to 1, got 'a'"),
        (lambda: Ceiling(1.0, curve=5), "curve must hold pairs"),
        (lambda: Ceiling(1.0, curve=((1.0,),)), "curve must hold pairs"),
        (lambda: Ceiling(1.0).tpr("a"), "fpr must be from 0 to 1, got 'a'"),
        (lambda: Ceiling(1.0).tpr(1.5), "fpr must be from 0 to 1, got 1.5"),
        (lambda: Ceiling(1.0).guess(0), "candidates must be a whole number"),
        (lambda: Ceiling(1.0).group(0), "size must be a whole number"),
        (lambda: Ceiling(1.0).composed(0), "times must be a whole number"),
    ],
)
def test_bad_input_is_told_in_a_sentence(work: Callable[[], object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        work()
