"""Sections I-B and I-C: how far one ranking moves a Borda count, by enumeration of permutations."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.randomness import IntArray

_SELECT = "Uses floor(M^2 / 2), and for the first few selection, which needs M - 1 alone."


@lru_cache(maxsize=8)
def all_permutations(d: int) -> IntArray:
    """Return all permutations of 0, ..., d."""
    return np.array(list(permutations(range(d + 1))))


def displacements(d: int) -> IntArray:
    """Return the sum of |i - phi(i)| of every permutation of 0, ..., d."""
    return np.asarray(np.abs(all_permutations(d) - np.arange(d + 1)).sum(axis=1))


def specially_ordered(d: int, share: float = 1.0) -> IntArray:
    """Return which permutations map this share of each half of the places to the other half."""
    phi, i = all_permutations(d), np.arange(d + 1)
    below = phi[:, i < share * d / 2] >= d / 2
    above = phi[:, i > d - share * d / 2] <= d / 2
    return np.flatnonzero(below.all(axis=1) & above.all(axis=1))


def half_kept_is_improvable(twist: float = 1.0) -> Evidence:
    """Look for permutations that keep a place of the lower half in it and are greatest all the same."""
    found = []
    for d in range(1, 7):
        phi, i, half = all_permutations(d), np.arange(d + 1), twist * d / 2
        stays = ((phi <= half) & (i <= half)).any(axis=1)
        best = displacements(d) == displacements(d).max()
        found += [phi[k].tolist() for k in np.flatnonzero(stays & best)]
    return Evidence(
        decided(not found),
        f"{len(found)} permutations of up to seven places keep one in the lower half and cannot be "
        f"improved, the smallest {found[0] if found else None}.",
        {"counterexamples": float(len(found))},
    )


def special_ones_are_alike(twist: float = 1.0) -> Evidence:
    """Compare the displacements of all specially ordered permutations."""
    spread = {}
    for d in range(1, 7):
        sums = displacements(d)[specially_ordered(d, twist)]
        spread[d] = float(sums.max() - sums.min())
    return Evidence(
        decided(max(spread.values()) == 0),
        f"Over up to seven places their displacements differ by at most {max(spread.values()):.0f}.",
        {f"spread at {d}": value for d, value in spread.items()},
    )


def special_ones_are_greatest(twist: float = 1.0) -> Evidence:
    """Compare them with the greatest displacement of all permutations."""
    worst = 0.0
    for d in range(1, 7):
        special = displacements(d)[specially_ordered(d)].min()
        worst = max(worst, float(displacements(d).max() / special))
    return Evidence(
        judged(twist, worst),
        f"The greatest displacement is {worst:.3f} times theirs, at worst.",
        {"ratio": worst},
    )


def greatest_displacement(twist: float = 1.0) -> Evidence:
    """Compare ceil(d^2 / 2) + d with the greatest displacement of 0, ..., d."""
    true = {d: int(displacements(d).max()) for d in range(1, 8)}
    off = {d: twist * (-(-d * d // 2) + d) - most for d, most in true.items()}
    return Evidence(
        decided(not any(off.values())),
        f"For d = 1, ..., 7 the greatest displacements are {list(true.values())}; the formula is off "
        f"by at most {max(map(abs, off.values())):.0f}.",
        {f"greatest at {d}": float(most) for d, most in true.items()},
    )


def ranking_moves_votes(twist: float = 1.0) -> Evidence:
    """Compare the bound for M items with the greatest change of the points of M items."""
    true = {m: int(displacements(m - 1).max()) for m in range(2, 9)}
    ratio = {m: twist * (-(-m * m // 2) + m) / most for m, most in true.items()}
    exact = all(most == m * m // 2 for m, most in true.items())
    return Evidence(
        judged(min(ratio.values()), 1.0, loose_from=1.1),
        f"The bound is {ratio[2]:.2f} times the truth for 2 items and {ratio[8]:.2f} times for 8; "
        f"floor(M^2 / 2) is {'exact' if exact else 'not exact'}.",
        {f"ratio at {m}": value for m, value in ratio.items()},
    )


def aggregation_is_private(twist: float = 1.0) -> Evidence:
    """Compute the loss of Laplace noise on the points of 13 items when one ranking is reversed."""
    items, epsilon = 13, 1.0
    points = np.arange(items)
    scale = twist * (-(-items * items // 2) + items) / epsilon
    lost = float(np.abs(points - points[::-1]).sum() / scale)
    code = (items * items + items) / (items * items // 2)
    return Evidence(
        judged(epsilon, lost, loose_from=1.1),
        f"At epsilon 1 and 13 items {lost:.3f} is lost; noise is {epsilon / lost:.2f} times what is "
        f"needed, and {code:.2f} times in the authors' code.",
        {"loss": lost, "noise over needed": epsilon / lost, "in code": code},
    )


def claims() -> list[Claim]:
    """Return the claims on rankings."""
    return [
        Claim(
            id="lange-2024-corollary-i-0-1",
            paper="lange-2024",
            place="Corollary I.0.1",
            says="A permutation of 0, ..., d with i <= d/2 and phi(i) <= d/2 for some i can be "
            "improved.",
            verdict="false",
            because="For even d the middle is in both halves: (1, 2, 0) maps 0 to 1 and is greatest. "
            "The proof has < and the statement has <=; with < it holds.",
            evidence=half_kept_is_improvable,
            control=0.9,
            statements=("borda",),
        ),
        Claim(
            id="lange-2024-corollary-i-0-2",
            paper="lange-2024",
            place="Corollary I.0.2 (with Definition I.1)",
            says="All specially ordered permutations have one displacement.",
            verdict="holds",
            because="Each place of the lower half is subtracted and each of the upper half added.",
            evidence=special_ones_are_alike,
            control=0.5,
            statements=("borda",),
        ),
        Claim(
            id="lange-2024-corollary-i-0-3",
            paper="lange-2024",
            place="Corollary I.0.3",
            says="Specially ordered permutations have the greatest displacement.",
            verdict="holds",
            because="Its proof cites Corollary I.0.1 for permutations that are not specially "
            "ordered, to which the strict form applies.",
            evidence=special_ones_are_greatest,
            control=0.5,
            statements=("borda",),
        ),
        Claim(
            id="lange-2024-corollary-i-0-4",
            paper="lange-2024",
            place="Corollary I.0.4",
            says="The greatest displacement of permutations of 0, ..., d is ceil(d^2 / 2) + d.",
            verdict="holds",
            because="It is floor((d + 1)^2 / 2), for d + 1 places.",
            evidence=greatest_displacement,
            control=0.5,
            statements=("borda",),
        ),
        Claim(
            id="lange-2024-corollary-i-0-5",
            paper="lange-2024",
            place="Corollary I.0.5",
            says="One ranking of M items moves the votes by ceil(M^2 / 2) + M in L1.",
            verdict="loose",
            because="It puts d = M in Corollary I.0.4, which is for d + 1 items: floor(M^2 / 2) is "
            "exact. 98 in place of 84 for 13 items, twice the truth for 2.",
            instead=_SELECT,
            evidence=ranking_moves_votes,
            statements=("borda",),
        ),
        Claim(
            id="lange-2024-lemma-iv-2",
            paper="lange-2024",
            place="Lemma IV.2 (Algorithm 4), Section II-C",
            says="Borda totals of rankings of disjoint subsets, any ranking explainer, with Laplace "
            "noise of (ceil(M^2 / 2) + M) / epsilon are epsilon-private.",
            verdict="loose",
            because="One record, replaced in its place, touches one subset and so one ranking. The "
            "noise is 1.17 times what is needed for 13 items, and 2.17 times in the authors' code, "
            "which has M^2 + M.",
            instead=_SELECT,
            evidence=aggregation_is_private,
            control=0.5,
            statements=("borda", "row-to-subset"),
        ),
    ]
