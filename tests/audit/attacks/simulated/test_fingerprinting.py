"""Exact means are traced, private ones are not; planted secrets are read off whatever shows means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.simulated.fingerprinting import (
    background_means,
    exact_means,
    gaussian_means,
    plant_secrets,
    read_secrets,
    shap_means,
    trace_records,
)
from discreet.errors import ArgumentError
from discreet.randomness import public_generator


def test_exact_means_are_traced_the_better_the_more_columns_there_are() -> None:
    few, many = (
        trace_records(
            exact_means, rows=20, columns=d, ceiling=NOTHING_PROMISED, target="means", trials=500
        )
        for d in (10, 400)
    )
    assert few.accuracy.high < many.accuracy.low
    assert many.accuracy.value > 0.97 and many.beats(Ceiling(1.0))


def test_the_accuracy_is_that_of_the_normal_limit() -> None:
    """Members score (1 - p^2) / n per column more on average; both spread as (1 - p^2) / sqrt(n)."""
    rows, columns = 25, 100
    found = trace_records(
        exact_means, rows=rows, columns=columns, ceiling=NOTHING_PROMISED, target="means", trials=2_000
    )
    half = columns * (2 / 3) / rows / 2
    spread = math.sqrt(columns * (8 / 15) / rows)
    expected = 0.5 * (1 + math.erf(half / spread / math.sqrt(2)))
    assert found.accuracy.value == pytest.approx(expected, abs=0.025)


@pytest.mark.parametrize("make", [background_means, shap_means])
def test_private_means_are_exact_ones_with_noise(make: object) -> None:
    release = make(30, 5, epsilon=1e6)  # type: ignore[operator]
    tables = public_generator(0).choice([-1.0, 1.0], (3, 30, 5))
    assert release(tables, 1) == pytest.approx(exact_means(tables, 0), abs=1e-3)
    private = make(8, 60, epsilon=1.0)  # type: ignore[operator]
    found = trace_records(
        private, rows=8, columns=60, ceiling=Ceiling(1.0), target="ours", trials=400, seed=3
    )
    assert not found.beats(attacks=10)
    assert found.accuracy.high < 0.65


def test_noise_of_any_size_hides_what_it_hides() -> None:
    little, much = (
        trace_records(
            gaussian_means(std), rows=8, columns=60, ceiling=Ceiling(1.0), target="noise", trials=400
        )
        for std in (0.001, 5.0)
    )
    assert little.beats() and not much.beats()


def test_secrets_are_read_off_means() -> None:
    planted = plant_secrets(50, seed=4)
    assert planted.tables.shape == (50, 100, 20) and np.abs(planted.tables).max() == 3.0
    assert set(np.unique(planted.secrets)) == {-1.0, 1.0}
    means = planted.tables.mean(axis=1)
    assert read_secrets(planted, means, np.zeros(20)).value > 0.999
    assert read_secrets(planted, -means, np.zeros(20)).value < 0.001
    assert read_secrets(planted, -means, np.zeros(20), -1.0).value > 0.999
    half = np.array([1.0, -1.0] * 10)
    blind = read_secrets(planted, means * half, np.zeros(20))
    assert 0.4 < blind.low < 0.5 < blind.high < 0.6
    assert read_secrets(planted, means * half, np.zeros(20), half).value > 0.999


def test_without_a_signal_there_is_nothing_to_read() -> None:
    planted = plant_secrets(50, signal=0.0, seed=4)
    rate = read_secrets(planted, planted.tables.mean(axis=1), np.zeros(20))
    assert rate.low < 0.5 < rate.high


def test_too_few_trials_are_refused() -> None:
    with pytest.raises(ArgumentError, match="trials must be"):
        trace_records(
            exact_means, rows=5, columns=2, ceiling=NOTHING_PROMISED, target="means", trials=5
        )
