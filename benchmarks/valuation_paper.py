"""Private data values as in Watson et al. (2022): do they still find good and bad records?

Adult and Pima from the folder that DISCREET_DATA names, and DataShapley's synthetic data. Three tables:

1. Spearman correlation of private with non-private values, n records, epsilon = 1. *alone*: each value
   released by a plan of its own, as the paper counts (its figures beside ours); all n of them cost n
   epsilon together. *together*: all n values for epsilon = 1. *public*: one value, shown to all;
   *steep*: clips that fall like k^-1.5.
   *tknn*: all owners for epsilon = 1, against exact threshold-KNN values; *tknn, no data*: what an
   owner finds from his record and the public test points alone, for nothing.
2. Removal curves at n = 100: mean accuracy while the first half of the records goes, best first (lower
   is better) and worst first (higher is better).
3. Mislabel detection: AUROC of low values with 10 % of the labels flipped.

Values are of log loss on 300 public rows, clipped at c = 0.1; accuracy is judged on other rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.harness import print_table, save_results
from benchmarks.valuation_methods import MODEL, STEEP, Draw, Layered, Neighbours
from benchmarks.valuation_tasks import TASKS, Task, folder, load_task
from discreet.value.private_rows import read_test

PAPER = {"adult": 0.61, "pima": 0.89}
EPSILONS = (0.1, 1.0, 10.0)
_SHARE = 0.5


def main() -> None:
    """Run the three tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="layered values for n = 100 and 300 alone")
    options = parser.parse_args()
    names = TASKS if folder() is not None else ("synthetic",)
    if folder() is None:
        print("DISCREET_DATA must name the folder with Adult and Pima; only synthetic data is used.")
    draws = 10 if options.quick else 50
    sizes = (100, 300) if options.quick else (100, 300, 1000)
    removals = [row for name in names for row in remove(name, draws)]
    correlations = [row for name in names for row in correlate(name, sizes, draws)]
    print_table("Spearman correlation, private with non-private, epsilon = 1", correlations)
    print_table("accuracy while half of 100 records goes, epsilon = 1", removals)
    labels = [row for name in names for row in find_flipped(name, options.quick, draws)]
    print_table("AUROC of flipped labels (10 %), by epsilon", labels)
    summary = summarise(correlations, removals, labels)
    print(say_plainly(summary))
    save_results("valuation_paper", [*correlations, *removals, *labels], summary)


def correlate(name: str, sizes: tuple[int, ...], draws: int) -> Iterator[dict[str, Any]]:
    """Yield a row per number of records."""
    for n in (100, 300, 1000):
        if name == "pima" and n == 1000:
            continue  # the file has 768 rows
        task = load_task(name, n)
        row: dict[str, Any] = {"task": name, "n": n, "paper": PAPER.get(name) if n == 100 else None}
        row |= layered_correlations(name, n, draws) if n in sizes else dict.fromkeys(LAYERED)
        counts = Neighbours(task)
        exact = counts.values(None)(0)
        row["tknn"] = agreement(exact, counts.values(1.0), draws)
        row["tknn, no data"] = agreement(exact, counts.values(0.0), 1)
        yield row


@lru_cache(maxsize=8)
def valued(name: str, n: int) -> tuple[Layered, np.ndarray, np.ndarray, np.ndarray]:
    """Return a task's layered values, without and with clips."""
    layered = Layered(load_task(name, n), rounds=4 if n <= 100 else 1)
    return layered, *layered.values()


LAYERED = ("clipped", "alone", "together", "public", "alone, steep")


def layered_correlations(name: str, n: int, draws: int) -> dict[str, float]:
    """Return how well layered values agree with those without clip and noise."""
    layered, exact, clipped, steep = valued(name, n)
    kinds = {"alone": (False, "owner"), "together": (True, "owner"), "public": (False, "public")}
    found = {"clipped": float(spearmanr(exact, clipped)[0])}
    for kind, (together, audience) in kinds.items():
        noisy = layered.noisy(clipped, 1.0, together=together, audience=audience)
        found[kind] = agreement(exact, noisy, draws)
    steeper = layered.noisy(steep, 1.0, together=False, decay=STEEP)
    return found | {"alone, steep": agreement(exact, steeper, draws)}


def agreement(exact: np.ndarray, noisy: Draw, draws: int) -> float:
    """Return the mean Spearman correlation over noise."""
    return float(np.mean([spearmanr(exact, noisy(seed))[0] for seed in range(draws)]))


def remove(name: str, draws: int) -> Iterator[dict[str, Any]]:
    """Yield a row per method: mean accuracy while records go."""
    layered, exact, clipped, _ = valued(name, 100)
    task, removal = layered.task, Removal(layered.task)
    generator = np.random.default_rng(0)
    shuffles = generator.permuted(np.tile(np.arange(100.0), (draws, 1)), axis=1)
    truncated = layered.truncated(60)
    methods: dict[str, Draw] = {
        "layered": lambda seed: exact,
        "TMC": lambda seed: truncated,
        "private layered, alone": layered.noisy(clipped, 1.0, together=False),
        "private layered, together": layered.noisy(clipped, 1.0, together=True),
        "tknn": Neighbours(task).values(None),
        "private tknn": Neighbours(task).values(1.0),
        "tknn, no data": Neighbours(task).values(0.0),
        "random": lambda seed: shuffles[seed],
    }
    fixed = ("layered", "TMC", "tknn", "tknn, no data")
    for method, values in methods.items():
        seeds = range(1 if method in fixed else draws)
        curves = [(removal.mean(-values(s)), removal.mean(values(s))) for s in seeds]
        best, worst = np.mean(curves, axis=0)
        yield {"task": name, "method": method, "best first": float(best), "worst first": float(worst)}


class Removal:
    """Refits on what is left of a task's records, judged on rows that valued nothing."""

    def __init__(self, task: Task) -> None:
        judge, train = read_test(task.judge, task.schema), read_test(task.train, task.schema)
        self.x, self.y, self.judge_x, self.judge_y = train.x, train.y, judge.x, judge.y

    def mean(self, badness: np.ndarray) -> float:
        """Return the mean accuracy while the half with the least ``badness`` goes, five at a time."""
        order = np.argsort(badness, kind="stable")
        gone = range(0, round(_SHARE * len(order)) + 1, 5)
        return float(np.mean([self.accuracy(order[start:]) for start in gone]))

    def accuracy(self, kept: np.ndarray) -> float:
        """Return the accuracy of a model fitted on the kept records."""
        labels = self.y[kept]
        if len(np.unique(labels)) < 2:
            return float(np.mean(self.judge_y == labels[0]))
        return float(MODEL.fit(self.x[kept], labels).score(self.judge_x, self.judge_y))


def find_flipped(name: str, quick: bool, draws: int) -> Iterator[dict[str, Any]]:
    """Yield a row per method and number of records: how well low values find flipped labels."""
    for n in (100, 1000):
        size = min(n, 300) if name == "pima" else n
        task, wrong = load_task(name, size).flipped(0.1, 1)
        methods: dict[str, Any] = {}
        if n == 100:
            layered = Layered(task, rounds=2 if quick else 8)
            exact, clipped, _ = layered.values()
            methods["layered"] = lambda epsilon, exact=exact: lambda seed: exact
            methods["private layered, alone"] = private(layered, clipped, together=False)
            methods["private layered, together"] = private(layered, clipped, together=True)
        counts = Neighbours(task)
        methods["tknn"] = lambda epsilon, counts=counts: counts.values(None)
        methods["private tknn"] = lambda epsilon, counts=counts: counts.values(epsilon)
        methods["tknn, no data"] = lambda epsilon, counts=counts: counts.values(0.0)
        for method, at in methods.items():
            row: dict[str, Any] = {"task": name, "n": size, "method": method}
            for epsilon in EPSILONS:
                values = at(epsilon)
                found = [roc_auc_score(wrong, -values(seed)) for seed in range(draws)]
                row[f"epsilon {epsilon:g}"] = float(np.mean(found))
            yield row


def private(layered: Layered, clipped: np.ndarray, *, together: bool) -> Any:
    """Return the private values of every epsilon."""
    return lambda epsilon: layered.noisy(clipped, epsilon, together=together)


def summarise(correlations: Any, removals: Any, labels: Any) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    found: dict[str, Any] = {}
    for row in correlations:
        for kind in ("alone", "together", "tknn"):
            if row[kind] is not None:
                found[f"{row['task']} n={row['n']} {kind}"] = round(row[kind], 3)
    for row in labels:
        found[f"auroc {row['task']} n={row['n']} {row['method']}"] = round(row["epsilon 1"], 3)
    for row in removals:
        spread = row["worst first"] - row["best first"]
        found[f"removal gap {row['task']} {row['method']}"] = round(spread, 4)
    return found


def say_plainly(summary: dict[str, Any]) -> str:
    """Return where noise wins, in a sentence or two."""
    together = [
        value
        for name, value in summary.items()
        if name.endswith("together") and not name.startswith(("auroc", "removal"))
    ]
    return (
        "Where noise wins: all layered values together at epsilon = 1 agree with the true ones to "
        f"{max(together):.2f} at best: they say nothing. Alone, each value keeps part of its order, "
        "and n of them cost n epsilon. Threshold-KNN values of all owners keep theirs, but compare "
        "'no data': most of it comes from the owner's record and the public test points."
    )


if __name__ == "__main__":
    main()
