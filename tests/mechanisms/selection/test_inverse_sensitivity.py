"""Choosing by distance: over all small tables, for a question whose answers jump."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.basic import ExponentialMechanism, PermuteAndFlip
from discreet.mechanisms.selection.inverse_sensitivity import InverseSensitivity, signed_distances
from discreet.privacy.accounting import BoundedRangeEvent
from discreet.randomness import SimulatedNoise
from tests.oracles.laws import as_law, max_divergence

Counts = tuple[int, int, int]
MOST = 9


def answer(counts: Counts) -> int | None:
    """Return the most frequent of three values, the lowest of equal ones; nothing is no answer."""
    return None if sum(counts) == 0 else int(np.argmax(counts))


TABLES = [c for c in itertools.product(range(MOST + 1), repeat=3) if sum(c) <= MOST]
INNER = [c for c in TABLES if sum(c) <= 4]


def distance(first: Counts, second: Counts) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


BY_ANSWER = {r: np.array([c for c in TABLES if answer(c) == r]) for r in (0, 1, 2)}
NOT_ANSWER = {r: np.array([c for c in TABLES if answer(c) != r]) for r in (0, 1, 2)}


def distances(counts: Counts) -> np.ndarray:
    here = np.array(counts)
    return np.array([np.abs(BY_ANSWER[r] - here).sum(axis=1).min() for r in (0, 1, 2)])


def signed(counts: Counts) -> np.ndarray:
    found = answer(counts)
    leave = 1 if found is None else int(np.abs(NOT_ANSWER[found] - np.array(counts)).sum(axis=1).min())
    return signed_distances(distances(counts), leave)


def neighbouring() -> list[tuple[Counts, Counts]]:
    return [(a, b) for a, b in itertools.product(INNER, repeat=2) if distance(a, b) == 1]


@pytest.mark.proves("inverse-sensitivity")
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_distances_keep_epsilon(epsilon: float) -> None:
    mechanism = InverseSensitivity(epsilon)
    for a, b in neighbouring():
        assert np.abs(distances(a) - distances(b)).max() <= 1
        first, second = (mechanism.probabilities(distances(c)) for c in (a, b))
        assert max_divergence(as_law(first), as_law(second)) <= epsilon * (1 + 1e-12)


@pytest.mark.refutes("inverse-sensitivity")
def test_without_the_factor_two_it_is_caught() -> None:
    half = ExponentialMechanism(1, 2.0)  # exp(-epsilon distance) for epsilon = 1
    losses = [
        max_divergence(
            as_law(half.probabilities(-distances(a))), as_law(half.probabilities(-distances(b)))
        )
        for a, b in neighbouring()
    ]
    assert max(losses) > 1.1


@pytest.mark.proves("signed-distance")
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_signed_distances_move_by_one_and_only_help_the_answer(kind: type) -> None:
    mechanism = kind(1, 1.0)
    for a, b in neighbouring():
        assert np.abs(signed(a) - signed(b)).max() <= 1
        laws = [as_law(mechanism.probabilities(signed(c))) for c in (a, b)]
        assert max_divergence(*laws) <= 1.0 + 1e-9
    for counts in INNER:
        found = answer(counts)
        if found is not None:
            plain = mechanism.probabilities(-distances(counts))
            assert mechanism.probabilities(signed(counts))[found] >= plain[found] - 1e-12


@pytest.mark.refutes("signed-distance")
def test_forgetting_that_the_last_record_may_go_is_caught() -> None:
    def careless(counts: Counts) -> np.ndarray:
        found, away = answer(counts), distances(counts)
        leave = 1 if found is None else int(np.delete(away, found).min())
        return signed_distances(away, leave)

    assert max(np.abs(careless(a) - careless(b)).max() for a, b in neighbouring()) == 2


def test_events_releases_and_wrong_arguments() -> None:
    mechanism = InverseSensitivity(1.0)
    assert mechanism.event == BoundedRangeEvent(1.0)
    assert mechanism.release(np.array([900, 0, 700]), SimulatedNoise(0)) == 1
    for wrong in (np.zeros(0, int), np.zeros((2, 2), int), np.array([0.5])):
        with pytest.raises(ArgumentError, match="distances must be"):
            mechanism.probabilities(wrong)
