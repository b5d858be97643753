"""The linear program is the truth: known optima come out, and wrong input is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.audit.limits.optimum import (
    best_mechanism,
    histograms,
    multisets_alike,
    pairs_of,
    replaced_once,
)
from discreet.errors import ArgumentError


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("answers", [2, 3, 5])
def test_of_equally_far_worlds_randomised_response_is_best(epsilon: float, answers: int) -> None:
    worlds = [(i, j) for i in range(answers) for j in range(i)]
    found = best_mechanism(1.0 - np.eye(answers), worlds, epsilon)
    truth = math.exp(epsilon) / (math.exp(epsilon) + answers - 1)
    assert found.loss == pytest.approx(1 - truth)
    assert np.diag(found.law) == pytest.approx(np.full(answers, truth))


def test_with_a_delta_the_truth_is_told_a_little_more_often() -> None:
    pure, approximate = (
        best_mechanism(1.0 - np.eye(2), [(0, 1)], 1.0, delta).loss for delta in (0.0, 0.1)
    )
    assert pure == pytest.approx(1 / (1 + math.e))
    assert approximate == pytest.approx((1 - 0.1) / (1 + math.e))


def test_the_law_is_private() -> None:
    tables = histograms(3, 3)
    losses = np.array([[abs(t[0] - out) for out in range(4)] for t in tables], dtype=float)
    pairs = replaced_once(tables)
    law = best_mechanism(losses, pairs, 0.7).law
    assert law.sum(axis=1) == pytest.approx(np.ones(len(tables)))
    for a, b in pairs:
        assert np.all(law[a] <= math.exp(0.7) * law[b] + 1e-9)
        assert np.all(law[b] <= math.exp(0.7) * law[a] + 1e-9)


def test_neighbours_of_histograms_and_of_lists_are_the_same() -> None:
    lists = list(itertools.combinations_with_replacement(range(3), 3))
    tables = [tuple(records.count(cell) for cell in range(3)) for records in lists]
    assert len(histograms(3, 3)) == len(lists) and set(tables) == set(histograms(3, 3))
    assert replaced_once(tables) == pairs_of(lists, multisets_alike)


def test_too_large_a_program_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at most 20000 variables, got 40001"):
        best_mechanism(np.zeros((200, 200)), [], 1.0)
