"""Section 2: smooth sensitivity and admissible noise, as the paper takes them over."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.mechanisms.smooth.densities import DEGREES, FloatArray, smooth_noise
from discreet.randomness import public_generator


def divergence_is_privacy(twist: float = 1.0) -> Evidence:
    """Compare both forms of the promise on random pairs of laws with four outcomes."""
    generator, unequal, private, pairs = public_generator(0), 0, 0, 600
    events = [list(s) for k in range(1, 5) for s in itertools.combinations(range(4), k)]
    for _ in range(pairs):
        p, q = generator.dirichlet(np.ones(4), 2)
        epsilon, delta = generator.uniform(0, 1.5), generator.uniform(0, 0.3)
        excess = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        divergence = max(
            (_log_ratio(p[s].sum(), q[s].sum(), twist * delta) for s in events), default=-math.inf
        )
        private += excess <= delta
        unequal += (excess <= delta) != (divergence <= epsilon)
    return Evidence(
        decided(unequal == 0),
        f"The two forms disagree on {unequal} of {pairs} pairs, of which {private} are private.",
        {"disagreements": float(unequal), "private": float(private)},
    )


def _log_ratio(p: float, q: float, delta: float) -> float:
    return math.log((p - delta) / q) if p > delta else -math.inf


def by_distance(local: FloatArray, beta: float, farthest: FloatArray) -> FloatArray:
    """Return max exp(-beta t) LS(x, t) over t up to ``farthest``, if tables differ in size alone."""
    size = np.arange(len(local))
    apart = np.abs(size[:, None] - size[None, :])
    seen = np.where(apart <= farthest[:, None], np.exp(-beta * apart) * local, 0.0)
    return np.asarray(seen.max(axis=1))


def least_smooth_bound(twist: float = 1.0) -> Evidence:
    """Look at a utility that is one from five records on, and at all tables with a record."""
    beta, size = 0.5, np.arange(40)
    utility = (size >= 5).astype(float)
    moved = np.abs(np.diff(utility))
    local = np.maximum(np.append(moved, 0), np.append(0, moved))
    smooth = by_distance(local, beta, np.asarray(twist * size, dtype=np.float64))[1:]
    lower, upper = np.minimum(smooth[:-1], smooth[1:]), np.maximum(smooth[:-1], smooth[1:])
    jump = math.inf if (lower == 0).any() and (upper[lower == 0] > 0).any() else 0.0
    jump = max(jump, float(np.log(upper[lower > 0] / lower[lower > 0]).max()))
    return Evidence(
        judged(beta, jump, loose_from=math.inf),
        f"It is {smooth[0]:.3f} at 1 record and {smooth[1]:.3f} at 2, for a beta of {beta}.",
        {"beta": beta, "at one record": float(smooth[0]), "at two records": float(smooth[1])},
    )


def smooth_below_global(twist: float = 1.0) -> Evidence:
    """Compare smooth with global sensitivity for random local sensitivities."""
    generator, worst = public_generator(1), 0.0
    for _ in range(200):
        local = generator.exponential(size=20)
        smooth = by_distance(local, generator.uniform(0.01, 2), np.full(20, math.inf))
        worst = max(worst, float(smooth.max() / local.max()))
    return Evidence(
        judged(twist, worst),
        f"The greatest quotient of smooth and global sensitivity is {worst:.6f}.",
        {"quotient": worst},
    )


def two_halves_make_a_whole(twist: float = 1.0) -> Evidence:
    """Give Gaussian noise the greatest alpha and beta of both conditions, and use both at once."""
    epsilon, delta = 8.0, 1e-4
    alpha = _greatest(lambda x: _gaussian_delta(x, 0.0, epsilon / 2), delta / 2)
    beta = _greatest(lambda x: _gaussian_delta(0.0, x, epsilon / 2), delta / 2)
    needed = _gaussian_delta(alpha, beta, epsilon) / delta
    return Evidence(
        judged(twist, needed),
        f"Gaussian noise with alpha {alpha:.3f} and beta {beta:.3f}, each at its limit for epsilon 8 "
        f"and delta 1e-4, needs {needed:.2f} times the delta.",
        {"delta over claimed": needed, "alpha": alpha, "beta": beta},
    )


def _gaussian_delta(shift: float, dilation: float, epsilon: float) -> float:
    """Return the least delta for N(0, 1) and N(shift, exp(dilation)), in both directions."""
    z = np.linspace(-25.0, 25.0, 20_001)
    width = math.exp(dilation)
    p = np.exp(-z * z / 2)
    q = np.exp(-(((z - shift) / width) ** 2) / 2) / width
    excess = [np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
    return float(max(excess) * (z[1] - z[0]) / math.sqrt(2 * math.pi))


def _greatest(needed: Callable[[float], float], allowed: float) -> float:
    """Return the greatest number at which an increasing function is at most ``allowed``."""
    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) <= allowed else (low, middle)
    return low


def student_dilates(twist: float = 1.0) -> Evidence:
    """Measure what a change of scale does to the density of Student's T, per unit of the log."""
    z, step = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 4_000)]), 0.01
    density = smooth_noise("student-t").density
    ratio = np.log(density(z)) - np.log(math.exp(-step) * density(math.exp(-step) * z))
    true = float(np.abs(ratio).max()) / step
    return Evidence(
        judged(twist * (DEGREES + 1), true, loose_from=1.2),
        f"A unit of the log of the scale costs {true:.3f}; the cited constant is {DEGREES + 1}.",
        {"cost": true, "cited": float(DEGREES + 1)},
    )


def claims() -> list[Claim]:
    """Return the claims of section 2."""
    return [
        Claim(
            id="chaves-2025-lemma-2-3",
            paper="chaves-2025",
            place="Lemma 2.3 (with Definition 2.1, Definition 2.2)",
            says="(epsilon, delta)-privacy is a delta-approximate max divergence of at most epsilon.",
            verdict="holds",
            because="The worst event of either form is where one law exceeds exp(epsilon) times the "
            "other.",
            evidence=divergence_is_privacy,
            control=0.5,
            statements=("snm-exact",),
        ),
        Claim(
            id="chaves-2025-definition-2-7",
            paper="chaves-2025",
            place="Definition 2.7, Definition 4.1 (with Definition 2.5, Definition 2.6, Definition "
            "3.5)",
            says="The maximum of exp(-beta t) LS(x, t) over t = 0, ..., |x| is the least smooth bound.",
            verdict="false",
            because="A slip in taking over: the range of t is Nissim et al.'s, for tables of one size. "
            "Where records come and go, as here, a larger table may be more sensitive: a utility that "
            "is one from five records on has S = 0 at one record and S > 0 at two.",
            instead="Takes the maximum over all distances.",
            evidence=least_smooth_bound,
            control=4.0,
            statements=("snm-beta",),
        ),
        Claim(
            id="chaves-2025-corollary-2-8",
            paper="chaves-2025",
            place="Corollary 2.8 (with Definition 2.4, Definition 3.2, Definition 3.4)",
            says="Smooth sensitivity is at most the global one.",
            verdict="holds",
            because="Every term is a local sensitivity times a factor of at most one; attained at t "
            "= 0.",
            evidence=smooth_below_global,
            statements=("snm-beta",),
        ),
        Claim(
            id="chaves-2025-definition-2-9",
            paper="chaves-2025",
            place="Definition 2.9, as cited from Nissim et al. and used in appendix A.1",
            says="Noise that slides and dilates for half of epsilon and half of delta each suffices "
            "for (epsilon, delta)-privacy of f(x) + S(x) / alpha Z. (Here it is a definition; that it "
            "suffices is cited.)",
            verdict="false",
            because="The second half of delta is multiplied by exp(epsilon / 2) when the first half of "
            "epsilon is paid, a factor that the proof of Theorem 4.2 leaves out too; Gaussian noise at "
            "both limits shows it. Pure halves lose nothing.",
            instead="Multiplies what the second half adds to delta by exp(epsilon / 2).",
            evidence=two_halves_make_a_whole,
            control=2.0,
            statements=("snm-joint",),
        ),
        Claim(
            id="chaves-2025-definition-2-9-student",
            paper="chaves-2025",
            place="Definition 2.9 for Student's T, as cited for Corollary 4.3",
            says="Student's T with nu degrees is admissible with beta = epsilon / (2 (nu + 1)).",
            verdict="loose",
            because="One dilation costs nu per unit of the log, not nu + 1: beta may be 4/3 as great.",
            instead="Uses nu.",
            evidence=student_dilates,
            statements=("snm-beta",),
        ),
    ]
