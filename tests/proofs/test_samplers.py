"""Exact samplers: floats decide only what they know, and what is drawn adds up to the law."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from flint import arb

from discreet import randomness
from discreet.mechanisms.selection import alike, flips
from discreet.randomness import SimulatedNoise, is_below_exp
from tests.proofs.machine.balls import fails_somewhere, holds_everywhere
from tests.proofs.machine.cases import code_agrees, every_case, failing_case, small_floats
from tests.proofs.machine.reading import Symbols
from tests.proofs.machine.solver import proved, size_of


def words_are_right(word: int) -> bool:
    """Say whether a first word of 16 bits decides for no exponent it should leave open."""
    least, most = flips._thresholds()
    margin = arb(5e-10)
    surely_one = arb(float(least[word])) + margin <= (arb(2**16) / (word + 1)).log()
    if word == 0:
        return bool(surely_one) and math.isinf(most[0])
    return bool(surely_one) and bool(arb(float(most[word])) - margin >= (arb(2**16) / word).log())


@pytest.mark.checks("flip-all")
def test_every_first_word_decides_only_what_it_knows() -> None:
    every_case(range(2**16), words_are_right)
    # A quotient below 12 is rounded by less than the margin; what is open is drawn on, rightly.
    true, rounded = z3.Reals("true rounded")
    small = [true >= 0, true <= 12, size_of(rounded - true) <= true / 2**53]
    proved(size_of(rounded - true) <= z3.Q(5, 10**10), *small)
    every_case(open_draws(), lambda case: decides_rightly(*case))


def open_draws() -> Iterator[tuple[int, Fraction, int]]:
    for exponent in (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(40, 7)):
        first = int(2**16 * math.exp(-exponent))
        for word, more in itertools.product((first - 1, first, first + 1), (0, 1, 2**31, 2**32 - 1)):
            yield word, exponent, more


def decides_rightly(word: int, exponent: Fraction, more: int) -> bool:
    """Say whether the answer is right for every number that begins with the bits that were drawn."""
    drawn, bits = [word], [16]

    def below(count: int) -> int:
        drawn[0], bits[0] = drawn[0] << 32 | more, bits[0] + 32
        return more

    power = (-arb(exponent.numerator) / exponent.denominator).exp()
    answer = is_below_exp(word, 16, exponent, below)
    least, most = arb(drawn[0]) / arb(2) ** bits[0], arb(drawn[0] + 1) / arb(2) ** bits[0]
    return bool(most <= power) if answer else bool(least >= power)


@pytest.mark.refutes("flip-all")
def test_words_taken_for_their_lower_end_decide_too_much() -> None:
    least, _ = flips._thresholds()
    failing_case(range(1, 2**16), lambda w: (arb(2**16) / w).log() <= arb(float(least[w])))


def read_ratio() -> Fraction:
    """Return the ratio of the weights of two shells as the code accepts them: 3 of 2^3 first bits."""
    counts, lengths = [], []
    source = SimpleNamespace(below=lambda count: counts.append(count) or 0)
    read = Symbols().read(
        alike._accepted, is_below_exp=lambda _, bits, *rest: lengths.append((bits, rest[0])) or True
    )
    assert read(Fraction(5, 2), 1, source)
    (bits, power), (no_bits, left) = lengths
    assert (power, no_bits, left) == (1, 0, Fraction(3, 2))
    return Fraction(counts[0], 2**bits)


def read_weights() -> list[int]:
    """Return the weights with which the code proposes shells that hold one candidate each."""
    proposed: list[list[int]] = []
    read = Symbols().read(
        alike.draw_run,
        max=max,
        _proposed=lambda weights, _: proposed.append(weights) or 0,
        _accepted=lambda *_: True,
    )
    shells = np.arange(alike._SHELLS + 1)
    behind = 1000 * shells + 500 * (shells > 0)
    read(-behind, np.ones(len(shells), dtype=np.int64), 1000.0, SimulatedNoise(0))
    return proposed[0]


@pytest.mark.checks("runs")
def test_a_shell_is_kept_with_a_chance_and_not_with_more() -> None:
    ratio, weights = read_ratio(), read_weights()
    every_case(itertools.pairwise(weights), lambda pair: Fraction(pair[1], pair[0]) == ratio)
    holds_everywhere(lambda x: 1 - (-x).exp() / shell_share(x, ratio), (0.001, 64.0))
    # Beyond the last shell, and for any shell below: a number is no less than its shell.
    left, shells, log_ratio = z3.Reals("left shells log_ratio")
    assert (-arb(1)).exp() < arb(ratio.numerator) / ratio.denominator
    proved(left + shells * log_ratio >= 0, left >= shells, shells >= 0, log_ratio > -1)


def shell_share(x: Any, ratio: Fraction) -> Any:
    """Return the least weight of a shell that a number of the ball may lie in: (ratio)^floor(x)."""
    shell = x.upper().floor()
    return (arb(ratio.numerator) / ratio.denominator) ** shell


@pytest.mark.refutes("runs")
def test_shells_of_a_third_would_be_kept_more_often_than_always() -> None:
    fails_somewhere(lambda x: 1 - (-x).exp() / shell_share(x, Fraction(1, 3)), (1.0, 20.0))


def lost_share(x: Any, quotient: Any, power: Any) -> Any:
    """Return how far a rounded exp(-x), of a rounded quotient x, is from the true one, relatively."""
    return (-x * quotient).exp() * (1 + power) - 1


@pytest.mark.checks("coins")
def test_a_float_power_decides_only_outside_its_margin_and_the_law_is_geometric() -> None:
    lost = arb(randomness._BERNOULLI_LOST)
    roundings = (0.0, 1.0), (-(2.0**-53), 2.0**-53), (-(2.0**-51), 2.0**-51)
    holds_everywhere(lambda *terms: lost - lost_share(*terms), *roundings)
    holds_everywhere(lambda *terms: lost + lost_share(*terms), *roundings)
    every_case(GEOMETRIC, lambda case: has_ratio(*case, keeps_zero=False))
    exponents = [x for x in small_floats(-12, 1, 6) if x <= 1]
    code_agrees(exponents, lambda x: abs(arb(float(np.exp(-x))) / (-arb(x)).exp() - 1) < lost)


GEOMETRIC = list(itertools.product(range(1, 6), range(1, 4), range(1, 6)))
"""Scales t / s and whole numbers."""


def two_sided(turns: int, parts: int, number: int, *, keeps_zero: bool) -> Fraction:
    """Return the weight of a number where a step of U + t V has weight 1/3: signs, minus zero anew."""
    ratio, size = Fraction(1, 3), abs(number)
    places = [u + turns * v for u in range(turns) for v in range(parts * (size + 1))]
    weight = sum((ratio**place for place in places if place // parts == size), Fraction(0))
    return weight if number == 0 and keeps_zero else weight / 2


def has_ratio(turns: int, parts: int, number: int, *, keeps_zero: bool) -> bool:
    """Say whether weights fall by exp(-s / t) a step, from zero on, on both sides."""
    for sign in (-1, 1):
        weights = [
            two_sided(turns, parts, sign * k, keeps_zero=keeps_zero) for k in (number - 1, number)
        ]
        if weights[1] / weights[0] != Fraction(1, 3) ** parts:
            return False
    return True


@pytest.mark.refutes("coins")
def test_minus_zero_that_is_kept_makes_zero_twice_as_likely() -> None:
    found = failing_case(GEOMETRIC, lambda case: has_ratio(*case, keeps_zero=True))
    assert found[2] == 1
    wide = (0.0, 1.0), (-(2.0**-30), 2.0**-30), (0.0, 0.0)
    fails_somewhere(
        lambda *terms: arb(randomness._BERNOULLI_LOST) - lost_share(*terms), *wide, places=4
    )
