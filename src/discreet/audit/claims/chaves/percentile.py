"""Section 5: percentiles, by enumeration of all small tables over three values.

The paper numbers records x_1, ..., x_n and its authors' code from zero. From zero the median of n
records is the one with n // 2 records before it; from one, k = floor(n / 2) has no record at n = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims.chaves.laws import published, walk_loss
from discreet.audit.claims.claim import Claim, Evidence, Verdict, decided, judged
from discreet.randomness import IntArray

BoolArray = NDArray[np.bool_]

_VALUES = 3
_DISTANCES = "Counts edits exactly, on a public grid of values."


def small_tables(most: int) -> IntArray:
    """Return the counts of all tables of 1 to ``most`` records, small ones first."""
    found = [counts for counts in product(range(most + 1), repeat=_VALUES) if 1 <= sum(counts) <= most]
    return np.array(sorted(found, key=lambda counts: (sum(counts), counts)), dtype=np.int64)


def answers(tables: IntArray) -> IntArray:
    """Return the median of every table, the record at n // 2 counted from zero."""
    rank = tables.sum(axis=1) // 2
    return np.asarray((np.cumsum(tables, axis=1) <= rank[:, None]).sum(axis=1))


def sides(tables: IntArray) -> IntArray:
    """Return how often the median is repeated to the left and to the right of its place."""
    rank, answer = tables.sum(axis=1) // 2, answers(tables)
    at = np.take_along_axis(tables, answer[:, None], axis=1)[:, 0]
    below = np.take_along_axis(np.cumsum(tables, axis=1), answer[:, None], axis=1)[:, 0] - at
    return np.stack([rank - below, below + at - 1 - rank])


def published_repeats(tables: IntArray) -> IntArray:
    """Return the paper's j: the repetitions on the shorter side."""
    return np.asarray(sides(tables).min(axis=0))


def onsets(tables: IntArray) -> IntArray:
    """Return the least t with LS(x, t) = 1: the edits that change the answer, less one."""
    beyond = small_tables(2 * int(tables.sum(axis=1).max()) + 1)
    apart = np.abs(tables[:, None, :] - beyond[None, :, :]).sum(axis=2)
    other = answers(tables)[:, None] != answers(beyond)[None, :]
    return np.asarray(np.where(other, apart, apart.max()).min(axis=1) - 1)


def neighbours(tables: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the places of every table and of each that has one record more."""
    place = {tuple(counts): i for i, counts in enumerate(tables.tolist())}
    for counts, i in place.items():
        for value in range(_VALUES):
            more = tuple(c + (v == value) for v, c in enumerate(counts))
            if more in place:
                yield i, place[more]


def index_exists(twist: float = 1.0) -> Evidence:
    """Look for percentiles whose k is no record's number, numbered from one and from zero."""
    cases = [(p, n) for p in (1, 50, 90, 99) for n in range(1, 200)]
    missing = {
        first: [(p, n) for p, n in cases if not first <= int(twist * p * n / 100 + 1e-9) < first + n]
        for first in (1, 0)
    }
    least = min(missing[1], key=lambda case: case[1], default=None)
    return Evidence(
        decided(not all(missing.values())),
        f"Numbered from one, k is no record in {len(missing[1])} of {len(cases)} cases, first for "
        f"(p, n) = {least}; numbered from zero in {len(missing[0])}.",
        {"missing from one": float(len(missing[1])), "missing from zero": float(len(missing[0]))},
    )


def utility_moves_by_one(twist: float = 1.0) -> Evidence:
    """Compare the utilities of all candidates between neighbours."""
    tables = small_tables(8)
    answer = answers(tables)
    moved = max(float(answer[a] != answer[b]) for a, b in neighbours(tables))
    return Evidence(
        judged(twist, moved), f"One edit moves a utility by at most {moved:.0f}.", {"move": moved}
    )


def onset_verdict(late: BoolArray, early: BoolArray) -> Verdict:
    """Return the verdict on a distance that is claimed, by tables that change earlier and later."""
    return "false" if late.any() else "loose" if early.any() else "holds"


def _onset_evidence(claimed: IntArray, tables: IntArray, name: str) -> Evidence:
    true = onsets(tables)
    late, early = claimed > true, claimed < true
    first = tables[int(np.argmax(late))].tolist() if late.any() else None
    return Evidence(
        onset_verdict(late, early),
        f"Of {len(tables)} tables {late.sum()} can change earlier than {name} says, the smallest with "
        f"counts {first}, and {early.sum()} only later.",
        {"too late": float(late.sum()), "too early": float(early.sum()), "tables": float(len(tables))},
    )


def greater_side_is_safe(twist: float = 1.0) -> Evidence:
    """Read j as the figure defines it, as the longer side."""
    tables = small_tables(7)
    longer = 2 * sides(tables).max(axis=0) + 1
    return _onset_evidence(np.floor(twist * longer).astype(np.int64), tables, "the longer side")


def onset_is_odd(twist: float = 1.0) -> Evidence:
    """Compare 2 j + 1 with the least distance at which the local sensitivity is one."""
    tables = small_tables(7)
    claimed = 2 * published_repeats(tables) + 1
    return _onset_evidence(np.floor(twist * claimed).astype(np.int64), tables, "2 j + 1")


def positions_are_stable(twist: float = 1.0) -> Evidence:
    """Read candidates as positions in the sorted table, and look for edits that move a utility."""
    tables = small_tables(8)
    inner = tables.sum(axis=1) < 8
    marks = [
        _marked_positions(counts, answer)
        for counts, answer in zip(tables, answers(tables), strict=True)
    ]
    moved = np.zeros(len(tables), dtype=bool)
    for a, b in neighbours(tables):
        if marks[a] != marks[b]:
            moved[[a, b]] = True
    claimed = np.floor(twist * (2 * published_repeats(tables) + 1))[inner]
    late = moved[inner] & (claimed > 0)
    return Evidence(
        onset_verdict(late, ~late),
        f"{moved[inner].sum()} of {inner.sum()} tables have local sensitivity 1 at distance zero.",
        {"sensitive": float(moved[inner].sum()), "tables": float(inner.sum())},
    )


def _marked_positions(counts: IntArray, answer: int) -> range:
    """Return the positions at which the sorted records are equal to the median."""
    below = int(counts[:answer].sum())
    return range(below, below + int(counts[answer]))


def repeats_are_smooth(twist: float = 1.0) -> Evidence:
    """Measure by how many beta the log of S = exp(-(2 j + 1) beta) jumps, and what that loses."""
    tables = small_tables(9)
    power = 2 * published_repeats(tables) + 1
    jump = float(max(abs(power[a] - power[b]) for a, b in neighbours(tables)))
    alpha, beta = published("student-t", 1.0)
    gaps = alpha / 2 * np.exp(beta * np.arange(1, 60, 2))
    lost = walk_loss("student-t", 4_096, gaps)
    return Evidence(
        judged(twist, jump),
        f"One edit changes ln S by {jump:.0f} beta; with Student's T and 4,096 candidates an edit then "
        f"loses {lost:.2f} epsilon.",
        {"jump over beta": jump, "loss over epsilon": lost},
    )


def claims() -> list[Claim]:
    """Return the claims on percentiles, figures 2 and 3 excepted."""
    return [
        Claim(
            id="chaves-2025-definition-5-1",
            paper="chaves-2025",
            place="Definition 5.1",
            says="The p-th percentile of n records is x_k with k = floor(p n / 100), for p below 100.",
            verdict="holds",
            because="Records have to be numbered from zero, as the definition's i and the authors' "
            "code are. That section 5.1 writes x_1, ..., x_n is a slip: from one, the median of a "
            "single record has no k. From zero k is missing at p = 100 alone, which is not used.",
            instead="Uses the rank max(1, ceil(p n / 100)).",
            evidence=index_exists,
            control=1.5,
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-proposition-5-2",
            paper="chaves-2025",
            place="Proposition 5.2",
            says="The 0/1 utility of a percentile has global sensitivity 1.",
            verdict="holds",
            because="Utilities are 0 or 1, and some edit changes the answer.",
            evidence=utility_moves_by_one,
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-figure-1",
            paper="chaves-2025",
            place="Figure 1",
            says="j is the greater of the two numbers of repetitions beside place k.",
            verdict="false",
            because="A slip in a figure: Proposition 5.3 and the text before it have the smaller one, "
            "which counts, as place k leaves the run of equal values on its shorter side first.",
            instead=_DISTANCES,
            evidence=greater_side_is_safe,
            control=0.05,
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-proposition-5-3",
            paper="chaves-2025",
            place="Proposition 5.3",
            says="The local sensitivity at distance t is 1 if t >= 2 j + 1 and 0 otherwise.",
            verdict="false",
            because="After d edits the answer changes, so LS(x, t) = 1 from t = d - 1 on, which can "
            "be 2 j: one record is a counterexample.",
            instead=_DISTANCES,
            evidence=onset_is_odd,
            control=0.05,
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-proposition-5-3-positions",
            paper="chaves-2025",
            place="Proposition 5.3, candidates as positions",
            says="The same, with positions in the sorted table as candidates, as u(x, i) is written "
            "and the authors' code has it.",
            verdict="false",
            because="A record that comes or goes moves or lengthens the run of records equal to the "
            "percentile, so that some position's utility changes: the local sensitivity is 1 "
            "everywhere.",
            instead="Candidates are values of a public grid.",
            evidence=positions_are_stable,
            control=0.05,
            statements=("percentile-distance",),
        ),
        Claim(
            id="chaves-2025-proposition-5-4",
            paper="chaves-2025",
            place="Proposition 5.4",
            says="S = exp(-(2 j + 1) beta) is the smooth sensitivity.",
            verdict="false",
            because="j changes by one per edit and 2 j + 1 by two, so S is 2 beta-smooth at best; "
            "nor is it an upper bound of the local sensitivity (Proposition 5.3).",
            instead=_DISTANCES,
            evidence=repeats_are_smooth,
            control=2.0,
            statements=("percentile-distance", "snm-beta"),
        ),
    ]
