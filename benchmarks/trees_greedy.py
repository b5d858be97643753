"""Greedy trees with every mechanism, as in Chaves et al. (2025): cross-validated accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.trees_data import Task
from benchmarks.trees_forests import diffprivlib, mean
from discreet.errors import ArgumentError
from discreet.estimators import PrivateDecisionTreeClassifier

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0)
DEPTHS = (2, 5)
_WAYS = (
    ("norm", "permute-and-flip"),
    ("max", "permute-and-flip"),
    ("max", "exponential"),
    ("max", "laplace"),
    ("gini", "permute-and-flip"),
    ("gain", "permute-and-flip"),
    ("gain", "dampening"),
    ("max", "stability"),
    ("max", "smooth-student-t"),
    ("max", "smooth-laplace"),
    ("max", "smooth-laplace-log-normal"),
)


def compare(
    task: Task, epsilons: tuple[float, ...], depths: tuple[int, ...], folds: list[tuple[Any, Any]]
) -> list[dict[str, Any]]:
    """Return one row per depth and epsilon; all under replace-one, diffprivlib at half of epsilon.

    Half because its claim of epsilon is 2 epsilon under replace-one.
    """
    peer = diffprivlib(task, "tree", tuple(e / 2 for e in epsilons), folds, list(depths))
    rows = []
    for depth in depths:
        free = np.mean([plain_tree(task, depth, *fold) for fold in folds])
        for epsilon in epsilons:
            row: dict[str, Any] = {"data": task.name, "depth": depth, "epsilon": epsilon}
            for criterion, mechanism in _WAYS:
                found = [fit(task, depth, epsilon, criterion, mechanism, fold) for fold in folds]
                row[f"{criterion}, {mechanism}"] = float(np.mean(found))
            row["diffprivlib"] = mean(peer, "accuracy", epsilon / 2, depth)
            row["scikit-learn, not private"] = float(free)
            rows.append({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})
    return rows


def fit(
    task: Task, depth: int, epsilon: float, criterion: str, mechanism: str, fold: tuple[Any, Any]
) -> float:
    """Return the accuracy on a fold; NaN where the mechanism cannot be calibrated."""
    train, test = fold
    model = PrivateDecisionTreeClassifier(
        epsilon,
        max_depth=depth,
        criterion=criterion,
        mechanism=mechanism,
        schema=task.schema,
        random_state=int(test[0]),
    )
    try:
        model.fit(task.features[train], task.classes[train])
    except ArgumentError:
        return float("nan")
    return float(np.mean(model.predict(task.features[test]) == task.classes[test]))


def plain_tree(task: Task, depth: int, train: Any, test: Any) -> float:
    """Return the accuracy of scikit-learn's tree."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth, random_state=0)
    model.fit(task.features[train], task.classes[train])
    return float(model.score(task.features[test], task.classes[test]))
