"""Rankings of groups: calibration, billing and the exact law of many picks together."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.mechanisms import RankingNoise, SelectThenMeasure, ranking_noise
from discreet.mechanisms.selection.registry import ON_SCORES, pick_share
from discreet.privacy.accounting import event_cost
from discreet.privacy.accounting.conversion import zcdp_budget
from discreet.privacy.certificate import Box
from discreet.randomness import SimulatedNoise
from tests.oracles.laws import as_law, max_divergence


def noise_for(groups: int = 1, candidates: int = 4, **options: object) -> RankingNoise:
    terms = {"relation": "replace-one", "epsilon": 1.0, "largest_sum": 1000.0, "groups": groups}
    return ranking_noise(Box(-1, 1).certify(groups * candidates), **{**terms, **options})


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "laplace"])
@pytest.mark.parametrize(("groups", "k", "delta"), [(1, 1, 0.0), (3, 2, 0.0), (20, 2, 1e-6)])
def test_all_picks_together_keep_the_promise(mechanism: str, groups: int, k: int, delta: float) -> None:
    noise = noise_for(groups, k=k, delta=delta, mechanism=mechanism)
    assert len(noise.events) == groups * k
    assert event_cost("basic", noise.events, 1.0, noise.delta).loss == 10**12
    spent = event_cost("zcdp", noise.events, 1.0, noise.delta)
    if noise.delta:
        assert spent.loss <= zcdp_budget(1.0, delta) * 1e12 + groups * k


def test_many_picks_are_cheaper_together_with_a_delta() -> None:
    pure, both = noise_for(50), noise_for(50, delta=1e-6)
    assert both.share > 2 * pure.share and both.kind == "exponential"
    assert noise_for(1, delta=1e-6).delta == 0.0  # nothing to gain for a single pick
    assert noise_for(1).kind == "permute-and-flip"


@pytest.mark.proves("top-k")
@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
def test_two_groups_of_picks_lose_no_more_than_epsilon(kind: str) -> None:
    """Exhaust sums of two groups of two candidates and every move of at most one step."""
    share = pick_share(kind, 1.0, 0.0, 2)[0]
    certificate = Box(0, 1).certify(4)
    noise = RankingNoise(certificate, "replace-one", 1.0, 0.0, 1.0, 2, 1, share, kind)

    def law(raw: tuple[int, ...]) -> np.ndarray:
        first, second = noise.first_law(np.array(raw))
        return np.multiply.outer(first, second).ravel()

    worst = 0.0
    for raw in itertools.product((-1, 0, 2), repeat=4):
        for move in itertools.product((-1, 1), repeat=4):
            other = tuple(r + m for r, m in zip(raw, move, strict=True))
            worst = max(worst, max_divergence(as_law(law(raw)), as_law(law(other))))
    assert 0.25 < worst <= 1.0 + 1e-9


@pytest.mark.refutes("top-k")
def test_picks_that_each_take_the_whole_epsilon_are_caught() -> None:
    noise = noise_for(2)
    greedy = RankingNoise(
        noise.certificate, "replace-one", 1.0, 0.0, noise.step, 2, 1, 1.0, "permute-and-flip"
    )
    with pytest.raises(Exception, match="does not keep"):
        event_cost("basic", greedy.events, 1.0, 0.0)


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip", "laplace"])
def test_sampling_follows_the_law_of_the_first_pick(kind: str) -> None:
    noise = noise_for(2, mechanism=kind, epsilon=4.0)
    raw = np.array([3.0, -5.0, 1.0, 0.0, 0.0, 0.0, 9.0, 1.0]) / noise.step
    raw = raw.astype(np.int64)
    source, counts = SimulatedNoise(3), np.zeros((2, 4))
    for _ in range(3000):
        picks = noise.release(raw, source)[:, 0, 0].astype(int)
        counts[[0, 1], picks] += 1
    assert np.abs(counts / 3000 - noise.first_law(raw)).max() < 4 * math.sqrt(0.25 / 3000)


def test_laplace_tells_the_gap_and_orders_all() -> None:
    noise = noise_for(1, mechanism="laplace", k=4, epsilon=1000.0)
    raw = (np.array([3.0, -5.0, 1.0, 0.2]) / noise.step).astype(np.int64)
    picks = noise.release(raw, SimulatedNoise(0))[0]
    assert picks[:, 0].tolist() == [1, 0, 2, 3]
    assert picks[:3, 1] == pytest.approx([2.0, 2.0, 0.8], abs=0.2) and math.isnan(picks[3, 1])


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("candidates", [2, 5, 20])
def test_no_scores_lose_more_than_the_worst_case(kind: str, candidates: int) -> None:
    noise = noise_for(1, candidates, mechanism=kind)
    rng = np.random.default_rng(0)
    worst = 0.0
    for spread in (0.5, 1, 2, 4, 8):
        for _ in range(20):
            raw = (rng.exponential(spread, candidates) * noise.pick.scale).astype(np.int64)
            lost = (raw.max() - raw) @ noise.first_law(raw)[0]
            worst = max(worst, float(lost) / noise.pick.scale)
    assert worst <= ON_SCORES[kind].worst_loss(candidates) * (1 + 1e-3)


def test_selected_values_carry_noise_for_their_number_alone() -> None:
    certificate = Box(-1, 1).certify(50)
    few = SelectThenMeasure.of(certificate, (4, 9), relation="replace-one", epsilon=1.0, step=2.0**-30)
    all_of_them = SelectThenMeasure.of(
        certificate, tuple(range(50)), relation="replace-one", epsilon=1.0, step=2.0**-30
    )
    assert few.std == pytest.approx(all_of_them.std / 25, rel=1e-6)
    raw = np.arange(50) * 2**40
    noisy = few.release(raw, SimulatedNoise(1))
    assert noisy == pytest.approx(np.array([4, 9]) * 2.0**10, abs=100)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="k must be"):
        noise_for(1, 4, k=5)
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        noise_for(mechanism="gumbel")
    with pytest.raises(ArgumentError, match="epsilon of one pick must be"):
        noise_for(100, epsilon=1e-11)
