"""All Bernoulli variables at once: the law of a walk through candidates, exact where floats are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms.selection import flips
from discreet.mechanisms.selection.basic import PermuteAndFlip
from discreet.mechanisms.selection.flips import permute_and_flip
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.goodness import fits
from tests.oracles.selection import permute_and_flip as walked


@pytest.mark.proves("flip-all")
@pytest.mark.parametrize("scores", [(0, 0), (0, 1, 4), (3, 3, 2, 0, 0)])
def test_drawing_all_variables_has_the_law_of_walking_through_orders(scores: tuple[int, ...]) -> None:
    """Sum over every set of ones; one of them is taken at random."""
    scale = 1.7
    chances = [math.exp((s - max(scores)) / scale) for s in scores]
    law = [0.0] * len(scores)
    for mask in range(1, 2 ** len(scores)):
        ones = [i for i in range(len(scores)) if mask >> i & 1]
        share = math.prod(c if i in ones else 1 - c for i, c in enumerate(chances))
        for i in ones:
            law[i] += share / len(ones)
    assert law == pytest.approx(walked(scores, scale), abs=1e-13)


@pytest.mark.proves("flip-all")
@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(4)], ids=["system", "simulated"])
def test_draws_have_the_law(source: SystemNoise) -> None:
    mechanism, scores = PermuteAndFlip(1, 1.0), np.array([0, 3, 5, 5, -40])
    law = dict(enumerate(mechanism.probabilities(scores).tolist()))
    sample = [permute_and_flip(scores, mechanism.scale, source) for _ in range(8000)]
    assert fits(sample, law)


@pytest.mark.refutes("flip-all")
def test_the_law_of_half_the_scale_is_caught() -> None:
    mechanism, scores = PermuteAndFlip(1, 1.0), np.array([0, 3, 5, 5, -40])
    law = dict(enumerate(mechanism.probabilities(scores).tolist()))
    sample = [permute_and_flip(scores, mechanism.scale / 2, SystemNoise()) for _ in range(8000)]
    assert not fits(sample, law)


class Bits:
    """A source that says the given bits first, most significant first, then zeros."""

    simulation = False

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def below(self, count: int) -> int:
        return self.words.pop(0) if self.words else 0


@pytest.mark.proves("flip-all")
@pytest.mark.parametrize("behind", [1, 3, 20, 44])
def test_undecided_variables_are_drawn_on_to_the_last_digit(behind: int) -> None:
    """Words just below and just above exp(-x), to 48 and 80 bits."""
    scale = 1.5
    import mpmath

    with mpmath.workprec(400):
        exact = mpmath.exp(-mpmath.mpf(behind) / mpmath.mpf(scale))
        for bits in (48, 80, 112):
            digits = int(mpmath.floor(exact * mpmath.mpf(2) ** bits))
            for value, below in ((digits - 1, True), (digits + 1, False)):
                word = value >> (bits - 16)
                rest = [value >> shift & 0xFFFFFFFF for shift in range(bits - 48, -1, -32)]
                assert flips._decide(word, behind, scale, Bits(*rest)) is below  # type: ignore[arg-type]


@pytest.mark.proves("flip-all")
def test_variables_that_are_hardly_ever_one_need_no_long_numbers() -> None:
    assert flips._decide(0, 2**60, 1.0, Bits(0, 0, 0, 1)) is False  # type: ignore[arg-type]
    assert flips._decide(0, 60, 1.0, Bits(0, 0, 0)) is True  # type: ignore[arg-type]


@pytest.mark.refutes("flip-all")
def test_taking_undecided_variables_for_zero_is_caught() -> None:
    """With words of 16 bits a Bernoulli(2^-17) variable would never be one."""
    behind, scale = 12, 1.0
    assert math.exp(-behind / scale) < 2.0**-17
    assert flips._decide(0, behind, scale, Bits(0)) is True  # type: ignore[arg-type]


def test_every_best_candidate_has_a_one() -> None:
    scores = np.array([7, 7, 0])
    ones = flips._bernoulli(scores.max() - scores, 0.01, SystemNoise())
    assert ones.tolist() == [True, True, False]


def test_many_candidates() -> None:
    scores = np.random.default_rng(0).integers(0, 1000, 100_000)
    scores[77] = 100_000
    assert permute_and_flip(scores, 2.0, SystemNoise()) == 77
