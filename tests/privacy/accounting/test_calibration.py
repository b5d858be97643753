"""The returned noise itself meets the target, and is the least that does."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import ArgumentError
from discreet.privacy.accounting import (
    GaussianEvent,
    count_gaussian_scale,
    event_cost,
    gaussian_multiplier,
)
from tests.oracles.gaussians import analytic_delta

EPSILONS = st.floats(-4, 1.3).map(lambda x: 10.0**x)
DELTAS = st.floats(-13, -0.5).map(lambda x: 10.0**x)


def meets(multiplier: float, epsilon: float, delta: float) -> bool:
    return bool(analytic_delta(epsilon, multiplier) <= mp.mpf(delta))


def classical(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.proves("gauss-analytic")
@settings(max_examples=60, deadline=None)
@given(EPSILONS, DELTAS)
def test_multipliers_meet_the_analytic_condition_and_are_the_least(
    epsilon: float, delta: float
) -> None:
    multiplier = gaussian_multiplier(epsilon, delta)
    assert meets(multiplier, epsilon, delta)
    if delta > 1e-9:
        assert not meets(multiplier * (1 - 1e-3), epsilon, delta)


@pytest.mark.proves("gauss-analytic")
def test_check_value() -> None:
    assert gaussian_multiplier(1.0, 1e-6) == pytest.approx(4.22468, abs=1e-5)


@pytest.mark.refutes("gauss-analytic")
def test_the_classical_formula_is_caught_from_about_8_4() -> None:
    delta = 1e-5
    for epsilon in (0.5, 1.0, 4.0, 8.3):
        assert meets(classical(epsilon, delta), epsilon, delta)
    for epsilon in (8.5, 10.0, 20.0):
        assert not meets(classical(epsilon, delta), epsilon, delta)
        assert meets(gaussian_multiplier(epsilon, delta), epsilon, delta)


@pytest.mark.proves("gauss-lattice")
@settings(max_examples=80, deadline=None)
@given(EPSILONS, DELTAS, st.floats(1e-30, 1e-24))
@example(0.00015945550724831255, 2.950494864013689e-12, 1.4489774e-28)
@example(0.00024062807074267832, 8.685006085052744e-06, 1.79035708e-28)
def test_a_calibrated_event_is_billed_without_complaint(
    epsilon: float, delta: float, slack: float
) -> None:
    """The event that is charged is the one that was tested, to the last bit."""
    event = GaussianEvent(gaussian_multiplier(epsilon, delta, slack), slack)
    event_cost("basic", event, epsilon, delta)
    left = mp.mpf(delta) - (1 + mp.e ** mp.mpf(epsilon)) * mp.mpf(slack)
    assert analytic_delta(epsilon, event.multiplier) <= left


@pytest.mark.refutes("gauss-lattice")
def test_a_slack_that_is_not_paid_for_is_caught() -> None:
    slack = 1e-7
    left = mp.mpf(1e-6) - (1 + mp.e) * mp.mpf(slack)
    assert analytic_delta(1.0, gaussian_multiplier(1.0, 1e-6, slack)) <= left
    assert not analytic_delta(1.0, gaussian_multiplier(1.0, 1e-6)) <= left


def test_a_lattice_that_takes_all_of_delta_is_refused() -> None:
    for slack in (1e-6 / (1 + math.e), 1e-3, math.inf):
        with pytest.raises(ArgumentError, match="lattice's own share"):
            gaussian_multiplier(1.0, 1e-6, slack)


@pytest.mark.parametrize("calibrate", [gaussian_multiplier, lambda e, d: count_gaussian_scale(e, d, 1)])
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0.0, 0.1),
        (-1.0, 0.1),
        (math.nan, 0.1),
        (math.inf, 0.1),
        (1.0, 0.0),
        (1.0, 1.0),
        (1.0, math.nan),
    ],
)
def test_wrong_targets_are_refused(calibrate: object, epsilon: float, delta: float) -> None:
    with pytest.raises(ArgumentError, match=r"must be .*, got"):
        calibrate(epsilon, delta)  # type: ignore[operator]


def test_targets_beyond_the_floats_are_refused() -> None:
    with pytest.raises(ArgumentError, match="multiplier must be"):
        gaussian_multiplier(5e-324, 1e-20)
    with pytest.raises(ArgumentError, match="moves must be"):
        count_gaussian_scale(1.0, 1e-6, 3)
