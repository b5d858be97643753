"""Sections 6 and 7: splits by the max operator, leaves by the most frequent label."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np

from discreet.audit.claims.chaves.laws import published, walk_loss
from discreet.audit.claims.chaves.percentile import onset_verdict
from discreet.audit.claims.claim import Evidence, Verdict, decided, judged
from discreet.mechanisms.smooth.densities import leader_law, smooth_noise
from discreet.randomness import IntArray

_CELLS = list(product((0, 1), (0, 1), (0, 1)))
"""First attribute, second attribute, class."""


def small_tables(most: int) -> IntArray:
    """Return the counts of all tables of at most so many records of eight kinds."""
    rows = [
        np.bincount(np.array(cells, dtype=np.int64), minlength=len(_CELLS))
        for n in range(most + 1)
        for cells in combinations_with_replacement(range(len(_CELLS)), n)
    ]
    return np.array(rows)


def max_operator(tables: IntArray) -> IntArray:
    """Return, for both attributes, the sum over its values of the most frequent class."""
    cube = tables.reshape(-1, 2, 2, 2)
    return np.stack([cube.sum(axis=axis).max(axis=2).sum(axis=1) for axis in (2, 1)], axis=1)


def budget_is_kept(twist: float = 1.0) -> Evidence:
    """Add up what all levels spend, two queries each, at the budget that is meant and as printed."""
    depth, epsilon = 2, 1.0
    meant, printed = twist * epsilon / (2 * (depth + 1)), twist * epsilon / 2 * (depth + 1)
    spent, literal = (2 * (depth + 1) * each for each in (meant, printed))
    return Evidence(
        judged(epsilon, spent),
        f"With depth {depth} and epsilon 1 a query gets {meant:.3f} and the tree spends {spent:.2f}; "
        f"with the factor as printed it would spend {literal:.0f}.",
        {"spent": spent, "per query": meant, "as printed": literal},
    )


def max_operator_moves_by_one(twist: float = 1.0) -> Evidence:
    """Add every record to every small table."""
    tables = small_tables(4)
    before = max_operator(tables)
    after = np.stack([max_operator(tables + kind) for kind in np.eye(8, dtype=np.int64)])
    least, most = float((after - before).min()), float((after - before).max())
    return Evidence(
        judged(twist, max(most, -least)),
        f"An added record moves it by {least:.0f} to {most:.0f}, over {8 * len(tables)} pairs.",
        {"least": least, "most": most},
    )


def winner_is_one(twist: float = 1.0) -> Evidence:
    """Compare the 0/1 utilities of both definitions between neighbours, and count ties."""
    tables = small_tables(4)
    scores = max_operator(tables)
    tied = float((scores[:, 0] == scores[:, 1]).mean())
    winner = scores.argmax(axis=1)
    moved = max(
        float((max_operator(tables + kind).argmax(axis=1) != winner).max())
        for kind in np.eye(8, dtype=np.int64)
    )
    return Evidence(
        judged(twist, moved),
        f"A utility moves by at most {moved:.0f}; {tied:.0%} of the small tables have two greatest "
        "attributes, for which a rule has to be given.",
        {"move": moved, "ties": tied},
    )


def split_onset(twist: float = 1.0) -> Evidence:
    """Compare the gap with the least distance at which the local sensitivity is one, first of ties."""
    tables, beyond = small_tables(3), small_tables(6)
    scores, winner = max_operator(tables), max_operator(beyond).argmax(axis=1)
    gap = np.floor(twist * np.abs(scores[:, 0] - scores[:, 1]))
    apart = np.abs(tables[:, None, :] - beyond[None, :, :]).sum(axis=2)
    other = winner[None, :] != scores.argmax(axis=1)[:, None]
    true = np.where(other, apart, 99).min(axis=1) - 1
    late, early = gap > true, gap < true
    first = tables[int(np.argmax(late))]
    shown = [cell for cell, count in zip(_CELLS, first, strict=True) for _ in range(count)]
    return Evidence(
        onset_verdict(late, early),
        f"Of {len(tables)} tables {late.sum()} can change earlier than the gap says, the smallest with "
        f"records {shown if late.any() else None}, and {early.sum()} only later.",
        {"too late": float(late.sum()), "too early": float(early.sum()), "tables": float(len(tables))},
    )


def epsilon_for_beta(twist: float = 1.0) -> Evidence:
    """Let the scale follow exp(-epsilon k) with Student's T and two attributes, epsilon .1."""
    epsilon = 0.1
    gaps = published("student-t", epsilon)[0] / 2 * np.exp(epsilon * np.arange(130))
    lost = walk_loss("student-t", 2, gaps) / epsilon
    end = walk_loss("student-t", 2, gaps[-2:]) / epsilon
    return Evidence(
        judged(twist, lost),
        f"A step loses up to {lost:.2f} epsilon, and {end:.3f} in the end.",
        {"loss over epsilon": lost, "limit": end},
    )


def rows_stay_in_their_chunk(twist: float = 1.0) -> Evidence:
    """Take the first row away, and count changed chunks if rows are dealt in runs and one by one."""
    rows, trees = 1_024, 32
    ids = np.arange(rows)
    runs = _changed(np.array_split(ids, trees), np.array_split(ids[1:], trees))
    own = _changed(*([table[table % trees == i] for i in range(trees)] for table in (ids, ids[1:])))
    depends: Verdict = "not reproducible" if own <= twist else "false"
    return Evidence(
        "holds" if max(runs, own) <= twist else depends,
        f"Taking away one of {rows} rows changes {runs} of {trees} chunks if they are runs of rows, "
        f"and {own} if a row's chunk follows from its own id.",
        {"runs of rows": float(runs), "by id": float(own)},
    )


def _changed(before: list[IntArray], after: list[IntArray]) -> int:
    return sum(a.tolist() != b.tolist() for a, b in zip(before, after, strict=True))


def leaf_is_private(twist: float = 1.0) -> Evidence:
    """Compute the loss of one leaf over all counts of three labels, at most eight records."""
    epsilon, most = 1.0, 8
    alpha = published("student-t", epsilon)[0]
    tables = [c for c in product(range(most + 1), repeat=3) if sum(c) <= most]
    gaps = alpha / 2 * np.exp(epsilon * np.arange(most + 1))
    top, other = leader_law(smooth_noise("student-t"), 3, gaps)
    laws = {c: _leaf_law(c, top, other) for c in tables}
    lost, pair = 0.0, (tables[0], tables[0])
    for c in tables:
        for more in (tuple(v + (i == k) for k, v in enumerate(c)) for i in range(3)):
            if more in laws:
                found = float(np.abs(np.log(laws[c] / laws[more])).max())
                lost, pair = max((lost, pair), (found, (c, more)))
    return Evidence(
        judged(twist * epsilon, lost),
        f"At epsilon 1 a leaf loses {lost:.2f}, between label counts {pair[0]} and {pair[1]}.",
        {"loss": lost},
    )


def _leaf_law(counts: tuple[int, ...], top: np.ndarray, other: np.ndarray) -> np.ndarray:
    winner, ordered = int(np.argmax(counts)), sorted(counts)
    gap = ordered[-1] - ordered[-2]
    law = np.full(3, other[gap])
    law[winner] = top[gap]
    return law


def smooth_scale_breaks_exponential(twist: float = 1.0) -> Evidence:
    """Redo the paper's example: votes 22, 8, 17, 4, 0 and one more for the second, epsilon .5."""
    epsilon, chances = 0.5, []
    for votes in ((22, 8, 17, 4, 0), (22, 8, 18, 4, 0)):
        ordered = sorted(votes)
        smooth = math.exp(-epsilon * (ordered[-1] - ordered[-2]))
        chances.append(1 / (math.exp(epsilon / (2 * smooth)) + len(votes) - 1))
    lost = math.log(chances[1] / chances[0])
    return Evidence(
        decided(lost > twist * epsilon),
        f"The third candidate's chance goes from {chances[0]:.3f} to {chances[1]:.3f}: a loss of "
        f"{lost:.2f}, {lost / epsilon:.2f} epsilon.",
        {"loss": lost, "before": chances[0], "after": chances[1]},
    )


def gap_bounds_leaf(twist: float = 1.0) -> Evidence:
    """Look for label counts that one edit changes although S = exp(-j epsilon) is below one."""
    tables = [c for c in product(range(9), repeat=3) if 1 <= sum(c) <= 8]
    broken = [c for c in tables if twist * _leaf_gap(c) > 0 and _changes(c)]
    first = min(broken, key=sum, default=None)
    return Evidence(
        decided(not broken),
        f"{len(broken)} of {len(tables)} tables have local sensitivity 1 and S < 1, the smallest "
        f"{first}, where the first of tied labels wins.",
        {"broken": float(len(broken)), "tables": float(len(tables))},
    )


def _leaf_gap(counts: tuple[int, ...]) -> int:
    ordered = sorted(counts)
    return ordered[-1] - ordered[-2]


def _changes(counts: tuple[int, ...]) -> bool:
    """Return whether one record more or less changes the winner, the first of ties."""
    near = [tuple(v + s * (i == k) for k, v in enumerate(counts)) for i in range(3) for s in (1, -1)]
    return any(min(c) >= 0 and np.argmax(c) != np.argmax(counts) for c in near)
