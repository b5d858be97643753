"""Smooth noisy max of general utilities: dilation of all noises, exact noise on whole numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaincc

from discreet.audit.faults.published_smooth import published
from discreet.errors import ArgumentError
from discreet.mechanisms.smooth.densities import leader_law, smooth_noise
from discreet.mechanisms.smooth.joint import JointSmoothMax, draw_student_t, smooth_bound
from discreet.privacy.accounting import ApproximateEvent, PureEvent
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.goodness import fits


def student_law(scale: float, reach: int) -> np.ndarray:
    weights = (1 + np.arange(-reach, reach + 1) ** 2 / (3 * scale**2)) ** -2.0
    # Beyond the reach the sum is the integral of 9 scale^4 / k^4, nearly.
    return weights / (weights.sum() + 2 * 9 * scale**4 / (3 * (reach + 0.5) ** 3))


@pytest.mark.proves("snm-beta")
@pytest.mark.parametrize("dilation", [0.01, 0.3, -0.2])
def test_dilating_student_noise_costs_its_degrees_per_unit(dilation: float) -> None:
    first = student_law(40.0, 200_000)
    second = student_law(40.0 * math.exp(dilation), 200_000)
    loss = np.abs(np.log(first / second)).max()
    assert loss <= 3 * abs(dilation) * (1 + 1e-6)
    assert loss >= 2.9 * abs(dilation) if dilation > 0 else True


@pytest.mark.proves("snm-beta")
def test_smooth_bounds_are_bounds_and_smooth() -> None:
    """On a path of tables, whose local sensitivities are whatever they are."""
    draw = np.random.default_rng(3)
    for beta in (0.05, 0.5):
        for _ in range(20):
            at = draw.integers(0, 5, 12).astype(float)
            bounds = [
                smooth_bound(
                    np.array([at[max(0, i - t) : i + t + 1].max() for t in range(len(at))]), beta
                )
                for i in range(len(at))
            ]
            assert all(bound >= here for bound, here in zip(bounds, at, strict=True))
            for a, b in itertools.pairwise(bounds):
                assert max(a, b) <= min(a, b) * math.exp(beta) * (1 + 1e-12)


@pytest.mark.refutes("snm-beta")
def test_local_sensitivity_itself_is_not_smooth() -> None:
    at = np.array([0.0, 0.0, 3.0, 3.0])
    assert smooth_bound(at, 0.1) > 3 * math.exp(-0.1 * 2) * 0.999
    assert at[1] * math.exp(0.1) < at[2]


def shifted_and_dilated(
    candidates: int, epsilon: float, alpha: float, beta: float, gap: float
) -> float:
    """Return the leader's loss: it loses two units of its gap while all scales grow by exp(beta)."""
    scale = 2 / alpha
    noise = smooth_noise("student-t")
    gaps = np.array([gap / scale, (gap - 2) / (scale * math.exp(beta))])
    top, _ = leader_law(noise, candidates, gaps)
    return float(np.log(top[0] / top[1])) / epsilon


@pytest.mark.refutes("snm-joint")
@pytest.mark.parametrize(("epsilon", "loss"), [(0.5, 1.25), (1.0, 1.2), (2.0, 1.09)])
def test_the_published_theorem_fails_for_general_utilities(epsilon: float, loss: float) -> None:
    first, beta = published("student-t", epsilon)
    worst = max(
        shifted_and_dilated(4096, epsilon, 2 * first, beta, gap) for gap in np.linspace(5, 160, 60)
    )
    assert worst > loss


@pytest.mark.proves("snm-joint")
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("candidates", [3, 4096])
def test_ours_keeps_half_of_epsilon_for_either(candidates: int, epsilon: float) -> None:
    joint = JointSmoothMax(candidates, epsilon)
    for gap in np.linspace(5, 160, 30):
        loss = shifted_and_dilated(candidates, epsilon, joint.alpha, joint.beta, gap)
        assert loss <= 1.0


@pytest.mark.proves("snm-joint")
@pytest.mark.parametrize("element_wise", [False, True])
def test_three_candidates_keep_epsilon_whatever_moves(element_wise: bool) -> None:
    """Scores move by their bounds, bounds move by exp(beta), every combination of signs."""
    joint = JointSmoothMax(3, 1.0, element_wise=element_wise)
    signs = list(itertools.product((-1, 0, 1), repeat=3))
    bounds = np.array([40.0, 90.0, 60.0]) if element_wise else np.full(3, 60.0)
    grow = math.exp(joint.beta)
    for scores in ((0, 0, 0), (300, 0, 100), (0, 900, 0)):
        before = joint.probabilities(np.array(scores), bounds)
        assert before.sum() == pytest.approx(1.0, abs=1e-9)
        for moves in signs[::2]:
            for factors in signs[::5] if element_wise else ((1, 1, 1), (-1, -1, -1)):
                moved = np.array(scores) + np.round(moves * bounds).astype(int)
                after = joint.probabilities(moved, bounds * grow ** np.array(factors))
                assert np.abs(np.log(before / after)).max() <= 1.0


@pytest.mark.proves("snm-joint")
@pytest.mark.parametrize("candidates", [2, 20, 500])
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_laplace_noises_shrink_together_within_delta(candidates: int, delta: float) -> None:
    joint = JointSmoothMax(candidates, 1.0, delta, "laplace")
    beta = joint.beta
    cut = (0.5 + candidates * beta) / math.expm1(beta)
    excess = gammaincc(candidates, cut) - math.exp(0.5) * gammaincc(candidates, cut * math.exp(beta))
    assert excess * math.exp(0.5) <= delta
    assert beta >= 1 / (4 * (candidates + math.log(2 / delta))) * 0.8  # close to Nissim et al.'s
    assert JointSmoothMax(candidates, 1.0, delta, "laplace", element_wise=True).beta < beta


@pytest.mark.refutes("snm-joint")
def test_the_beta_of_one_noise_is_too_great_for_many() -> None:
    candidates, delta = 500, 1e-6
    beta = JointSmoothMax(2, 1.0, delta, "laplace").beta
    assert candidates * beta > 0.5  # growing alone costs more than the half


@pytest.mark.proves("snm-joint")
@pytest.mark.parametrize("scale", [16.0, 37.5])
@pytest.mark.parametrize("source", [SimulatedNoise(1), SystemNoise()], ids=["simulated", "system"])
def test_student_noise_has_its_law(scale: float, source: SystemNoise) -> None:
    reach = 4000
    law = dict(zip(range(-reach, reach + 1), student_law(scale, reach).tolist(), strict=True))
    assert fits([draw_student_t(scale, source) for _ in range(6000)], law)


@pytest.mark.refutes("snm-joint")
def test_student_noise_of_another_scale_is_caught() -> None:
    reach = 4000
    law = dict(zip(range(-reach, reach + 1), student_law(22.0, reach).tolist(), strict=True))
    source = SimulatedNoise(1)
    assert not fits([draw_student_t(16.0, source) for _ in range(6000)], law)


@pytest.mark.proves("snm-joint")
def test_shells_cover_every_number_with_its_weight() -> None:
    """Envelope times acceptance, in exact fractions, is one constant times the weight."""
    square, width = Fraction(3 * 16 * 16), 5
    assert 4**width >= square
    constants = set()
    for k in (0, 1, 17, 31, 32, 33, 63, 64, 100, 500, 5000):
        shell = max(0, k.bit_length() - width)
        mass = (
            Fraction(7, 15)
            if shell == 0
            else Fraction(8, 15) * Fraction(7, 8) * Fraction(1, 8) ** (shell - 1)
        )
        accept = (square * 4 ** max(0, shell - 1) / (square + k * k)) ** 2
        assert accept <= 1
        proposed = mass / 2 ** (width + max(shell, 1))
        constants.add(proposed * accept / (square / (square + k * k)) ** 2)
    assert len(constants) == 1


def test_scales_take_the_greatest_rival() -> None:
    joint = JointSmoothMax(3, 1.0, element_wise=True)
    scales = joint.scales(np.array([100.0, 300.0, 200.0])) * joint.alpha
    assert scales == pytest.approx([400.0, 500.0, 500.0])
    assert joint.scales(np.zeros(3)) == pytest.approx([16.0] * 3)
    with pytest.raises(ArgumentError, match="one number without element_wise"):
        JointSmoothMax(3, 1.0).scales(np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("noise", ["student-t", "laplace"])
@pytest.mark.parametrize("source", [SimulatedNoise(1), SystemNoise()], ids=["simulated", "system"])
def test_releases_find_an_obvious_winner(noise: str, source: SystemNoise) -> None:
    joint = JointSmoothMax(4, 1.0, 1e-6, noise)  # type: ignore[arg-type]
    assert joint.release(np.array([0, 10**9, 0, 5]), 10.0, source) == 1


def test_a_release_follows_the_law() -> None:
    joint, source = JointSmoothMax(3, 1.0), SimulatedNoise(7)
    scores = np.array([0, 2000, 1000])
    law = joint.probabilities(scores, 300.0)
    seen = np.bincount([joint.release(scores, 300.0, source) for _ in range(2000)], minlength=3) / 2000
    assert np.abs(seen - law).max() < 0.05


def test_events_and_wrong_arguments() -> None:
    assert isinstance(JointSmoothMax(3, 1.0).event, PureEvent)
    assert isinstance(JointSmoothMax(3, 1.0, 1e-6, "laplace").event, ApproximateEvent)
    with pytest.raises(ArgumentError, match="delta must be positive with Laplace"):
        JointSmoothMax(3, 1.0, 0.0, "laplace")
    with pytest.raises(ArgumentError, match="noise must be one of"):
        JointSmoothMax(3, 1.0, 0.0, "gaussian")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="bounds must be numbers"):
        JointSmoothMax(3, 1.0).scales(-1.0)
    for noise in ("student-t", "laplace"):
        with pytest.raises(ArgumentError, match="candidates must be few enough"):
            _ = JointSmoothMax(10**8, 0.1, 1e-6, noise).beta  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="local must be"):
        smooth_bound(np.array([2.0, 1.0]), 0.1)


def test_log_normal_noise_follows_the_formula_for_the_line_and_claims_nothing() -> None:
    from discreet.mechanisms.smooth.densities import SIGMA
    from discreet.privacy.accounting.conversion import zcdp_budget

    mechanism = JointSmoothMax(4, 1.0, 1e-6, "laplace-log-normal", element_wise=True)
    tilt = mechanism.beta / SIGMA + math.exp(1.5 * SIGMA**2) * mechanism.alpha
    assert 4 * tilt**2 / 2 <= zcdp_budget(1.0, 1e-6) < 4 * tilt**2 / 2 * 1.001
    assert not mechanism.certified and JointSmoothMax(4, 1.0, 1e-6, "laplace").certified
    assert isinstance(mechanism.event, ApproximateEvent)
    bounds = np.array([10.0, 40.0, 10.0, 20.0])
    assert mechanism.scales(bounds) == pytest.approx(bounds / mechanism.alpha)
    with pytest.raises(ArgumentError, match="delta must be positive with Laplace"):
        JointSmoothMax(4, 1.0, 0.0, "laplace-log-normal")


def test_log_normal_draws_have_the_law() -> None:
    mechanism = JointSmoothMax(3, 2.0, 1e-3, "laplace-log-normal")
    scores, source = np.array([0, 150, 300]), SimulatedNoise(6)
    law = mechanism.probabilities(scores, 20.0)
    sample = [mechanism.release(scores, 20.0, source) for _ in range(2000)]
    assert law.sum() == pytest.approx(1.0, abs=1e-6)
    assert fits(sample, dict(enumerate(law.tolist())))
