"""Shapley values by enumeration against games whose values are known, and their axioms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.engines.shapley.coalitions import (
    all_coalitions,
    enumerate_values,
    exact_operator,
    marginal_weights,
    shapley_values,
)
from discreet.errors import ArgumentError
from discreet.schema import FloatArray


def by_orders(values: FloatArray, features: int) -> FloatArray:
    """Average the marginal contributions over all orders: the definition."""
    phi = np.zeros(features)
    for order in itertools.permutations(range(features)):
        coalition = 0
        for j in order:
            phi[j] += values[coalition | 1 << j] - values[coalition]
            coalition |= 1 << j
    return phi / math.factorial(features)


@pytest.mark.parametrize("features", [1, 2, 3, 4, 5])
def test_values_are_the_mean_over_all_orders(features: int) -> None:
    values = np.random.default_rng(features).normal(size=2**features)
    assert shapley_values(values) == pytest.approx(by_orders(values, features), abs=1e-12)
    assert exact_operator(features) @ values == pytest.approx(by_orders(values, features), abs=1e-12)


def test_majority_game() -> None:
    # Weights 3, 2, 1, 1 and quota 4: the textbook's values are 1/2, 1/6, 1/6, 1/6.
    weights = np.array([3, 2, 1, 1])
    phi = enumerate_values(lambda members: float(weights[members].sum() >= 4), 4)
    assert phi == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_glove_game() -> None:
    # One left glove and two right ones: 2/3, 1/6, 1/6.
    phi = enumerate_values(lambda members: float(members[0] and (members[1] or members[2])), 3)
    assert phi == pytest.approx([2 / 3, 1 / 6, 1 / 6])


@pytest.mark.parametrize("features", [1, 2, 7, 12])
def test_operator_is_efficient_and_ignores_constants(features: int) -> None:
    operator = exact_operator(features)
    total = operator.sum(axis=0)
    assert total[0] == pytest.approx(-1) and total[-1] == pytest.approx(1)
    assert total[1:-1] == pytest.approx(0, abs=1e-14)
    assert operator.sum(axis=1) == pytest.approx(0, abs=1e-13)
    assert operator[:, -1] == pytest.approx(1 / features)


def test_many_games_at_once() -> None:
    games = np.random.default_rng(0).normal(size=(3, 4, 8))
    together = shapley_values(games)
    assert together.shape == (3, 4, 3)
    assert together[1, 2] == pytest.approx(shapley_values(games[1, 2]))


def test_weights_sum_to_one_over_coalitions() -> None:
    assert sum(math.comb(8, k) * w for k, w in enumerate(marginal_weights(9))) == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 1, 3, 6])
def test_a_number_of_values_that_is_no_power_of_two_is_refused(count: int) -> None:
    with pytest.raises(ArgumentError, match="values must have 2\\^d entries"):
        shapley_values(np.zeros(count))


@pytest.mark.parametrize("features", [0, 21, 2.0])
def test_too_many_features_are_refused(features: int) -> None:
    with pytest.raises(ArgumentError, match="features must be a whole number"):
        all_coalitions(features)
