"""Synthetic records of Adult and NLTCS: marginals, Mechanism F, and MST of OpenDP over mbi.

``python -m benchmarks.synthesis [--quick]`` with DISCREET_DATA set to the folder of the data. Distances
are total variations over 16 cells per number; accuracies are of a boosted model on held-out records.
MST takes minutes, so ``--quick`` leaves it out; it works under add-remove, and so do we beside it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing
from discreet.privacy.accounting.conversion import zcdp_budget

FOLDER = "DISCREET_DATA"
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-9
BINS = 16
ATTEMPTS = 500
NUMBERS = {
    "age": (17, 90, 1),
    "education-num": (1, 16, 1),
    "capital-gain": (0, 100_000, None),
    "capital-loss": (0, 5_000, None),
    "hours-per-week": (1, 99, 1),
}
TARGETS = {"adult": "income", "nltcs": "15"}


def load(name: str) -> tuple[pd.DataFrame, pd.DataFrame, dc.Schema]:
    """Return records, held-out records, and the public schema."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise SystemExit(f"Set {FOLDER} to the folder that holds adult_full.csv and nltcs.csv.")
    file = {"adult": "adult_full.csv", "nltcs": "nltcs.csv"}[name]
    frame = pd.read_csv(Path(folder) / file).drop(columns="fnlwgt", errors="ignore")
    columns: dict[str, Any] = {}
    for column in frame.columns:
        if column in NUMBERS:
            low, high, step = NUMBERS[column]
            columns[column] = dc.Number(low, high, step=step, missing=False)
        else:
            frame[column] = frame[column].astype(str)
            columns[column] = dc.Category(*sorted(frame[column].unique()), missing=False, other=False)
    order = np.random.default_rng(0).permutation(len(frame))
    cut = len(frame) * 4 // 5
    parts = [frame.iloc[order[:cut]], frame.iloc[order[cut:]]]
    train, held = (part.reset_index(drop=True) for part in parts)
    return train, held, dc.Schema(columns, target=TARGETS[name])


def measure(
    name: str, method: str, epsilon: float, drawn: pd.DataFrame, took: float, task: Any
) -> dict[str, Any]:
    """Return one row of the table."""
    train, held, schema = task
    row = {"data": name, "method": method, "epsilon": epsilon, "rows": len(drawn)}
    if len(drawn) < 2:
        return row | {"1-way": None, "2-way": None, "accuracy": None, "real": None, "seconds": took}
    found = dc.compare_tables(train, drawn, schema, bins=BINS, target=TARGETS[name], held_out=held)
    return row | {
        "1-way": found.mean_one_way,
        "2-way": found.mean_two_way,
        "accuracy": found.trained_on_synthetic,
        "real": found.trained_on_real,
        "seconds": took,
    }


def release(plan: dc.Plan, task: Any, relation: str) -> tuple[pd.DataFrame, float]:
    """Return released records and the time they took."""
    train, _, schema = task
    session = dc.protect(
        train, schema, dataset="d", epsilon=100, delta=1e-3, ledger=":memory:", relation=relation
    )
    start = time.perf_counter()
    value = session.release(plan).value
    return value.to_frame(), time.perf_counter() - start


def ours(name: str, task: Any, epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return our methods: marginals under both relations, and Mechanism F."""
    rows = []
    for epsilon in epsilons:
        for relation in ("add-remove", "replace-one"):
            plan: dc.Plan = dc.synthesize(bins=BINS, epsilon=epsilon, delta=DELTA)
            found = release(plan, task, relation)
            rows.append(measure(name, f"marginals, {relation}", epsilon, *found, task))
        plan = dc.deniable_rows(ATTEMPTS, bins=BINS, epsilon=epsilon, delta=1e-6)
        found = release(plan, task, "replace-one")
        rows.append(measure(name, "mechanism F, replace-one", epsilon, *found, task))
    return rows


def theirs(name: str, task: Any, epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return MST, on the cells that our marginals use."""
    train, _, schema = task
    cells = [schema[column].bins(BINS) for column in schema]
    codes = np.column_stack(
        [
            part.index(schema[c].encode(train[c].to_numpy()))
            for c, part in zip(schema, cells, strict=True)
        ]
    )
    rows = []
    for epsilon in epsilons:
        answer = ask_peer(
            "mbi",
            "synthetic",
            {
                "codes": codes,
                "sizes": np.array([len(part) for part in cells]),
                "rho": np.array(zcdp_budget(epsilon, DELTA)),
            },
            epsilon=epsilon,
            delta=0.0,
        )
        drawn = decode(np.array(answer["codes"]), cells, schema)
        rows.append(measure(name, "MST, add-remove", epsilon, drawn, answer["seconds"], task))
    return rows


def decode(codes: Any, cells: list[Any], schema: dc.Schema) -> pd.DataFrame:
    """Return a peer's codes as records: numbers in the middle of their cell."""
    columns = {}
    for place, (name, part) in enumerate(zip(schema, cells, strict=True)):
        values = codes[:, place].astype(np.float64)
        if part.edges is not None:
            edges = np.asarray(part.edges)
            values = (edges[codes[:, place]] + edges[codes[:, place] + 1]) / 2
        columns[name] = schema[name].decode(values)
    return pd.DataFrame(columns)


def main(quick: bool) -> None:
    """Run all methods and print them beside each other."""
    epsilons = (1.0,) if quick else EPSILONS
    skipped = ["MST takes minutes and is left out of --quick"] if quick else missing("mbi")
    rows: list[dict[str, Any]] = []
    for name in ("nltcs", "adult"):
        task = load(name)
        found = ours(name, task, epsilons)
        if not skipped:
            found += theirs(name, task, epsilons)
        print_table(f"synthetic records of {name}", found)
        rows += found
    summary = {
        f"{row['data']}, {row['method']}, epsilon {row['epsilon']:g}, {what}": row[what]
        for row in rows
        for what in ("2-way", "accuracy", "seconds")
    }
    save_results("synthesis", rows, summary | {"skipped": skipped})
    print(*skipped, sep="\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
