"""Partial dependence, accumulated effects and permutation importance beside Lange et al. (2024).

Everything is pure (delta 0), under replace-one and at the same epsilon as the authors' figures; a rug
is released and paid for as they do. Bounds are public and come from documentation (``curves_tasks``).
All settings are the defaults of the library; ``m`` alone is varied, the number of points, or of
intervals for effects, and the authors' figures are for m = 20, which is also the default.

* ``generic``: ``any_curve`` and ``any_ranking`` over 200 subsets, a function of ours as the black box.
* ``specific``: ``partial_dependence``, ``accumulated_effects``, ``permutation_importance``.
* MISE is over 1000 places against the authors' exact curve; categories over their bars. Their
  accumulated effects cut *sorted rows*, so that equal values fall on both sides of an edge in the order
  the sort happens to leave them (``authors_order`` repeats it). ``other ties`` is the mean error of
  their exact curve itself had equal values come in another order: an error below it says little.
  ``to Apley's`` is ours against the curve of Apley and Zhu, which is what ours estimates.
* Concordance is the share of pairs of features in the order of the exact importance. The authors
  compared all repetitions with one exact order (of one permutation); here it is that of the mean of ten
  permutations, for Census Income the very order of their results. ``to one`` is the concordance with
  orders of one permutation each, ``exact`` how these agree with that of the mean.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.curves_published import (
    EPSILONS,
    EXACT_ORDER,
    REFERENCE_FEATURES,
    published_concordance,
    published_curve,
)
from benchmarks.curves_releases import release_often, remembered
from benchmarks.curves_tasks import (
    Line,
    Task,
    data_folder,
    exact_apley,
    exact_dependence,
    exact_effects,
    load,
    local_effects,
    mean_predictions,
    shuffled_effects,
    squared_error,
)
from benchmarks.harness import print_table, save_results

Rows = list[dict[str, Any]]
TASKS = ("census", "bike")
QUICK_EPSILONS = (0.5, 5.0)
RESOLUTIONS = (10, 20, 50, 100)
THEIRS = 20
TIMES, SHUFFLES = 10, 3
EXACT = {"PDP": exact_dependence, "ALE": exact_effects}
RUG = 1 / 9
"""What the authors' generic plots pay for a histogram; ours leave it unspent."""


def main() -> None:
    """Run all tasks and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="reference features, fewer budgets")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    if data_folder() is None:
        print("DISCREET_DATA is not set: there is nothing to compare on")
        return
    curves, rankings = [], []
    for name in TASKS:
        for feature in REFERENCE_FEATURES[name] if quick else load(name).features:
            found = list(measure_curves(load(name), feature, quick))
            print_table(f"{name}, {feature}: MISE", found)
            curves += found
        rankings += measure_rankings(load(name), quick)
    print_table("concordance of permutation importance", rankings)
    summary = summarise(curves, rankings)
    print(summary)
    save_results("curves_paper", curves + rankings, summary)


def summarise(curves: Rows, rankings: Rows) -> dict[str, Any]:
    """Say in which cells of the published table ours is better than both of the authors' columns."""
    known = [row for row in curves if row["their specific"] is not None and row["m"] == THEIRS]
    ratios = [row["ratio"] for row in known]
    return {
        "cells": len(known),
        "lower than both": sum(row["better"] for row in known),
        "not lower": [_cell(row) for row in known if not row["better"]],
        "median of their MISE over ours": float(np.median(ratios)),
        "concordance cells": len(rankings),
        "not below both": sum(row["better"] for row in rankings),
        "below": [_cell(row) for row in rankings if not row["better"]],
        "generic not below both": sum(row["generic better"] for row in rankings),
    }


def _cell(row: dict[str, Any]) -> str:
    place = f"{row['explainer']} {row['task']} {row['feature']} epsilon {row['epsilon']:g}"
    return f"{place}: {row['specific']:.3g} beside {row['their generic']:g}, {row['their specific']:g}"


def measure_curves(task: Task, feature: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row per explainer, resolution and epsilon."""
    resolutions = RESOLUTIONS if task.numeric(feature) and not quick else (THEIRS,)
    with remembered(task, feature):
        for kind, exact in EXACT.items():
            truth = exact(task.name, feature)
            others = _others(task, feature, kind, truth)
            for m in resolutions:
                black_box = Subsets(task, feature, kind, m)
                for epsilon in QUICK_EPSILONS if quick else EPSILONS:
                    specific = plan_for(task, feature, kind, m, epsilon)
                    found = [
                        [_line(curve) for curve in release_often(task, plan, TIMES)]
                        for plan in (specific, black_box.plan(epsilon))
                    ]
                    yield (
                        describe(task, feature, kind, m, epsilon)
                        | compare_curves(task, feature, truth, *found, (kind, epsilon))
                        | others(found[0])
                    )


def _others(task: Task, feature: str, kind: str, truth: Line) -> Any:
    """Return what accumulated effects are measured by besides: other ties, and Apley's curve."""
    if kind == "PDP":
        return lambda found: {"other ties": None, "to Apley's": None}
    others = [shuffled_effects(task.name, feature, seed) for seed in range(SHUFFLES)]
    ties = float(np.mean([squared_error(task, feature, truth, other) for other in others]))
    own = exact_apley(task.name, feature)

    def measure(found: list[Line]) -> dict[str, float]:
        error = float(np.mean([squared_error(task, feature, own, line) for line in found]))
        return {"other ties": ties, "to Apley's": error}

    return measure


def describe(task: Task, feature: str, kind: str, m: int | None, epsilon: float) -> dict[str, Any]:
    """Return what a row is about."""
    return {"explainer": kind, "task": task.name, "feature": feature, "m": m, "epsilon": epsilon}


def compare_curves(
    task: Task,
    feature: str,
    truth: Line,
    curves: list[Line],
    generic: list[Line],
    cell: tuple[str, float],
) -> dict[str, Any]:
    """Return mean errors of ours, and the authors'."""

    def error(found: list[Line]) -> float:
        return float(np.mean([squared_error(task, feature, truth, line) for line in found]))

    kind, epsilon = cell
    theirs = published_curve(kind, task.name, feature, epsilon)
    specific = error(curves)
    ratio = None if theirs[1] is None else min(theirs) / specific
    return {
        "generic": error(generic),
        "specific": specific,
        "their generic": theirs[0],
        "their specific": theirs[1],
        "ratio": ratio,
        "better": None if ratio is None else bool(ratio > 1),
    }


def _line(curve: Any) -> Line:
    order = np.argsort(curve.x)
    return Line(np.asarray(curve.x)[order], np.asarray(curve.y)[order])


def plan_for(task: Task, feature: str, kind: str, m: int, epsilon: float) -> Any:
    """Return the plan of our own for a curve, all settings by default."""
    if kind == "PDP":
        return dc.partial_dependence(task.model, feature, resolution=m, epsilon=epsilon)
    return dc.accumulated_effects(task.model, feature, intervals=m, epsilon=epsilon)


class Subsets:
    """A black box that explains a subset of the rows; a subset it has seen is not computed again."""

    def __init__(self, task: Task, feature: str, kind: str, m: int) -> None:
        self.task, self.feature, self.kind, self.m = task, feature, kind, m
        self.grid = task.schema[feature].grid(m)
        self._known: dict[bytes, Line] = {}

    def plan(self, epsilon: float) -> Any:
        """Return the generic plan."""
        low, high = self.task.bounds
        reach = max(abs(low), abs(high))  # as the authors: a centred curve may have either sign
        return dc.any_curve(
            self.explain,
            feature=self.feature,
            resolution=self.m,
            bounds=(low, high) if self.kind == "PDP" else (-reach, reach),
            smooth=self.task.numeric(self.feature),
            name=f"{self.kind} {self.feature}",
            epsilon=epsilon * (1 - RUG),
        )

    def explain(self, frame: Any) -> Any:
        """Return x and y of the curve of one subset."""
        rows = frame[list(self.task.features)].to_numpy(dtype=np.float64)
        key = rows.tobytes()
        if key not in self._known:
            if self.kind == "PDP":
                line = mean_predictions(self.task, self.feature, rows, self.grid)
            else:
                line = local_effects(self.task, self.feature, rows, min(self.m - 1, len(rows) - 1))
            self._known[key] = line
        line = self._known[key]
        return line.x, line.y


def measure_rankings(task: Task, quick: bool) -> Rows:
    """Return the concordance of private rankings with the exact one, per epsilon."""
    drawn = [exact_importances(task, seed=1_000 + i) for i in range(3 if quick else TIMES)]
    truth = np.mean(drawn, axis=0)
    known: dict[bytes, Any] = {}

    def explain(frame: Any) -> Any:
        rows = frame.to_numpy(dtype=np.float64)
        key = rows.tobytes()
        if key not in known:
            known[key] = dict(zip(task.features, subset_importances(task, rows), strict=True))
        return known[key]

    found = []
    for epsilon in QUICK_EPSILONS if quick else EPSILONS:
        own = dc.permutation_importance(task.model, release="ranking", epsilon=epsilon)
        box = dc.any_ranking(explain, items=task.features, name="importance", epsilon=epsilon)
        orders = [[r.order[0] for r in release_often(task, plan, TIMES)] for plan in (box, own)]
        generic, specific = (_agreement(task, made, [truth]) for made in orders)
        theirs = published_concordance(task.name, epsilon)
        found.append(
            describe(task, "all", "PFI", None, epsilon)
            | {
                "generic": generic,
                "specific": specific,
                "to one": _agreement(task, orders[1], drawn),
                "their generic": theirs[0],
                "their specific": theirs[1],
                "exact": _agreement(task, [_order(task, one) for one in drawn], [truth]),
                "their exact order": _order(task, truth) == EXACT_ORDER[task.name],
                "better": bool(specific >= max(theirs)),
                "generic better": bool(generic >= max(theirs)),
            }
        )
    return found


def _order(task: Task, importances: Any) -> tuple[str, ...]:
    return tuple(task.features[place] for place in np.argsort(-importances))


def _agreement(task: Task, orders: Any, exact: Any) -> float:
    return float(np.mean([concordance(task, order, one) for order in orders for one in exact]))


def exact_importances(task: Task, seed: int) -> Any:
    """Return every feature's mean loss after one permutation of all rows, not private."""
    from discreet.explain.permutation.losses import choose_scorer, permutation_losses

    scorer = choose_scorer(task.bound, task.schema)
    losses = permutation_losses(
        task.bound,
        task.rows[:, :-1],
        task.rows[:, -1],
        scorer=scorer,
        repeats=1,
        seed=seed,
    )
    return losses.mean(axis=0)[:-1]


def subset_importances(task: Task, rows: Any) -> Any:
    """Return the mean squared error of a subset after one permutation of each feature."""
    order = np.random.default_rng(0).permutation(len(rows))
    stacked = np.tile(rows[:, :-1], (len(task.features), 1))
    for place in range(len(task.features)):
        part = slice(place * len(rows), (place + 1) * len(rows))
        stacked[part, place] = rows[order, place]
    answers = task.predict(stacked).reshape(len(task.features), len(rows))
    return np.mean((answers - rows[:, -1]) ** 2, axis=1)


def concordance(task: Task, order: Any, importances: Any) -> float:
    """Return the share of pairs that stand in the same order."""
    places = np.array([order.index(name) for name in task.features])
    exact = np.argsort(np.argsort(-importances))
    first, second = np.triu_indices(len(exact), 1)
    return float(np.mean((places[first] < places[second]) == (exact[first] < exact[second])))


if __name__ == "__main__":
    main()
