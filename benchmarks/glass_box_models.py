"""The models of ``benchmarks.glass_box``: ours through a session, peers in their own environment.

Everybody keeps the same promise: (epsilon, 1e-6) for a record that comes or goes. DP-EBM claims just
that; what diffprivlib is given for it is said in ``peers/linear.py``, and its models have no delta.
Peers do not change, so what they reached is kept in a file and asked for once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.glass_box_data import Numbers
from benchmarks.glass_box_scores import class_scores, number_scores
from benchmarks.peers import ask_peer, missing
from benchmarks.trees_data import Task

DELTA = 1e-6
PLANS: dict[str, Callable[..., Any]] = {
    "additive": dc.additive_model,
    "additive, 3 pairs": partial(dc.additive_model, interactions=3),
    "forest": dc.random_forest,
    "tree": dc.decision_tree,
    "chosen": partial(dc.fit, choose="held-out"),
}
REGRESSIONS = ("additive", "additive, 3 pairs")
"""Models that also predict numbers."""
Row = dict[str, Any]


def fits(task: Task, name: str) -> bool:
    """Return whether a model of ours predicts such a target."""
    return name in REGRESSIONS or not isinstance(task, Numbers)


def ours(task: Task, name: str, epsilon: float, seed: int, delta: float = DELTA) -> Row:
    """Return scores and CPU seconds of a model of ours, with exact noise from a seed and all checks."""
    train, test = task.split(0)
    session = dc.protect(
        _frame(task, train),
        task.schema,
        dataset=task.name,
        ledger=":memory:",
        epsilon=epsilon,
        delta=max(delta, DELTA),
        relation="add-remove",
        workers=1,
        progress=False,
        seed=seed,
    )
    start = time.process_time()
    model: Any = session.release(PLANS[name]("class", epsilon=epsilon, delta=delta)).value
    seconds = time.process_time() - start
    rows, truth = task.features[test], task.classes[test]
    if isinstance(task, Numbers):
        scores = number_scores(model.predict(rows), truth)
    else:
        scores = class_scores(model.predict_proba(rows), truth)
    return {"model": name, "epsilon": epsilon, "seed": seed, **scores, "seconds": seconds}


def _frame(task: Task, places: Any) -> Any:
    import pandas as pd

    frame = pd.DataFrame(task.features[places], columns=[f"x{i}" for i in range(len(task.widths))])
    for place, width in enumerate(task.widths):
        if width:
            frame[f"x{place}"] = frame[f"x{place}"].astype(int)
    frame["class"] = task.classes[places]
    return frame


def constant(task: Task) -> Row:
    """Return what a model reaches that knows the share of every class, or the mean, and no feature."""
    train, test = task.split(0)
    truth = task.classes[test]
    if isinstance(task, Numbers):
        return {"model": "constant", **number_scores(task.classes[train].mean(), truth)}
    shares = np.bincount(task.classes[train], minlength=task.count) / len(train)
    return {"model": "constant", **class_scores(np.tile(shares, (len(test), 1)), truth)}


def boosted(task: Task) -> Row:
    """Return what scikit-learn's boosted trees reach, not private."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    train, test = task.split(0)
    own = {"random_state": 0, "categorical_features": np.array(task.widths) > 0}
    if isinstance(task, Numbers):
        regressor = HistGradientBoostingRegressor(**own).fit(task.features[train], task.classes[train])
        scores = number_scores(regressor.predict(task.features[test]), task.classes[test])
    else:
        model = HistGradientBoostingClassifier(**own).fit(task.features[train], task.classes[train])
        scores = class_scores(model.predict_proba(task.features[test]), task.classes[test])
    return {"model": "boosted trees, not private", **scores}


class Peers:
    """What peers reached, kept in a file: a table, a peer, an epsilon and so many seeds at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, list[Row]] = json.loads(path.read_text()) if path.exists() else {}

    def rows(self, task: Task, epsilons: tuple[float, ...], seeds: int) -> Iterator[Row]:
        """Yield the scores of every peer that is there; DP-EBM knows no more than two classes."""
        number = isinstance(task, Numbers)
        if not missing("interpret"):
            target = list(task.target) if isinstance(task, Numbers) else None
            plain = {"kind": "plain", "delta": 0.0, "epsilons": [], "seeds": 1, "target": target}
            yield from _named("EBM, not private", self._ask("boosting", task, **plain))
            if number or task.count == 2:
                own = {"kind": "private", "delta": DELTA, "epsilons": epsilons, "seeds": seeds}
                yield from _named("DP-EBM", self._ask("boosting", task, **own, target=target))
        if not number and not missing("diffprivlib"):
            yield from self._ask("linear", task, epsilons=epsilons, seeds=seeds, count=task.count)

    def _ask(self, script: str, task: Task, **options: Any) -> list[Row]:
        arrays = _arrays(task)
        digest = hashlib.sha256(
            b"".join(np.ascontiguousarray(one).tobytes() for one in arrays.values())
        )
        key = f"{task.name} {digest.hexdigest()[:16]} {script} {json.dumps(options, sort_keys=True)}"
        if key not in self.known:
            peer = "interpret" if script == "boosting" else "diffprivlib"
            self.known[key] = ask_peer(peer, script, arrays, **options)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known))
        return [{"seed": row.get("random_state", 0), **row} for row in self.known[key]]


def _named(name: str, rows: list[Row]) -> Iterator[Row]:
    yield from ({"model": name, **row} for row in rows)


def _arrays(task: Task) -> dict[str, Any]:
    low, high = np.array(task.bounds).T
    train, test = task.split(0)
    return {
        "features": task.features,
        "classes": task.classes,
        "low": low,
        "high": high,
        "widths": np.array(task.widths),
        "train": train,
        "test": test,
    }
