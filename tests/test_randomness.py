"""Noise sources: what they promise besides their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.randomness import (
    LARGEST_SCALE,
    NoiseSource,
    SimulatedNoise,
    SystemNoise,
    check_scale,
    noise_source,
    public_generator,
)

SOURCES = [pytest.param(SystemNoise(), id="system"), pytest.param(SimulatedNoise(1), id="simulated")]
KINDS = ["laplace", "gaussian"]


def draw_everything(source: NoiseSource) -> list[object]:
    scores = np.array([3, 1, 2])
    return [
        source.laplace(5.0, 4).tolist(),
        source.gaussian(5.0, 4).tolist(),
        source.gaussian(2.0**20, 4).tolist(),
        source.select(scores, 2.0, 2, "exponential"),
        source.select(scores, 2.0, 2, "permute-and-flip"),
        source.below(10**6),
    ]


def test_a_seed_repeats_itself_and_says_so() -> None:
    assert draw_everything(SimulatedNoise(7)) == draw_everything(SimulatedNoise(7))
    assert draw_everything(SimulatedNoise(7)) != draw_everything(SimulatedNoise(8))
    assert SimulatedNoise(7).simulation is True


def test_real_noise_never_repeats_itself_and_says_so() -> None:
    assert draw_everything(SystemNoise()) != draw_everything(SystemNoise())
    assert SystemNoise().simulation is False


def test_no_seed_means_real_noise() -> None:
    assert isinstance(noise_source(None), SystemNoise)
    assert isinstance(noise_source(0), SimulatedNoise)


def test_public_randomness_is_seeded() -> None:
    assert public_generator(3).integers(10**9) == public_generator(3).integers(10**9)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-3, 0.5, 7.0, 2.0**20, LARGEST_SCALE])
def test_noise_is_64_bit_integers_far_from_their_ends(
    source: NoiseSource, kind: str, scale: float
) -> None:
    drawn = getattr(source, kind)(scale, 500)
    assert drawn.shape == (500,) and drawn.dtype == np.int64
    assert np.abs(drawn.astype(float)).max() < 2.0**60
    if scale >= 0.5:
        assert len(np.unique(drawn)) > 1


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, LARGEST_SCALE * 1.01])
def test_scales_that_cannot_be_drawn_are_refused(source: NoiseSource, kind: str, scale: float) -> None:
    """Above 2^62 the sampler would cut noise off at the ends of 64 bits, which lays the sum bare."""
    with pytest.raises(ArgumentError, match=r"A noise scale must be .* Ask for a larger epsilon\.$"):
        getattr(source, kind)(scale, 3)
    with pytest.raises(ArgumentError, match="A noise scale must be"):
        check_scale(scale)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_wrong_seeds_are_refused(seed: int) -> None:
    with pytest.raises(ArgumentError, match="seed must be a whole number"):
        noise_source(seed)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
def test_selection_returns_different_indices_best_first(source: NoiseSource, law: str) -> None:
    scores = np.array([0, 10**6, 3 * 10**6, 2 * 10**6])
    assert source.select(scores, 1.0, 3, law) == [2, 3, 1]  # type: ignore[arg-type]
    assert sorted(source.select(scores, 1e9, 4, law)) == [0, 1, 2, 3]  # type: ignore[arg-type]
    far = np.array([-(2**62), 2**62, 2**62 - 10**6])
    assert source.select(far, 1.0, 1, law) == [1]  # type: ignore[arg-type]
