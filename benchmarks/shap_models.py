"""Models, rows and a clock for the benchmarks of Shapley values."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def cpu_seconds(*jobs: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the least processor times of some jobs run in turn, after one round that warms up."""
    times = []
    for _ in range(repeats + 1):
        times.append([])
        for job in jobs:
            start = time.process_time()
            job()
            times[-1].append(time.process_time() - start)
    return [min(column) for column in zip(*times[1:], strict=True)]


class Stopwatch:
    """A model that adds up the processor time of its calls."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict, self.spent = predict, 0.0

    def __call__(self, rows: Any) -> Any:
        """Return the predictions."""
        start = time.process_time()
        answer = self.predict(rows)
        self.spent += time.process_time() - start
        return answer


@cache
def make_rows(width: int, size: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows and two classes; the library rounds thresholds, so values are float32."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(size, width)).astype(np.float32).astype(np.float64)
    score = values[:, :5].sum(axis=1) + values[:, 5] * values[:, 6] + draw.normal(size=size)
    return values, (score > 0).astype(int)


@cache
def fit(kind: str, width: int, **options: Any) -> Any:
    """Return a fitted model."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    kinds = {
        "forest": lambda depth=4, trees=100: RandomForestClassifier(
            trees, max_depth=depth, random_state=0
        ),
        "boosting": lambda trees=100: GradientBoostingClassifier(n_estimators=trees, random_state=0),
        "logistic": LogisticRegression,
        "network": lambda: MLPClassifier((32,), activation="tanh", max_iter=30, random_state=0),
    }
    size = 2_000 if kind == "boosting" else 5_000
    return kinds[kind](**options).fit(*(part[:size] for part in make_rows(width, 5_000)))


def ensemble(kind: str, width: int, **options: Any) -> Any:
    """Return the trees of a fitted model: probabilities of a forest, margins of boosting."""
    from discreet.models import tree_ensemble

    output = "probability" if kind == "forest" else "margin"
    trees = tree_ensemble(fit(kind, width, **options), output, 1)
    assert trees is not None
    return trees


def form(kind: str, width: int) -> Any:
    """Return what our kernel engine knows of a model."""
    from discreet.models import LinearForm, network_form

    model = fit(kind, width)
    if kind == "network":
        return network_form(model, "probability")
    return LinearForm(model.coef_[0], float(model.intercept_[0]), logistic=True)


def probability(kind: str, width: int) -> Callable[[Any], Any]:
    """Return a model as a function of rows."""
    model = fit(kind, width)
    return lambda rows: model.predict_proba(rows)[:, 1]
