"""Explainable boosting machines of ``interpret``: private ones and, not private, additive ones.

A private one claims (epsilon, delta) where a record comes or goes. It takes the number of records and
the categories that occur from the rows as they are; that is not held against it here.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.glass_box_scores import class_scores, number_scores
from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any],
    kind: str,
    epsilons: list[float],
    delta: float,
    seeds: int,
    target: list[float] | None,
) -> list[dict[str, Any]]:
    """Return scores and CPU seconds for every epsilon and seed; one row where nothing is private."""
    import pandas as pd

    categories = arrays["widths"] > 0
    names = [f"x{place}" for place in range(len(categories))]
    frame = pd.DataFrame(arrays["features"], columns=names)
    for name in np.array(names)[categories]:
        frame[name] = frame[name].astype(int).astype(str)
    own: dict[str, Any] = {
        "feature_names": names,
        "feature_types": ["nominal" if one else "continuous" for one in categories],
        "n_jobs": 1,
    }
    if kind == "private":
        ends = np.column_stack([arrays["low"], arrays["high"]]).tolist()
        own |= {"delta": delta, "privacy_bounds": dict(zip(names, ends, strict=True))}
        if target:
            own |= {"privacy_target_min": target[0], "privacy_target_max": target[1]}
        runs = [
            {"epsilon": epsilon, "random_state": seed} for epsilon in epsilons for seed in range(seeds)
        ]
    else:
        runs = [{"interactions": 0, "outer_bags": 2, "random_state": 0}]
    return [{**one, **_fit(arrays, frame, kind, target is None, {**own, **one})} for one in runs]


def _fit(
    arrays: dict[str, Any], frame: Any, kind: str, classes: bool, options: dict[str, Any]
) -> dict[str, Any]:
    from interpret import glassbox, privacy

    home = privacy if kind == "private" else glassbox
    prefix = "DPExplainable" if kind == "private" else "Explainable"
    model = getattr(home, f"{prefix}Boosting{'Classifier' if classes else 'Regressor'}")(**options)
    train, test, labels = arrays["train"], arrays["test"], arrays["classes"]
    start = time.process_time()
    model.fit(frame.iloc[train], labels[train])
    seconds = time.process_time() - start
    rows = frame.iloc[test]
    found = (
        class_scores(model.predict_proba(rows), labels[test])
        if classes
        else number_scores(model.predict(rows), labels[test])
    )
    return {**found, "seconds": seconds}


if __name__ == "__main__":
    serve(answer)
