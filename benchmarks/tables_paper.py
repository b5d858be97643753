"""The tables and figures of Ma, Wu, Yan (2026) redone with exact bounds, on public columns.

Every part is a function that returns flat rows; a family joins with a module of its own and lines in
``PARTS``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks import tables_entropy, tables_histogram, tables_records
from benchmarks.harness import print_table, save_results
from benchmarks.tables_columns import even_column, real_columns

Rows = list[dict[str, Any]]


def main() -> None:
    """Run all parts, or some of them, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--only", nargs="*", help="names of parts")
    options = parser.parse_args()
    found: dict[str, Rows] = {}
    for name, (part, quick, full) in PARTS.items():
        if options.only and name not in options.only:
            continue
        found[name] = part(quick if options.quick else full)
        if found[name]:
            print_table(name, found[name])
    rows = [{"part": name, **row} for name, part_rows in found.items() for row in part_rows]
    save_results("tables_paper", rows, summarise(found))


def _baselines(times: int) -> Rows:
    column = next((c for c in real_columns() if c.name == "adult age"), even_column())
    return tables_entropy.baselines(column.sample(10_000), times)


PARTS: dict[str, tuple[Callable[[int], Rows], int, int]] = {
    # name: the part, its repeats when quick, and in full
    "shannon bounds": (lambda times: tables_entropy.shannon_bounds(), 1, 1),
    "renyi bounds": (lambda times: tables_entropy.renyi_bounds(), 1, 1),
    "baselines": (_baselines, 40, 400),
    "real columns": (tables_entropy.real_table, 40, 400),
    "routes": (tables_entropy.routes, 60, 600),
    "ranges": (tables_histogram.ranges, 10, 100),
    "consistency": (tables_histogram.consistency, 10, 100),
    "pass rates": (tables_records.pass_rates, 60, 600),
    "private means": (tables_records.private_means, 3, 30),
    "histogram speed": (tables_histogram.speed, 3, 11),
}


def summarise(found: dict[str, Rows]) -> dict[str, Any]:
    """Return the figures the documentation quotes, of the parts that ran."""
    summary: dict[str, Any] = {}
    if {"shannon bounds", "renyi bounds", "routes"} <= set(found):
        summary |= tables_entropy.summary(found)
    for row in found.get("histogram speed", []):
        name = f"{row['rows']} rows, {row['bins']} bins"
        summary |= {f"{name}: {key}": row[key] for key in row if key.endswith("/ ours")}
    for row in found.get("ranges", []):
        summary[f"{row['bins']} bins: cells / ranges"] = row["cells / ranges"]
    for name, value in summary.items():
        print(f"{name}: {value:.3g}" if isinstance(value, float) else f"{name}: {value}")
    return summary


if __name__ == "__main__":
    main()
