"""Mechanism F: release a proposed record if enough records of the table could have proposed it.

A seed is drawn from the table, a record y is proposed from it, and y passes if the number of *plausible
seeds* - records that propose y with nearly the seed's own probability - is at least k plus noise.

Deviations from Bindschaedler, Shokri and Gunter (2017) and from the text that takes it over: "no
output" is an output, so a failure is forced with a public probability that covers it; an attempt that
fails is charged like any other, instead of trying until one passes; delta is divided by the number of
records, because only the record in question, as the seed, can cause the bad event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.additive.noise import FloatArray
from discreet.numerics import check_positive, check_whole, up
from discreet.privacy.accounting import ApproximateEvent
from discreet.privacy.certificate import Certificate
from discreet.randomness import IntArray, NoiseSource

_MOST_SEEDS = 10**6
_CHANCES = 2**40


class Proposal(Protocol):
    """How a record is proposed from a seed, in codes of public cells."""

    @property
    def gamma(self) -> float:
        """The factor within which the chances of plausible seeds are."""

    def draw(self, seed: IntArray, source: NoiseSource) -> IntArray:
        """Return a record proposed from a seed."""

    def plausible(self, codes: IntArray, seed: IntArray, record: IntArray) -> int:
        """Return how many rows propose the record within a factor gamma of the seed, seed included."""


@dataclass(frozen=True)
class DeniabilityTest:
    """One attempt: the threshold, its noise, and the forced failure.

    Attributes:
      k: plausible seeds that are asked for.
      t: how many of them carry the proof; below k.
      gamma: plausible seeds have probabilities within this factor.
      scale: of the discrete Laplace noise on the number of plausible seeds.
      rows: the number of records, public.

    Guarantees:
      - An attempt is (epsilon, delta)-differentially private under replace-one, null included.
        [deniability]
    """

    k: int
    t: int
    gamma: float
    scale: float
    rows: int

    @property
    def epsilon(self) -> float:
        """ln(1 + gamma / t) and the noise's own share."""
        return up(1 / self.scale + math.log1p(self.gamma / self.t))

    @property
    def delta(self) -> float:
        """The chance that the record is the seed and passes with t plausible seeds or fewer."""
        q = math.exp(-1 / self.scale)
        return up(q ** (self.k - self.t) / (1 + q) / self.rows)

    @property
    def forced_failure(self) -> float:
        """The public probability of no output, so that no output is covered."""
        return up(1 / (1 + self.rows * math.expm1(min(self.epsilon, 700.0))))

    def pass_probability(self, plausible: int) -> float:
        """Return the exact chance to pass, given the number of plausible seeds."""
        q, over = math.exp(-1 / self.scale), plausible - self.k
        passed = 1 - q ** (over + 1) / (1 + q) if over >= 0 else q ** (-over) / (1 + q)
        return (1 - self.forced_failure) * passed


@dataclass(frozen=True)
class PlausibleDeniability:
    """Many attempts on one table of codes; what fails is released as NaN.

    Guarantees:
      - (epsilon, delta) for all attempts together. [deniability] [approximate-composition]
    """

    certificate: Certificate
    test: DeniabilityTest
    attempts: int
    epsilon: float
    delta: float
    proposal: Proposal | None = None

    name = "plausible deniability"
    step = 1.0
    std = 0.0

    @property
    def events(self) -> tuple[ApproximateEvent]:
        """What the accountant is told."""
        return (ApproximateEvent(self.epsilon, self.delta, self.name),)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the proposed records that pass, flat; NaN for those that fail."""
        assert self.proposal is not None, "the proposal is released before"
        assert self.proposal.gamma <= self.test.gamma, "the test was planned for a smaller factor"
        raw_codes = np.asarray(raw_steps).reshape(self.test.rows, -1)
        noise = source.laplace(self.test.scale, self.attempts)
        found = np.full((self.attempts, raw_codes.shape[1]), np.nan)
        forced = math.ceil(self.test.forced_failure * _CHANCES)
        for place in range(self.attempts):
            seed = raw_codes[source.below(self.test.rows)]
            record = self.proposal.draw(seed, source)
            count = self.proposal.plausible(raw_codes, seed, record)
            if source.below(_CHANCES) >= forced and count >= self.test.k + noise[place]:
                found[place] = record
        return found.ravel()


def plan_attempts(
    attempts: int, *, epsilon: float, delta: float, gamma: float, rows: int
) -> DeniabilityTest:
    """Return the test with the least threshold whose attempts together keep (epsilon, delta).

    Half of delta pays for the attempts' own deltas, half for composing them.

    Guarantees:
      - The attempts of the returned test meet ``composed_delta``. [approximate-composition]
    """
    check_whole("attempts", attempts, 1)
    check_positive(
        "delta", delta, "A record passes with a few plausible seeds by chance: give a delta."
    )
    check_whole("rows", rows, 2)
    each = _share_of_each(attempts, epsilon, delta / 2)
    test = _least_threshold(each, delta / (2 * attempts) * (1 - 1e-9), gamma, rows)
    if composed_delta(test.epsilon, test.delta, attempts, epsilon) > delta:
        raise ArgumentError(
            f"attempts must be fewer for epsilon {epsilon!r} and delta {delta!r}, got {attempts!r}."
        )
    return test


def composed_delta(each: float, delta: float, attempts: int, epsilon: float) -> float:
    """Return the delta at ``epsilon`` of so many (each, delta)-private attempts.

    Guarantees:
      - 1 - (1 - delta)^attempts (1 - d), where d is that of as many randomised responses: the best
        that holds for all mechanisms with these parameters. [approximate-composition]
    """
    from scipy.special import gammaln

    if attempts * each <= epsilon:
        return up(-math.expm1(attempts * math.log1p(-delta)))
    lies = np.arange(attempts + 1)
    combinations = gammaln(attempts + 1) - gammaln(lies + 1) - gammaln(attempts - lies + 1)
    normal = attempts * math.log1p(math.exp(-each)) + attempts * each
    first = combinations + each * (attempts - lies) - normal
    loss = each * (attempts - 2 * lies)
    over = loss > epsilon
    gaps = np.exp(first[over]) * -np.expm1(epsilon - loss[over])
    # Logarithms of factorials are good to 1e-12 of values that are at most some thousands.
    curve = min(1.0, float(np.sum(gaps)) * (1 + 1e-8) + 1e-15)
    return up(1 - math.exp(attempts * math.log1p(-delta)) * (1 - curve))


def _share_of_each(attempts: int, epsilon: float, delta: float) -> float:
    """Return the greatest epsilon of an attempt that composes to (epsilon, delta)."""
    low, high = epsilon / attempts, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        if composed_delta(middle, 0.0, attempts, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low


def _least_threshold(epsilon: float, delta: float, gamma: float, rows: int) -> DeniabilityTest:
    t = np.unique(np.geomspace(1, _MOST_SEEDS, 4_000).astype(np.int64))
    left = epsilon * (1 - 1e-9) - np.log1p(gamma / t)
    t, left = t[left > 0], left[left > 0]
    if not len(t):
        raise ArgumentError(f"epsilon must be more than {gamma:g} / {_MOST_SEEDS}, got {epsilon!r}.")
    margin = np.ceil(-np.log(delta * rows * (1 + np.exp(-left))) / left * (1 + 1e-9))
    k = t + np.maximum(margin, 1).astype(np.int64)
    best = int(np.argmin(k))
    return DeniabilityTest(int(k[best]), int(t[best]), gamma, up(1 / float(left[best])), rows)
