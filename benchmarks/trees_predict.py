"""Compiled prediction of tree ensembles against scikit-learn's own, on one thread.

1. Every kernel on 100,000 rows of 20 columns, side by side with scikit-learn: time per row, ratio, and
   how far the answers differ (scikit-learn gets the row-major rows it likes best, we feature-major).
2. The same on values at thresholds and one float beside them: the number of rows that reach another
   leaf.
3. What the first prediction of a process waits for: with an empty cache of compiled code, and in the
   second process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results, seconds_side_by_side

ROWS, WIDTH = 100_000, 20
TARGETS = {"forest, depth 4": 8.0, "boosting, depth 3": 6.0, "histogram boosting": 1.5}
ANY_DEPTH = 1.5


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller deep forests")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure_first_call()
        return
    rows = measure_models(options.quick)
    print_table(f"{ROWS:,} rows x {WIDTH}, one thread", rows)
    waits = measure_waits()
    print_table("first prediction of a process (forest, depth 4)", waits)
    save_results("trees_predict", [*rows, *waits], summarise(rows, waits))


def summarise(rows: list[dict[str, Any]], waits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    summary: dict[str, Any] = {f"{row['model']} ratio": row["ratio"] for row in rows}
    summary["targets met"] = all(row["ratio"] >= row["target"] for row in rows)
    summary["worst difference"] = max(row["differs"] for row in rows)
    summary["rows in another leaf"] = sum(row["wrong"] for row in rows)
    summary["second process waits s"] = waits[1]["wait s"]
    summary["second process compiles"] = waits[1]["kernels compiled"]
    print(summary)
    return summary


def measure_models(quick: bool) -> list[dict[str, Any]]:
    """Return one row per model: both times, their ratio and the agreement."""
    import joblib
    from threadpoolctl import threadpool_limits

    from discreet.models import tree_ensemble

    values, target = make_rows(ROWS)
    by_feature = np.asfortranarray(values)
    found = []
    for name, estimator in make_models(quick).items():
        estimator.fit(*(part[: 5_000 if quick else 20_000] for part in (values, target)))
        output = "margin" if hasattr(estimator, "decision_function") else "probability"
        trees = tree_ensemble(estimator, output, 1)
        assert trees is not None
        theirs = getattr(estimator, "predict_proba" if output == "probability" else "decision_function")
        with threadpool_limits(1), joblib.parallel_config(backend="sequential"):
            own, ours = seconds_side_by_side(
                lambda theirs=theirs: theirs(values),
                lambda trees=trees: trees.predict(by_feature),
                3 if quick else 7,
            )
            answers = theirs(values)
            near = close_calls(trees)
            near_answers = theirs(near)
        pick = (lambda a: a[:, 1]) if output == "probability" else (lambda a: a)
        difference = np.abs(trees.predict(by_feature) - pick(answers)).max()
        other = np.abs(trees.predict(near) - pick(near_answers)) > 1e-12
        leaves = np.bincount(trees.tree[trees.is_leaf]).max()
        found.append(
            {
                "model": name,
                "leaves": int(leaves),
                "depth": int(trees.depth.max()),
                "kernel": type(trees._compiled).__name__,
                "sklearn ns": round(own / ROWS * 1e9),
                "ours ns": round(ours / ROWS * 1e9),
                "ratio": round(own / ours, 1),
                "target": TARGETS.get(name, ANY_DEPTH),
                "differs": float(difference),
                "wrong": int(other.sum()),
            }
        )
    return found


def make_rows(size: int) -> tuple[Any, Any]:
    """Return rows and a noisy target."""
    draw = np.random.default_rng(0)
    values = draw.normal(size=(size, WIDTH))
    score = values[:, :5].sum(axis=1) + values[:, 5] * values[:, 6] + draw.normal(size=size)
    return values, (score > 0).astype(int)


def make_models(quick: bool) -> dict[str, Any]:
    """Return the models, not yet fitted."""
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )

    def forest(**options: Any) -> Any:
        return RandomForestClassifier(100, random_state=0, **options)

    models = {
        "forest, depth 4": forest(max_depth=4),
        "boosting, depth 3": GradientBoostingClassifier(n_estimators=100, random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        "forest, depth 6": forest(max_depth=6),
        "forest, depth 10": forest(max_depth=10),
        "forest, any depth": forest(),
    }
    if not quick:
        models["extra trees, any depth"] = ExtraTreesClassifier(100, random_state=0)
    return models


def close_calls(trees: Any) -> Any:
    """Return rows of thresholds, of the floats beside them and of the float32 values beside them."""
    draw = np.random.default_rng(1)
    near = draw.normal(size=(20_000, WIDTH))
    for column in range(WIDTH):
        here = trees.threshold[(trees.feature == column) & np.isfinite(trees.threshold)]
        if len(here):
            single = here.astype(np.float32)
            beside = [here, np.nextafter(here, np.inf), np.nextafter(here, -np.inf)]
            beside += [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
            near[:, column] = draw.choice(np.concatenate([single, *beside]), len(near))
    return near


def measure_waits() -> list[dict[str, Any]]:
    """Return what the first call costs in two processes that share a cache, empty at first.

    The start of numba (importing it and loading its tables, once per process) is told apart; in the
    first process it includes compiling the kernel that starts it.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for process in ("first, nothing compiled", "second"):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.trees_predict", "--worker"],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )
            found.append({"process": process, **json.loads(done.stdout.splitlines()[-1])})
    return found


def measure_first_call() -> None:
    """Print what the first prediction waits for: numba's own start, then our kernel."""
    from sklearn.ensemble import RandomForestClassifier

    from discreet.models import LinearForm, tree_ensemble

    values, target = make_rows(2_000)
    estimator = RandomForestClassifier(100, max_depth=4, random_state=0).fit(values, target)
    trees = tree_ensemble(estimator, "probability", 1)
    assert trees is not None
    start = time.perf_counter()
    LinearForm(np.zeros(WIDTH), 0.0, False).scores(values)  # whatever is compiled: numba starts
    started = time.perf_counter()
    trees.predict(values)
    first = time.perf_counter()
    trees.predict(values)
    second = time.perf_counter()
    from discreet.models.forms.tree_kernels import add_by_masks

    figures = {
        "start of numba s": round(started - start, 3),
        "first call s": round(first - started, 4),
        "next call s": round(second - first, 4),
        "wait s": round((first - started) - (second - first), 4),
        "kernels compiled": sum(add_by_masks.stats.cache_misses.values()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
