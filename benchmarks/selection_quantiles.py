"""Quantiles of real columns with wide bounds: ours beside diffprivlib's, in ranks and in values.

Bounds are those of somebody who has not seen the values: round numbers that are 3 to 1,000 times too
wide. diffprivlib gets the same bounds and epsilon, and its answers are rounded where a column has a
step. The grid and its weights were tuned on the tables in ``TUNED``; figures are quoted for the others.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing
from discreet.plans import Setting
from discreet.randomness import SystemNoise
from discreet.schema import FloatArray

PS = [10.0, 25.0, 50.0, 75.0, 90.0]
EPSILONS = (0.1, 1.0)
TUNED = {
    "adult_full.csv": {
        "fnlwgt": dc.Number(0, 1e7, missing=False),
        "capital-gain": dc.Number(0, 1e6, missing=False),
        "hours-per-week": dc.Number(0, 168, step=1, missing=False),
    },
    "bike_hour.csv": {
        "atemp": dc.Number(-10, 10, missing=False),
        "cnt": dc.Number(0, 1e5, missing=False),
    },
}
REPORTED = {
    "default_credit_card.csv": {
        "LIMIT_BAL": dc.Number(0, 1e7, missing=False),
        "BILL_AMT1": dc.Number(-1e7, 1e7, missing=False),
        "PAY_AMT1": dc.Number(0, 1e7, missing=False),
    },
    "diabetes_visits.csv": {
        "num_lab_procedures": dc.Number(0, 1000, step=1, missing=False),
        "num_medications": dc.Number(0, 1000, missing=False),
    },
    "compas_snm.csv": {"end": dc.Number(0, 1e5, missing=False)},
    "wallsensor.csv": {
        "SD_front": dc.Number(0, 1000, missing=False),
        "SD_left": dc.Number(0, 1000, missing=False),
    },
}


def main() -> None:
    """Measure all columns and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer releases")
    parser.add_argument("--tuned", action="store_true", help="the tables the grid was tuned on")
    options = parser.parse_args()
    folder = os.environ.get("DISCREET_DATA")
    if folder is None:
        raise SystemExit("Set DISCREET_DATA to the folder with the tables.")
    columns = read_columns(Path(folder), TUNED if options.tuned else REPORTED)
    rows = [
        row
        for epsilon in EPSILONS
        for row in measure(columns, epsilon, draws=10 if options.quick else 60)
    ]
    print_table("mean errors of five quantiles: ranks in % of the records, values in spreads", rows)
    save_results("selection_quantiles", rows, summarise(rows))


def read_columns(
    folder: Path, tables: dict[str, dict[str, dc.Number]]
) -> dict[str, tuple[FloatArray, dc.Number]]:
    """Return the values of every column, with its public bounds."""
    return {
        name: (pd.read_csv(folder / table)[name].to_numpy(np.float64), bounds)
        for table, columns in tables.items()
        for name, bounds in columns.items()
    }


def measure(
    columns: dict[str, tuple[FloatArray, dc.Number]], epsilon: float, draws: int
) -> list[dict[str, Any]]:
    """Return both sides' errors on every column."""
    theirs = ask_diffprivlib(columns, epsilon, draws)
    rows = []
    for name, (values, column) in columns.items():
        ours = our_quantiles(values, column, epsilon, draws)
        row: dict[str, Any] = {"column": name, "epsilon": epsilon, "records": len(values)}
        for side, answers in (("ours", ours), ("diffprivlib", theirs.get(name))):
            rank, value = errors(answers, values) if answers is not None else (np.nan, np.nan)
            row |= {f"rank, {side}": rank, f"value, {side}": value}
        rows.append(row)
    return rows


def our_quantiles(values: FloatArray, column: dc.Number, epsilon: float, draws: int) -> FloatArray:
    """Return the released quantiles, a row per release; the records are counted once."""
    setting = Setting(dc.Schema({"x": column}), "replace-one", len(values))
    program = dc.quantiles("x", [p / 100 for p in PS], epsilon=epsilon).prepare(setting)
    (stage,) = program.stages
    cells = stage.contribution.index({"x": column.encode(values)})  # type: ignore[attr-defined]
    counts = np.bincount(cells, minlength=stage.contribution.size)

    class Counted:
        def answer(self, *_: object) -> list[FloatArray]:
            return [stage.noise.release(counts, SystemNoise())]

    return np.array([program.finish(Counted()).values for _ in range(draws)])  # type: ignore[attr-defined]


def ask_diffprivlib(
    columns: dict[str, tuple[FloatArray, dc.Number]], epsilon: float, draws: int
) -> dict[str, FloatArray]:
    """Return diffprivlib's quantiles, or none where its environment is not there."""
    for sentence in (absent := missing("diffprivlib")):
        print(sentence)
    if absent:
        return {}
    found = ask_peer(
        "diffprivlib",
        "quantiles",
        {name: values for name, (values, _) in columns.items()},
        bounds={name: [column.low, column.high] for name, (_, column) in columns.items()},
        ps=PS,
        epsilon=epsilon,
        draws=draws,
    )
    return {
        name: columns[name][1].encode(np.array(answers).ravel()).reshape(-1, len(PS))
        for name, answers in found.items()
    }


def errors(answers: FloatArray, values: FloatArray) -> tuple[float, float]:
    """Return the mean error in ranks, as a percentage of the records, and in values.

    A value has all ranks that records at it have. Distances of values are measured by the spread of the
    middle half of the records, or by their standard deviation where that is zero.
    """
    ordered, wanted = np.sort(values), np.array(PS) / 100 * len(values)
    low, high = (np.searchsorted(ordered, answers, side=side) for side in ("left", "right"))
    ranks = np.maximum(0, np.maximum(wanted - high, low - wanted))
    exact = np.percentile(values, PS, method="inverted_cdf")
    spread = exact[3] - exact[1] or float(values.std())
    return 100 * float(ranks.mean()) / len(values), float(np.abs(answers - exact).mean() / spread)


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return on how many columns ours is better, of each kind of error."""
    summary = {
        f"better in {kind} at {epsilon}": sum(
            row[f"{kind}, ours"] < row[f"{kind}, diffprivlib"]
            for row in rows
            if row["epsilon"] == epsilon
        )
        for kind in ("rank", "value")
        for epsilon in EPSILONS
    }
    print(summary)
    return summary


if __name__ == "__main__":
    main()
