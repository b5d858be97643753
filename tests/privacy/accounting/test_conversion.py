"""The curves behind calibration against fifty digits and against their own definitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.audit.laws.neighbours import moved_scores, small_vectors
from discreet.errors import ArgumentError
from discreet.mechanisms import ExponentialMechanism, PermuteAndFlip
from discreet.privacy.accounting.conversion import (
    bounded_range_rho,
    gaussian_delta,
    pure_delta,
    pure_rho,
    zcdp_budget,
    zcdp_delta,
    zcdp_epsilon,
)
from tests.oracles.gaussians import analytic_delta, discrete_laplace, integrated_delta, shifted
from tests.oracles.laws import greatest_rho, hockey_stick

PROPERTY = settings(max_examples=50, deadline=None)
EPSILONS = st.floats(-4, 1.3).map(lambda x: 10.0**x)
Curve = Callable[[float, float], float]
Pair = tuple[list[mp.mpf], list[mp.mpf]]


# Gaussian noise


def never_understates(curve: Curve, epsilon: float, multiplier: float) -> bool:
    return bool(mp.mpf(curve(epsilon, multiplier)) >= analytic_delta(epsilon, multiplier))


@pytest.mark.proves("gauss-analytic")
@PROPERTY
@given(EPSILONS, st.floats(-1.5, 3).map(lambda x: 10.0**x))
@example(0.17176751867621448, 212.5458827121237)  # deep in the tail the special functions are worst
@example(1.0, 37.8551524925863)  # where floats lose their digits
@example(94.99034965920677, 802.004294629232)  # below the least float, and yet not zero
def test_gaussian_delta_is_never_below_the_exact_value(epsilon: float, multiplier: float) -> None:
    assert never_understates(gaussian_delta, epsilon, multiplier)
    exact = analytic_delta(epsilon, multiplier)
    if exact > 1e-6:
        assert gaussian_delta(epsilon, multiplier) == pytest.approx(float(exact), rel=1e-5)


@pytest.mark.proves("gauss-analytic")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("multiplier", [0.3, 1.0, 3.0])
def test_the_formula_is_the_integral_of_its_definition(epsilon: float, multiplier: float) -> None:
    integral = integrated_delta(epsilon, multiplier)
    assert abs(analytic_delta(epsilon, multiplier) / integral - 1) < mp.mpf(10) ** -20
    assert gaussian_delta(epsilon, multiplier) >= integral


@pytest.mark.refutes("gauss-analytic")
def test_a_dropped_second_term_or_half_is_caught() -> None:
    def without_half(epsilon: float, multiplier: float) -> float:
        return gaussian_delta(epsilon, 2 * multiplier)

    def float_noise_only(epsilon: float, multiplier: float) -> float:
        return gaussian_delta(epsilon, multiplier) * (1 - 1e-9)

    assert never_understates(gaussian_delta, 1.0, 1.0)
    assert not never_understates(without_half, 1.0, 1.0)
    assert not never_understates(float_noise_only, 1.0, 1.0)


# zCDP


def covers_gaussian_noise(curve: Curve, epsilon: float, rho: float) -> bool:
    """Say whether a conversion is at least the true delta of the Gaussian that has this rho."""
    return bool(curve(epsilon, rho) >= analytic_delta(epsilon, float(1 / mp.sqrt(2 * mp.mpf(rho)))))


def best_order(epsilon: float, rho: float) -> mp.mpf:
    """Return the infimum of the cited bound over all orders."""
    e, r = mp.mpf(epsilon), mp.mpf(rho)

    def log_bound(log_excess: mp.mpf) -> mp.mpf:
        excess = mp.e**log_excess
        order = 1 + excess
        return excess * (order * r - e) - log_excess + order * mp.log(excess / order)

    low, high = mp.mpf(-20), mp.mpf(25)  # golden section: the bound has one valley
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(100):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if log_bound(left) < log_bound(right) else (left, high)
    return mp.e ** log_bound((low + high) / 2)


@pytest.mark.proves("zcdp-conversion")
@PROPERTY
@given(EPSILONS, st.floats(-7, 1).map(lambda x: 10.0**x))
def test_the_conversion_covers_gaussian_noise_and_every_order(epsilon: float, rho: float) -> None:
    assert covers_gaussian_noise(zcdp_delta, epsilon, rho)
    exact = min(best_order(epsilon, rho), mp.mpf(1))
    assert zcdp_delta(epsilon, rho) >= exact * (1 - mp.mpf(10) ** -20)
    if exact > 1e-12:
        assert zcdp_delta(epsilon, rho) <= exact * 1.02


@pytest.mark.refutes("zcdp-conversion")
def test_a_halved_rho_or_a_classical_slip_is_caught() -> None:
    def halved(epsilon: float, rho: float) -> float:
        return zcdp_delta(epsilon, rho / 2)

    def without_the_four(epsilon: float, rho: float) -> float:
        return math.exp(-((epsilon - rho) ** 2) / (2 * rho))

    for rho in (0.01, 0.1, 0.5):
        epsilon = zcdp_epsilon(1e-6, rho)
        assert covers_gaussian_noise(zcdp_delta, epsilon, rho)
        assert not covers_gaussian_noise(halved, epsilon, rho)
        assert not covers_gaussian_noise(without_the_four, epsilon, rho)


@settings(max_examples=25, deadline=None)
@given(EPSILONS, st.floats(-12, -1).map(lambda x: 10.0**x))
def test_a_zcdp_budget_converts_back_and_wastes_little(epsilon: float, delta: float) -> None:
    rho = zcdp_budget(epsilon, delta)
    assert rho > 0
    assert zcdp_delta(epsilon, rho) <= delta
    assert rho >= epsilon * (1 - 1e-9) or zcdp_delta(epsilon, rho * (1 + 1e-6)) > delta * (1 - 1e-6)


@settings(max_examples=25, deadline=None)
@given(st.floats(-6, 0.5).map(lambda x: 10.0**x), st.floats(-12, -1).map(lambda x: 10.0**x))
def test_zcdp_epsilon_is_the_inverse(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(delta, rho)
    assert zcdp_delta(epsilon, rho) <= delta
    assert epsilon < 1e-12 or zcdp_delta(epsilon * (1 - 1e-6), rho) > delta * (1 - 1e-9)


def test_no_noise_that_has_a_rho_is_pure() -> None:
    assert zcdp_delta(1.0, 0.0) == 0.0
    assert 0 < zcdp_delta(1.0, 1e-9) < 1e-299
    assert 0 < gaussian_delta(1.0, 100.0) < 1e-299
    assert zcdp_delta(1.0, 100.0) == 1.0
    with pytest.raises(ArgumentError, match="delta must be"):
        zcdp_epsilon(0.0, 0.1)


def test_a_budget_too_small_for_any_rho_is_nothing_and_not_negative() -> None:
    assert zcdp_budget(1e-9, 1e-12) == 0.0


# Pure mechanisms under zCDP


def randomised_response(epsilon: float) -> Pair:
    more = 1 / (1 + mp.e ** -mp.mpf(epsilon))
    return [more, 1 - more], [1 - more, more]


def rho_covers(rho: Callable[[float], float], epsilon: float, pair: Pair) -> bool:
    return bool(rho(epsilon) >= greatest_rho(*pair))


def laplace_pair(epsilon: float, shift: int) -> Pair:
    """Return discrete Laplace noise of scale shift / epsilon, and the same moved by ``shift``."""
    scale = shift / epsilon
    return shifted(discrete_laplace(scale, math.ceil(25 * scale) + shift), shift)


@pytest.mark.proves("pure-zcdp")
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0, 10.0])
def test_pure_rho_covers_randomised_response_and_discrete_laplace(epsilon: float) -> None:
    assert rho_covers(pure_rho, epsilon, randomised_response(epsilon))
    for shift in (1, 2, 5) if epsilon >= 1 else (1,):
        assert rho_covers(pure_rho, epsilon, laplace_pair(epsilon, shift))
    assert not rho_covers(lambda e: pure_rho(e) * (1 - 1e-9), epsilon, randomised_response(epsilon))


@pytest.mark.refutes("pure-zcdp")
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_rho_of_continuous_laplace_noise_is_caught_on_counts(epsilon: float) -> None:
    def continuous(e: float) -> float:
        return e + math.exp(-e) - 1

    assert not rho_covers(continuous, epsilon, laplace_pair(epsilon, 1))
    # At a shift of one step nothing is lost: the discrete law costs what the worst pure law costs.
    first, second = laplace_pair(epsilon, 1)
    assert float(greatest_rho(first, second)) == pytest.approx(pure_rho(epsilon), rel=1e-9)
    # On a fine lattice the discrete law is the continuous one.
    assert rho_covers(lambda e: continuous(e) * (1 + 1e-2), epsilon, laplace_pair(epsilon, 10))


def exponential_pairs(
    epsilon: float, candidates: int, mechanism: type[ExponentialMechanism | PermuteAndFlip]
) -> list[Pair]:
    """Return the laws over all neighbours of small score vectors."""
    pairs: list[Pair] = []
    for scores in small_vectors(candidates, 3):
        for other in moved_scores(scores, 1):
            if other > scores:
                first, second = (
                    [mp.mpf(p) for p in mechanism(1, epsilon).probabilities(np.array(s)).tolist()]
                    for s in (scores, other)
                )
                pairs.append((first, second))
    return pairs


@pytest.mark.proves("exponential-zcdp")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_bounded_range_rho_covers_the_exponential_mechanism(epsilon: float) -> None:
    pairs = exponential_pairs(epsilon, 2, ExponentialMechanism)
    pairs += exponential_pairs(epsilon, 3, ExponentialMechanism)[::5]
    assert all(rho_covers(bounded_range_rho, epsilon, pair) for pair in pairs)


@pytest.mark.refutes("exponential-zcdp")
def test_a_smaller_rho_and_permute_and_flip_are_caught() -> None:
    epsilon = 0.1
    pairs = exponential_pairs(epsilon, 2, ExponentialMechanism)
    assert not all(rho_covers(lambda e: e * e / 8.1, epsilon, pair) for pair in pairs)
    flips = exponential_pairs(epsilon, 2, PermuteAndFlip)
    assert not all(rho_covers(bounded_range_rho, epsilon, pair) for pair in flips)
    assert all(rho_covers(pure_rho, epsilon, pair) for pair in flips)


# Pure mechanisms at a smaller epsilon


@PROPERTY
@given(EPSILONS, st.floats(0, 1.2))
@example(0.3, 0.29999999999999993 / 0.3)
def test_pure_delta_is_that_of_randomised_response(pure: float, share: float) -> None:
    epsilon = pure * share
    exact = max(hockey_stick(*randomised_response(pure), epsilon) - mp.mpf(10) ** -40, mp.mpf(0))
    assert pure_delta(epsilon, pure) >= exact
    assert pure_delta(epsilon, pure) <= exact * (1 + 1e-12) + mp.mpf("3e-323")
    assert (pure_delta(epsilon, pure) == 0) == (epsilon >= pure)
