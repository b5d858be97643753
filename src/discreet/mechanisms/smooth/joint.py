"""Smooth noisy max of general utilities: noise on every score, as wide as the score is sensitive here.

The noises of all candidates change their scale together, so beta is that of the whole vector. Noise
lies on the whole numbers and is drawn exactly: discrete Laplace, or a discrete Student's T with three
degrees of freedom, whose weights are rational. The Laplace-log-normal law was analysed for noise on the
line alone (Bun and Steinke); on the lattice nothing is proven of it, so ``certified`` is False here. It
is certified where its law is tabled (see ``smooth_tables``).

References: Nissim, Raskhodnikova, Smith (2007); Bun, Steinke (2019); Chaves et al. (2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.smooth.densities import DEGREES, SIGMA, FloatArray, line_nodes, smooth_noise
from discreet.numerics import check_choice, check_positive, check_probability, check_whole, down, up
from discreet.privacy.accounting import ApproximateEvent, PureEvent
from discreet.privacy.accounting.conversion import zcdp_budget
from discreet.randomness import LARGEST_SCALE, IntArray, NoiseSource, below_any

JointNoiseName = Literal["student-t", "laplace", "laplace-log-normal"]
_NOISES = ("student-t", "laplace", "laplace-log-normal")

_LEAST_SCALE = 16.0
"""Steps: from here on the sum of the T weights is the integral but for a factor of 1 + 1e-70."""

_SLACK = 1e-8
"""Taken off beta: what rounding of scales, of their squares and of the caller's bounds can add."""

_FINE = 2**20


@dataclass(frozen=True)
class JointSmoothMax:
    """Add noise of scale (S_r + max of the other S) / alpha to every score r; report the greatest.

    ``S`` are smooth bounds, one for all candidates or (``element_wise``) one for each: S_r is at least
    the change of score r to any neighbour, in steps, and changes by at most a factor exp(beta) itself.

    Guarantees:
      - (epsilon, delta)-differentially private; Student's T without delta. [snm-joint]
      - Nothing of Laplace-log-normal noise: it follows the formula for the line. Not certified.
    """

    candidates: int
    epsilon: float
    delta: float = 0.0
    noise: JointNoiseName = "student-t"
    element_wise: bool = False

    def __post_init__(self) -> None:
        check_whole("candidates", self.candidates, 2)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_choice("noise", self.noise, _NOISES)
        if self.noise != "student-t" and self.delta == 0:
            raise ArgumentError(
                "delta must be positive with Laplace noise, whose scale cannot follow the table "
                "otherwise, got 0. Give a delta, or use noise='student-t'."
            )

    @property
    def name(self) -> str:
        """The mechanism."""
        return f"joint smooth noisy max, {self.noise}"

    @property
    def event(self) -> PureEvent | ApproximateEvent:
        """What the accountant is told."""
        if self.noise == "student-t":
            return PureEvent(self.epsilon, self.name)
        return ApproximateEvent(self.epsilon, self.delta, self.name)

    @property
    def certified(self) -> bool:
        """Whether the promise is proven."""
        return self.noise != "laplace-log-normal"

    @property
    def alpha(self) -> float:
        """How far a score may move, in scales, for half of epsilon."""
        if self.noise == "laplace-log-normal":
            return down(math.exp(-1.5 * SIGMA**2) * _tilt(self.epsilon, self.delta, self.candidates))
        if self.noise == "laplace":
            return down(self.epsilon / 2)
        return down(self.epsilon * math.sqrt(DEGREES) / (DEGREES + 1))

    @property
    def beta(self) -> float:
        """How smooth the bounds have to be: the scales of all candidates may move by exp(beta)."""
        half = self.epsilon / 2
        if self.noise == "laplace-log-normal":
            low = SIGMA * _tilt(self.epsilon, self.delta, self.candidates)
        elif self.noise == "student-t":
            low = half / (DEGREES * self.candidates) * (1 - 1e-6)
        else:
            low, high = 0.0, half / self.candidates
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if self._dilates(middle) else (low, middle)
        if low <= 2 * _SLACK:
            raise ArgumentError(
                f"candidates must be few enough for their scales to follow the table, "
                f"got {self.candidates}. Give a larger epsilon or delta, or use another mechanism."
            )
        return down(low) - _SLACK

    def _dilates(self, beta: float) -> bool:
        """Return whether Laplace noises may all change their scale by exp(beta) for half of epsilon."""
        from scipy.special import gammaincc

        m, half = self.candidates, self.epsilon / 2
        # Shrinking costs |z| (e^beta - 1) - m beta in all (on the lattice a thousandth of the last term
        # is lost); where some grow and some shrink, a score that grows costs beta instead. |z| is at
        # most a Gamma(m) variable plus m half steps.
        gained = -m * beta if self.element_wise else 0.999 * m * beta
        most = (half + gained) / math.expm1(beta) - m * 0.5 / _LEAST_SCALE
        # A pure half of epsilon comes before, which multiplies what this half adds to delta.
        allowed = self.delta * math.exp(-half) * (1 - 1e-9)
        return m * beta <= half and most > 0 and bool(gammaincc(m, most) <= allowed)

    def scales(self, bounds: FloatArray | float) -> FloatArray:
        """Return the noise scale of every candidate, in steps."""
        given = np.broadcast_to(np.asarray(bounds, dtype=np.float64), (self.candidates,))
        if not np.all((given >= 0) & (given <= LARGEST_SCALE * self.alpha / 4)):
            raise ArgumentError("bounds must be numbers of steps from 0 to 2^48 times alpha.")
        if not self.element_wise and given.min() != given.max():
            raise ArgumentError("bounds must be one number without element_wise, got several.")
        best, second = np.sort(given)[::-1][:2]
        # All noisy scores together are what the log-normal formula speaks of: a score moves alone.
        rival = np.where(given == best, second, best) if self.certified else 0.0
        # Ties for the greatest: then the second is the same number.
        return np.asarray(np.maximum((given + rival) / self.alpha * (1 + 1e-12), _LEAST_SCALE))

    def probabilities(self, scores: IntArray, bounds: FloatArray | float) -> FloatArray:
        """Return the law of the winner for noise without a lattice, by quadrature."""
        noise, scales = smooth_noise(self.noise), self.scales(bounds)
        law = np.empty(self.candidates)
        for i, own in enumerate(scales):
            behind = np.delete(scores - scores[i], i)
            places, weights = line_nodes(sorted({0.0, *(behind / own).tolist()}))
            gap = (places[:, None] * own - behind[None, :]) / np.delete(scales, i)
            law[i] = (weights * noise.density(places)) @ np.exp(noise.log_below(gap).sum(axis=1))
        return law

    def release(self, raw_scores: IntArray, raw_bounds: FloatArray | float, source: NoiseSource) -> int:
        """Return the winner; of equal noisy scores each is equally likely."""
        check_whole("the number of scores", len(raw_scores), self.candidates, self.candidates)
        noisy = [
            int(score) + self._draw(float(scale), source)
            for score, scale in zip(raw_scores, self.scales(raw_bounds), strict=True)
        ]
        tied = [i for i, score in enumerate(noisy) if score == max(noisy)]
        return tied[source.below(len(tied))]

    def _draw(self, scale: float, source: NoiseSource) -> int:
        if self.noise == "student-t":
            return draw_student_t(scale, source)
        if self.noise == "laplace-log-normal":
            scale *= math.exp(SIGMA * int(source.gaussian(_FINE, 1)[0]) / _FINE)
            scale = min(scale, LARGEST_SCALE)
        return int(source.laplace(scale, 1)[0])


def smooth_bound(local: FloatArray, beta: float) -> float:
    """Return the smooth sensitivity: the greatest exp(-beta t) local[t].

    ``local[t]`` is the greatest local sensitivity within distance t; beyond the last entry it may not
    grow, so the last one has to be the global sensitivity.

    Guarantees:
      - At least local[0], and smooth with this beta. [snm-beta]
    """
    check_positive("beta", beta)
    local = np.asarray(local, dtype=np.float64)
    if local.ndim != 1 or len(local) == 0 or np.any(np.diff(local) < 0) or local[0] < 0:
        raise ArgumentError("local must be sensitivities that do not fall with the distance.")
    return up(float(np.max(np.exp(-beta * np.arange(len(local))) * local)))


def draw_student_t(scale: float, source: NoiseSource) -> int:
    """Draw k with P(k) proportional to (1 + k^2 / (3 scale^2))^-2, exactly, in whole numbers.

    By rejection from shells of doubling width: a shell has at most an eighth of the last one's mass.
    """
    square = math.ceil(DEGREES * scale * scale * _FINE)  # 3 scale^2, in units of 1 / _FINE
    width = (square // _FINE).bit_length() // 2 + 1  # 4^width >= 3 scale^2
    while True:
        shell = 0
        if source.below(15) >= 7:
            shell = 1
            while source.below(8) == 0:
                shell += 1
        half = 1 << (width + max(shell, 1) - 1)
        place = below_any(2 * half, source)
        if shell == 0:
            k, least = place - half, square
            if k == -half:
                continue
        else:
            k = (half + (place >> 1)) * (1 if place & 1 else -1)
            least = square << (2 * (shell - 1))
        whole = square + k * k * _FINE
        if below_any(whole, source) < least and below_any(whole, source) < least:
            return k


@lru_cache(maxsize=64)
def _tilt(epsilon: float, delta: float, noises: int) -> float:
    """Return half of what one of the noises may tilt: (beta / sigma + e^(1.5 sigma^2) alpha)^2 / 2."""
    return math.sqrt(zcdp_budget(epsilon, delta) / (2 * noises))
