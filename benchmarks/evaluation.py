"""Evaluations of classifiers: errors, gaps that are seen, and one table beside many releases.

``python -m benchmarks.evaluation [--quick]``; Adult and the hospital visits come from the folder that
DISCREET_DATA names.

1. *errors*: mean distance of AUC, calibration error and differences of groups (selection rate and true
   positive rate, each group from the whole) from those of the same records, epsilon 1, for 10^3 to 10^5
   records; beside it, how often intervals hold the exact figure: more often than they say, as they
   allow for sampling and bins besides.
2. *gaps*: the least epsilon at which the interval of a difference of selection rates leaves out zero in
   95 of 100 releases, where the records differ by exactly five points.
3. *one table* beside separate releases of AUC, accuracy, Brier score, calibration error and four rates
   of groups at the same epsilon. Separate releases have an eighth of epsilon each: means of losses with
   their own sensitivity, two counts per rate, and tables of scores alone (``focus="scores"``) for AUC
   and calibration error.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.evaluation_tasks import Task, exact_gap, synthetic, tasks
from benchmarks.harness import print_table, save_results
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.evaluation.figures import Figure, difference
from discreet.evaluation.plan import evaluate
from discreet.plans import Setting

RATES = ("selection_rate", "true_positive_rate")
EPSILONS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
_CALIBRATION_BINS = 10
_FEWEST = 50


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer releases and records")
    parser.add_argument("--part", choices=("errors", "gaps", "one table"), help="one part alone")
    options = parser.parse_args()
    times = 20 if options.quick else 100
    sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000)
    parts = {
        "errors": lambda: errors(sizes, times),
        "gaps": lambda: gaps(sizes, 40 if options.quick else 100),
        "one table": lambda: one_table(sizes[1:], times),
    }
    found = {name: part() for name, part in parts.items() if options.part in (None, name)}
    rows = [{"part": name, **row} for name, part_rows in found.items() for row in part_rows]
    ratios = [row["separate / one"] for row in found.get("one table", []) if row["figure"] == "mean"]
    summary = {"separate / one table, least": min(ratios, default=None)}
    print(f"results: {save_results('evaluation', rows, summary)}")


def errors(sizes: tuple[int, ...], times: int) -> list[dict[str, Any]]:
    """Return how far figures of a release are from exact ones, and how often intervals hold them."""
    rows = []
    for task in tasks():
        for size in sizes:
            frame = task.draw(size, 1)
            exact = exact_figures(task, frame)
            distances, held = defaultdict(list), defaultdict(list)
            for found in releases(task, frame, 1.0, times):
                for (kind, *name), figure in figures(found, exact).items():
                    truth = exact[(kind, *name)]
                    distances[kind].append(abs(figure.value - truth))
                    held[kind].append(figure.low <= truth <= figure.high)
            row: dict[str, Any] = {"task": task.name, "records": size}
            for kind, values in distances.items():
                row |= {kind: float(np.mean(values)), f"{kind} held": float(np.mean(held[kind]))}
            rows.append(row)
    print_table("mean error at epsilon 1, and how often intervals hold the exact figure", rows)
    return rows


def gaps(sizes: tuple[int, ...], times: int) -> list[dict[str, Any]]:
    """Return from which epsilon on a gap of five points is seen."""
    rows, task = [], synthetic()
    for size in sizes:
        frame, seen = exact_gap(size), {}
        for epsilon in EPSILONS:
            apart = [
                difference(
                    found.metric("selection_rate", group="a"), found.metric("selection_rate", group="b")
                )
                for found in releases(task, frame, epsilon, times)
            ]
            seen[epsilon] = float(np.mean([gap.low > 0 for gap in apart]))
            if seen[epsilon] >= 0.95:
                break
        enough = [epsilon for epsilon, share in seen.items() if share >= 0.95]
        sampling = float(np.mean([gap.sampling for gap in apart]))
        rows.append(
            {
                "records": size,
                "epsilon": str(enough[0]) if enough else f"none up to {EPSILONS[-1]:g}",
                "seen there": seen[epsilon],
                "sampling alone ±": sampling,
            }
        )
    print_table("a gap of 5 points in selection rates is seen in 95 of 100 releases from", rows)
    return rows


def one_table(sizes: tuple[int, ...], times: int) -> list[dict[str, Any]]:
    """Return the errors of eight figures from one table and from eight releases, at epsilon 1."""
    rows = []
    for task in tasks():
        for size in sizes:
            frame = task.draw(size, 2)
            groups = frame[task.by].value_counts().index[:2].tolist()
            exact = _eight(task, frame, groups)
            ours, theirs = defaultdict(list), defaultdict(list)
            for found in releases(task, frame, 1.0, times):
                for name, value in _eight_of(found, groups).items():
                    ours[name].append(abs(value - exact[name]))
            for values in _separately(task, frame, groups, 1.0, times):
                for name, value in values.items():
                    theirs[name].append(abs(value - exact[name]))
            means = [{n: float(np.mean(each[n])) for n in exact} for each in (ours, theirs)]
            found_rows = [_compared(n, means[0][n], means[1][n]) for n in exact]
            mean = _compared("mean", *(float(np.mean(list(each.values()))) for each in means))
            rows += [{"task": task.name, "records": size, **row} for row in (*found_rows, mean)]
    print_table("one table beside separate releases, mean error at epsilon 1", rows)
    return rows


def _compared(name: str, one: float, many: float) -> dict[str, Any]:
    return {"figure": name, "one table": one, "separate": many, "separate / one": many / one}


def releases(task: Task, frame: pd.DataFrame, epsilon: float, times: int, **asked: Any) -> Any:
    """Yield evaluations of the same records, with fresh seeded noise each."""
    plan = evaluate(task.asked(), by=task.by, epsilon=epsilon, **asked)
    program = plan.prepare(Setting(task.schema, "replace-one", len(frame)))
    releaser = SimulatedReleaser(PrivateTable(frame, task.schema, "replace-one"), 0)
    for _ in range(times):
        yield program.finish(releaser)


def exact_figures(task: Task, frame: pd.DataFrame) -> dict[tuple[str, ...], float]:
    """Return the figures of some records; of groups those with fifty records of the class or more."""
    scores, truth, group = task.scores(frame), frame["y"].to_numpy(), frame[task.by].to_numpy()
    found = {("AUC",): auc(scores, truth), ("calibration",): calibration(scores, truth)}
    whole = {name: rate(name, scores, truth) for name in RATES}
    for name in RATES:
        for value in sorted(set(group)):
            inside = group == value
            if truth[inside].sum() >= _FEWEST:
                apart = rate(name, scores[inside], truth[inside]) - whole[name]
                found["group difference", name, str(value)] = apart
    return found


def figures(found: Any, exact: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], Figure]:
    """Return the same figures of a release."""
    told = {("AUC",): found.auc, ("calibration",): found.metric("calibration_error")}
    for kind, *name in exact:
        if kind == "group difference":
            own = found.metric(name[0], group=name[1])
            told[kind, *name] = difference(own, found.metric(name[0]))
    return told


def auc(scores: Any, truth: Any) -> float:
    """Return the area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def calibration(scores: Any, truth: Any) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    place = np.minimum((scores * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    missed = np.bincount(place, truth - scores, _CALIBRATION_BINS)
    return float(np.abs(missed).sum() / len(scores))


def rate(name: str, scores: Any, truth: Any) -> float:
    """Return a rate at one half."""
    chosen = truth == 1 if name == "true_positive_rate" else np.full(len(truth), True)
    return float((scores[chosen] >= 0.5).mean())


def _eight(task: Task, frame: pd.DataFrame, groups: list[str]) -> dict[str, float]:
    scores, truth = task.scores(frame), frame["y"].to_numpy()
    found = {
        "AUC": auc(scores, truth),
        "accuracy": float(((scores >= 0.5) == truth).mean()),
        "Brier": float(((scores - truth) ** 2).mean()),
        "calibration": calibration(scores, truth),
    }
    for value in groups:
        inside = (frame[task.by] == value).to_numpy()
        found |= {f"{n} {value}": rate(n, scores[inside], truth[inside]) for n in RATES}
    return found


def _eight_of(found: Any, groups: list[str]) -> dict[str, float]:
    told = {
        "AUC": found.auc.value,
        "accuracy": found.metric("accuracy").value,
        "Brier": found.brier.value,
        "calibration": found.metric("calibration_error").value,
    }
    return told | {f"{n} {g}": found.metric(n, group=g).value for g in groups for n in RATES}


def _separately(task: Task, frame: pd.DataFrame, groups: list[str], epsilon: float, times: int) -> Any:
    """Yield eight figures, each from a release of its own with an eighth of epsilon."""
    each, rng, size = epsilon / 8, np.random.default_rng(5), len(frame)
    scores, truth = task.scores(frame), frame["y"].to_numpy()
    plan = evaluate(task.asked(), focus="scores", epsilon=each)
    program = plan.prepare(Setting(task.schema, "replace-one", size))
    releaser = SimulatedReleaser(PrivateTable(frame, task.schema, "replace-one"), 3)
    exact = _eight(task, frame, groups)
    counts = {}
    for value in groups:
        inside = (frame[task.by] == value).to_numpy()
        for name in RATES:
            chosen = inside & ((truth == 1) | (name == "selection_rate"))
            above = int((scores[chosen] >= 0.5).sum())
            counts[f"{name} {value}"] = above, int(chosen.sum()) - above
    for _ in range(times):
        found = {
            "AUC": program.finish(releaser).auc.value,
            "calibration": program.finish(releaser).metric("calibration_error").value,
        }
        # A loss between 0 and 1: replacing a record moves its mean by 1/n.
        for name in ("accuracy", "Brier"):
            found[name] = exact[name] + float(rng.laplace(0, 1 / (each * size)))
        for name, pair in counts.items():  # two counts, of which a replacement moves both by one
            yes, no = (count + float(rng.laplace(0, 2 / each)) for count in pair)
            found[name] = float(np.clip(yes / max(yes + no, 1.0), 0.0, 1.0))
        yield found


if __name__ == "__main__":
    main()
