"""Private trees and forests against their peers: ``python -m benchmarks.trees [--quick]``.

1. *forests* on the synthetic task (40,000 x 14) and on six data sets, 80/20, ten runs: accuracy, AUC
   (the mean over classes where there are more than two) and log loss;
2. *options*: the default forest against its own options and one tree, on 22 tables;
3. *greedy trees* on NLTCS and Adult, depth 2 and 5, every mechanism, ten folds five times;
4. *training time* in CPU seconds.

Real data are read from the folder that DISCREET_DATA names; without it the synthetic task alone is run.
diffprivlib stands in an environment of its own (``make bench-envs``). Its claims are compared under the
relation they truly hold for: see ``trees_forests``.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from benchmarks import trees_forests, trees_greedy, trees_options
from benchmarks.harness import print_table, save_results
from benchmarks.peers import missing
from benchmarks.peers.measures import MEASURES
from benchmarks.trees_data import FOLDER, FORESTS, GREEDY, load, synthetic
from benchmarks.trees_tables import MADE, OPTIONS, table


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run, fewer epsilons")
    parser.add_argument("--runs", type=int, default=10, help="random splits of a data set, for forests")
    parser.add_argument(
        "--part", choices=("forests", "options", "greedy", "time"), help="one part alone"
    )
    options = parser.parse_args()
    for sentence in missing("diffprivlib"):
        print(sentence)
    if FOLDER not in os.environ:
        print(f"{FOLDER} is not set: real data is left out")
    parts = {
        "forests": lambda: forests(options.quick, options.runs),
        "options": lambda: own_options(options.quick, options.runs),
        "greedy": lambda: greedy(options.quick),
        "time": lambda: times(options.quick),
    }
    found = {name: part() for name, part in parts.items() if options.part in (None, name)}
    rows = [{"part": name, **row} for name, part_rows in found.items() for row in part_rows]
    summary = summarise(found.get("forests", []))
    summary |= trees_options.summarise(found.get("options", []))
    save_results("trees", rows, summary)


def forests(quick: bool, runs: int) -> list[dict[str, Any]]:
    """Compare forests on all data sets."""
    epsilons = (0.1, 1.0) if quick else trees_forests.EPSILONS
    names = FORESTS if FOLDER in os.environ else ()
    rows = []
    for task in (synthetic(), *(load(name) for name in names)):
        found = trees_forests.compare(task, epsilons, 1 if quick else runs, [5] if quick else [5, 8])
        print_table(f"forests, {task.name}", found)
        rows += found
    return rows


def own_options(quick: bool, runs: int) -> list[dict[str, Any]]:
    """Compare the default forest with its options."""
    names = OPTIONS if FOLDER in os.environ else MADE
    rows = []
    for name in MADE if quick else names:
        found = trees_options.compare(table(name), trees_options.EPSILONS, 1 if quick else runs)
        print_table(f"options, {name}", found)
        rows += found
    return rows


def greedy(quick: bool) -> list[dict[str, Any]]:
    """Compare the mechanisms of greedy trees."""
    rows = []
    for name in GREEDY if FOLDER in os.environ else ():
        task = load(name)
        folds = [fold for run in range(1 if quick else 5) for fold in task.folds(run, 10)]
        epsilons = (0.1, 1.0) if quick else trees_greedy.EPSILONS
        depths = trees_greedy.DEPTHS[1:] if quick else trees_greedy.DEPTHS
        found = trees_greedy.compare(task, epsilons, depths, folds[:1] if quick else folds)
        print_table(f"greedy trees, {name}: accuracy", found)
        rows += found
    return rows


def times(quick: bool) -> list[dict[str, Any]]:
    """Compare training times."""
    epsilons = (1.0,) if quick else trees_forests.EPSILONS
    names = FORESTS if FOLDER in os.environ and not quick else ()
    rows = []
    for task in (synthetic(), *(load(name) for name in names)):
        rows += trees_forests.training_seconds(task, epsilons, [5, 8])
    print_table("training, CPU seconds", rows)
    return rows


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how often our forest is above every depth of diffprivlib, with the same true guarantee."""
    peers = [name for name in (rows[0] if rows else {}) if name.startswith("diffprivlib")]
    known = [row for row in rows if all(row[name] == row[name] for name in peers)]
    summary: dict[str, Any] = {}
    for what in MEASURES:
        own = [row for row in known if row["measure"] == what]
        side = -1.0 if what == "log loss" else 1.0
        summary[f"{what}: cases"] = len(own)
        for name in ("ours", "ours, strict"):
            better = [all(side * row[name] > side * row[peer] for peer in peers) for row in own]
            summary[f"{what}: {name}, better"] = sum(better)
    return summary


if __name__ == "__main__":
    main()
