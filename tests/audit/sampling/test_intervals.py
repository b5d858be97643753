"""Intervals cover what they say, and bounds that follow from them hold as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from discreet.audit.sampling.intervals import (
    epsilon_bounds,
    epsilon_of_mu,
    lower_share,
    mu_bounds,
    upper_share,
)
from discreet.randomness import public_generator
from tests.oracles.gaussians import analytic_delta

RUNS = 400


@pytest.mark.parametrize("hits", [0, 1, 7, 60, 119, 120])
def test_ends_are_those_of_scipy(hits: int) -> None:
    exact = binomtest(hits, 120).proportion_ci(0.98, method="exact")
    assert float(lower_share(hits, 120, 0.01)) == pytest.approx(exact.low, abs=1e-12)
    assert float(upper_share(hits, 120, 0.01)) == pytest.approx(exact.high, abs=1e-12)


@pytest.mark.parametrize("share", [0.002, 0.1, 0.5, 0.93])
def test_ends_miss_as_seldom_as_they_say(share: float) -> None:
    """The chance to miss is a sum over all outcomes; a third of the allowance would be missed."""
    hits = np.arange(RUNS + 1)
    law = binom.pmf(hits, RUNS, share)
    for error in (0.05, 1e-4):
        assert law[lower_share(hits, RUNS, error) > share].sum() <= error
        assert law[upper_share(hits, RUNS, error) < share].sum() <= error
    assert law[lower_share(hits, RUNS, 0.3) > share].sum() > 0.05


def simulated_bounds(p: float, q: float, delta: float, error: float) -> np.ndarray:
    generator = public_generator(5)
    hits, others = generator.binomial(RUNS, p, 20_000), generator.binomial(RUNS, q, 20_000)
    return epsilon_bounds(hits, RUNS, others, RUNS, delta=delta, error=error)


@pytest.mark.parametrize(("q", "delta"), [(0.2, 0.0), (0.02, 0.0), (0.2, 0.05), (0.35, 0.01)])
def test_a_bound_on_epsilon_is_above_the_truth_as_seldom_as_it_says(q: float, delta: float) -> None:
    p = math.e * q + delta
    exceeded = float(np.mean(simulated_bounds(p, q, delta, 0.05) > 1.0))
    assert exceeded <= 0.05
    # The same count catches bounds without an allowance for chance, and a truth a little lower.
    assert float(np.mean(simulated_bounds(p, q, delta, 1.0) > 1.0)) > 0.3
    assert float(np.mean(simulated_bounds(p, q, delta, 0.05) > 0.4)) > exceeded


def test_nothing_is_proven_where_delta_covers_it() -> None:
    assert epsilon_bounds(5, 100, 0, 100, delta=0.2, error=0.05) == -np.inf


def test_mu_is_bounded_as_seldom_above_the_truth() -> None:
    generator = public_generator(6)
    # A mechanism with mu = 1 at a threshold of 1: normal tails at 0 and at 1.
    hits = generator.binomial(RUNS, 0.5, 20_000)
    others = generator.binomial(RUNS, 0.15865525393145707, 20_000)
    bounds = mu_bounds(hits, RUNS, others, RUNS, error=0.05)
    assert float(np.mean(bounds > 1.0)) <= 0.05
    assert float(np.median(bounds)) > 0.7


@pytest.mark.parametrize(("mu", "delta"), [(0.3, 1e-5), (1.0, 1e-2), (3.0, 1e-9)])
def test_epsilon_of_mu_is_that_of_the_gaussian_mechanism(mu: float, delta: float) -> None:
    epsilon = epsilon_of_mu(mu, delta)
    assert float(analytic_delta(epsilon, 1 / mu)) == pytest.approx(delta, rel=1e-6)


def test_no_mu_is_no_epsilon() -> None:
    assert epsilon_of_mu(0.0, 1e-5) == 0.0 == epsilon_of_mu(1e-9, 0.1)
