"""Partial dependence and permutation importance beside scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.curves_cases import (
    KINDS,
    NAMES,
    SCHEMA,
    TREES,
    WIDTH,
    Rows,
    bind,
    mean_of,
    output_of,
    row,
    rows_of,
    sizes,
)
from benchmarks.shap_models import cpu_seconds, fit


def measure_dependence(quick: bool) -> Rows:
    """Return one feature, all features, and the limit of models that are called."""
    from sklearn.inspection import partial_dependence

    found = []
    for size in sizes(quick):
        rows, grid = rows_of(size)[0], {0: np.linspace(-6, 6, 20)}
        for kind in KINDS:
            model = fit(kind, WIDTH)
            method = "decision_function" if kind == "boosting" else "predict_proba"
            brute = {"method": "brute", "response_method": method, "custom_values": grid}
            stacked = np.tile(rows, (20, 1))
            stacked[:, 0] = np.repeat(grid[0], size)
            few = 1 if size > 10_000 else 2
            theirs, limit, ours = cpu_seconds(
                lambda m=model, r=rows, b=brute: partial_dependence(m, r, [0], **b),
                lambda m=model, s=stacked, f=method: getattr(m, f)(s),
                lambda k=kind, r=rows: dependence(k, r, "f0"),
                repeats=few,
            )
            values = partial_dependence(model, rows[:500], [0], **brute)["average"][0]
            differs = float(np.abs(values - dependence(kind, rows[:500], "f0")).max())
            more = {"features": 1, "stacked ms": limit * 1e3, "differs": differs}
            if kind in TREES:
                found.append(row(kind, size, theirs, ours, ">= 15", theirs >= 15 * ours, **more))
                (every,) = cpu_seconds(
                    lambda k=kind, r=rows: [dependence(k, r, name) for name in NAMES], repeats=few
                )
                more = {"features": WIDTH, "stacked ms": limit * WIDTH * 1e3, "differs": differs}
                met = WIDTH * theirs >= 50 * every
                found.append(row(kind, size, WIDTH * theirs, every, ">= 50", met, **more))
            else:
                met = ours <= 1.2 * limit
                found.append(row(kind, size, theirs, ours, "<= 1.2 stacked", met, **more))
    return found


def dependence(kind: str, rows: Any, feature: str) -> Any:
    """Return partial dependence of one feature, exact, by what our plans add up."""
    from discreet.explain.pdp.contribution import curve_contribution

    bound = bind(kind, output_of(kind))
    contribution = curve_contribution(bound, feature, SCHEMA[feature].grid(20))
    return bound.fill + mean_of(contribution, rows)


def measure_importance(quick: bool) -> Rows:
    """Return permutation importance of all features."""
    from sklearn.inspection import permutation_importance

    from discreet.explain.permutation.losses import choose_scorer, permutation_losses

    found = []
    targets = {"forest": 15, "boosting": 15, "logistic": 5, "network": 3}
    for size in sizes(quick):
        rows, classes = rows_of(size)
        for kind in KINDS:
            bound, model = bind(kind), fit(kind, WIDTH)
            scorer = choose_scorer(bound, SCHEMA)
            options = {"scoring": "neg_brier_score", "n_repeats": 5, "random_state": 0}
            theirs, ours = cpu_seconds(
                lambda m=model, r=rows, c=classes, o=options: permutation_importance(m, r, c, **o),
                lambda b=bound, r=rows, c=classes, s=scorer: permutation_losses(
                    b, r, c, scorer=s, repeats=5
                ),
                repeats=1,
            )
            least = targets[kind]
            found.append(row(kind, size, theirs, ours, f">= {least}", theirs >= least * ours))
    return found
