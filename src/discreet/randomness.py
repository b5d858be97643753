"""The only source of randomness: exact noise for releases, a seeded twin for simulation.

A release draws from ``SystemNoise``: OpenDP's samplers, and one of our own for Laplace noise, which
work in exact rational arithmetic on entropy of the operating system, so that no output of one table is
impossible for its neighbour.
``SimulatedNoise`` follows the same laws from a seed; whatever it touches is stamped ``simulation``
and carries no privacy, because anyone with the seed can subtract the noise.

Randomness that protects nobody (probe rows, example data) comes from ``public_generator``.

References: Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy";
McKenna, Sheldon (2020), "Permute-and-Flip"; OpenDP >= 0.16.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_whole

IntArray = NDArray[np.int64]
SelectionLaw = Literal["exponential", "permute-and-flip"]

LARGEST_SCALE = 2.0**50
"""Integer noise is drawn exactly up to this scale; far above it 64 bits would cut it off."""

_ROUNDED_NORMAL_FROM = 2.0**10

_LEAST_SCALE = 2.0**-8
"""Below this Laplace noise is all but zero, and the denominator of its scale outgrows 64 bits."""

_BERNOULLI_BITS = 32
_BERNOULLI_LOST = 1e-12
"""More than floating point loses of exp(-x) for x from 0 to 1, relatively."""

_MOST_TURNS = 2**9
_WORD = 2**32

GOLDEN = 0x9E3779B97F4A7C15
"""By how much the numbers that splitmix64 mixes are apart."""


class NoiseSource(Protocol):
    """Where noise comes from. Scales are in whole steps of the caller's lattice."""

    simulation: bool

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw integers with P(k) proportional to exp(-abs(k)/scale)."""

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw integers with P(k) proportional to exp(-k^2/(2 scale^2))."""

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Draw k distinct indices by peeling; each step follows ``law`` on scores / scale."""

    def below(self, count: int) -> int:
        """Draw a uniform whole number from 0 to count - 1."""


class SystemNoise:
    """Exact noise from operating-system entropy: the source of every real release."""

    simulation = False

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Laplace noise."""
        check_scale(scale)
        if scale >= _LEAST_SCALE:
            return _laplace(scale, size)
        dp = _opendp()
        return _drawn(dp.make_laplace(_integers(), dp.l1_distance(T="i64"), scale=scale), size)

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw exact discrete Gaussian noise."""
        check_scale(scale)
        dp = _opendp()
        return _drawn(dp.make_gaussian(_integers(), dp.l2_distance(T="f64"), scale=scale), size)

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Peel k indices with OpenDP's exact comparisons."""
        dp = _opendp()
        # OpenDP names the law by the measure it is best in: Gumbel noise (exponential mechanism)
        # for zero-concentrated, exponential noise (permute-and-flip) for max divergence.
        exponential = law == "exponential"
        measure = dp.zero_concentrated_divergence() if exponential else dp.max_divergence()
        measurement = dp.make_noisy_top_k(
            _integers(), dp.linf_distance(T="i64"), measure, k=k, scale=scale
        )
        # An array is read where it lies; a list of numbers would be copied one by one.
        whole = np.ascontiguousarray(scores, dtype=np.int64)
        return [int(index) for index in measurement(whole)]

    def below(self, count: int) -> int:
        """Draw a uniform whole number."""
        return secrets.randbelow(count)


class SimulatedNoise:
    """The same laws from a seed, for tests and studies. Not private."""

    simulation = True

    def __init__(self, seed: int) -> None:
        check_whole("seed", seed, 0)
        self._generator = np.random.default_rng(seed)

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw the difference of two geometric variables."""
        check_scale(scale)
        success = -math.expm1(-1.0 / scale)
        first, second = self._generator.geometric(success, (2, size))
        return np.asarray(first - second, dtype=np.int64)

    def gaussian(self, scale: float, size: int) -> IntArray:
        """Draw from the table of the law, or, where no table is needed, a rounded normal."""
        check_scale(scale)
        if scale >= _ROUNDED_NORMAL_FROM:
            return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)
        cutoff = math.ceil(12 * scale) + 1
        support = np.arange(-cutoff, cutoff + 1)
        weights = np.exp(-0.5 * (support / scale) ** 2)
        return self._generator.choice(support, size=size, p=weights / weights.sum())

    def select(self, scores: IntArray, scale: float, k: int, law: SelectionLaw) -> list[int]:
        """Peel k indices: Gumbel noise for exponential, exponential noise for permute-and-flip."""
        draw = self._generator.gumbel if law == "exponential" else self._generator.exponential
        left = list(range(len(scores)))
        chosen = []
        for _ in range(k):
            noisy = scores[left] / scale + draw(size=len(left))
            chosen.append(left.pop(int(np.argmax(noisy))))
        return chosen

    def below(self, count: int) -> int:
        """Draw a seeded whole number."""
        return int(self._generator.integers(0, count))


def check_scale(scale: float) -> None:
    """Raise unless integer noise of this scale can be drawn exactly."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ArgumentError(
            f"A noise scale must be positive and at most 2^50 steps, got {scale!r}. "
            "Ask for a larger epsilon."
        )


def noise_source(seed: int | None) -> NoiseSource:
    """Return the exact source, or the seeded twin if a seed is given."""
    return SystemNoise() if seed is None else SimulatedNoise(seed)


def public_generator(seed: int) -> np.random.Generator:
    """Return a generator for choices that are public and touch no private value."""
    return np.random.default_rng(seed)


def below_any(count: int, source: NoiseSource) -> int:
    """Draw a uniform whole number below any count, from words of 32 bits."""
    if count <= _WORD:
        return source.below(count)
    words = -(-(count - 1).bit_length() // 32)
    spare = 32 * words - (count - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(words):
            drawn = drawn * _WORD + source.below(_WORD)
        drawn >>= spare
        if drawn < count:
            return drawn


def _laplace(scale: float, size: int) -> IntArray:
    """Draw exact discrete Laplace noise, many at once (Canonne, Kamath, Steinke 2020, Algorithm 2).

    With scale = t / s: U uniform below t is kept with probability exp(-U / t), V counts
    Bernoulli(1 / e) variables that are one before the first zero; (U + t V) // s is geometric. Minus
    zero is drawn anew.

    Guarantees:
      - The law is that of discrete Laplace noise, exactly. [coins]
    """
    numerator, denominator = float(scale).as_integer_ratio()
    drawn: list[IntArray] = []
    missing = size
    while missing > 0:
        first = _uniform(numerator, 2 * missing + 8)
        first = first[_bernoulli(first, numerator)]
        turns = _turns(len(first))
        # Whole numbers of any size in the one case in exp(512) that 64 bits would not hold.
        kind = np.int64 if turns.max(initial=0) < _MOST_TURNS else object
        size_of = (first.astype(kind) + numerator * turns.astype(kind)) // denominator
        size_of = size_of.astype(np.int64)
        negative = entropy_words(len(first), np.uint8) >= 128
        kept = np.where(negative, -size_of, size_of)[~(negative & (size_of == 0))]
        drawn.append(kept[:missing])
        missing -= len(drawn[-1])
    return np.concatenate(drawn) if drawn else np.zeros(0, dtype=np.int64)


def _turns(size: int) -> IntArray:
    """Return how many Bernoulli(1 / e) variables are one before the first zero."""
    turns = np.zeros(size, dtype=np.int64)
    going = np.arange(size)
    while len(going):
        going = going[_bernoulli(np.ones(len(going), dtype=np.int64), 1)]
        turns[going] += 1
    return turns


def _uniform(count: int, size: int) -> IntArray:
    """Return so many uniform whole numbers below ``count`` <= 2^63."""
    shift = np.uint64(64 - max(1, (count - 1).bit_length()))
    found: list[IntArray] = []
    missing = size
    while missing > 0:
        words = (entropy_words(2 * missing, np.uint64) >> shift).astype(np.int64)
        found.append(words[words < count][:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def _bernoulli(numerators: IntArray, denominator: int) -> NDArray[np.bool_]:
    """Draw Bernoulli(exp(-numerator / denominator)) variables, each one with probability >= 1/e.

    Guarantees:
      - Exact: what the first 32 bits leave open is drawn on. [coins]
    """
    words = entropy_words(len(numerators), np.uint32)
    wanted = np.exp(-(numerators / denominator)) * 2.0**_BERNOULLI_BITS
    ones: NDArray[np.bool_] = words + 1.0 <= wanted * (1 - _BERNOULLI_LOST)
    for i in np.flatnonzero(~ones & (words < wanted * (1 + _BERNOULLI_LOST))):
        exponent = Fraction(int(numerators[i]), denominator)
        ones[i] = is_below_exp(int(words[i]), _BERNOULLI_BITS, exponent, secrets.randbelow)
    return ones


def is_below_exp(drawn: int, bits: int, exponent: Fraction, below: Callable[[int], int]) -> bool:
    """Draw on, until it is known whether a number that begins with these bits is below exp(-exponent).

    Guarantees:
      - Right, however many bits it takes. [flip-all] [coins]
    """
    if exponent == 0:
        return True
    while True:
        drawn, bits = drawn << 32 | below(1 << 32), bits + 32
        if drawn >= 1 << max(0, bits - int(exponent * 7 / 5)):  # exp(-x) < 2^(-1.4 x)
            return False
        if exponent > bits:  # all bits were zero: exp(-x) has no digit here yet
            continue
        digits = 30 + bits
        context = Context(prec=digits)
        power = context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
        value = Fraction(power) * (1 << bits)
        # Both operations are rounded to so many digits; the quotient's error is magnified by itself.
        lost = Fraction(math.ceil(exponent) + 2, 10 ** (digits - 2))
        if drawn + 1 <= value * (1 - lost):
            return True
        if drawn >= value * (1 + lost):
            return False


def entropy_words(count: int, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """Return so many words of the operating system's entropy."""
    return np.frombuffer(secrets.token_bytes(count * np.dtype(kind).itemsize), dtype=kind)


def _drawn(measurement: Any, size: int) -> IntArray:
    return np.asarray(measurement([0] * size), dtype=np.int64)


def _integers() -> Any:
    dp = _opendp()
    return dp.vector_domain(dp.atom_domain(T="i64"))


@cache
def _opendp() -> SimpleNamespace:
    """Import the parts in use; ``opendp.prelude`` takes ten times as long."""
    from opendp import domains, measurements, measures, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return SimpleNamespace(
        make_laplace=measurements.make_laplace,
        make_gaussian=measurements.make_gaussian,
        make_noisy_top_k=measurements.make_noisy_top_k,
        vector_domain=domains.vector_domain,
        atom_domain=domains.atom_domain,
        l1_distance=metrics.l1_distance,
        l2_distance=metrics.l2_distance,
        linf_distance=metrics.linf_distance,
        max_divergence=measures.max_divergence,
        zero_concentrated_divergence=measures.zero_concentrated_divergence,
    )


def shuffled_places(count: int) -> IntArray:
    """Return the numbers below ``count`` in an order that is uniform among all, by system entropy."""
    while True:
        keys = entropy_words(count, np.uint64)
        order = np.argsort(keys, kind="stable")
        if not np.any(np.diff(keys[order]) == 0):  # given that no two are equal, all orders are alike
            return np.asarray(order, dtype=np.int64)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return words that look drawn, one for each (splitmix64: Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        found = words + np.uint64(GOLDEN)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(found ^ (found >> np.uint64(31)))


def row_words(values: NDArray[np.float64], start: int) -> NDArray[np.uint64]:
    """Return words that look drawn, one for every row, from ``start`` and its numbers.

    Guarantees:
      - Equal rows have equal words, whatever is beside them. [row-to-subset] [pfi-marginal]
    """
    words = np.full(len(values), start, dtype=np.uint64)
    for column in values.T:
        bits = np.add(column, 0.0, dtype=np.float64).view(np.uint64)  # one zero, whatever its sign
        words = mixed(words ^ bits)
    return words
