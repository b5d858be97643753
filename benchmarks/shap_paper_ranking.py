"""Tables 9 and 11 to 14 of Alissaiei (2026): what the chosen feature depends on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import shap_paper_laws as laws
from benchmarks import shap_paper_numbers as paper
from benchmarks.shap_tasks import CLIP, SEED, Fitted, Task, fit, load, naive_reach, paper_masks
from discreet.engines.shapley.coalitions import MaskSet
from discreet.engines.shapley.kernel import kernel_values

QUERIES = 8
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
CLASSICAL = math.sqrt(2.0 * math.log(1.25 / 1e-5))
"""The paper's multiplier of the sensitivity at delta = 1e-5; proved for epsilon below one."""


def sets_of_queries(quick: bool) -> int:
    """Return how many sets of queries give the range of a figure."""
    return 3 if quick else 8


def measure(
    task: Task,
    model: Fitted,
    masks: MaskSet,
    *,
    sets: int,
    queries: int = QUERIES,
    moves: int = 30,
    rows: int = 100,
    bound: float = CLIP,
) -> list[list[tuple[Any, float, float]]]:
    """Return, per set of queries, the attributions, Delta and gap of each."""
    found = []
    for q in range(sets * queries):
        values, reach = laws.measure_reach(
            model.predictor,
            task.held_out[q],
            task.background(rows),
            masks,
            moves=moves,
            seed=SEED + q,
            bound=bound,
        )
        found.append((values, reach, laws.gap(values)))
    return [found[start : start + queries] for start in range(0, len(found), queries)]


def median_ratio(found: list[tuple[Any, float, float]]) -> float:
    """Return the median of Delta / gap."""
    return float(np.median([reach / gap for _, reach, gap in found]))


def mean_law(
    law: Callable[[Any, float, float], float], found: list[tuple[Any, float, float]], epsilon: float
) -> float:
    """Return the mean over queries of what a mechanism does at ``epsilon``."""
    return float(np.mean([law(values, reach, epsilon) for values, reach, _ in found]))


def table_9(quick: bool) -> paper.Rows:
    """Return Delta and gap on the synthetic Gaussian task; moved queries are not clipped here."""
    task, masks, rows = load("synth_gaussian"), paper_masks(20, 200), []
    for name, published in paper.TABLE_9.items():
        sets = measure(
            task,
            fit(task.name, name),
            masks,
            sets=sets_of_queries(quick),
            queries=5,
            moves=20,
            bound=np.inf,
        )
        rows += paper.rows_of(9, name, published, [reach_and_gap(found) for found in sets])
    return rows


def reach_and_gap(found: list[tuple[Any, float, float]]) -> dict[str, float]:
    """Return the paper's summary of Delta and gap over a set of queries."""
    reaches, gaps = (np.array([one[part] for one in found]) for part in (1, 2))
    return {
        "D mean": reaches.mean(),
        "D p95": np.quantile(reaches, 0.95),
        "gap mean": gaps.mean(),
        "gap p95": np.quantile(gaps, 0.95),
        "D/g": reaches.mean() / gaps.mean(),
    }


def table_11(quick: bool, real: bool, points: paper.Rows) -> paper.Rows:
    """Return the comparison across data sets; adds the points of the collapse plot."""
    rows = []
    for (task_name, name), published in paper.TABLE_11.items():
        if not task_name.startswith("synth") and (not real or (quick and task_name == "adult")):
            continue
        task = load(task_name)
        masks = paper_masks(task.features, max(200, 4 * task.features))
        sets = measure(task, fit(task_name, name), masks, sets=sets_of_queries(quick))
        figures = [
            (
                median_ratio(found),
                mean_law(laws.top_1, found, 1.0),
                mean_law(laws.top_1, found, 10.0),
                mean_law(laws.top_k_overlap, found, 1.0),
                mean_law(laws.kendall, found, 1.0),
            )
            for found in sets
        ]
        setting = f"{task_name} {name} d={task.features}"
        for part, column in enumerate(paper.TABLE_11_COLUMNS):
            rows.append(paper.row(11, setting, column, published[part], [one[part] for one in figures]))
        points += _points(task, name, sets[0])
    return rows


def _points(task: Task, name: str, found: list[tuple[Any, float, float]]) -> paper.Rows:
    rows = []
    for values, reach, gap in found:
        for epsilon in EPSILONS:
            x = epsilon * gap / (2.0 * reach)
            rows.append(
                {
                    "task": task.name,
                    "model": name,
                    "d": task.features,
                    "x": x,
                    "chance": laws.top_1(values, reach, epsilon),
                    "least": 1.0 - (task.features - 1) * math.exp(-x),
                    "most": 1.0 / (1.0 + math.exp(-x)),
                }
            )
    return rows


def table_12(quick: bool) -> paper.Rows:
    """Return the sweep over the size of the background."""
    task, masks, rows = load("synth_additive"), paper_masks(20, 200), []
    for size, published in paper.TABLE_12.items():
        sets = measure(task, fit(task.name, "RF"), masks, sets=sets_of_queries(quick), rows=size)
        figures = [
            (
                np.median([reach for _, reach, _ in found]),
                np.median([gap for _, _, gap in found]),
                median_ratio(found),
                mean_law(laws.top_1, found, 1.0),
            )
            for found in sets
        ]
        for part, column in enumerate(paper.TABLE_12_COLUMNS):
            rows.append(
                paper.row(12, f"n={size}", column, published[part], [one[part] for one in figures])
            )
    return rows


def table_13(quick: bool) -> paper.Rows:
    """Return the sweep over the number of coalitions, and how often fresh ones change the winner."""
    task, model, rows = load("synth_interaction"), fit("synth_interaction", "MLP"), []
    for count, published in paper.TABLE_13.items():
        start = time.perf_counter()
        winners = []
        for seed in range(1, 5):
            values = kernel_values(
                model.predictor,
                task.held_out[: sets_of_queries(quick) * QUERIES],
                task.background(),
                paper_masks(20, count, SEED + seed),
                value="mean",
            )
            winners.append(np.abs(values).argmax(axis=1))
        jitter = (np.array(winners) != winners[0]).any(axis=0).reshape(-1, QUERIES).mean(axis=1)
        sets = measure(task, model, paper_masks(20, count), sets=sets_of_queries(quick))
        figures = {
            "jitter": jitter,
            "D/g": [median_ratio(found) for found in sets],
            "top-1 e=1": [mean_law(laws.top_1, found, 1.0) for found in sets],
            "seconds": [(time.perf_counter() - start) / len(sets)],
        }
        for part, column in enumerate(paper.TABLE_13_COLUMNS):
            rows.append(paper.row(13, f"K={count}", column, published[part], figures[column]))
    return rows


def table_14(quick: bool) -> paper.Rows:
    """Return the simple baselines at epsilon = 1; sparse vector in two orders of visiting."""
    task, model, masks = load("synth_interaction"), fit("synth_interaction", "RF"), paper_masks(20, 200)
    sets = measure(task, model, masks, sets=sets_of_queries(quick))
    sigma = naive_reach(masks, model.magnitude) * CLASSICAL
    baselines: dict[str, Callable[[Any, float, float], float]] = {
        "random": lambda values, reach, epsilon: 1.0 / len(values),
        "non-private": lambda values, reach, epsilon: 1.0,
        "exponential": laws.top_1,
        "Gaussian, then top-1": lambda values, reach, epsilon: laws.gaussian_top_1(values, sigma),
        "Laplace noisy max": laws.noisy_max,
    }
    rows = [
        paper.row(
            14, name, "top-1", paper.TABLE_14[name], [mean_law(law, found, 1.0) for found in sets]
        )
        for name, law in baselines.items()
    ]
    for order, true in (("order of columns", False), ("order of true magnitudes", True)):

        def visit(values: Any, reach: float, epsilon: float, true: bool = true) -> float:
            return laws.above_threshold(values, reach, epsilon, in_true_order=true)

        chances = [mean_law(visit, found, 1.0) for found in sets]
        rows.append(
            paper.row(
                14, f"above threshold, {order}", "top-1", paper.TABLE_14["above threshold"], chances
            )
        )
    rows.append(paper.row(14, "Gaussian", "sigma", paper.TABLE_14_SIGMA, [sigma]))
    return rows
