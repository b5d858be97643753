"""Values of neighbours against the Shapley value of the classifier itself, by enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.value.engines.games import FunctionGame
from discreet.value.engines.neighbours import (
    knn_shapley,
    near_and_right,
    threshold_counts,
    threshold_knn_shapley,
    value_from_counts,
)
from discreet.value.engines.shapley import exact_shapley


def make_rows(rows: int, seed: int, classes: int = 3) -> tuple[Any, Any, Any, Any]:
    draw = np.random.default_rng(seed)
    x, tests = draw.normal(size=(rows, 2)), draw.normal(size=(7, 2))
    return x, draw.integers(0, classes, rows), tests, draw.integers(0, classes, 7)


def nearest_game(x: Any, y: Any, tests: Any, truth: Any, k: int) -> FunctionGame:
    apart = np.linalg.norm(x[:, None] - tests[None], axis=2)

    def utility(members: Any) -> float:
        total = 0.0
        for t in range(len(tests)):
            nearest = members[np.argsort(apart[members, t], kind="stable")[:k]]
            total += np.sum(y[nearest] == truth[t]) / k
        return total / len(tests)

    return FunctionGame(len(x), utility)


def threshold_game(x: Any, y: Any, tests: Any, truth: Any, radius: float, classes: int) -> FunctionGame:
    near = np.linalg.norm(x[:, None] - tests[None], axis=2) <= radius

    def utility(members: Any) -> float:
        total = 0.0
        for t in range(len(tests)):
            inside = members[near[members, t]]
            total += np.mean(y[inside] == truth[t]) if len(inside) else 1 / classes
        return total / len(tests)

    return FunctionGame(len(x), utility)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_nearest_neighbours_have_their_shapley_values(seed: int, k: int) -> None:
    data = make_rows(7, seed)
    expected = exact_shapley(nearest_game(*data, k)).values
    np.testing.assert_allclose(knn_shapley(*data, k=k).values, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("radius", [0.3, 1.0, 5.0])
def test_threshold_neighbours_have_their_shapley_values(seed: int, radius: float) -> None:
    data = make_rows(7, seed)
    expected = exact_shapley(threshold_game(*data, radius, 3)).values
    found = threshold_knn_shapley(*data, radius=radius, classes=3)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_test_rows_do_not_leak_into_each_other() -> None:
    """pyDVL's values were wrong for years because they did (its issue 613)."""
    x, y, tests, truth = make_rows(9, 5)
    each = [knn_shapley(x, y, tests[t : t + 1], truth[t : t + 1], k=3).values for t in range(7)]
    np.testing.assert_allclose(np.mean(each, axis=0), knn_shapley(x, y, tests, truth, k=3).values)


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_rows(9, 6)
    whole = knn_shapley(*data).values
    monkeypatch.setattr("discreet.value.engines.neighbours._BATCH_CELLS", 20)
    np.testing.assert_allclose(knn_shapley(*data).values, whole, atol=1e-15)


def test_values_come_from_counts_alone() -> None:
    data = make_rows(20, 7)
    near, right = near_and_right(*data, 1.0)
    all_near, all_right = threshold_counts(*data, 1.0)
    others_near, others_right = all_near - near, all_right - (near & right)
    values = np.where(near, value_from_counts(others_near, others_right, right, 3), 0).mean(axis=1)
    np.testing.assert_allclose(values, threshold_knn_shapley(*data, radius=1.0, classes=3).values)


def test_noisy_counts_are_brought_into_range() -> None:
    assert value_from_counts(-3.2, 7.0, 1.0, 2) == value_from_counts(0, 0, 1.0, 2) == 0.5
    assert value_from_counts(4.4, 9.9, 0.0, 2) == value_from_counts(4, 4, 0.0, 2) < 0


def test_labels_may_be_words() -> None:
    x, y, tests, truth = make_rows(6, 8)
    words = np.array(["a", "b", "c"])
    same = knn_shapley(x, words[y], tests, words[truth]).values
    assert same.tolist() == knn_shapley(x, y, tests, truth).values.tolist()


def test_wrong_arguments_are_refused() -> None:
    x, y, tests, truth = make_rows(6, 9)
    with pytest.raises(ArgumentError, match="k must be"):
        knn_shapley(x, y, tests, truth, k=0)
    with pytest.raises(ArgumentError, match="equal columns"):
        knn_shapley(x[:, :1], y, tests, truth)
    with pytest.raises(ArgumentError, match="finite numbers"):
        knn_shapley(x * np.nan, y, tests, truth)
    with pytest.raises(ArgumentError, match="one label per row"):
        knn_shapley(x, y[:2], tests, truth)
    with pytest.raises(ArgumentError, match="radius must be"):
        threshold_knn_shapley(x, y, tests, truth, radius=-1.0, classes=2)
    with pytest.raises(ArgumentError, match="classes must be"):
        threshold_knn_shapley(x, y, tests, truth, radius=1.0, classes=1)
