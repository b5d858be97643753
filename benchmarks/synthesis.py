"""Synthetic records: our tables of pairs, Mechanism F, and MST and AIM of OpenDP over mbi.

``python -m benchmarks.synthesis [--quick]`` with DISCREET_DATA set to the folder of the data. Distances
are total variations over 16 cells per number; accuracy and AUC are of a boosted model on held-out
records. MST and AIM take minutes, so ``--quick`` leaves them out; they work under add-remove, and so do
we beside them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing
from benchmarks.synthesis_data import KEPT_ASIDE, MADE_ON, SMALL, load
from discreet.privacy.accounting.conversion import zcdp_budget

EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-9
BINS = 16
ATTEMPTS = 500


def measure(
    name: str,
    method: str,
    epsilon: float | None,
    drawn: pd.DataFrame,
    took: float | None,
    task: Any,
) -> dict[str, Any]:
    """Return one row of the table."""
    train, held, schema = task
    row = {"data": name, "method": method, "epsilon": epsilon, "rows": len(drawn)}
    if len(drawn) < 2:
        return row | dict.fromkeys(("1-way", "2-way", "accuracy", "auc")) | {"seconds": took}
    found = dc.compare_tables(train, drawn, schema, bins=BINS)
    accuracy, auc = scores(drawn, held, schema)
    return row | {
        "1-way": found.mean_one_way,
        "2-way": found.mean_two_way,
        "accuracy": accuracy,
        "auc": auc,
        "seconds": took,
    }


def scores(train: pd.DataFrame, held: pd.DataFrame, schema: dc.Schema) -> tuple[float, float]:
    """Return accuracy and AUC on held-out records of a boosted model trained on others."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    target = str(schema.target)
    inputs = [name for name in schema if name != target]
    (known, wanted), (rows, asked) = (
        [
            np.column_stack([schema[n].encode(frame[n].to_numpy()) for n in names])
            for frame in (train, held)
        ]
        for names in ([target], inputs)
    )
    if len(np.unique(known)) < 2:
        return float(np.mean(wanted == known[0])), 0.5
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(rows, known.ravel())
    chances = model.predict_proba(asked)[:, 1]
    return float(model.score(asked, wanted.ravel())), float(roc_auc_score(wanted.ravel(), chances))


def real(name: str, task: Any) -> list[dict[str, Any]]:
    """Return what real records are worth: as they are, and with numbers amid their cells."""
    train, _, schema = task
    cells, codes = coded(train, schema)
    in_cells = decode(codes, cells, schema)
    rows = {"real records": train, "real records, in cells": in_cells}
    return [measure(name, told, None, frame, None, task) for told, frame in rows.items()]


def release(plan: dc.Plan, task: Any, relation: str) -> tuple[pd.DataFrame, float]:
    """Return released records and the time they took."""
    train, _, schema = task
    session = dc.protect(
        train, schema, dataset="d", epsilon=100, delta=1e-3, ledger=":memory:", relation=relation
    )
    start = time.perf_counter()
    value = session.release(plan).value
    return value.to_frame(), time.perf_counter() - start


def ours(name: str, task: Any, epsilons: tuple[float, ...], quick: bool) -> list[dict[str, Any]]:
    """Return our methods: a tree alone and more pairs, with and without delta, and Mechanism F."""
    rows = []
    for epsilon in epsilons:
        for relation in ("add-remove",) if quick else ("add-remove", "replace-one"):
            for delta in (DELTA,) if quick else (DELTA, 0.0):
                for method, pairs in (("tree", 0), ("auto", None)):
                    plan: dc.Plan = dc.synthesize(bins=BINS, pairs=pairs, epsilon=epsilon, delta=delta)
                    found = release(plan, task, relation)
                    told = f"{method}, {relation}{'' if delta else ', pure'}"
                    rows.append(measure(name, told, epsilon, *found, task))
        if name in MADE_ON and not quick:
            plan = dc.deniable_rows(ATTEMPTS, bins=BINS, epsilon=epsilon, delta=1e-6)
            found = release(plan, task, "replace-one")
            rows.append(measure(name, "mechanism F, replace-one", epsilon, *found, task))
    return rows


def theirs(
    name: str, task: Any, epsilons: tuple[float, ...], algorithms: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return MST and AIM, on the cells that our tables use."""
    train, _, schema = task
    cells, codes = coded(train, schema)
    rows = []
    for algorithm in algorithms:
        for epsilon in epsilons:
            try:
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
                    algorithm=algorithm,
                )
            except subprocess.CalledProcessError:  # its own budget may not add up, by a last digit
                answer = {"codes": np.empty((0, len(cells)), dtype=np.int64), "seconds": None}
            drawn = decode(np.array(answer["codes"]), cells, schema)
            told = f"{algorithm}, add-remove"
            rows.append(measure(name, told, epsilon, drawn, answer["seconds"], task))
    return rows


def coded(frame: pd.DataFrame, schema: dc.Schema) -> tuple[list[Any], Any]:
    """Return the cells of all columns, and which of them every record is in."""
    cells = [schema[column].bins(BINS) for column in schema]
    codes = [
        part.index(schema[column].encode(frame[column].to_numpy()))
        for column, part in zip(schema, cells, strict=True)
    ]
    return cells, np.column_stack(codes)


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
    skipped = ["MST and AIM take minutes and are left out of --quick"] if quick else missing("mbi")
    rows: list[dict[str, Any]] = []
    for name in MADE_ON if quick else (*MADE_ON, *SMALL, *KEPT_ASIDE):
        task = load(name)
        found = [*real(name, task), *ours(name, task, epsilons, quick)]
        if not skipped and name in MADE_ON:
            found += theirs(name, task, epsilons, ("MST", "AIM"))
        print_table(f"synthetic records of {name}", found)
        rows += found
    summary = {
        f"{row['data']}, {row['method']}, epsilon {row['epsilon']:g}, {what}": row[what]
        for row in rows
        if row["epsilon"] is not None
        for what in ("1-way", "2-way", "accuracy", "auc", "seconds")
    }
    save_results("synthesis", rows, summary | {"skipped": skipped})
    print(*skipped, sep="\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
