"""Forests and trees of diffprivlib on the splits, bounds and classes of ours.

Its claim of epsilon holds for a leaf's choice when a record comes or goes; a replaced record changes
two choices, or one twice. Rows go to trees in runs, so a record that goes moves others: its claim of
epsilon is truly 2 epsilon under replace-one.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.peers.measures import measures
from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], kind: str, epsilons: list[float], depths: list[int], count: int, runs: int
) -> list[dict[str, Any]]:
    """Return measures and CPU seconds for every epsilon, depth and run."""
    from diffprivlib.models import DecisionTreeClassifier, RandomForestClassifier

    features, classes = arrays["features"], arrays["classes"]
    terms = {"bounds": (arrays["low"], arrays["high"]), "classes": list(range(count))}
    found = []
    for run in range(runs):
        train, test = arrays[f"train{run}"], arrays[f"test{run}"]
        for depth in depths:
            for epsilon in epsilons:
                own = {**terms, "epsilon": epsilon, "max_depth": depth, "random_state": run}
                model = (
                    RandomForestClassifier(32, n_jobs=1, **own)
                    if kind == "forest"
                    else DecisionTreeClassifier(**own)
                )
                start = time.process_time()
                model.fit(features[train], classes[train])
                seconds = time.process_time() - start
                shares = _shares(model, features[test], count)
                found.append(
                    {
                        "run": run,
                        "depth": depth,
                        "epsilon": epsilon,
                        **measures(shares, classes[test]),
                        "seconds": seconds,
                    }
                )
    return found


def _shares(model: Any, rows: Any, count: int) -> Any:
    """Return probabilities, rows x classes; zero for classes that the model does not know."""
    shares = np.zeros((len(rows), count))
    shares[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(rows)
    return shares


if __name__ == "__main__":
    serve(answer)
