"""Composition, the sensitivities of entropies, and the histogram they are meant to calibrate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.mechanisms.selection.deniability import composed_delta
from discreet.tables.entropy.bounds import bound_entropy

Counts = tuple[int, ...]


def claims() -> list[Claim]:
    """Return the claims of Sections III and IV on histograms, and of Appendix B-C."""
    return [
        Claim(
            "ma-2026-theorem-1",
            "ma-2026",
            "Theorem 1",
            "The epsilons and the deltas of several mechanisms add up.",
            "holds",
            "Three worst mechanisms with delta 0.01 each have 0.0297 together at the summed epsilon.",
            "",
            _sequential,
            statements=("filter-basic", "approximate-composition"),
        ),
        Claim(
            "ma-2026-theorem-2",
            "ma-2026",
            "Theorem 2",
            "k adaptive (e, d)-private mechanisms are private with epsilon sqrt(2k ln(1/d')) e + "
            "k e (e^e - 1) and delta k d + d'.",
            "holds",
            "Cited from Dwork and Roth (2014). The best epsilon that holds for all such mechanisms "
            "is 1.4 times smaller.",
            "zCDP sums for adaptive questions, exact curves for batches.",
            _advanced,
            statements=("approximate-composition",),
        ),
        Claim(
            "ma-2026-theorem-3",
            "ma-2026",
            "Theorem 3",
            "Replacing a record moves Shannon's entropy by at most (2 + 1/ln 2 + 2 log2 n)/n bits.",
            "loose",
            "The greatest move is (n log2 n - (n-1) log2 (n-1))/n, from all records in one cell; the "
            "bound is 2.0 to 2.2 times that.",
            "The exact sensitivity.",
            _shannon,
            control=0.4,
            statements=("entropy-shannon",),
        ),
        Claim(
            "ma-2026-equation-17",
            "ma-2026",
            "Appendix B-C, equation (17)",
            "Replacing a record moves Renyi's entropy of order a by at most 2a/(|1-a| n ln 2) bits.",
            "false",
            "Two records and two cells, order 1/4: from (2, 0) to (1, 1) is one bit, 0.48 are "
            "claimed. For orders above 1 the proof takes the sum of p^a for at least 1, and it is at "
            "most 1; below 1 it takes p^(a-1) for at most 1. With 10,000 records it is 100 times too "
            "small at order 1/2.",
            "The exact maximum over all tables with the public number of cells.",
            _renyi,
            control=1e4,
            statements=("entropy-renyi",),
        ),
        Claim(
            "ma-2026-table-s1",
            "ma-2026",
            "Table S1 and the text before it",
            "The factor 2a/(|1-a| ln 2) is least near order 1 and grows with a above 1.",
            "false",
            "It has a pole at 1 and falls from 8.66 at order 1.5 to 3.21 at order 10. The table's own "
            "figures are right and say so; the text does not go with them.",
            "",
            _factors,
            control=-1.0,
            statements=("entropy-renyi",),
        ),
        Claim(
            "ma-2026-algorithm-1",
            "ma-2026",
            "Algorithm 1, lines 3 to 5",
            "Counts with Laplace noise of scale 1/epsilon, for sensitivity 1, are epsilon-private.",
            "false",
            "Under replacement, the relation that Section III-A states for histograms of one size n: a "
            "replaced record moves two counts, and the loss is 2 epsilon. If a record is added or "
            "removed it is epsilon. The entropy bound of line 3 is computed and never used.",
            "Scale 2/epsilon under replace-one, discrete noise on whole counts.",
            replaced_histogram,
            control=2.0,
            statements=("histogram",),
        ),
    ]


def _sequential(twist: float) -> Evidence:
    """The dominating pair of (0.5, 0.01): a certain outcome, or a randomised response."""
    each, delta, k = 0.5, 0.01, 3
    truth = 1 / (1 + math.exp(-each))
    rest = 1 - delta
    first = np.array([delta, rest * truth, rest * (1 - truth), 0.0])
    second = first[::-1]
    law, other = (
        np.array([math.prod(row) for row in itertools.product(p, repeat=k)]) for p in (first, second)
    )
    needed = float(np.maximum(law - math.exp(k * each) * other, 0).sum())
    claimed = twist * k * delta
    said = f"Three of them need delta {needed:.5f} at the summed epsilon; {claimed:g} is claimed."
    return Evidence(judged(claimed, needed), said, {"delta": needed})


def _advanced(twist: float) -> Evidence:
    each, k, delta = 0.1, 30, 1e-6
    claimed = twist * (math.sqrt(2 * k * math.log(1 / delta)) * each + k * each * math.expm1(each))
    low, high = 0.0, k * each
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if composed_delta(each, 0.0, k, middle) <= delta else (middle, high)
    said = f"30 randomised responses of 0.1 have epsilon {high:.3f} at 1e-6; {claimed:.3f} is claimed."
    return Evidence(judged(claimed, high), said, {"epsilon": high, "claimed": claimed})


def entropy(counts: Counts, order: float) -> float:
    """Return an entropy in bits.

    >>> entropy((1, 1), 1.0), entropy((2, 0), 3.0)
    (1.0, 0.0)
    """
    shares = np.array([count for count in counts if count > 0]) / sum(counts)
    if order == 1:
        return float(max(0.0, -(shares * np.log2(shares)).sum()))
    return float(np.log2((shares**order).sum()) / (1 - order)) + 0.0


def small_tables(rows: int, cells: int) -> Iterator[Counts]:
    """Yield all counts of so many rows, in falling order."""
    for counts in itertools.product(range(rows + 1), repeat=cells):
        if sum(counts) == rows and list(counts) == sorted(counts, reverse=True):
            yield counts


def greatest_move(rows: int, cells: int, order: float) -> float:
    """Return how far replacing a record moves an entropy, over all tables."""
    return max(
        abs(entropy(counts, order) - entropy(_moved(counts, source, target), order))
        for counts in small_tables(rows, cells)
        for source, target in itertools.permutations(range(cells), 2)
        if counts[source]
    )


def _moved(counts: Counts, source: int, target: int) -> Counts:
    return tuple(c - (i == source) + (i == target) for i, c in enumerate(counts))


def shannon_bound(rows: int) -> float:
    """Return the published bound of Theorem 3."""
    return (2 + 1 / math.log(2) + 2 * math.log2(rows)) / rows


def _shannon(twist: float) -> Evidence:
    ratios = {n: shannon_bound(n) / greatest_move(n, 3, 1.0) for n in (4, 9, 14)}
    ratios[100_000] = shannon_bound(100_000) * math.log(2) / bound_entropy(100_000, 3, 1.0)
    least = min(ratios.values())
    said = "; ".join(f"n = {n:,}: {ratio:.2f} times the greatest move" for n, ratio in ratios.items())
    figures = {f"n {n}": ratio for n, ratio in ratios.items()}
    return Evidence(judged(twist * least, 1.0, loose_from=1.5), said + ".", figures)


def renyi_bound(rows: int, order: float) -> float:
    """Return the published bound of equation (17)."""
    return 2 * order / (abs(1 - order) * math.log(2) * rows)


def _renyi(twist: float) -> Evidence:
    cases = {(2, 2, 0.25): 0.0, (8, 4, 5.0): 0.0}
    for rows, cells, order in cases:
        cases[rows, cells, order] = greatest_move(rows, cells, order)
    one_cell = abs(entropy((10_000, 0), 0.5) - entropy((9_999, 1), 0.5))
    cases[10_000, 2, 0.5] = one_cell
    short = {case: moved / renyi_bound(case[0], case[2]) for case, moved in cases.items()}
    worst = max(short.values())
    said = "; ".join(
        f"n = {n}, {m} cells, order {a:g}: {ratio:.2f} times the bound"
        for (n, m, a), ratio in short.items()
    )
    return Evidence(judged(twist, worst), said + ".", {"times the bound": worst})


def _factors(twist: float) -> Evidence:
    orders = (1.5, 2.0, 3.0, 5.0, 10.0)
    factors = [renyi_bound(1, order) for order in orders]
    rises = [twist * (after - before) > 0 for before, after in itertools.pairwise(factors)]
    near = renyi_bound(1, 1.01)
    said = (
        f"From order 1.5 to 10 the factor goes from {factors[0]:.2f} to {factors[-1]:.2f}; at 1.01 it "
        f"is {near:.0f}."
    )
    return Evidence(decided(all(rises)), said, {"order 1.5": factors[0], "order 10": factors[-1]})


def replaced_histogram(twist: float) -> Evidence:
    """Return the loss of two counts, one rises and one falls; noise of scale 1/epsilon."""
    epsilon, width = 1.0, 30
    outputs = np.arange(-width, width + 1)
    log_law = {moved: -epsilon * np.abs(outputs - moved) for moved in (-1, 0, 1)}
    loss = float(np.max((log_law[0] - log_law[1])[:, None] + (log_law[0] - log_law[-1])[None, :]))
    said = f"The loss of a replaced record is {loss:g}; {twist * epsilon:g} is claimed."
    return Evidence(judged(twist * epsilon, loss), said, {"loss": loss})
