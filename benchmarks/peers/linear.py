"""diffprivlib's logistic regression and naive Bayes on one-hot rows, numbers between 0 and 1.

The regression perturbs its objective (Chaudhuri and others 2011): its claim of epsilon is one under
replace-one. Naive Bayes adds noise for one record in one class; a replaced one changes two, so its
claim of epsilon is truly 2 epsilon under replace-one. Both are given what one record that comes or goes
at epsilon amounts to: 2 epsilon under replace-one. Both take the number of records as public.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.glass_box_scores import class_scores
from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], epsilons: list[float], seeds: int, count: int
) -> list[dict[str, Any]]:
    """Return scores and CPU seconds of both models for every epsilon and seed."""
    rows, norm = one_hot(arrays), float(np.sqrt(len(arrays["widths"])))
    found = []
    for epsilon in epsilons:
        for seed in range(seeds):
            for name, model in _models(epsilon, seed, norm, rows.shape[1]).items():
                told = _fit(model, rows, arrays, count)
                found.append({"model": name, "epsilon": epsilon, "random_state": seed, **told})
    return found


def _models(epsilon: float, seed: int, norm: float, width: int) -> dict[str, Any]:
    from diffprivlib.models import GaussianNB, LogisticRegression

    return {
        "logistic": LogisticRegression(epsilon=2 * epsilon, data_norm=norm, random_state=seed),
        "naive Bayes": GaussianNB(
            epsilon=epsilon, bounds=(np.zeros(width), np.ones(width)), random_state=seed
        ),
    }


def one_hot(arrays: dict[str, Any]) -> Any:
    """Return numbers scaled by their public bounds and one column per category."""
    columns = []
    for place, width in enumerate(arrays["widths"]):
        values, low, high = arrays["features"][:, place], arrays["low"][place], arrays["high"][place]
        columns.append(
            np.eye(width)[values.astype(int)] if width else ((values - low) / (high - low))[:, None]
        )
    return np.hstack(columns)


def _fit(model: Any, rows: Any, arrays: dict[str, Any], count: int) -> dict[str, Any]:
    train, test, classes = arrays["train"], arrays["test"], arrays["classes"]
    start = time.process_time()
    model.fit(rows[train], classes[train])
    seconds = time.process_time() - start
    chances = np.full((len(test), count), 0.0)
    chances[:, model.classes_.astype(int)] = model.predict_proba(rows[test])
    return {**class_scores(chances, classes[test]), "seconds": seconds}


if __name__ == "__main__":
    serve(answer)
