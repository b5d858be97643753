"""Local dampening: utilities in edits, over all small tables, with every admissible function."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.dampening import PARTS, LocalDampening
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.randomness import SimulatedNoise
from tests.oracles.laws import as_law, max_divergence

Path = list[np.ndarray]


def random_path(seed: int, tables: int, candidates: int, jump: int) -> Path:
    """Return utilities of tables in a row, each a neighbour of the next; most edits change nothing."""
    draw = np.random.default_rng(seed)
    moves = draw.integers(-jump, jump + 1, (tables - 1, candidates))
    moves[draw.random(moves.shape) < 0.6] = 0
    return list(np.cumsum(np.vstack([np.zeros((1, candidates), int), moves]), axis=0))


def element_sensitivities(path: Path, beyond: int) -> list[np.ndarray]:
    """Return for every table the greatest change of each utility within every distance."""
    size = len(path)
    local = np.zeros((size, len(path[0])), int)
    for i, j in itertools.product(range(size), repeat=2):
        if abs(i - j) == 1:
            local[i] = np.maximum(local[i], np.abs(path[i] - path[j]))
    assert local.max() <= beyond
    return [
        np.stack([local[max(0, i - t) : i + t + 1].max(axis=0) for t in range(size)], axis=1)
        for i in range(size)
    ]


def worst_move(dampening: LocalDampening, path: Path, tables: list[np.ndarray]) -> float:
    scores = [dampening.scores(u, s) for u, s in zip(path, tables, strict=True)]
    return max(float(np.abs(a - b).max()) for a, b in itertools.pairwise(scores)) / PARTS


@pytest.mark.proves("dampening")
@pytest.mark.parametrize("shift", [0, 7, -3])
@pytest.mark.parametrize("seed", range(12))
def test_an_edit_moves_a_dampened_utility_by_at_most_one(seed: int, shift: int) -> None:
    path = random_path(seed, 14, 3, 3)
    dampening = LocalDampening(1.0, 3, shift)
    tables = element_sensitivities(path, 3)
    assert worst_move(dampening, path, tables) <= 1.0
    shared = [table.max(axis=0, keepdims=True) for table in tables]
    assert worst_move(dampening, path, shared) <= 1.0


@pytest.mark.proves("dampening")
@pytest.mark.parametrize("seed", range(4))
def test_laws_of_neighbours_keep_epsilon(seed: int) -> None:
    path = random_path(seed, 10, 4, 2)
    dampening = LocalDampening(0.8, 2, 4)
    laws = [
        as_law(dampening.probabilities(u, s))
        for u, s in zip(path, element_sensitivities(path, 2), strict=True)
    ]
    assert all(max_divergence(a, b) <= 0.8 * (1 + 1e-12) for a, b in itertools.pairwise(laws))


@pytest.mark.refutes("dampening")
def test_the_local_sensitivity_of_here_alone_is_caught() -> None:
    """Not admissible: a neighbour's sensitivity is not looked at."""
    worst = 0.0
    for seed in range(12):
        path = random_path(seed, 14, 3, 3)
        here = [np.repeat(t[:, :1], 14, axis=1) for t in element_sensitivities(path, 3)]
        worst = max(worst, worst_move(LocalDampening(1.0, 3), path, here))
    assert worst > 1.5


def by_definition(u: int, sensitivities: list[int], beyond: int) -> float:
    """Return sup {d : b(d) <= u} by walking along b."""

    def b(d: float) -> float:
        total, left = 0.0, abs(d)
        for slope in [*sensitivities, *[beyond] * 200]:
            total += slope * min(1.0, left)
            left = max(0.0, left - 1.0)
        return math.copysign(total, d)

    low, high = -100.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if b(middle) <= u + 1e-12 else (low, middle)
    return low


@pytest.mark.parametrize("sensitivities", [[1, 2, 3], [0, 0, 1], [2, 0, 5], [0]])
def test_scores_are_the_generalised_inverse(sensitivities: list[int]) -> None:
    dampening = LocalDampening(1.0, 5)
    for u in range(-12, 13):
        score = dampening.scores(np.array([u]), np.array([sensitivities]))[0] / PARTS
        assert score == pytest.approx(by_definition(u, sensitivities, 5), abs=1e-5)


def test_zero_one_utilities_gain_nothing_unless_shifted() -> None:
    """One sensitivity for all: the winner is ahead by one edit however stable it is."""
    utilities, flat = np.array([1, 0, 0]), np.array([[0] * 9 + [1]])
    plain = LocalDampening(1.0, 1).scores(utilities, flat) / PARTS
    assert plain.tolist() == [10, 9, 9]
    each = (np.arange(40) >= np.array([9, 11, 30])[:, None]).astype(int)
    shifted = LocalDampening(1.0, 1, shift=1).scores(utilities, each) / PARTS
    assert shifted.tolist() == [9, -12, -31]
    assert (LocalDampening(1.0, 1).scores(utilities, each) / PARTS).tolist() == [10, 11, 30]  # inverted


def test_a_constant_sensitivity_is_the_exponential_mechanism() -> None:
    utilities = np.array([0, 6, -4, 9])
    law = LocalDampening(0.7, 2).probabilities(utilities, np.array([[2, 2]]))
    assert law == pytest.approx(ExponentialMechanism(2, 0.7).probabilities(utilities), abs=1e-6)


def test_releases_events_and_wrong_arguments() -> None:
    dampening = LocalDampening(1.0, 2, 3)
    assert dampening.event == BoundedRangeEvent(1.0)
    assert dampening.release(np.array([0, 3000]), np.array([[1, 1]]), SimulatedNoise(0)) == 1
    with pytest.raises(ArgumentError, match="sensitivities must have one row"):
        dampening.scores(np.array([1, 2, 3]), np.ones((2, 4), int))
    with pytest.raises(ArgumentError, match="up to 2\\^40"):
        dampening.scores(np.array([2**41]), np.array([[1]]))
    with pytest.raises(ArgumentError, match="beyond must be"):
        LocalDampening(1.0, 0)
