"""How long the first question takes: with nothing compiled, in a second process, and once more.

Every question is asked in processes of its own that share an empty folder of compiled code. *cold* is
the first ``release`` of the first process, *again* that of the second one, *warm* the same question
asked anew in the second one. *compiled* counts what the first process compiled, *for* is the time that
took. Import of the package, fitting and ``protect`` are not counted; seconds are of the wall, and on a
busy machine those of the processor (*cpu*) say more.
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

from benchmarks.harness import print_table, save_results

ROWS = 2_000
QUICK = ("histogram", "curve of boosted trees", "curve of a network", "shap of boosted trees")


def main() -> None:
    """Ask every question in two processes and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few questions")
    parser.add_argument("--worker", metavar="QUESTION", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(ask(options.worker)))
        return
    rows = [measure(question) for question in (QUICK if options.quick else QUESTIONS)]
    print_table(f"seconds of the first release, {ROWS:,} rows", rows)
    summary = {
        f"longest {name}": max(row[name] for row in rows) for name in ("cold s", "again s", "warm s")
    }
    save_results("first_use", rows, summary | {"compiled": sum(row["compiled"] for row in rows)})


def measure(question: str) -> dict[str, Any]:
    """Ask a question in two processes that share what is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cold, again = (_in_process(question, folder) for _ in range(2))
    return {
        "question": question,
        "cold s": cold["first"],
        "cold cpu": cold["first cpu"],
        "again s": again["first"],
        "again cpu": again["first cpu"],
        "warm s": again["warm"],
        "compiled": cold["compiled"],
        "for s": cold["compiling"],
        "compiled again": again["compiled"],
    }


def _in_process(question: str, folder: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.first_use", "--worker", question]
    settings = os.environ | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def ask(question: str) -> dict[str, Any]:
    """Release one question twice in this process; return seconds and what was compiled."""
    from numba.core import event

    import discreet as dc

    plan = QUESTIONS[question](dc)
    session = dc.protect(
        dc.samples.loans(ROWS),
        dc.samples.loan_schema(),
        dataset="loans",
        epsilon=1000.0,
        delta=1e-6,
        ledger=":memory:",
        progress=False,
        workers=1,
    )
    with event.install_recorder("numba:compile") as seen:
        first, first_cpu = _timed(lambda: session.release(plan))
    warm, _ = _timed(lambda: session.release(plan, fresh=True))
    return {"first": first, "first cpu": first_cpu, "warm": warm} | _compiled(seen.buffer)


def _timed(work: Any) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def _compiled(buffer: list[Any]) -> dict[str, Any]:
    """Return how many kernels were compiled, those of others included, and how long it took."""
    depth = count = 0
    began = spent = 0.0
    for moment, seen in buffer:
        count += seen.is_start
        began = moment if seen.is_start and not depth else began
        depth += 1 if seen.is_start else -1
        spent += 0.0 if depth else moment - began
    return {"compiled": count, "compiling": spent}


def _coded(dc: Any, rows: int, seed: int) -> tuple[Any, Any]:
    """Return public loans as models of numbers take them, and whether they defaulted."""
    schema, frame = dc.samples.loan_schema(), dc.samples.loans(rows, seed=seed)
    coded = frame[list(schema.features)].copy()
    for name in ("home", "purpose"):
        coded[name] = coded[name].map({value: code for code, value in enumerate(schema[name].values)})
    return coded.to_numpy(dtype=float), frame["defaulted"].to_numpy()


def _fit(dc: Any, kind: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    made = {
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((16,), random_state=0)),
        "forest": lambda: RandomForestClassifier(50, random_state=0),
        "boosted": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps towards a fit are enough here
        return made[kind]().fit(*_coded(dc, 2_000, 1))


def _query(dc: Any) -> Any:
    return dc.samples.loans(1, seed=8)


QUESTIONS: dict[str, Any] = {
    "histogram": lambda dc: dc.histogram("age", epsilon=1.0),
    "quantiles": lambda dc: dc.quantiles("income", [25, 50, 75], epsilon=1.0),
    "decision tree": lambda dc: dc.decision_tree("defaulted", epsilon=1.0),
    "curve of a logistic model": lambda dc: dc.partial_dependence(
        _fit(dc, "logistic"), "income", epsilon=1.0
    ),
    "curve of a network": lambda dc: dc.partial_dependence(_fit(dc, "network"), "income", epsilon=1.0),
    "curve of boosted trees": lambda dc: dc.partial_dependence(
        _fit(dc, "boosted"), "income", epsilon=1.0
    ),
    "curve of a forest": lambda dc: dc.partial_dependence(_fit(dc, "forest"), "income", epsilon=1.0),
    "effects of boosted trees": lambda dc: dc.accumulated_effects(
        _fit(dc, "boosted"), "income", epsilon=1.0
    ),
    "permutation of boosted trees": lambda dc: dc.permutation_importance(
        _fit(dc, "boosted"), epsilon=1.0
    ),
    "permutation of a network": lambda dc: dc.permutation_importance(_fit(dc, "network"), epsilon=1.0),
    "interaction of boosted trees": lambda dc: dc.feature_interaction(_fit(dc, "boosted"), epsilon=1.0),
    "interaction of a network": lambda dc: dc.feature_interaction(_fit(dc, "network"), epsilon=1.0),
    "shap of a network": lambda dc: dc.shap_values(_fit(dc, "network"), _query(dc), epsilon=1.0),
    "shap of a forest": lambda dc: dc.shap_values(_fit(dc, "forest"), _query(dc), epsilon=1.0),
    "shap of boosted trees": lambda dc: dc.shap_values(_fit(dc, "boosted"), _query(dc), epsilon=1.0),
    "shap importance of a forest": lambda dc: dc.shap_importance(
        _fit(dc, "forest"), background=dc.samples.loans(50, seed=3), epsilon=1.0
    ),
    "shap importance of boosted trees": lambda dc: dc.shap_importance(
        _fit(dc, "boosted"), background=dc.samples.loans(50, seed=3), epsilon=1.0
    ),
}
"""What users ask first, and how it is asked."""


if __name__ == "__main__":
    main()
