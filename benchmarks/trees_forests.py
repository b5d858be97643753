"""Forests: ours, random trees, diffprivlib and scikit-learn on the same splits of the same rows.

diffprivlib's claim of epsilon is truly 2 epsilon under replace-one (see ``peers/forests.py``). So ours
is run twice: with the same true guarantee, 2 epsilon under replace-one, and ``strict``: with epsilon,
half of what diffprivlib spends.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.peers import ask_peer, missing
from benchmarks.peers.measures import MEASURES, measures
from benchmarks.trees_data import Task
from discreet.estimators.classifiers import (
    PrivateDecisionTreeClassifier,
    PrivateRandomForestClassifier,
)

EPSILONS = (0.1, 0.5, 1.0, 2.0, 10.0)
_WAYS: dict[str, tuple[float, dict[str, Any]]] = {
    "ours": (2.0, {}),
    "ours, strict": (1.0, {}),
    "ours, 32 trees": (2.0, {"n_estimators": 32}),
    "random trees": (2.0, {"method": "random", "n_estimators": 32}),
    "one tree": (2.0, {"kind": PrivateDecisionTreeClassifier}),
}


def compare(
    task: Task, epsilons: tuple[float, ...], runs: int, depths: list[int]
) -> list[dict[str, Any]]:
    """Return one row per epsilon and measure: means over the runs."""
    peer = diffprivlib(task, "forest", epsilons, [task.split(run) for run in range(runs)], depths)
    free = [plain_forest(task, run) for run in range(min(runs, 3))]
    blind = np.bincount(task.classes, minlength=task.count) / len(task.classes)
    constant = measures(np.tile(blind, (len(task.classes), 1)), task.classes)
    rows = []
    for epsilon in epsilons:
        ours = {
            name: [fit(task, run, times * epsilon, **options) for run in range(runs)]
            for name, (times, options) in _WAYS.items()
        }
        for what in MEASURES:
            row: dict[str, Any] = {"data": task.name, "measure": what, "claimed epsilon": epsilon}
            for depth in depths:
                row[f"diffprivlib, depth {depth}"] = mean(peer, what, epsilon, depth)
            row |= {name: np.mean([one[what] for one in found]) for name, found in ours.items()}
            row["class shares alone"] = constant[what]
            row["scikit-learn, not private"] = np.mean([one[what] for one in free])
            rows.append(_rounded(row, 4))
    return rows


def fit(task: Task, run: int, epsilon: float, **options: Any) -> dict[str, float]:
    """Return the measures of our forest, or of one tree, with seeded noise of the true law."""
    train, test = task.split(run)
    kind = options.pop("kind", PrivateRandomForestClassifier)
    model = kind(epsilon, schema=task.schema, random_state=run, **options)
    model.fit(task.features[train], task.classes[train])
    return measures(model.predict_proba(task.features[test]), task.classes[test])


def plain_forest(task: Task, run: int) -> dict[str, float]:
    """Return the measures of scikit-learn's forest of 32 trees."""
    from sklearn.ensemble import RandomForestClassifier

    train, test = task.split(run)
    model = RandomForestClassifier(32, random_state=run).fit(task.features[train], task.classes[train])
    shares = np.zeros((len(test), task.count))
    shares[:, model.classes_] = model.predict_proba(task.features[test])
    return measures(shares, task.classes[test])


def training_seconds(
    task: Task, epsilons: tuple[float, ...], depths: list[int]
) -> list[dict[str, Any]]:
    """Return CPU seconds of one training: ours with exact noise, the ledger and all checks."""
    splits = [task.split(0)] * 3
    peer = diffprivlib(task, "forest", epsilons, splits, depths)
    rows, train = [], splits[0][0]
    for epsilon in epsilons:
        row: dict[str, Any] = {"data": task.name, "claimed epsilon": epsilon}
        for depth in depths:
            row[f"diffprivlib, depth {depth}"] = mean(peer, "seconds", epsilon, depth, np.min)
        times = []
        for _ in range(3):
            start = time.process_time()
            model = PrivateRandomForestClassifier(2 * epsilon, schema=task.schema)
            model.fit(task.features[train], task.classes[train])
            times.append(time.process_time() - start)
        row["ours"] = min(times)
        rows.append(_rounded(row, 3))
    return rows


def _rounded(row: dict[str, Any], places: int) -> dict[str, Any]:
    return {name: v if isinstance(v, str) else round(float(v), places) for name, v in row.items()}


def diffprivlib(
    task: Task, kind: str, epsilons: tuple[float, ...], splits: list[tuple[Any, Any]], depths: list[int]
) -> list[dict[str, Any]]:
    """Return what diffprivlib reaches in its own environment; nothing if it is not there."""
    if missing("diffprivlib"):
        return []
    low, high = np.array(task.bounds).T
    arrays = {"features": task.features, "classes": task.classes, "low": low, "high": high}
    for run, (train, test) in enumerate(splits):
        arrays |= {f"train{run}": train, f"test{run}": test}
    found: list[dict[str, Any]] = ask_peer(
        "diffprivlib",
        "forests",
        arrays,
        kind=kind,
        epsilons=list(epsilons),
        depths=depths,
        count=task.count,
        runs=len(splits),
    )
    return found


def mean(
    found: list[dict[str, Any]], what: str, epsilon: float, depth: int, how: Any = np.mean
) -> float:
    """Return the mean, or another summary, of a peer's figures; NaN if there are none."""
    own = [row[what] for row in found if row["epsilon"] == epsilon and row["depth"] == depth]
    return float(how(own)) if own else float("nan")
