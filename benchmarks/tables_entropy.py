"""Entropies: published and exact bounds, what neighbours really do, and the routes to a private number.

The published pipeline adds Laplace noise of scale 1/epsilon to counts, raises negative ones to zero and
takes the entropy of what is left; under its own relation, replace-one, that costs 2 epsilon. Here it
has the noise it needs. Our own routes are those of ``discreet.tables.entropy.plan``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.tables_columns import BINS, Column, even_column, real_columns, values_of
from discreet.privacy.accounting import count_gaussian_scale
from discreet.tables.entropy.bounds import bound_entropy
from discreet.tables.entropy.plan import entropy
from discreet.tables.entropy.values import renyi_entropy

ORDERS = (0.5, 1.5, 2.0, 3.0, 5.0, 10.0)
SIZES = (600, 1_460, 10_000, 100_000)
METHODS = ("histogram", "direct", "narrowed", "auto")
_BIT = math.log(2)


def bits(counts: Any, order: float = 1.0) -> Any:
    """Return the entropy along the last axis, in bits."""
    return renyi_entropy(np.asarray(counts, dtype=float), order) / _BIT


def published_bound(rows: int, order: float = 1.0) -> float:
    """Return the paper's bound in bits: Theorem 3, and the one of its appendix for other orders."""
    if order == 1:
        return (2 + 1 / _BIT + 2 * math.log2(rows)) / rows
    return 2 * order / (abs(1 - order) * rows * _BIT)


def shannon_bounds() -> list[dict[str, Any]]:
    """Compare the published bound with the exact worst case and with what random pairs do."""
    rows = []
    for size in (50, 100, 500, 1_000, 5_000, 100_000):
        exact = bound_entropy(size, BINS, 1.0) / _BIT
        mean, most = sampled_moves(size)
        row: dict[str, Any] = {"rows": size, "published": published_bound(size), "exact worst": exact}
        row |= {"published / exact": published_bound(size) / exact}
        rows.append(row | {"random pairs, mean": mean, "random pairs, most": most})
    return rows


def sampled_moves(rows: int, pairs: int = 4_000) -> tuple[float, float]:
    """Return the mean and the greatest change over random neighbours with 30 bins, in bits."""
    draw = np.random.default_rng(0)
    shares = draw.dirichlet(np.full(BINS, 0.3), pairs)
    counts = draw.multinomial(rows, shares)
    source, target = (
        np.argmax(draw.random((pairs, BINS)) * counts, axis=1),
        draw.integers(0, BINS, pairs),
    )
    moved = counts + np.eye(BINS, dtype=int)[target] - np.eye(BINS, dtype=int)[source]
    changes = np.abs(bits(counts) - bits(moved))
    return float(changes.mean()), float(changes.max())


def renyi_bounds() -> list[dict[str, Any]]:
    """Compare the published bound of other orders with the exact worst case."""
    rows = []
    for order in ORDERS:
        for size, cells in ((1_000, 30), (10_000, 30), (10_000, 10_000), (10**7, 10_000)):
            exact = bound_entropy(size, cells, order) / _BIT
            ratio = exact / published_bound(size, order)
            row: dict[str, Any] = {"order": order, "rows": size, "cells": cells}
            rows.append(
                row
                | {"published": published_bound(size, order), "exact worst": exact}
                | {"exact / published": ratio, "published holds": "yes" if ratio <= 1 else "no"}
            )
    return rows


def baselines(column: Column, times: int) -> list[dict[str, Any]]:
    """Return entropy and count errors of the paper's baselines and of ours, over epsilon and bins."""
    settings = [(epsilon, BINS) for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0)]
    settings += [(1.0, bins) for bins in (5, 10, 50, 100)]
    rows = []
    for epsilon, bins in settings:
        counts = column.counts(bins)
        exact = float(bits(counts))
        row: dict[str, Any] = {"column": column.name, "rows": len(column.values)}
        row |= {"epsilon": epsilon, "bins": bins}
        for name, noisy in noisy_counts(counts, epsilon, times).items():
            row[f"{name}: entropy"] = float(np.abs(bits(noisy) - exact).mean())
            row[f"{name}: count"] = float(np.abs(noisy - counts).mean())
        ours = values_of(entropy("x", bins=bins, epsilon=epsilon), column, times)
        row["ours: entropy"] = float(np.mean([abs(value.value - exact) for value in ours]))
        rows.append(row)
    return rows


def noisy_counts(counts: Any, epsilon: float, times: int) -> dict[str, Any]:
    """Return clipped noisy counts of the baselines, and rows drawn from them, many times."""
    draw = np.random.default_rng(1)
    size = (times, len(counts))
    scale = count_gaussian_scale(epsilon, 1e-6, 2)
    found = {
        "laplace": np.maximum(counts + draw.laplace(0, 2 / epsilon, size), 0),
        "gaussian": np.maximum(counts + draw.normal(0, scale, size), 0),
    }
    for name in ("laplace", "gaussian"):
        shares = found[name] / found[name].sum(axis=1, keepdims=True)
        found[f"synthetic {name}"] = draw.multinomial(int(counts.sum()), shares)
    return found


def real_table(times: int) -> list[dict[str, Any]]:
    """Redo the paper's table of real columns: 30 bins, epsilon 1, one figure per column."""
    rows = []
    for column in real_columns():
        counts = column.counts()
        exact = float(bits(counts))
        clipped = bits(noisy_counts(counts, 1.0, times)["laplace"])
        ours = [value.value for value in values_of(entropy("x", bins=BINS, epsilon=1.0), column, times)]
        row: dict[str, Any] = {"column": column.name, "rows": len(column.values), "entropy": exact}
        row |= {"published, mean": float(clipped.mean()), "ours, mean": float(np.mean(ours))}
        row |= {"published, error": float(np.abs(clipped - exact).mean())}
        row |= {"ours, error": float(np.abs(np.array(ours) - exact).mean())}
        rows.append(row | {"published bound": published_bound(len(column.values))})
    return rows


def routes(times: int) -> list[dict[str, Any]]:
    """Compare the routes to an entropy at epsilon 1 with 30 bins; errors are mean distances in bits."""
    rows = []
    for column in [*real_columns(), even_column()]:
        for size in SIZES:
            part = column.sample(size)
            exact = float(bits(part.counts()))
            clipped = bits(noisy_counts(part.counts(), 1.0, times)["laplace"])
            row: dict[str, Any] = {"column": column.name, "rows": size, "entropy": exact}
            row["published"] = float(np.abs(clipped - exact).mean())
            for number, method in enumerate(METHODS):
                plan = entropy("x", bins=BINS, method=method, epsilon=1.0)
                values = values_of(plan, part, times, seed=number)
                row[method] = float(np.mean([abs(value.value - exact) for value in values]))
            row["published / auto"] = row["published"] / row["auto"]
            rows.append(row | {"histogram / auto": row["histogram"] / row["auto"]})
    return rows


def summary(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    real = [row for row in found["routes"] if "made" not in row["column"]]
    made = [row for row in found["routes"] if "made" in row["column"]]
    quoted: dict[str, Any] = {
        "published Shannon bound / exact": [
            round(row["published / exact"], 2) for row in found["shannon bounds"]
        ],
        "orders whose published bound fails": sorted(
            {row["order"] for row in found["renyi bounds"] if row["published holds"] == "no"}
        ),
        "worst exact / published": max(row["exact / published"] for row in found["renyi bounds"]),
    }
    for name, rows in (("real", real), ("even", made)):
        for other in ("published", "histogram"):
            ratios = [row[f"{other} / auto"] for row in rows]
            if ratios:
                quoted[f"{name} columns: {other} / auto, least"] = min(ratios)
                quoted[f"{name} columns: {other} / auto, median"] = float(np.median(ratios))
                quoted[f"{name} columns: {other} / auto, most"] = max(ratios)
    return quoted
