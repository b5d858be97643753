"""Compare the speed of two checkouts: interleaved runs, medians, and their ratio.

    python tools/speed.py OLD NEW [ROUNDS]

Every round starts a process per checkout, one after the other, so that whatever else the machine does
meets both. A process warms up compiled code first and then times whole releases; importing the
package and printing the help of the command line are timed from outside.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RELEASES = """
import json, sys, time
import numpy as np
import discreet as dc
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

schema, records = dc.samples.loan_schema(), dc.samples.loans(20_000)
rows = schema.draw(600)[:, :-1]
answers = rows[:, 0] + rows[:, 1] > np.median(rows[:, 0] + rows[:, 1])
logistic = LogisticRegression(max_iter=200).fit((rows - rows.mean(0)) / rows.std(0), answers)
forest = RandomForestClassifier(20, max_depth=5, random_state=0, n_jobs=1).fit(rows, answers)
numbers = [name for name in schema if name != schema.target]
query = records.iloc[:1][numbers]
plans = {
    "histogram": lambda e: dc.histogram("age", epsilon=e),
    "quantiles": lambda e: dc.quantiles("income", [0.25, 0.5, 0.75], epsilon=e),
    "pdp of a logistic model": lambda e: dc.partial_dependence(logistic, "age", epsilon=e),
    "pdp of a forest": lambda e: dc.partial_dependence(forest, "income", epsilon=e),
    "ale of a forest": lambda e: dc.accumulated_effects(forest, "income", epsilon=e),
    "permutation of a forest": lambda e: dc.permutation_importance(forest, repeats=1, epsilon=e),
    "shap values of a forest": lambda e: dc.shap_values(forest, query, epsilon=e),
    "shap values of a logistic model": lambda e: dc.shap_values(logistic, query, epsilon=e),
    "private forest": lambda e: dc.random_forest(schema.target, epsilon=e),
}
session = dc.protect(
    records, schema, dataset="d", epsilon=1e6, ledger=":memory:", workers=1, progress=False
)
seconds = {}
for name, plan in plans.items():
    session.release(plan(0.5))
    taken = []
    for i in range(5):
        asked = plan(0.6 + i / 100)
        start = time.perf_counter()
        session.release(asked)
        taken.append(time.perf_counter() - start)
    seconds[name] = min(taken)
print(json.dumps(seconds))
"""

FROM_OUTSIDE = {
    "import discreet": "import discreet",
    "discreet --help": "import sys; from discreet.cli import main; sys.argv = ['', '--help']; main()",
}


def run(root: Path, code: str) -> str:
    """Run code on a checkout and return what it prints."""
    surroundings = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=True
    )
    return done.stdout


def measure(root: Path) -> dict[str, float]:
    """Return the seconds of one round."""
    seconds: dict[str, float] = json.loads(run(root, RELEASES))
    for name, code in FROM_OUTSIDE.items():
        start = time.perf_counter()
        run(root, code)
        seconds[name] = time.perf_counter() - start
    return seconds


def main() -> None:
    """Print the medians of both checkouts and their ratio."""
    roots = [Path(given) for given in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    for root in roots:  # what is compiled stays on disk
        measure(root)
    found = [[measure(root) for root in roots] for _ in range(rounds)]
    for name in found[0][0]:
        old, new = (statistics.median(pair[i][name] for pair in found) for i in (0, 1))
        print(f"{name:<34}{old:10.4f} s{new:10.4f} s{new / old:8.2f}")


if __name__ == "__main__":
    main()
