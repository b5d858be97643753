"""Noise sources: what they promise besides their laws."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Literal

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
    row_words,
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


def word_of(row: Sequence[float], start: int) -> int:
    """Return the word of a row as the paper has it, in Python's numbers."""
    word, whole = start, 2**64 - 1
    for value in row:
        (bits,) = struct.unpack("<Q", struct.pack("<d", value + 0.0))
        word = ((word ^ bits) + 0x9E3779B97F4A7C15) & whole
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & whole
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & whole
        word ^= word >> 31
    return word


@pytest.mark.proves("row-to-subset")
@pytest.mark.parametrize("layout", ["C", "F"])
def test_a_row_has_the_same_word_wherever_it_stands(layout: Literal["C", "F"]) -> None:
    """In any layout, block, process and machine: trees and subsets of two workers must agree."""
    least = -1.7976931348623157e308
    rows = [[0.0, 1.5, 7.0], [-0.0, 1.5, 7.0], [1.5, 0.0, 7.0], [least, 2.0**-1074, 3.0]] * 3
    values = np.array(rows, order=layout)
    told = [word_of(row, 7) for row in rows]
    assert row_words(values, 7).tolist() == told and told[0] == told[1] != told[2]
    assert row_words(values[5:9], 7).tolist() == told[5:9]
    assert row_words(values[:, ::-1], 7).tolist() == [word_of(row[::-1], 7) for row in rows]
    assert row_words(values[:0], 7).tolist() == [] and row_words(values, 8).tolist() != told
