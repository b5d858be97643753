"""Percentiles as in Chaves et al. (2025): the exact expected error of every mechanism, and true losses.

Data: DPBench's HEPTH, INCOME and PATENT, from the folder that DISCREET_DATA names (dpbench_*.csv). Two
constructions:

1. *values*: what the files hold, values 0..4095 with their numbers of people; they are the candidates.
2. *positions*: the authors' code, whose records are the 4,096 counts themselves, sorted. Candidates are
   the counts that occur, in place of the authors' positions, for which no smooth bound exists.

The error is E|x_k - answer|; the paper's |x_k - E(answer)| is small for answers that are far too high
as often as far too low. Everything is computed from laws, nothing is sampled. Mechanisms marked with a
star are not private: their true loss is computed besides.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results
from discreet.audit.faults.published_smooth import published, published_law, published_table
from discreet.mechanisms import ExponentialMechanism, PermuteAndFlip
from discreet.mechanisms.selection.dampening import LocalDampening
from discreet.mechanisms.selection.inverse_sensitivity import InverseSensitivity
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax
from discreet.mechanisms.smooth.tables import StabilityTable
from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities

NAMES = ("HEPTH", "INCOME", "PATENT")
PERCENTILES = (50, 90, 99)
DELTA = 1e-6
STAR = {"SNM-T published *": "student-t", "SNM-Lap published *": "laplace"}


def main() -> None:
    """Run both constructions and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one data set per construction, 5 epsilons"
    )
    options = parser.parse_args()
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        print("DISCREET_DATA must name the folder with the data sets; nothing was measured.")
        return
    epsilons = np.logspace(-1, 2, 5 if options.quick else 13)
    rows: list[dict[str, Any]] = []
    for name in NAMES[:1] if options.quick else NAMES:
        counts = np.loadtxt(Path(folder) / f"dpbench_{name}.csv", skiprows=1, dtype=np.int64)
        for construction, (values, table) in constructions(counts).items():
            for p in PERCENTILES:
                rows += errors(name, construction, p, values, table, epsilons)
    show(rows)
    losses = true_losses(epsilons[:3])
    print_table("true loss of what is published, per epsilon claimed (4,096 candidates)", losses)
    save_results("selection_paper", [*rows, *losses], summarise(rows, losses))


def constructions(counts: Any) -> dict[str, tuple[Any, Any]]:
    """Return candidates and their counts: the values themselves, and the authors' odd data."""
    occurring, times = np.unique(counts, return_counts=True)
    return {"values": (np.arange(len(counts)), counts), "positions": (occurring, times)}


def errors(
    name: str, construction: str, p: int, values: Any, counts: Any, epsilons: Any
) -> list[dict[str, Any]]:
    """Return a row per mechanism: its expected error at every epsilon."""
    measure = PercentileDistances(Fraction(p), "add-remove")
    standing = measure.standing(counts)
    truth = values[standing.winner]
    off = np.abs(values - truth).astype(np.float64)
    found = []
    for mechanism, law in laws(values, counts, measure, p).items():
        row = {
            "data": name,
            "records": construction,
            "p": p,
            "true": int(truth),
            "mechanism": mechanism,
        }
        row |= {f"{epsilon:.3g}": float(law(epsilon) @ off) for epsilon in epsilons}
        found.append(row)
    return found


def laws(
    values: Any, counts: Any, measure: PercentileDistances, p: int
) -> dict[str, Callable[[float], Any]]:
    """Return the law of every mechanism as a function of epsilon."""
    standing, distances = measure.standing(counts), measure.distances(counts)
    size, winner, stability = len(values), standing.winner, standing.stability
    right = (np.arange(size) == winner).astype(np.int64)
    flat = (np.arange(stability + 1) >= stability).astype(np.int64)
    steps = np.abs(np.arange(size) - winner)
    table = value_sensitivities(counts, measure, size)

    def two(top_and_other: tuple[float, float]) -> Any:
        return np.where(right == 1, *top_and_other)

    def smooth(noise: Any, delta: float) -> Callable[[float], Any]:
        return lambda e: SmoothNoisyMax(size, e, delta, noise).probabilities(winner, stability)

    repeats = published_repeats(counts, winner, p)
    found: dict[str, Callable[[float], Any]] = {
        "EM": lambda e: ExponentialMechanism(1, e).probabilities(right),
        "PF": lambda e: PermuteAndFlip(1, e).probabilities(right),
        "LD": lambda e: LocalDampening(e, 1).probabilities(right, flat),
        "LD2": lambda e: LocalDampening(e, size - 1).probabilities(-steps, table),
        "SNM-T": smooth("student-t", 0.0),
        "SNM-Lap": smooth("laplace", DELTA),
        "SNM-LLN": smooth("laplace-log-normal", 0.0),
        "stability": smooth("stability", 0.0),
        "inverse sensitivity": lambda e: InverseSensitivity(e).probabilities(distances),
        "shifted LD, element-wise": lambda e: ExponentialMechanism(1, e).probabilities(standing.scores),
        "PF on signed distances": lambda e: PermuteAndFlip(1, e).probabilities(standing.scores),
    }
    for star, noise in STAR.items():
        found[star] = lambda e, noise=noise: two(published_law(noise, size, e, 2 * repeats + 1))
    return found


def published_repeats(counts: Any, winner: int, p: int) -> int:
    """Return the paper's j: repetitions of the percentile on its shorter side."""
    below, rows = int(counts[:winner].sum()), int(counts.sum())
    rank = max(1, -(-p * rows // 100))
    return min(rank - 1 - below, below + int(counts[winner]) - rank)


def true_losses(epsilons: Any) -> list[dict[str, Any]]:
    """Return what the published calibrations really lose, against what they claim.

    As printed, stability grows by two for an edit (2 j + 1), so a step dilates by exp(2 beta).
    """
    found = []
    for epsilon in epsilons:
        for star, noise in STAR.items():
            delta = DELTA if noise == "laplace" else 0.0
            first, beta = published(noise, epsilon)  # type: ignore[arg-type]
            reach = {"student-t": 3e4, "laplace": 25.0}[noise]  # each other at about 2^-40
            states = max(4, int(np.log(reach / first) / beta) + 1)
            exact = published_table(noise, 4096, epsilon, states)  # type: ignore[arg-type]
            doubled = StabilityTable(exact.candidates, exact.other[1::2])
            found.append(
                {
                    "mechanism": star,
                    "claimed": float(epsilon),
                    "delta": delta,
                    "true loss, exact distance": exact.loss(delta),
                    "true loss, 2j + 1": doubled.loss(delta),
                }
            )
    return found


def show(rows: list[dict[str, Any]]) -> None:
    """Print one table per data set, construction and percentile."""
    keys = list(dict.fromkeys((row["data"], row["records"], row["p"], row["true"]) for row in rows))
    for data, records, p, true in keys:
        chosen = [
            {name: value for name, value in row.items() if name not in ("data", "records", "p", "true")}
            for row in rows
            if (row["data"], row["records"], row["p"]) == (data, records, p)
        ]
        print_table(f"{data}, {records}, p={p} (true {true}): expected error by epsilon", chosen)


def summarise(rows: list[dict[str, Any]], losses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how often every private mechanism is the best one, over all cases."""
    wins: dict[str, int] = {}
    cases = {(row["data"], row["records"], row["p"]) for row in rows}
    columns = [name for name in rows[0] if name[0].isdigit()]
    for case in cases:
        private = [
            row
            for row in rows
            if (row["data"], row["records"], row["p"]) == case and "*" not in row["mechanism"]
        ]
        for epsilon in columns:
            best = min(private, key=lambda row: row[epsilon])
            if best[epsilon] > 0:  # several are exact otherwise
                wins[best["mechanism"]] = wins.get(best["mechanism"], 0) + 1
    summary = {
        "best in so many cases": dict(sorted(wins.items(), key=lambda pair: -pair[1])),
        "worst true loss over claim": max(row["true loss, 2j + 1"] / row["claimed"] for row in losses),
    }
    print(summary)
    return summary


if __name__ == "__main__":
    main()
