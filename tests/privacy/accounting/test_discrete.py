"""Discrete Gaussian noise: exact sums on counts, and how far it is from the continuous one."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import pytest

from discreet.privacy.accounting import CountGaussianEvent, count_gaussian_scale, gaussian_multiplier
from discreet.privacy.accounting.conversion import gaussian_delta
from discreet.privacy.accounting.discrete import (
    LARGEST_SUMMED_SCALE,
    count_gaussian_delta,
    lattice_slack,
)
from discreet.privacy.accounting.events import GaussianEvent
from tests.oracles.gaussians import (
    analytic_delta,
    discrete_gaussian,
    product,
    shifted,
    total_variation,
)
from tests.oracles.laws import hockey_stick


def brute_delta(epsilon: float, scale: float, moves: int, shift: int = 1) -> mp.mpf:
    """Return delta of moving ``moves`` coordinates by ``shift``, from all cells of the joint law."""
    reach = math.ceil(13 * scale) + shift + 1
    first, second = shifted(discrete_gaussian(scale, reach), shift)
    if moves == 2:
        first, second = product(first, first), product(second, second)
    return hockey_stick(first, second, epsilon)


# Counts


def keeps_on_counts(scale: float, moves: int, epsilon: float, delta: float) -> bool:
    return bool(brute_delta(epsilon, scale, moves) <= delta)


@pytest.mark.proves("gauss-counts")
@pytest.mark.parametrize("moves", [1, 2])
@pytest.mark.parametrize("scale", [0.3, 0.7, 1.0, 2.2, 3.5])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_the_sum_over_totals_is_the_sum_over_all_cells(
    epsilon: float, scale: float, moves: int
) -> None:
    exact = brute_delta(epsilon, scale, moves)
    ours = count_gaussian_delta(epsilon, scale, moves)
    assert ours >= exact
    assert ours <= exact * (1 + 1e-10) + mp.mpf(10) ** -39


@pytest.mark.proves("gauss-counts")
@pytest.mark.parametrize("moves", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (0.5, 1e-1), (3.0, 1e-6)])
def test_calibrated_scales_keep_the_promise_and_are_the_least(
    epsilon: float, delta: float, moves: int
) -> None:
    scale = count_gaussian_scale(epsilon, delta, moves)
    assert keeps_on_counts(scale, moves, epsilon, delta)
    assert not keeps_on_counts(scale * (1 - 1e-6), moves, epsilon, delta)


@pytest.mark.refutes("gauss-counts")
@pytest.mark.parametrize(
    ("moves", "epsilon", "delta"), [(1, 1.0, 0.03), (2, 1.0, 0.03), (1, 3.0, 1e-3)]
)
def test_the_analytic_scale_is_caught_on_counts(moves: int, epsilon: float, delta: float) -> None:
    analytic = math.sqrt(moves) * gaussian_multiplier(epsilon, delta)
    assert not keeps_on_counts(analytic, moves, epsilon, delta)
    assert 1.01 < brute_delta(epsilon, analytic, moves) / delta < 1.5


@pytest.mark.refutes("gauss-counts")
def test_ignoring_the_second_moved_count_is_caught() -> None:
    assert not keeps_on_counts(count_gaussian_scale(1.0, 1e-2, 1), 2, 1.0, 1e-2)


@pytest.mark.parametrize("scale", [0.1, 0.25, 0.37, 1.3])
def test_an_epsilon_on_a_loss_is_not_understated_in_its_last_bits(scale: float) -> None:
    """Where epsilon meets one of the discrete losses, delta hangs on their difference alone."""
    loss = 1 / (2 * scale**2)
    for epsilon in (loss, loss * (1 - 1e-15), loss * (1 - 1e-14), loss * (1 - 1e-12)):
        assert count_gaussian_delta(epsilon, scale, 1) >= brute_delta(epsilon, scale, 1)


def test_fewer_moves_cost_less() -> None:
    for scale in (0.5, 2.0, 20.0):
        assert count_gaussian_delta(1.0, scale, 1) <= count_gaussian_delta(1.0, scale, 2)


@pytest.mark.parametrize("moves", [1, 2])
def test_large_scales_fall_back_to_zcdp(moves: int) -> None:
    scale = LARGEST_SUMMED_SCALE * 1.5
    assert count_gaussian_delta(0.001, scale, moves) == 1.0
    event = CountGaussianEvent(scale, moves)
    exact = analytic_delta(0.001, scale / math.sqrt(moves))
    assert exact <= event.delta(0.001) < 1


@pytest.mark.parametrize("moves", [1, 2])
@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.02])
def test_hardly_any_noise_is_hardly_private(scale: float, moves: int) -> None:
    assert count_gaussian_delta(1.0, scale, moves) == 1.0
    assert 0 < count_gaussian_scale(5000.0, 1e-6, moves) < 0.05


# The lattice


def slack_holds(slack: Callable[[float, int], float], sigma: float) -> bool:
    return bool(slack(sigma, 1) >= total_variation(sigma))


@pytest.mark.proves("gauss-lattice")
@pytest.mark.parametrize("sigma", [4.0, 4.5, 7.0, 20.0, 61.3, 200.0])
def test_the_slack_covers_the_total_variation(sigma: float) -> None:
    assert slack_holds(lattice_slack, sigma)
    assert lattice_slack(sigma, 7) >= 7 * total_variation(sigma)
    assert lattice_slack(sigma, 7) == pytest.approx(7 / (10 * sigma**2))


def lattice_promise_holds(event: GaussianEvent, sigma: float, shift: int, epsilon: float) -> bool:
    """Compare an event's delta with that of discrete noise of sigma steps moved by whole steps."""
    return bool(brute_delta(epsilon, sigma, 1, shift) <= event.delta(epsilon))


@pytest.mark.proves("gauss-lattice")
@pytest.mark.parametrize(("sigma", "shift"), [(4.0, 1), (4.0, 3), (6.5, 4), (12.0, 2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_analytic_delta_plus_the_lattice_term_covers_discrete_noise(
    sigma: float, shift: int, epsilon: float
) -> None:
    event = GaussianEvent(sigma / shift, lattice_slack(sigma, 1))
    assert lattice_promise_holds(event, sigma, shift, epsilon)


@pytest.mark.refutes("gauss-lattice")
def test_a_smaller_slack_is_caught() -> None:
    for sigma in (4.0, 20.0, 200.0):
        assert not slack_holds(lambda s, size: size / (60 * s * s), sigma)


@pytest.mark.refutes("gauss-lattice")
def test_dropping_the_lattice_term_is_caught() -> None:
    sigma, shift, epsilon = 4.0, 4, 1.0
    assert lattice_promise_holds(
        GaussianEvent(sigma / shift, lattice_slack(sigma, 1)), sigma, shift, epsilon
    )
    # On whole counts (a shift of one step) the analytic formula alone is too small.
    bare = GaussianEvent(sigma / shift, 0.0)
    worst = [(s, k, e) for s in (4.0, 5.0) for k in (1, 2, 3, 4) for e in (0.1, 0.5, 1.0, 2.0)]
    assert bare.delta(epsilon) == pytest.approx(gaussian_delta(epsilon, 1.0))
    assert not all(lattice_promise_holds(GaussianEvent(s / k, 0.0), s, k, e) for s, k, e in worst)
    assert all(
        lattice_promise_holds(GaussianEvent(s / k, lattice_slack(s, 1)), s, k, e) for s, k, e in worst
    )


def test_a_coarse_lattice_has_no_slack_to_offer() -> None:
    assert lattice_slack(3.99, 1) == math.inf
