"""Secret sampling: inclusion is a probability, and all layers together include everybody."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from discreet.value.private_design import Pairs
from tests.oracles.sampling import amplified_epsilon, inclusion_probability


@pytest.mark.proves("amplification-cap")
def test_inclusion_is_that_of_all_coalitions_listed() -> None:
    others, counts = 4, np.array([1, 2, 1, 0, 0])
    layers = {k: list(combinations(range(others), k)) for k in (1, 2)}
    without = [np.mean([0 not in coalition for coalition in layers[k]]) for k in (1, 2)]
    assert inclusion_probability(counts) == pytest.approx(1 - without[0] ** 2 * without[1])


@pytest.mark.proves("amplification-cap")
def test_a_complete_design_is_not_amplified() -> None:
    p = inclusion_probability(Pairs(30, (3,), 1, 0).designs[0].counts)
    assert p == 1.0
    assert amplified_epsilon(0.7, p) == 0.7


@pytest.mark.proves("amplification-cap")
@pytest.mark.parametrize("p", [0.01, 0.3, 0.99])
def test_amplified_loss_of_a_randomised_bit(p: float) -> None:
    """Answer truthfully about a record that is sampled with probability p, else about another."""
    epsilon = 1.3
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    said = {bit: p * (true if bit else 1 - true) + (1 - p) * (1 - true) for bit in (0, 1)}
    assert math.log(said[1] / said[0]) <= amplified_epsilon(epsilon, p) + 1e-12


@pytest.mark.refutes("amplification-cap")
def test_a_probability_of_76_would_cost_more_than_no_sampling() -> None:
    """The published inclusion at n = 100, alpha = beta = 0.05, not capped."""
    published = math.log1p(76 * math.expm1(1.0))
    assert published > 4.5
    assert amplified_epsilon(1.0, 76) == 1.0
