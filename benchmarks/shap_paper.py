"""The tables of Alissaiei (2026), reproduced: its figures beside ours.

Settings are the paper's (seed 20260415); what it leaves open is said in ``benchmarks.shap_tasks``.
Chances are exact laws where the paper draws 20 or 30 samples. ``ours`` is the first set of queries, as
many as the paper has; ``low`` and ``high`` are the least and greatest figure over eight such sets:
medians of eight queries scatter widely, and a figure inside is as good a match as its setting allows.

The empirical Delta is measured, not proven, and Algorithm 1 is a heuristic: nothing here is a release.
Real data are read from the folder that DISCREET_DATA names; without it their tables are left out.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks import shap_paper_noise as noise
from benchmarks import shap_paper_ranking as ranking
from benchmarks.harness import RESULTS, print_table, save_results
from benchmarks.shap_paper_numbers import Rows
from benchmarks.shap_tasks import FOLDER, data_folder
from discreet.privacy.accounting import gaussian_multiplier


def main() -> None:
    """Reproduce all tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer queries and sets, no Adult")
    quick = parser.parse_args().quick
    real = data_folder() is not None
    points: Rows = []
    rows: Rows = []
    for table in (
        lambda: noise.table_3(quick),
        lambda: noise.table_7(quick),
        lambda: ranking.table_9(quick),
        lambda: noise.table_10(quick) if real else [],
        lambda: ranking.table_11(quick, real, points),
        lambda: ranking.table_12(quick),
        lambda: ranking.table_13(quick),
        lambda: ranking.table_14(quick),
    ):
        found = table()
        rows += found
        if found:
            print_table(f"Table {found[0]['table']}", found)
    summary = summarise(rows, points)
    summary["left out"] = "" if real else f"tables on real data: {FOLDER} is not set"
    summary["figure"] = draw_collapse(points)
    print(summary)
    save_results("shap_paper", rows, summary)


def summarise(rows: Rows, points: Rows) -> dict[str, Any]:
    """Return how many of the paper's figures lie where our sets of queries put them."""
    ranged = [row for row in rows if row["low"] is not None]
    inside = [row for row in ranged if row["low"] - 0.005 <= row["paper"] <= row["high"] + 0.005]
    return {
        "classical multiplier at epsilon=1": round(ranking.CLASSICAL, 3),
        "analytic multiplier at epsilon=1": round(gaussian_multiplier(1.0, noise.DELTA), 3),
        "figures": len(rows),
        "figures with a range": len(ranged),
        "paper inside our range": len(inside),
        "points below 1 - (d - 1) exp(-x)": sum(p["chance"] < p["least"] - 1e-6 for p in points),
        "points above 1 / (1 + exp(-x))": sum(p["chance"] > p["most"] + 1e-6 for p in points),
    }


def draw_collapse(points: Rows) -> str:
    """Draw the chance of the right answer against epsilon gap / (2 Delta); return the file's name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in sorted({point["model"] for point in points}):
        own = [point for point in points if point["model"] == name]
        axes.scatter([p["x"] for p in own], [p["chance"] for p in own], s=10, alpha=0.6, label=name)
    x = np.geomspace(1e-3, 1e3, 400)
    middle = float(np.median([point["d"] for point in points]))
    law = 1.0 - middle * np.exp(-x)
    axes.plot(x[law > 0], law[law > 0], "k--", lw=1, label=f"1 - d exp(-x), d = {middle:g}")
    axes.plot(x, 1.0 / (1.0 + np.exp(-x)), "k:", lw=1, label="1 / (1 + exp(-x)), no more is possible")
    axes.set(xscale="log", xlim=(1e-3, 1e3), ylim=(0, 1.02), xlabel="epsilon gap / (2 Delta)")
    axes.set(ylabel="chance of the right feature", title=f"{len(points)} points, exact laws")
    axes.legend(loc="upper left", fontsize=8)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "shap_paper_collapse.png"
    figure.savefig(path, dpi=120)
    return path.name


if __name__ == "__main__":
    main()
