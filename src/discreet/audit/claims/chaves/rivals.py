"""Section 3: the mechanisms that the paper compares itself with, local dampening among them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.audit.claims.chaves.errors import exponential_miss, flip_miss
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.mechanisms.selection.basic import ExponentialMechanism, PermuteAndFlip
from discreet.mechanisms.smooth.densities import FloatArray
from discreet.randomness import public_generator

_Grid = tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]
_Chance = Callable[[int, float], float]


def exponential_is_private(twist: float = 1.0) -> Evidence:
    """Compute the loss of the exponential mechanism where all of many 0/1 utilities move, epsilon 1."""
    worst = 0.0
    for m in (2, 3, 10, 1_000):
        for ones in range(1, m if m < 10 else 2):
            before = np.concatenate([np.ones(ones), np.zeros(m - ones)]) / 2
            after = 0.5 - before
            laws = [np.exp(u) / np.exp(u).sum() for u in (before, after)]
            worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    return Evidence(
        judged(twist, worst),
        f"The greatest loss at epsilon 1 is {worst:.4f}.",
        {"loss": worst},
    )


def noise_is_flipping(twist: float = 1.0) -> Evidence:
    """Compare the law of a maximum with exponential noise, by quadrature, with permute-and-flip."""
    return _same_law(
        "permute-and-flip",
        lambda m, x: 1 - float(flip_miss(m, np.array(x))),
        lambda m, x: _top(m, x * twist, _exponential_grid()),
    )


def noise_is_exponential_mechanism(twist: float = 1.0) -> Evidence:
    """Compare the law of a maximum with Gumbel noise with the exponential mechanism."""
    return _same_law(
        "the exponential mechanism",
        lambda m, x: 1 - float(exponential_miss(m, np.array(x))),
        lambda m, x: _top(m, x * twist, _gumbel_grid()),
    )


def _exponential_grid() -> _Grid:
    z = (np.arange(200_000) + 0.5) * 2e-4
    return (
        np.asarray(z, dtype=np.float64),
        np.asarray(np.exp(-z) * 2e-4),
        lambda x: np.log(-np.expm1(-np.maximum(x, 1e-300))),
    )


def _gumbel_grid() -> _Grid:
    z = -8 + (np.arange(100_000) + 0.5) * 5e-4
    weight = np.asarray(np.exp(-z - np.exp(-z)) * 5e-4)
    return np.asarray(z, dtype=np.float64), weight, lambda x: -np.exp(-x)


def _top(candidates: int, gap: float, grid: _Grid) -> float:
    places, weight, log_below = grid
    return float(weight @ np.exp((candidates - 1) * log_below(places + gap)))


def _same_law(name: str, closed: _Chance, drawn: _Chance) -> Evidence:
    cases = [(m, x) for m in (2, 7, 50) for x in (0.1, 1.0, 3.0)]
    off = max(abs(closed(m, x) - drawn(m, x)) for m, x in cases)
    return Evidence(
        decided(off < 1e-5), f"Chances differ from {name} by at most {off:.1e}.", {"difference": off}
    )


def flipping_never_worse(twist: float = 1.0) -> Evidence:
    """Compare permute-and-flip with the exponential mechanism on random scores, all laws exact."""
    generator, worst = public_generator(2), -math.inf
    for _ in range(150):
        scores = generator.integers(-30, 1, generator.integers(2, 12))
        laws = [
            kind(10, epsilon).probabilities(scores)
            for kind, epsilon in ((PermuteAndFlip, 3 * twist), (ExponentialMechanism, 3.0))
        ]
        flip, exponential = (float(law @ (scores.max() - scores)) for law in laws)
        worst = max(worst, flip - exponential)
    return Evidence(
        decided(worst <= 1e-9),
        f"On 150 tables its mean error exceeds the exponential mechanism's by at most {worst:.2g}.",
        {"greatest excess": worst},
    )


def gap_is_free(twist: float = 1.0) -> Evidence:
    """Compute the loss of (winner, gap) with Gumbel noise: the chance of i by g is x / (x + exp(g))."""
    worst, gaps = 0.0, np.linspace(0.0, 25.0, 500)
    for m in (2, 10, 1_000):
        for best in (0.0, 2.0, 6.0):
            # Noise of 2 D / epsilon at epsilon 1: the first falls by half a scale, the others rise.
            laws = [_gap_density(math.exp(u) / (m - 1), gaps) for u in (best, best - 1.0)]
            worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    return Evidence(
        judged(twist, worst),
        f"Winner and gap together lose {worst:.4f} at epsilon 1.",
        {"loss": worst},
    )


def _gap_density(x: float, gaps: FloatArray) -> FloatArray:
    return np.asarray(x * np.exp(gaps) / (x + np.exp(gaps)) ** 2)


def claims() -> list[Claim]:
    """Return the claims of section 3."""
    return [
        Claim(
            id="chaves-2025-definition-3-1",
            paper="chaves-2025",
            place="Definition 3.1",
            says="The exponential mechanism with exp(epsilon u / (2 D)) is epsilon-private.",
            verdict="holds",
            because="Attained in the limit of many candidates that all move against the first.",
            evidence=exponential_is_private,
            statements=("exponential",),
        ),
        Claim(
            id="chaves-2025-section-3-flip",
            paper="chaves-2025",
            place="Section 3, report-noisy-max with exponential noise",
            says="It is identical to permute-and-flip.",
            verdict="holds",
            because="The laws agree; the candidate whose noise is above all passes its test first.",
            evidence=noise_is_flipping,
            statements=("permute-and-flip", "flip-all"),
        ),
        Claim(
            id="chaves-2025-section-3-gumbel",
            paper="chaves-2025",
            place="Section 3, report-noisy-max with Gumbel noise",
            says="With scale 2 D / epsilon it is identical to the exponential mechanism.",
            verdict="holds",
            because="The maximum of shifted Gumbel variables has these chances in closed form.",
            evidence=noise_is_exponential_mechanism,
            statements=("exponential", "top-k"),
        ),
        Claim(
            id="chaves-2025-section-3-never-worse",
            paper="chaves-2025",
            place="Section 3, permute-and-flip",
            says="Its expected error is never above that of the exponential mechanism.",
            verdict="holds",
            because="McKenna and Sheldon's theorem; no table was found against it.",
            evidence=flipping_never_worse,
            statements=("permute-and-flip",),
        ),
        Claim(
            id="chaves-2025-section-3-gap",
            paper="chaves-2025",
            place="Section 3, report-noisy-max",
            says="The gap between the two largest noisy utilities can be told at no further cost.",
            verdict="holds",
            because="Tried with Gumbel noise, where the law is in closed form; proven for Laplace "
            "noise too.",
            evidence=gap_is_free,
            statements=("free-gap",),
        ),
    ]
