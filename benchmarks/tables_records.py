"""Parts of ``tables_paper`` on records and curves: pass rates of Mechanism F, and private means.

The paper's first figure is a formula; here the mechanism itself runs on Adult, for every factor gamma
and threshold k. Its second has 50 paths and a penalty that its code never uses; here rho acts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import RESULTS
from benchmarks.synthesis_data import FOLDER, load
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.plans import Setting
from discreet.plans.stages.marginals import lay_out
from discreet.tables.functional.kernels import spectrum
from discreet.tables.synthesis.proposals import BallProposal, radii_of

Rows = list[dict[str, Any]]
COLUMNS = ("age", "education-num", "hours-per-week", "income")
GAMMAS, THRESHOLDS = (1.1, 1.5, 2.0, 4.0, 12.0), (5, 10, 20, 50)
RHOS = (1e-6, 1e-3, 1e-1)
POINTS, PATHS = 81, 50


def pass_rates(seeds: int) -> Rows:
    """Return the exact chance to pass over some seeds, for every gamma and k (t = 2, eps0 = 1)."""
    if os.environ.get(FOLDER) is None or not (Path(os.environ[FOLDER]) / "adult_full.csv").exists():
        print("pass rates are left out: adult_full.csv is not there")
        return []
    frame, _, schema = load("adult")
    layout = lay_out(schema, COLUMNS, 16)
    codes = np.column_stack(
        [
            part.index(schema[name].encode(frame[name].to_numpy()))
            for name, part in zip(COLUMNS, layout.cells, strict=True)
        ]
    )
    numbers = [isinstance(schema[name], dc.Number) for name in COLUMNS]
    radii = radii_of(layout.sizes, numbers, 0.1)
    draw = np.random.default_rng(0)
    rows = []
    for gamma in GAMMAS:
        ball = BallProposal(radii, layout.sizes, gamma)
        counts = [plausible_seeds(ball, codes, draw) for _ in range(seeds)]
        for k in THRESHOLDS:
            test = DeniabilityTest(k, 2, gamma, 1.0, len(codes))
            rate = float(np.mean([test.pass_probability(count) for count in counts]))
            rows.append(
                {
                    "gamma": gamma,
                    "k": k,
                    "pass rate": rate,
                    "epsilon": test.epsilon,
                    "delta": test.delta,
                    "seeds": float(np.median(counts)),
                }
            )
    draw_pass_rates(rows)
    return rows


def draw_pass_rates(rows: Rows) -> None:
    """Draw the pass rate over gamma, a line per threshold, beside the results."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    for k in THRESHOLDS:
        chosen = [row for row in rows if row["k"] == k]
        rates = [row["pass rate"] for row in chosen]
        axes.plot([row["gamma"] for row in chosen], rates, marker="o", label=f"k = {k}")
    axes.set(xlabel="gamma", ylabel="pass rate", title="Mechanism F on Adult", xscale="log")
    axes.legend(frameon=False)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "tables_pass_rate.png", dpi=120)


def plausible_seeds(ball: BallProposal, codes: Any, draw: np.random.Generator) -> int:
    """Return the plausible seeds of one proposal."""
    seed = codes[draw.integers(len(codes))]
    reach = np.asarray(ball.radii)
    low = np.maximum(seed - reach, 0)
    high = np.minimum(seed + reach, np.asarray(ball.sizes) - 1)
    return ball.plausible(codes, seed, draw.integers(low, high + 1))


def private_means(times: int) -> Rows:
    """Return the error of private means of Wiener paths for every penalty, both kinds of noise."""
    draw = np.random.default_rng(1)
    steps = draw.normal(0, 1 / np.sqrt(POINTS - 1), (PATHS, POINTS - 1))
    paths = np.column_stack([np.zeros(PATHS), np.cumsum(steps, axis=1)]) ** 2
    rows = []
    for records in (PATHS, 2_000):
        chosen = paths[draw.integers(0, PATHS, records)] if records > PATHS else paths
        rows += [mean_row(chosen, rho, times) for rho in (*RHOS, "auto")]
    return rows


def mean_row(paths: Any, rho: Any, times: int) -> dict[str, Any]:
    """Return the errors of one penalty (epsilon 1, delta 1e-5, as the paper)."""
    names = [f"t{place}" for place in range(POINTS)]
    schema = dc.Schema({name: dc.Number(0, 4, missing=False) for name in names})
    row: dict[str, Any] = {"records": len(paths), "rho": rho}
    for noise in ("white", "process"):
        plan = dc.functional_mean(
            names, kernel="wiener", penalty=rho, noise=noise, epsilon=1.0, delta=1e-5
        )
        exact = np.clip(paths, 0, 4).mean(axis=0)
        errors = []
        for seed in range(times):
            session = dc.protect(
                pd.DataFrame(paths, columns=names),
                schema,
                dataset="d",
                epsilon=1.0,
                delta=1e-5,
                ledger=":memory:",
                seed=seed,
            )
            value = session.release(plan).value
            errors.append(np.mean((np.array(value.y) - exact) ** 2))
        row[f"{noise}, root mean square"] = float(np.sqrt(np.mean(errors)))
        if noise == "white":
            row["of it shrinking"] = shrinking(exact, value.rho)
        program = plan.prepare(Setting(schema, "replace-one", len(paths)))
        row[f"{noise}, noise (95 %)"] = program.expected_error["curve"].error
    return row


def shrinking(exact: Any, rho: float) -> float:
    """Return the root mean square of what shrinking alone takes away."""
    found = spectrum(range(POINTS), "wiener", 0.3, 1.5)
    left = (exact - 2.0) * found.roots
    kept = (found.basis * found.shares(rho)) @ (found.basis.T @ left)
    return float(np.sqrt(np.mean(((left - kept) / found.roots) ** 2)))
