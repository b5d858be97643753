"""Smooth noisy max of 0/1 utilities: exact laws, exact promises, and the published form refuted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t as student

from discreet.audit.faults.published_smooth import published, published_table
from discreet.errors import ArgumentError
from discreet.mechanisms.smooth.densities import SMOOTH_NOISES, leader_law, smooth_noise
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax, score_stability
from discreet.mechanisms.smooth.tables import (
    TABLES,
    WHOLE,
    StabilityTable,
    stability_table,
    table_of,
)
from discreet.privacy.accounting import ApproximateEvent, PureEvent
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.laws import as_law, max_divergence

Counts = tuple[int, ...]


def tables_of_counts(classes: int, most: int) -> Iterator[Counts]:
    for counts in itertools.product(range(most + 1), repeat=classes):
        if sum(counts) <= most:
            yield counts


def one_added(counts: Counts) -> Iterator[Counts]:
    for i in range(len(counts)):
        yield (*counts[:i], counts[i] + 1, *counts[i + 1 :])


def worst_over_counts(mechanism: SmoothNoisyMax, stability=score_stability) -> float:  # type: ignore[no-untyped-def]
    """Return the greatest loss over all neighbouring label counts, the winner's law being released."""

    def law(counts: Counts) -> dict[object, float]:
        winner, stable = stability(np.array(counts), 1)
        return as_law(mechanism.probabilities(winner, stable))

    return max(
        max_divergence(law(counts), law(other))
        for counts in tables_of_counts(mechanism.candidates, 8)
        for other in one_added(counts)
    )


# The law


@pytest.mark.parametrize("noise", SMOOTH_NOISES)
@pytest.mark.parametrize("candidates", [2, 3, 100, 10**6])
def test_leader_and_others_share_one(noise: str, candidates: int) -> None:
    gaps = np.array([1e-4, 0.1, 1.0, 7.0, 300.0, 1e5])
    top, other = leader_law(smooth_noise(noise), candidates, gaps)  # type: ignore[arg-type]
    accuracy = 1e-9 if noise == "laplace-log-normal" else 1e-11
    assert np.abs(top + (candidates - 1) * other - 1).max() < accuracy
    assert np.all(np.diff(top) >= 0) and np.all(np.diff(other) < 0)


@pytest.mark.parametrize(("candidates", "gap"), [(2, 0.3), (5, 2.0), (50, 10.0)])
def test_law_agrees_with_adaptive_quadrature(candidates: int, gap: float) -> None:
    top, other = leader_law(smooth_noise("student-t"), candidates, np.array([gap]))
    f, F = (lambda z: student.pdf(z, 3)), (lambda z: student.cdf(z, 3))
    line = (-np.inf, np.inf)
    keeps = quad(lambda z: f(z) * F(z + gap) ** (candidates - 1), *line, epsabs=1e-12)[0]
    lifts = quad(lambda z: f(z) * F(z) ** (candidates - 2) * F(z - gap), *line, epsabs=1e-12)[0]
    assert (top[0], other[0]) == pytest.approx((keeps, lifts), rel=1e-7)


@pytest.mark.parametrize("noise", SMOOTH_NOISES)
def test_law_agrees_with_sampling(noise: str) -> None:
    draw = np.random.default_rng(5)
    shape = (200_000, 4)
    noises = {
        "student-t": lambda: draw.standard_t(3, shape),
        "laplace": lambda: draw.laplace(size=shape),
        "laplace-log-normal": lambda: draw.laplace(size=shape) * np.exp(0.7 * draw.normal(size=shape)),
    }
    noisy = noises[noise]()
    noisy[:, 0] += 1.5
    seen = np.mean(np.argmax(noisy, axis=1) == 0)
    assert seen == pytest.approx(
        leader_law(smooth_noise(noise), 4, np.array([1.5]))[0][0],  # type: ignore[arg-type]
        abs=0.005,
    )


# The promise


@pytest.mark.proves("snm-exact", "gap-stability")
@pytest.mark.parametrize("noise", TABLES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_no_neighbouring_counts_exceed_epsilon(noise: str, epsilon: float) -> None:
    mechanism = SmoothNoisyMax(3, epsilon, noise=noise)  # type: ignore[arg-type]
    worst = worst_over_counts(mechanism)
    assert epsilon * 0.999 <= worst <= epsilon * (1 + 1e-12)


@pytest.mark.proves("snm-exact")
@pytest.mark.parametrize("noise", TABLES)
@pytest.mark.parametrize("candidates", [2, 100, 5000])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_check_agrees_with_floating_laws(noise: str, candidates: int, delta: float) -> None:
    table = stability_table(noise, candidates, 1.0, delta)  # type: ignore[arg-type]
    other = np.array(table.other) / WHOLE
    top = 1 - (candidates - 1) * other
    rises = np.maximum(top[1:] - math.e * top[:-1], 0)
    falls = np.maximum(other[:-1] - math.e * other[1:], 0) * (candidates - 1)
    swap = top[0] - math.e * other[0]
    assert max(rises.max(initial=0), falls.max(initial=0), swap) <= delta + 1e-15
    assert table.keeps(1.0, delta) and 0.99 < table.loss(delta) <= 1.0 + 1e-6


@pytest.mark.refutes("snm-exact")
@pytest.mark.parametrize("noise", TABLES)
def test_five_percent_less_noise_is_caught(noise: str) -> None:
    assert not stability_table(noise, 3, 1.05, 0.0).keeps(1.0)  # type: ignore[arg-type]
    stronger = SmoothNoisyMax(3, 1.05, noise=noise)  # type: ignore[arg-type]
    assert worst_over_counts(stronger) > 1.04


@pytest.mark.refutes("snm-exact")
def test_theorem_7_2_the_exponential_mechanism_with_smooth_sensitivity_is_caught() -> None:
    """Counts (22, 8, 17, 4, 0) and one vote more for the third: the paper's own example."""
    epsilon = 0.5

    def law(gap: int) -> dict[object, float]:
        weights = np.exp(epsilon * np.array([1, 0, 0, 0, 0]) / (2 * math.exp(-gap * epsilon)))
        return as_law(weights / weights.sum())

    assert max_divergence(law(5), law(4)) > 1.7 * epsilon
    ours = SmoothNoisyMax(5, epsilon)
    assert max_divergence(
        as_law(ours.probabilities(0, 4)), as_law(ours.probabilities(0, 3))
    ) <= epsilon * (1 + 1e-12)


@pytest.mark.refutes("gap-stability")
def test_the_plain_gap_is_no_stability_when_a_rival_wins_ties() -> None:
    def plain(counts: np.ndarray, moved: int) -> tuple[int, int]:
        best, second = np.sort(counts)[::-1][:2]
        return int(np.argmax(counts)), int(best - second) // moved

    assert worst_over_counts(SmoothNoisyMax(3, 1.0), plain) > 1.5


@pytest.mark.proves("gap-stability")
@pytest.mark.parametrize("moved", [1, 2, 3])
def test_stability_moves_by_one_and_is_zero_where_winners_change(moved: int) -> None:
    for scores in itertools.product(range(7), repeat=3):
        winner, stability = score_stability(np.array(scores), moved)
        for moves in itertools.product(range(-moved, moved + 1), repeat=3):
            if max(moves) - min(moves) > moved:
                continue
            other, after = score_stability(np.array(scores) + moves, moved)
            assert abs(stability - after) <= 1 if winner == other else stability == after == 0


# Published forms


@pytest.mark.refutes("snm-dilation")
@pytest.mark.parametrize(("candidates", "loss"), [(4096, 0.92), (6000, 1.005), (100_000, 1.728)])
def test_the_published_student_t_breaks_its_epsilon_with_many_candidates(
    candidates: int, loss: float
) -> None:
    table = published_table("student-t", candidates, 1.0, 90)
    assert table.loss() == pytest.approx(loss, abs=0.01)
    assert table.keeps(1.0) == (loss < 1)


@pytest.mark.proves("snm-dilation")
@pytest.mark.parametrize("candidates", [4096, 100_000])
def test_ours_keeps_epsilon_with_as_many(candidates: int) -> None:
    table = stability_table("student-t", candidates, 1.0)
    assert table.keeps(1.0) and len(table.other) > 30


@pytest.mark.proves("snm-dilation")
def test_the_published_laplace_form_is_valid_with_its_delta() -> None:
    assert published_table("laplace", 100_000, 1.0, 200).keeps(1.0, 1e-6)
    assert not published_table("laplace", 100_000, 1.0, 200).keeps(1.0, 1e-12)


@pytest.mark.refutes("snm-beta")
def test_epsilon_in_place_of_beta_loses_three_times_as_much() -> None:
    """exp(-epsilon j), as printed, with few candidates: the loss of a step tends to nu epsilon."""
    table = published_table("student-t", 2, 0.5, 15, beta=0.5)
    assert 3 * 0.5 < table.loss() < 3.2 * 0.5


@pytest.mark.proves("snm-dilation")
@pytest.mark.parametrize(
    ("candidates", "multiplier", "ratio"),
    [(2, 0.1972, 2.574), (100, 0.1718, 2.623), (4096, 0.0569, 1.085), (100_000, 0.0198, 0.5444)],
)
def test_least_noise_relative_to_the_published(
    candidates: int, multiplier: float, ratio: float
) -> None:
    table = stability_table("student-t", candidates, 1.0)
    first, beta = published("student-t", 1.0)
    gaps = np.exp(np.linspace(-4, 12, 300))
    other = leader_law(smooth_noise("student-t"), candidates, gaps)[1]
    found = np.interp(-np.log([o / WHOLE for o in table.other]), -np.log(other), np.log(gaps))
    assert first / math.exp(found[0]) == pytest.approx(multiplier, rel=0.01)
    assert np.diff(found)[:-1].mean() / beta == pytest.approx(ratio, rel=0.01)


# The best table


@pytest.mark.proves("stability-ladder")
@pytest.mark.parametrize("noise", SMOOTH_NOISES)
@pytest.mark.parametrize(("candidates", "epsilon"), [(2, 0.1), (10, 1.0), (4096, 0.5)])
def test_no_smooth_noise_beats_the_best_table(noise: str, candidates: int, epsilon: float) -> None:
    best = stability_table("stability", candidates, epsilon)
    smooth = stability_table(noise, candidates, epsilon)  # type: ignore[arg-type]
    for s in range(len(smooth.other)):
        assert best.top(s) >= smooth.top(s)


@pytest.mark.refutes("stability-ladder")
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_better_table_breaks_the_promise(delta: float) -> None:
    best = stability_table("stability", 4, 1.0, delta)
    for s in range(min(6, len(best.other))):
        less = tuple(o - (i == s) * (o // 1000) for i, o in enumerate(best.other))
        improved = StabilityTable(4, less)
        assert best.other[s] < 1000 or not improved.keeps(1.0, delta)


def test_leaf_majority_as_in_the_notes() -> None:
    """Two classes, a gap of 20, epsilon 0.1: exactly calibrated 0.547, published 0.506."""
    exact = SmoothNoisyMax(2, 0.1, noise="student-t").probabilities(0, 20)[0]
    table = published_table("student-t", 2, 0.1, 30)
    assert exact == pytest.approx(0.547, abs=0.001)
    assert table.shares(20)[0] == pytest.approx(0.506, abs=0.002)
    assert SmoothNoisyMax(2, 0.1).probabilities(0, 19)[0] == pytest.approx(0.929, abs=0.001)


# Releasing


class Said:
    """A source that says one number."""

    simulation = True

    def __init__(self, number: int) -> None:
        self.number = number

    def below(self, count: int) -> int:
        assert count == WHOLE
        return self.number


def test_every_chance_goes_to_the_candidate_it_belongs_to() -> None:
    mechanism = SmoothNoisyMax(4, 1.0)
    for winner, stability in itertools.product(range(4), (0, 3)):
        top, other = mechanism.table.top(stability), mechanism.table.other[stability]
        others = [i for i in range(4) if i != winner]
        assert mechanism.release(winner, stability, Said(0)) == winner  # type: ignore[arg-type]
        assert mechanism.release(winner, stability, Said(top - 1)) == winner  # type: ignore[arg-type]
        for i, index in enumerate(others):
            for chance in (top + i * other, top + (i + 1) * other - 1):
                assert mechanism.release(winner, stability, Said(chance)) == index  # type: ignore[arg-type]
        assert top + 3 * other == WHOLE


@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(2)], ids=["system", "simulated"])
def test_releases_follow_the_law(source: SystemNoise) -> None:
    mechanism = SmoothNoisyMax(3, 1.0)
    seen = np.bincount([mechanism.release(1, 1, source) for _ in range(4000)], minlength=3) / 4000
    assert np.abs(seen - mechanism.probabilities(1, 1)).max() < 0.04


def test_a_delta_can_make_the_answer_certain() -> None:
    mechanism = SmoothNoisyMax(10, 1.0, 1e-6)
    assert mechanism.probabilities(3, 100)[3] == 1.0
    assert mechanism.release(3, 100, SystemNoise()) == 3


def test_names_events_and_wrong_arguments() -> None:
    assert SmoothNoisyMax(3, 1.0).event == PureEvent(1.0, "stability")
    named = SmoothNoisyMax(3, 1.0, 1e-6, "laplace")
    assert named.event == ApproximateEvent(1.0, 1e-6, "smooth noisy max, laplace")
    for wrong in (lambda: SmoothNoisyMax(1, 1.0), lambda: SmoothNoisyMax(2, 0.0)):
        with pytest.raises(ArgumentError, match="must be"):
            wrong()
    with pytest.raises(ArgumentError, match="table must be one of"):
        stability_table("cauchy", 3, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gaps must be"):
        leader_law(smooth_noise("laplace"), 3, np.array([0.0]))
    with pytest.raises(ArgumentError, match="other must be chances"):
        table_of(3, np.array([0.7]))
    with pytest.raises(ArgumentError, match="stability must be"):
        SmoothNoisyMax(3, 1.0).probabilities(0, -1)


@pytest.mark.parametrize("epsilon", [0.01, 30.0, 500.0])
@pytest.mark.parametrize("name", TABLES)
def test_extreme_promises_have_tables(name: str, epsilon: float) -> None:
    assert stability_table(name, 50, epsilon).keeps(epsilon)  # type: ignore[arg-type]
