"""Private models for tables against their peers: ``python -m benchmarks.glass_box [--quick]``.

Ours, DP-EBM of ``interpret``, logistic regression and naive Bayes of diffprivlib, and two that are not
private: an additive explainable boosting machine and boosted trees. One test split per table, so that a
mean over seeds is one over noise alone. What is promised, and under whose relation, is said in
``glass_box_models``.

Real data are read from the folder that DISCREET_DATA names; without it synthetic tables alone are run.
Peers stand in environments of their own (``make bench-envs``); what they reached is kept in a file.
"""

from __future__ import annotations

import argparse
import os
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.glass_box_aims import judge, mean_rows
from benchmarks.glass_box_data import BINARY, CLASSES, FOLDER, REGRESSION, SYNTHETIC, table
from benchmarks.glass_box_models import DELTA, PLANS, Peers, boosted, constant, fits, ours
from benchmarks.harness import RESULTS, print_table, save_results
from benchmarks.peers import missing

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
_QUICK = ("additive", "rare", "heart", "german", "wallsensor", "wine quality")


def main() -> None:
    """Run all tables, print each one and the aims, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="six tables, two epsilons, two seeds")
    parser.add_argument("--seeds", type=int, help="of the noise (10; quick: 2)")
    parser.add_argument("--tables", nargs="+", help="some tables alone, by name")
    parser.add_argument("--models", nargs="+", choices=tuple(PLANS), default=tuple(PLANS))
    parser.add_argument("--pure", action="store_true", help="ours without a delta; peers as they are")
    parser.add_argument("--peers", type=Path, default=RESULTS / "glass_box_peers.json")
    options = parser.parse_args()
    for sentence in missing("interpret", "diffprivlib"):
        print(sentence)
    seeds = options.seeds or (2 if options.quick else 10)
    epsilons = (0.1, 1.0) if options.quick else EPSILONS
    peers, rows = Peers(options.peers), []
    for name in names(options.quick, options.tables):
        found = mean_rows(name, run(name, epsilons, seeds, options, peers))
        print_table(name, found)
        rows += found
    aims = judge(rows)
    if aims:
        print_table("aims", aims)
    save_results("glass_box", rows, {"seeds": seeds, "aims": aims})


def names(quick: bool, asked: list[str] | None) -> list[str]:
    """Return the tables to run: those asked for, without files the synthetic ones alone."""
    if FOLDER not in os.environ:
        print(f"{FOLDER} is not set: real data is left out")
    there = [*SYNTHETIC, *([*BINARY, *CLASSES, *REGRESSION] if FOLDER in os.environ else [])]
    return [name for name in there if name in (asked or (_QUICK if quick else there))]


def run(
    name: str, epsilons: tuple[float, ...], seeds: int, options: argparse.Namespace, peers: Peers
) -> list[dict[str, Any]]:
    """Return the scores of every model, epsilon and seed on a table."""
    task = table(name)
    found = [constant(task), boosted(task), *peers.rows(task, epsilons, seeds)]
    delta = 0.0 if options.pure else DELTA
    for model in options.models:
        if fits(task, model):
            cells = product(epsilons, range(seeds))
            found += [ours(task, model, epsilon, seed, delta) for epsilon, seed in cells]
    return found


if __name__ == "__main__":
    main()
