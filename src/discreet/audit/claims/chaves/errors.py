"""Theorem 3.3 and section 4.2: how large errors are, and "never worse".

All laws are exact. One candidate is best and all others are behind by the same amount, in units of the
noise scale: the case in which an error of that size is most likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.audit.claims.chaves.laws import winner_chance
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.mechanisms.smooth.densities import (
    DEGREES,
    SIGMA,
    FloatArray,
    SmoothNoiseName,
    leader_law,
    smooth_noise,
)

_SIZES = (2, 10, 100, 1_000)
_MANY = "Chooses by sums or distances with permute-and-flip or the exponential mechanism; smooth noisy "
_MANY += "max is there to be compared."


def laplace_miss(candidates: int, behind: FloatArray) -> FloatArray:
    """Return the chance that Laplace noise of scale one lets another candidate win."""
    other = leader_law(smooth_noise("laplace"), candidates, behind)[1]
    return np.asarray((candidates - 1) * other)


def flip_miss(candidates: int, behind: FloatArray) -> FloatArray:
    """Return that chance for permute-and-flip, which is noisy max with exponential noise."""
    accept = np.exp(-behind)
    return np.asarray(1 + np.expm1(candidates * np.log1p(-accept)) / (candidates * accept))


def exponential_miss(candidates: int, behind: FloatArray) -> FloatArray:
    """Return that chance for the exponential mechanism."""
    others = (candidates - 1) * np.exp(-behind)
    return np.asarray(others / (1 + others))


def exponential_noise_errs_little(twist: float = 1.0) -> Evidence:
    """Compare both bounds of Theorem 3.3 with the law of permute-and-flip."""
    tails, means = [], []
    for m in _SIZES:
        behind = math.log(m) + np.linspace(0.05, 12.0, 60)
        tails.append(float((flip_miss(m, behind) / (m * np.exp(-behind))).max()))
        places = np.linspace(0.1, 20.0, 200)
        means.append(float((places * flip_miss(m, places)).max()) / (math.log(m) + 1))
    worst = max(*tails, *means)
    return Evidence(
        judged(twist, worst),
        f"The chance of an error is at most {max(tails):.3f} of the first bound, the mean error found "
        f"at most {max(means):.2f} of the second.",
        {"tail over bound": max(tails), "mean over bound": max(means)},
    )


def laplace_tail(twist: float = 1.0) -> Evidence:
    """Compare Lemma 4.7 with the law of the difference of two Laplace noises, and of more."""
    behind = np.linspace(0.5, 12.0, 47)
    ratio = {m: laplace_miss(m, behind) / (m * np.exp(-behind)) for m in (2, 10, 100)}
    worst = max(float(over.max()) for over in ratio.values())
    first = behind[int(np.argmax(ratio[2] > 1 + 1e-9))]
    return Evidence(
        judged(twist, worst),
        f"Two candidates that are {first:.2f} noise scales apart err more often than the bound; "
        f"12 scales apart, {ratio[2][-1]:.2f} times as often (100 candidates: {ratio[100][-1]:.2f}).",
        {"ratio at 12": float(ratio[2][-1]), "first violated at": float(first), "worst": worst},
    )


def laplace_tail_by_t(twist: float = 1.0) -> Evidence:
    """Do so in the form of Theorem 4.8 (i), for two candidates: exp(-t) at ln 2 + t scales."""
    t = np.linspace(0.25, 12.0, 48)
    ratio = laplace_miss(2, math.log(2) + t) * np.exp(t)
    first = float(t[int(np.argmax(ratio > 1 + 1e-9))])
    return Evidence(
        judged(twist, float(ratio.max())),
        f"For two candidates the bound fails from t = {first:.2f} on; at t = 12 the error is "
        f"{ratio[-1]:.2f} times as likely.",
        {"ratio at 12": float(ratio[-1]), "first violated at": first},
    )


def laplace_mean_error(twist: float = 1.0) -> Evidence:
    """Look for the greatest mean error, in noise scales, beside ln |R| + 1."""
    found = {}
    for m in (*_SIZES, 10**6):
        places = np.linspace(0.2, 1.5 * math.log(m) + 4, 40)
        found[m] = float((places * laplace_miss(m, places)).max()) / (math.log(m) + 1)
    return Evidence(
        judged(twist, max(found.values())),
        f"The greatest mean error found is {found[2]:.2f} of the bound with 2 candidates, "
        f"{found[1_000]:.2f} with 1,000 and {found[10**6]:.2f} with a million.",
        {f"share at {m}": share for m, share in found.items()},
    )


def _against(rival: Callable[[int, FloatArray], FloatArray], twist: float) -> tuple[float, int, float]:
    """Return the worst quotient of the errors of smooth noisy max and a rival, and where it is."""
    behind, worst = np.linspace(0.1, 12.0, 48), (0.0, 2, 0.0)
    for m in (2, 10, 100):
        # Noise of 4 S / epsilon with S = twist / 2, the rival's of 2 / epsilon.
        ratio = laplace_miss(m, behind / twist) / rival(m, behind)
        at = int(ratio.argmax())
        worst = max(worst, (float(ratio[at]), m, float(behind[at])))
    return worst


def never_worse_than_flip(twist: float = 1.0) -> Evidence:
    """Compare errors at S = (global sensitivity) / 2, the greatest that Theorem 4.10 allows."""
    ratio, candidates, behind = _against(flip_miss, twist)
    small = float(laplace_miss(2, np.array([1 / twist]))[0] / flip_miss(2, np.array([1.0]))[0])
    return Evidence(
        judged(1.0, max(ratio, small), loose_from=math.inf),
        f"With {candidates} candidates that are {behind:.0f} scales apart smooth noisy max errs "
        f"{ratio:.2f} times as often as permute-and-flip, with 2 that are one apart {small:.2f} times.",
        {"worst ratio": ratio, "ratio of two, one apart": small},
    )


def never_worse_than_exponential(twist: float = 1.0) -> Evidence:
    """Compare errors with those of the exponential mechanism at the same S."""
    ratio, candidates, behind = _against(exponential_miss, twist)
    one = np.array([1.0])
    small = float(laplace_miss(2, one / twist)[0] / exponential_miss(2, one)[0])
    return Evidence(
        judged(1.0, max(ratio, small), loose_from=math.inf),
        f"With {candidates} candidates that are {behind:.0f} scales apart smooth noisy max errs "
        f"{ratio:.2f} times as often as the exponential mechanism, with 2 that are one apart "
        f"{small:.3f} times.",
        {"worst ratio": ratio, "ratio of two, one apart": small, "scales apart": behind},
    )


def variances_order_bounds(twist: float = 1.0) -> Evidence:
    """Integrate the variances that Chebyshev's inequality needs; ask which noise wins more often."""
    z = np.concatenate([[0.0], np.geomspace(1e-6, 1e7, 20_001)])
    claimed: dict[SmoothNoiseName, float] = {
        "laplace": 2.0,
        "student-t": DEGREES / (DEGREES - 2),
        "laplace-log-normal": 2 * math.exp(2 * SIGMA**2),
    }
    off = 0.0
    for noise, variance in claimed.items():
        density = smooth_noise(noise).density(z)
        off = max(off, abs(twist * variance / float(2 * np.trapezoid(z * z * density, z)) - 1))
    cases = [(epsilon, stability) for epsilon in (0.1, 1.0) for stability in (0, 20, 100, 400)]
    fewer = sum(
        winner_chance("laplace", 10, *case) < winner_chance("student-t", 10, *case) for case in cases
    )
    return Evidence(
        decided(off < 1e-4),
        f"Variances are right to {off:.1g}. The noise that they favour at b = 1, Laplace's, wins less "
        f"often than Student's T in {fewer} of {len(cases)} cases, as scales and betas differ.",
        {"relative difference": off, "wins less often": float(fewer), "cases": float(len(cases))},
    )


def claims() -> list[Claim]:
    """Return the claims on errors."""
    return [
        Claim(
            id="chaves-2025-theorem-3-3",
            paper="chaves-2025",
            place="Theorem 3.3",
            says="Noisy max with exponential noise errs by 2 D (ln|R| + t) / epsilon or more with a "
            "chance of at most exp(-t), and by 2 D (ln|R| + 1) / epsilon on average.",
            verdict="loose",
            because="Both follow from the law of permute-and-flip. The chance is at most half of "
            "exp(-t): a rival that passes its own test still has to come first.",
            instead="Computes the law itself.",
            evidence=exponential_noise_errs_little,
            control=0.25,
            statements=("permute-and-flip", "flip-all"),
        ),
        Claim(
            id="chaves-2025-lemma-4-7",
            paper="chaves-2025",
            place="Lemma 4.7",
            says="Smooth noisy max with Laplace noise errs by t or more with a chance of at most "
            "|R| exp(-epsilon t / 4 S).",
            verdict="false",
            because="Two noises differ, not one: for two candidates the chance is exp(-x)(2 + x) / 4 "
            "at x noise scales, which exceeds 2 exp(-x) as soon as x > 6. The proof divides the "
            "chances of two candidates as if the maximum were the same fixed number for both.",
            instead="States no tail bound: the winner's chance is in a table.",
            evidence=laplace_tail,
            control=3.0,
            statements=("snm-exact",),
        ),
        Claim(
            id="chaves-2025-theorem-4-8-i",
            paper="chaves-2025",
            place="Theorem 4.8 (i)",
            says="It errs by 4 S (ln|R| + t) / epsilon or more with a chance of at most exp(-t).",
            verdict="false",
            because="It is Lemma 4.7 in other letters: for two candidates the quotient is (2 + ln 2 "
            "+ t) / 8, above one for t > 5.31.",
            instead="States no tail bound: the winner's chance is in a table.",
            evidence=laplace_tail_by_t,
            control=2.0,
            statements=("snm-exact",),
        ),
        Claim(
            id="chaves-2025-theorem-4-8-ii",
            paper="chaves-2025",
            place="Theorem 4.8 (ii)",
            says="It errs by at most 4 S (ln|R| + 1) / epsilon on average.",
            verdict="holds",
            because="Its proof rests on Lemma 4.7, but it follows without: the error is at most the "
            "greatest noise less the best candidate's, on average at most 1 + 1/2 + ... + 1/|R| "
            "scales.",
            evidence=laplace_mean_error,
            control=0.5,
            statements=("snm-exact",),
        ),
        Claim(
            id="chaves-2025-theorem-4-10",
            paper="chaves-2025",
            place="Theorem 4.10 (with Definition 4.9)",
            says="If S is at most half the global sensitivity, smooth noisy max with Laplace noise "
            "is never worse than noisy max with exponential noise, in chance and in mean.",
            verdict="false",
            because="The proof compares two upper bounds. At S = D / 2 both noises have one scale, "
            "and two candidates suffice: (2 + x) / 4 exp(-x) is above exp(-x) / 2 for every gap x.",
            instead=_MANY,
            evidence=never_worse_than_flip,
            control=0.25,
            statements=("permute-and-flip", "snm-exact"),
        ),
        Claim(
            id="chaves-2025-corollary-4-11",
            paper="chaves-2025",
            place="Corollary 4.11",
            says="Under the same condition it is never worse than permute-and-flip, the exponential "
            "mechanism and noisy max with Gumbel noise.",
            verdict="false",
            because="It rests on Theorem 4.10. For two candidates x noise scales apart the errors "
            "have the quotient (2 + x)(1 + exp(-x)) / 4, which is above one for every x > 0.",
            instead=_MANY,
            evidence=never_worse_than_exponential,
            control=0.25,
            statements=("exponential", "permute-and-flip", "inverse-sensitivity"),
        ),
        Claim(
            id="chaves-2025-section-4-2-noises",
            paper="chaves-2025",
            place="Section 4.2, comparison of noises",
            says="By Chebyshev's inequality Student's T with d degrees has a lower bound than Laplace "
            "noise if d / (d - 2) < 2 b^2, and Laplace log-normal noise if exp(sigma^2) < b.",
            verdict="holds",
            because="The variances are right, and Chebyshev's bounds are ordered as they are. As an "
            "aid in choosing a noise it does not go far: it leaves out the scale 2 S / alpha, in which "
            "alpha and, through beta, S differ between noises.",
            instead="Compares the chances of the winner under the calibration in use.",
            evidence=variances_order_bounds,
            control=2.0,
            statements=("snm-exact", "stability-ladder"),
        ),
    ]
