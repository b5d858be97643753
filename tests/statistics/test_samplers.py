"""Samplers follow their laws: the true law is accepted, laws a little off are rejected.

Every check is a chi-square test at p = 1e-10 on samples so large that the wrong laws lie dozens of
standard deviations away; the same sample and the same check serve both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.mechanisms import AboveThreshold, NoisyMax
from discreet.randomness import NoiseSource, SelectionLaw, SimulatedNoise, SystemNoise
from tests.oracles.goodness import fits
from tests.oracles.selection import permute_and_flip, winner_and_gap

pytestmark = pytest.mark.slow

SOURCES = [
    pytest.param(SystemNoise(), id="system"),
    pytest.param(SimulatedNoise(20_260), id="simulated"),
]
Law = Mapping[Hashable, float]


def laplace_law(scale: float) -> Law:
    reach = math.ceil(40 * scale)
    return {k: math.tanh(0.5 / scale) * math.exp(-abs(k) / scale) for k in range(-reach, reach + 1)}


def gaussian_law(scale: float) -> Law:
    reach = math.ceil(12 * scale)
    weights = {k: math.exp(-0.5 * (k / scale) ** 2) for k in range(-reach, reach + 1)}
    return {k: w / sum(weights.values()) for k, w in weights.items()}


LAWS: dict[str, Callable[[float], Law]] = {"laplace": laplace_law, "gaussian": gaussian_law}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.6, 2.5, 20.0])
def test_integer_noise(source: NoiseSource, kind: str, scale: float) -> None:
    sample = getattr(source, kind)(scale, 40_000).tolist()
    assert fits(sample, LAWS[kind](scale))
    for wrong in (0.9, 1.1):
        assert not fits(sample, LAWS[kind](scale * wrong))
    other = "gaussian" if kind == "laplace" else "laplace"
    assert not fits(sample, LAWS[other](scale))


def cells(sample: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> list[int]:
    """Return in which of 32 equally likely cells of a continuous law every draw lies."""
    return np.minimum((32 * cdf(sample.astype(np.float64))).astype(int), 31).tolist()


EVEN: Law = dict.fromkeys(range(32), 1 / 32)
CDFS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "laplace": lambda x: np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
    "gaussian": ndtr,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("power", [40, 50])
def test_noise_of_a_great_scale(source: NoiseSource, kind: str, power: int) -> None:
    """So fine a lattice is continuous; of real noise the lowest bits must be random as well.

    (The seeded twin rounds floats, whose last bits run out at this scale. It protects nobody.)
    """
    scale = 2.0**power
    sample = getattr(source, kind)(scale, 20_000)
    assert fits(cells(sample, lambda x: CDFS[kind](x / scale)), EVEN)
    for wrong in (0.8, 1.25):
        assert not fits(cells(sample, lambda x, w=wrong: CDFS[kind](x / (scale * w))), EVEN)
    lowest: Law = dict.fromkeys(range(16), 1 / 16)
    assert source.simulation or fits((sample % 16).tolist(), lowest)
    assert not fits((sample * 2 % 16).tolist(), lowest)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_draws_of_one_call_are_independent(source: NoiseSource, kind: str) -> None:
    signs = np.sign(getattr(source, kind)(1.5, 50_000))
    law = LAWS[kind](1.5)
    share = {0: law[0], 1: (1 - law[0]) / 2, -1: (1 - law[0]) / 2}
    pairs: Law = {(a, b): share[a] * share[b] for a, b in itertools.product(share, repeat=2)}
    assert fits(zip(signs[::2].tolist(), signs[1::2].tolist(), strict=True), pairs)
    repeated = np.repeat(signs[::2], 2)
    assert not fits(zip(repeated[::2].tolist(), repeated[1::2].tolist(), strict=True), pairs)


# Selection

SCORES = (0, 2, 3, 5)


def peeled(scores: tuple[int, ...], scale: float, k: int, law: SelectionLaw) -> Law:
    """Return the law of the ordered answer, step by step."""
    answers: dict[Hashable, float] = {}
    for order in itertools.permutations(range(len(scores)), k):
        left, share = list(range(len(scores))), 1.0
        for index in order:
            remaining = tuple(scores[i] for i in left)
            if law == "exponential":
                weights = [math.exp((s - max(remaining)) / scale) for s in remaining]
                step = [w / sum(weights) for w in weights]
            else:
                step = permute_and_flip(remaining, scale)
            share *= step[left.index(index)]
            left.remove(index)
        answers[order] = share
    return answers


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("k", [1, 3])
def test_selection(source: NoiseSource, law: SelectionLaw, k: int) -> None:
    scale = 2.0
    sample = [tuple(source.select(np.array(SCORES), scale, k, law)) for _ in range(5000)]
    assert fits(sample, peeled(SCORES, scale, k, law))
    for wrong in (0.7, 1.3):
        assert not fits(sample, peeled(SCORES, scale * wrong, k, law))
    other: SelectionLaw = "permute-and-flip" if law == "exponential" else "exponential"
    assert not fits(sample, peeled(SCORES, scale, k, other))


def test_exponential_noise_drawn_once_is_not_peeling() -> None:
    """The planted fault that the test above would not forgive: one draw, the three largest."""
    noise = np.random.default_rng(0).exponential(size=(100_000, len(SCORES)))
    order = np.argsort(-(np.array(SCORES) / 2.0 + noise), axis=1)[:, :3]
    sample = [tuple(row) for row in order.tolist()]
    assert not fits(sample, peeled(SCORES, 2.0, 3, "permute-and-flip"))


@pytest.mark.parametrize("source", SOURCES)
def test_uniform_choices(source: NoiseSource) -> None:
    law: Law = dict.fromkeys(range(7), 1 / 7)
    sample = [source.below(7) for _ in range(20_000)]
    assert fits(sample, law)
    assert not fits([source.below(8) % 7 for _ in range(20_000)], law)
    assert source.below(1) == 0


# Whole mechanisms


def winner_and_gap_law(scores: tuple[int, ...], scale: float) -> Law:
    return {outcome: share for outcome, share in winner_and_gap(scores, scale).items()}


@pytest.mark.parametrize("source", SOURCES)
def test_noisy_max_with_gap(source: NoiseSource) -> None:
    mechanism = NoisyMax(1, 2.0)
    sample = []
    for _ in range(5000):
        choice = mechanism.release(np.array((0, 1, 1)), source)
        sample.append((choice.index, choice.gap))
    assert fits(sample, winner_and_gap_law((0, 1, 1), mechanism.scale))
    assert not fits(sample, winner_and_gap_law((0, 1, 1), mechanism.scale * 0.7))
    assert not fits(sample, winner_and_gap_law((0, 1, 1), mechanism.scale * 1.4))


@pytest.mark.parametrize("source", SOURCES)
def test_above_threshold(source: NoiseSource) -> None:
    scores = np.array((0, 1, 3))

    def law(epsilon: float) -> Law:
        shares = AboveThreshold(1, epsilon).probabilities(scores, 2).tolist()
        return dict(zip((0, 1, 2, None), shares, strict=True))

    sample = [AboveThreshold(1, 4.0).release(scores, 2, source) for _ in range(4000)]
    assert fits(sample, law(4.0))
    assert not fits(sample, law(2.0))
    assert not fits(sample, law(8.0))
