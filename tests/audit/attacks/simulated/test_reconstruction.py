"""Exact explanations give queries and backgrounds away; private ones stay under the ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.scoring import Rate
from discreet.audit.attacks.simulated.reconstruction import (
    ExplainedQueries,
    Reconstruction,
    reconstruct_queries,
)
from discreet.data.contributions import SealedContribution
from discreet.engines.shapley.coalitions import enumerate_values


@pytest.fixture(scope="module")
def exact() -> Reconstruction:
    return reconstruct_queries(known=1_000, queries=200)


def test_exact_values_give_the_query_away(exact: Reconstruction) -> None:
    assert exact.within.low > 0.7 and exact.limit == 1.0 and exact.blind == 0.1
    middle, low, high = exact.error
    assert low < middle < high < 0.05 < exact.blind_error
    assert "within 0.05 of the range" in str(exact)


def test_values_of_a_sealed_query_do_not() -> None:
    private = reconstruct_queries(epsilon=1.0, known=600, queries=300, seed=2)
    assert private.limit == pytest.approx(0.1 * np.e)
    assert not private.beats(attacks=20) and private.within.high < 0.2
    assert private.error[1] > 0.2


def test_noise_for_the_background_is_no_promise_for_the_query() -> None:
    """Little noise, as a large background has it, leaves most of the query."""
    noisy = reconstruct_queries(noise_std=0.002, known=1_000, queries=200)
    assert noisy.limit == 1.0 and noisy.within.low > 0.6


def test_a_reconstruction_above_its_limit_is_noticed(exact: Reconstruction) -> None:
    held = Reconstruction("a", "b", Ceiling(1.0), Rate(30, 200), 0.1, exact.errors, exact.blind_error)
    above = Reconstruction("a", "b", Ceiling(1.0), Rate(90, 200), 0.1, exact.errors, exact.blind_error)
    assert not held.beats() and above.beats(attacks=64)


def test_the_values_are_those_of_the_plan_and_of_enumeration() -> None:
    setting = ExplainedQueries(columns=3, background=4)
    (query,) = setting.draw(1, 5)
    found = setting.explain(query[None])[0]
    stage = setting.stage(1.0, query)
    assert isinstance(stage.contribution, SealedContribution)
    assert stage.contribution.compute() == pytest.approx(found)
    rows = np.random.Generator(np.random.PCG64(7)).random((4, 3))
    weights, intercept = np.array([2.0, -1.5, 1.0]), -0.75

    def value(members: np.ndarray) -> float:
        mixed = np.where(members, query, rows)
        return float(np.mean(1 / (1 + np.exp(-(mixed @ weights + intercept)))))

    assert found == pytest.approx(enumerate_values(value, 3), abs=1e-9)
