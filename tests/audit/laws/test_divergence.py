"""Two laws: delta at an epsilon and epsilon at a delta, against closed forms and plain searches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.laws.divergence import PrivacyProfile, aligned, as_probabilities, both_directions
from discreet.errors import ArgumentError
from tests.oracles.laws import as_law, max_divergence


def laplace_pair(scale: float, moved: int) -> tuple[np.ndarray, np.ndarray]:
    window = np.arange(-400, 401)
    law = [math.tanh(0.5 / scale) * np.exp(-np.abs(window - m) / scale) for m in (0, moved)]
    return law[0], law[1]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_has_its_closed_form(epsilon: float) -> None:
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    one, other = both_directions([keep, 1 - keep], [1 - keep, keep])
    for profile in (one, other):
        assert profile.epsilon() == pytest.approx(epsilon, abs=1e-9)
        for asked in np.linspace(0, 1.5 * epsilon, 7):
            expected = max(0.0, keep - math.exp(asked) * (1 - keep))
            assert profile.delta(asked) == pytest.approx(expected, abs=1e-15)
            assert profile.epsilon(expected) == pytest.approx(min(asked, epsilon), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_laplace_noise_has_its_closed_form(epsilon: float) -> None:
    """Ghosh, Roughgarden, Sundararajan: the mass below the middle of two discrete Laplace laws."""
    one, other = both_directions(*laplace_pair(1 / epsilon, 1))
    q = math.exp(-epsilon)
    for profile in (one, other):
        assert profile.epsilon() == pytest.approx(epsilon, abs=1e-9)
        assert profile.delta(0.0) == pytest.approx((1 - q) / (1 + q))
        assert profile.delta(epsilon) < 1e-15


LAWS = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4)


@settings(max_examples=60, deadline=None)
@given(LAWS, LAWS, st.floats(0, 0.5), st.floats(0, 3))
def test_any_pair_agrees_with_all_its_events(
    first: list[float], second: list[float], delta: float, epsilon: float
) -> None:
    """All sixteen sets of outcomes: delta is the greatest excess, and epsilon the least that covers."""
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    sets = [[i for i in range(4) if chosen >> i & 1] for chosen in range(16)]
    profile = PrivacyProfile(p, q)
    greatest = max(p[s].sum() - math.exp(epsilon) * q[s].sum() for s in sets)
    assert profile.delta(epsilon) == pytest.approx(max(0.0, greatest), abs=1e-14)
    left = [(p[s].sum() - delta) / q[s].sum() for s in sets if p[s].sum() - delta > 1e-9]
    assert profile.epsilon(delta) == pytest.approx(math.log(max([1.0, *left])), abs=1e-8)
    assert max(one.epsilon() for one in both_directions(p, q)) == pytest.approx(
        max_divergence(as_law(p), as_law(q)), abs=1e-8
    )


def test_an_outcome_that_only_one_law_has_costs_its_probability() -> None:
    profile = PrivacyProfile(np.array([0.1, 0.9, 0.0]), np.array([0.0, 0.9, 0.1]))
    assert profile.epsilon(0.05) == math.inf
    assert profile.epsilon(0.1) == 0.0
    assert profile.deltas(np.array([0.0, 5.0, 800.0])).tolist() == pytest.approx([0.1, 0.1, 0.1])


def test_mappings_are_compared_by_outcome() -> None:
    p, q = aligned({"a": 0.5, "b": 0.5}, {"b": 0.25, "c": 0.75})
    assert (p.tolist(), q.tolist()) == ([0.5, 0.5, 0.0], [0.0, 0.25, 0.75])


@pytest.mark.parametrize(
    ("law", "word"),
    [
        ([0.5, 0.4], "add up to one, got 0.9"),
        ([1.5, -0.5], "at least 0"),
        ([math.nan, 1.0], "finite"),
        ([math.inf], "finite"),
        ([], "finite"),
        (["a", "b"], "must return probabilities"),
        ("half", "must return probabilities"),
    ],
)
def test_what_is_no_law_is_refused(law: object, word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        as_probabilities(law)


def test_two_kinds_and_two_lengths_are_refused() -> None:
    with pytest.raises(ArgumentError, match="as many outcomes for both neighbours, got 2 and 3"):
        aligned([0.5, 0.5], [0.2, 0.3, 0.5])
    with pytest.raises(ArgumentError, match="one of each"):
        aligned([0.5, 0.5], {"a": 1.0})
