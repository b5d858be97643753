"""Plain statistics beside OpenDP and diffprivlib at the same true guarantee: errors, and speed.

Counts, sums, means, variances, quantiles and histograms, of all records and by group, of columns of
Adult, default credit, bike sharing and Pima, under replace-one with the number of records public
(``peers/statistics.py`` says what that means to each peer). Bounds are those of somebody who has not
seen the values. Errors are mean absolute ones, over cells and groups where there are several; those of
quantiles are told in ranks and in values. Where two releases have the same noise, 2,000 draws still
differ by some percent, so a ratio is above an aim if it is so by more than two standard errors.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing
from benchmarks.statistics_cases import Case, read_cases
from benchmarks.statistics_ours import AUTO, our_errors
from benchmarks.statistics_speed import speed

EPSILONS = (0.1, 0.3, 1.0, 3.0)
MOST = 1.05
MOST_WHERE_CLIPPED = 0.5
_ONE_RECORD = 1.0
"""Errors in ranks below one record are not told apart."""


def main() -> None:
    """Measure errors and speed, say which aims are met, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer releases, epsilons and records")
    parser.add_argument("--repeats", type=int, help="releases per cell; 2,000 if not given")
    parser.add_argument("--seconds", type=float, help="for the releases of a cell; 15 if not given")
    options = parser.parse_args()
    draws = options.repeats or (100 if options.quick else 2_000)
    enough = options.seconds or (0.5 if options.quick else 15.0)
    epsilons = EPSILONS[::2] if options.quick else EPSILONS
    cases = read_cases()
    theirs = ask_both(cases, epsilons, draws)
    ours = [row for case in cases for row in our_errors(case, epsilons, draws, enough)]
    rows = compare(ours, theirs)
    print_table("mean absolute errors, and ours as a share of the better peer's", rows)
    times = speed(100_000 if options.quick else 1_000_000, repeats=3 if options.quick else 9)
    print_table("milliseconds from a table to an answer", times)
    save_results("statistics", [*rows, *times], summarise(rows, times))


PeerErrors = dict[tuple[str, str, str, float], tuple[float, float]]
"""Errors and their standard errors by peer, column, statistic and epsilon."""


def compare(ours: list[dict[str, Any]], theirs: PeerErrors) -> list[dict[str, Any]]:
    """Return our rows with the errors of peers and the ratio to the better one."""
    rows = []
    for row in ours:
        plain = row["statistic"].removesuffix(AUTO)
        found = {
            peer: theirs.get((peer, row["column"], plain, row["epsilon"]), (math.nan, math.nan))
            for peer in ("OpenDP", "diffprivlib")
        }
        told = {key: row[key] for key in ("column", "statistic", "epsilon")}
        told |= {"ours": row["error"]} | {peer: error for peer, (error, _) in found.items()}
        rows.append(told | ratio_to_best(row, min(found.values())) | {"skewed": row["skewed"]})
    return rows


def ratio_to_best(row: dict[str, Any], best: tuple[float, float]) -> dict[str, float]:
    """Return the ratio of our error to the better peer's, and its standard error."""
    least = _ONE_RECORD if "ranks" in row["statistic"] else 1e-12
    ours, theirs = max(row["error"], least), max(best[0], least)
    spread = math.hypot(row["se"] / ours, best[1] / theirs)
    return {"ratio": ours / theirs, "± (ratio)": ours / theirs * spread}


def ask_both(cases: list[Case], epsilons: tuple[float, ...], draws: int) -> PeerErrors:
    """Return the errors of both peers, or none where their environment is not there."""
    for sentence in (absent := missing("diffprivlib")):
        print(sentence)
    if absent:
        return {}
    arrays = {case.name: case.told.values for case in cases}
    arrays |= {f"{case.name} by": case.told.by for case in cases}
    facts = ("low", "high", "step", "groups", "edges")
    columns = {case.name: {key: getattr(case.told, key) for key in facts} for case in cases}
    found = ask_peer(
        "diffprivlib", "statistics", arrays, columns=columns, epsilons=epsilons, draws=draws
    )
    return {
        (row["peer"], row["column"], row["statistic"], row["epsilon"]): (row["error"], row["se"])
        for row in found
    }


def summarise(rows: list[dict[str, Any]], times: list[dict[str, Any]]) -> dict[str, Any]:
    """Return whether the aims are met, and print what misses them."""
    above = [row for row in rows if AUTO not in row["statistic"] and _is_above(row, MOST)]
    clipped = [row for row in rows if AUTO in row["statistic"]]
    wide = [row for row in clipped if _is_above(row, MOST_WHERE_CLIPPED)]
    peers = ("OpenDP", "diffprivlib")
    slower = [row for row in times if any(row[f"{peer} / ours"] < 1 for peer in peers)]
    for title, missed in (
        (f"above {MOST} times the better peer's error", above),
        (f"above {MOST_WHERE_CLIPPED} times it where clipping matters", wide),
        ("slower than a peer", slower),
    ):
        if missed:
            print_table(title, missed)
    summary: dict[str, Any] = {
        "cells": len(rows) - len(clipped),
        f"at most {MOST} times the better peer's error": len(rows) - len(clipped) - len(above),
        "cells with clip='auto'": len(clipped),
        f"at most {MOST_WHERE_CLIPPED} times it": len(clipped) - len(wide),
        "statistics": len(times),
        "as fast as both peers": len(times) - len(slower),
    }
    summary |= {f"{row['statistic']} {p} / ours": row[f"{p} / ours"] for row in times for p in peers}
    print(summary)
    return summary


def _is_above(row: dict[str, Any], aim: float) -> bool:
    return bool(row["ratio"] - 2 * row["± (ratio)"] > aim)


if __name__ == "__main__":
    main()
