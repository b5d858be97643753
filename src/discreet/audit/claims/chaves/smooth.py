"""Section 4.1: whether smooth noisy max is private as published."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.claims.chaves.laws import (
    DELTA,
    published,
    slid_and_dilated,
    step_delta,
    step_losses,
    walk_loss,
)
from discreet.audit.claims.claim import Claim, Evidence, judged

_TABLES = "Draws from whole weights that were checked for every pair of neighbours, all noises dilated."
_JOINT = "Prices the dilation of all noises: beta is that of the whole vector."
_GAPS = np.geomspace(1.0, 16.0, 33)


def noisy_max_is_private(twist: float = 1.0) -> Evidence:
    """Slide utilities and dilate all noises of Student's T at once, epsilon .1."""
    epsilon = 0.1
    alpha, beta = published("student-t", epsilon)
    pairs = slid_and_dilated(alpha, beta, _GAPS)
    lost = {m: step_losses("student-t", m, *pairs) / epsilon for m in (500, 1_000, 4_096)}
    return Evidence(
        judged(twist, lost[4_096]),
        f"Student's T loses {lost[500]:.3f}, {lost[1_000]:.3f} and {lost[4_096]:.3f} of the epsilon "
        "that is claimed, with 500, 1,000 and 4,096 candidates.",
        {f"loss at {m}": loss for m, loss in lost.items()},
    )


def student_is_pure(twist: float = 1.0) -> Evidence:
    """Walk through all stabilities of 0/1 utilities, epsilon 1."""
    alpha, beta = published("student-t", 1.0)
    gaps = alpha / 2 * np.exp(beta * np.arange(60))
    lost = {m: walk_loss("student-t", m, gaps) for m in (4_096, 6_000, 100_000)}
    return Evidence(
        judged(twist, lost[100_000]),
        f"At epsilon 1 a step loses {lost[4_096]:.3f}, {lost[6_000]:.3f} and {lost[100_000]:.2f} with "
        "4,096, 6,000 and 100,000 candidates.",
        {f"loss at {m}": loss for m, loss in lost.items()},
    )


def laplace_keeps_delta(twist: float = 1.0) -> Evidence:
    """Compute the delta that Laplace noise needs at epsilon 1, for both kinds of utilities."""
    alpha, beta = published("laplace", 1.0)
    gaps = np.linspace(0.1, 40.0, 80)
    general = {m: _needed(m, *slid_and_dilated(alpha, beta, gaps)) for m in (100, 1_000)}
    simple = {m: _needed(m, gaps, gaps * math.exp(-beta)) for m in (10**8, 10**9)}
    return Evidence(
        judged(twist * DELTA, general[1_000]),
        f"At delta {DELTA:g} utilities that slide need {general[100]:.1e} with 100 candidates and "
        f"{general[1_000]:.1e} with 1,000; 0/1 utilities need {simple[10**8]:.1e} with 1e8 and "
        f"{simple[10**9]:.1e} with 1e9.",
        {f"delta at {m}": delta for m, delta in (general | simple).items()},
    )


def _needed(candidates: int, gaps: np.ndarray, after: np.ndarray) -> float:
    return step_delta("laplace", candidates, 1.0, gaps, after)


def log_normal_keeps_delta(twist: float = 1.0) -> Evidence:
    """Compute the delta that Laplace-log-normal noise needs at epsilon 1, for 0/1 utilities."""
    alpha, beta = published("laplace-log-normal", 1.0)
    gaps = np.geomspace(alpha / 2, 200.0, 40)
    needed = {
        m: step_delta("laplace-log-normal", m, 1.0, gaps, gaps * math.exp(-beta)) for m in (2, 100)
    }
    return Evidence(
        judged(twist * DELTA, needed[2]),
        f"With epsilon 1 it needs a delta of {needed[2]:.4f} and {needed[100]:.2f} with 2 and 100 "
        "candidates; no delta enters alpha and beta.",
        {f"delta at {m}": delta for m, delta in needed.items()},
    )


def monotone_halves_noise(twist: float = 1.0) -> Evidence:
    """Take records away one by one: the first candidate alone falls, and all noises dilate."""
    epsilon = 0.1
    alpha, beta = published("student-t", epsilon)
    sizes = np.array([0.0, math.exp(2 * beta), 0.0, 1.0])  # what each record adds to the first one
    smooth = _smooth_by_size(sizes, beta)
    gaps = np.concatenate([[0.0], np.cumsum(sizes)]) - sizes.sum()
    first = _GAPS[:, None] + gaps * alpha / smooth[-1]
    before, after = first[:, 4], first[:, 3] * smooth[4] / smooth[3]
    kept = after > 0
    lost = {
        m: step_losses("student-t", m, before[kept], after[kept]) / epsilon for m in (500, 1_000, 4_096)
    }
    return Evidence(
        judged(twist, lost[4_096]),
        f"With noise S / alpha and a utility that only rises, {lost[500]:.3f}, {lost[1_000]:.3f} and "
        f"{lost[4_096]:.3f} of epsilon are lost with 500, 1,000 and 4,096 candidates.",
        {f"loss at {m}": loss for m, loss in lost.items()},
    )


def _smooth_by_size(added: np.ndarray, beta: float) -> np.ndarray:
    """Return the smooth sensitivity of tables of 0, 1, ... records if the utility depends on that."""
    local = np.maximum(np.append(added, 0.0), np.concatenate([[0.0], added]))
    apart = np.abs(np.subtract.outer(np.arange(len(local)), np.arange(len(local))))
    return np.asarray((np.exp(-beta * apart) * local).max(axis=1))


def claims() -> list[Claim]:
    """Return the claims on privacy."""
    return [
        Claim(
            id="chaves-2025-theorem-4-2",
            paper="chaves-2025",
            place="Theorem 4.2, Algorithm 1",
            says="Noise of scale 2 S(x) / alpha on every utility, with noise that is (alpha, beta)-"
            "admissible on the line, makes the reported maximum (epsilon, delta)-private.",
            verdict="false",
            because="The proof holds the rivals' noises fixed, but S(x) scales all of them. Four "
            "tables in a row suffice, with about 1,000 candidates and Student's T at epsilon .1.",
            instead=_JOINT,
            evidence=noisy_max_is_private,
            control=1.5,
            statements=("snm-dilation", "snm-joint"),
        ),
        Claim(
            id="chaves-2025-corollary-4-3",
            paper="chaves-2025",
            place="Corollary 4.3",
            says="With Student's T noise smooth noisy max is epsilon-private without a delta.",
            verdict="false",
            because="A step of the scale of all noises costs more than epsilon from about 6,000 "
            "candidates on, even for 0/1 utilities; with 4,096 it costs .92 of it.",
            instead=_TABLES,
            evidence=student_is_pure,
            control=2.0,
            statements=("snm-dilation", "snm-exact", "snm-beta"),
        ),
        Claim(
            id="chaves-2025-corollary-4-4",
            paper="chaves-2025",
            place="Corollary 4.4",
            says="With Laplace noise and beta = epsilon / (2 ln(2 / delta)) it is (epsilon, "
            "delta)-private.",
            verdict="false",
            because="The beta is that of one noise. Utilities that slide while all noises dilate "
            "need more than delta from a few hundred candidates on; 0/1 utilities only from about "
            "5e8.",
            instead=_JOINT,
            evidence=laplace_keeps_delta,
            control=3.0,
            statements=("snm-joint", "snm-dilation", "snm-exact"),
        ),
        Claim(
            id="chaves-2025-corollary-4-5",
            paper="chaves-2025",
            place="Corollary 4.5",
            says="With Laplace-log-normal noise and alpha = exp(-3 sigma^2 / 2)(epsilon - beta / "
            "sigma) it is (epsilon, delta)-private.",
            verdict="false",
            because="The formula is Bun and Steinke's for epsilon^2/2-concentrated privacy; no delta "
            "is in it. Two candidates and 0/1 utilities need a delta of .006 at epsilon 1.",
            instead="Certifies this noise only where its law is tabled; elsewhere it is stamped as "
            "not certified.",
            evidence=log_normal_keeps_delta,
            control=1e4,
            statements=("snm-exact", "snm-joint"),
        ),
        Claim(
            id="chaves-2025-corollary-4-6",
            paper="chaves-2025",
            place="Corollary 4.6",
            says="If adding a record lowers no utility, noise of half the scale, S(x) / alpha, "
            "suffices.",
            verdict="false",
            because="Halving is right for sliding at a fixed scale. With a scale that follows the "
            "table the counterexample to Theorem 4.2 is monotone: tables of 4, 3, 2 and 1 records.",
            instead="Uses the interval that a record moves utilities in, at a fixed scale.",
            evidence=monotone_halves_noise,
            control=1.5,
            statements=("snm-joint", "choose"),
        ),
    ]
