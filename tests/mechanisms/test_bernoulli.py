"""Exact Bernoulli(exp(-x)) sampling, and Laplace noise made of it: laws, open bits, minus zero."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet import randomness
from discreet.randomness import SystemNoise, is_below_exp
from tests.oracles.goodness import fits


def laplace_law(scale: float) -> dict[object, float]:
    reach = math.ceil(40 * scale)
    return {k: math.tanh(0.5 / scale) * math.exp(-abs(k) / scale) for k in range(-reach, reach + 1)}


@pytest.mark.proves("coins")
@pytest.mark.parametrize("scale", [2.0**-8, 0.3, 1.0, 2.7, 11.0, 40.25])
def test_noise_has_the_law(scale: float) -> None:
    law = laplace_law(scale)
    sample = SystemNoise().laplace(scale, 60_000).tolist()
    if scale < 0.1:  # nothing but zero
        assert set(sample) == {0}
    else:
        assert fits(sample, law)


@pytest.mark.proves("coins")
@pytest.mark.parametrize("scale", [2.0**30 + 0.5, 2.0**50, 1e12 / 3])
def test_large_noise_has_the_moments_of_the_law(scale: float) -> None:
    """Mean 0 (8 sigma), mean size = scale, and last digits that are as good as even."""
    drawn = SystemNoise().laplace(scale, 60_000)
    share = drawn / scale
    assert abs(share.mean()) < 8 * math.sqrt(2 / 60_000)
    assert abs(np.abs(share).mean() - 1) < 8 / math.sqrt(60_000)
    assert fits((np.abs(drawn) % 8).tolist(), dict.fromkeys(range(8), 1 / 8))


@pytest.mark.refutes("coins")
@pytest.mark.parametrize("scale", [0.3, 2.7])
def test_keeping_minus_zero_is_caught(scale: float) -> None:
    """Zero would come twice as often as it should."""
    law = laplace_law(scale)
    wrong = {k: share * (2 if k == 0 else 1) for k, share in law.items()}
    total = sum(wrong.values())
    sample = SystemNoise().laplace(scale, 60_000).tolist()
    assert not fits(sample, {k: share / total for k, share in wrong.items()})


@pytest.mark.proves("coins")
@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 3), (2**52 + 1, 2**53 - 1), (0, 5)])
def test_open_variables_are_drawn_on_to_the_last_digit(
    monkeypatch: pytest.MonkeyPatch, numerator: int, denominator: int
) -> None:
    """Uniform numbers just below and just above exp(-x), of which the first 32 bits say nothing."""
    with mpmath.workprec(300):
        exact = mpmath.exp(-mpmath.mpf(numerator) / denominator) * mpmath.mpf(2) ** 96
        digits = int(mpmath.floor(exact))
    for value, below in ((digits - 1, True), (digits + 1, numerator == 0)):
        words = [value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF]
        first = min(value >> 64, 2**32 - 1)
        monkeypatch.setattr(
            randomness, "entropy_words", lambda count, kind, w=first: np.array([w], dtype=kind)
        )
        monkeypatch.setattr(randomness.secrets, "randbelow", lambda count, left=words: left.pop(0))
        assert randomness._bernoulli(np.array([numerator]), denominator).tolist() == [below]


@pytest.mark.refutes("coins")
def test_taking_open_variables_for_zero_is_caught() -> None:
    """The first word of 1/e leaves it open: about a third of such variables are one."""
    first = math.floor(math.exp(-1) * 2**32)
    ones = sum(is_below_exp(first, 32, Fraction(1), randomness.secrets.randbelow) for _ in range(300))
    with mpmath.workprec(200):
        share = float(mpmath.exp(-1) * 2**32 - first)
    assert abs(ones - 300 * share) < 8 * math.sqrt(300 * share * (1 - share))
    assert ones > 0


def test_turns_that_64_bits_cannot_hold_are_added_in_whole_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(randomness, "_turns", lambda size: np.full(size, 600))
    drawn = SystemNoise().laplace(2.0**50, 20)
    assert (np.abs(drawn) // 2**50 == 600).all()


def test_no_noise_at_all() -> None:
    assert SystemNoise().laplace(3.0, 0).tolist() == []
    assert SystemNoise().laplace(2.0**-20, 4).tolist() == [0, 0, 0, 0]
