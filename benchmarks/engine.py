"""How the engine scales with rows, what it keeps in memory, and what privacy adds.

1. Histogram and partial dependence of a logistic model over Parquet files: time against rows (the
   slope on logarithmic axes should be 1) and peak memory above the interpreter, each in a process
   of its own.
2. A private curve against the non-private computation of the same curve, side by side.
3. ``import discreet``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results, seconds_side_by_side

SIZES = (250_000, 1_000_000, 4_000_000)
FEATURES = ["age", "income", "loan", "credit_score", "years_employed", "late_payments"]


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--worker", nargs=2, metavar=("JOB", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        measure_one(options.worker[0], Path(options.worker[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        scaling = measure_scaling(SIZES, Path(folder))
    print_table("rows from Parquet", scaling)
    overhead = measure_overhead(options.quick)
    print_table("a private curve over the non-private one, 100,000 rows", overhead)
    import_seconds = measure_import()
    print(f"import discreet: {import_seconds:.2f} s")
    save_results("engine", [*scaling, *overhead], summarise(scaling, overhead, import_seconds))


def summarise(
    scaling: list[dict[str, Any]], overhead: list[dict[str, Any]], import_seconds: float
) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    summary: dict[str, Any] = {"import_seconds": round(import_seconds, 2)}
    for job in ("histogram", "partial dependence"):
        part = [row for row in scaling if row["job"] == job]
        logs = np.log([[row["rows"], row["seconds"]] for row in part])
        summary[f"{job} slope"] = round(float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]), 3)
        summary[f"{job} peak MB"] = max(row["peak MB"] for row in part)
    summary |= {f"{row['model']} ratio": row["ratio"] for row in overhead}
    print(summary)
    return summary


def measure_scaling(sizes: tuple[int, ...], folder: Path) -> list[dict[str, Any]]:
    """Return seconds and peak memory of both jobs at every size."""
    rows = []
    for size in sizes:
        path = folder / f"{size}.parquet"
        write_loans(path, size)
        for job in ("histogram", "partial dependence"):
            command = [sys.executable, "-m", "benchmarks.engine", "--worker", job, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append({"job": job, "rows": size, **json.loads(done.stdout.splitlines()[-1])})
        path.unlink()
    return sorted(rows, key=lambda row: (row["job"], row["rows"]))


def write_loans(path: Path, size: int) -> None:
    """Write example loans, the same piece again and again."""
    import pyarrow as pa
    from pyarrow import parquet

    from discreet import samples

    piece = pa.Table.from_pandas(samples.loans(250_000, seed=7))
    with parquet.ParquetWriter(path, piece.schema) as writer:
        for _ in range(size // 250_000):
            writer.write_table(piece)


def measure_one(job: str, path: Path) -> None:
    """Run one job in this process; print seconds and peak memory above the warmed-up interpreter."""
    import psutil

    import discreet as dc

    model = logistic_model()
    session = dc.protect(
        path, schema(), dataset="loans", epsilon=1000.0, ledger=":memory:", progress=False, workers=1
    )
    small = dc.protect(
        dc.samples.loans(20_000),
        schema(),
        dataset="small",
        epsilon=1000.0,
        ledger=":memory:",
        workers=1,
    )

    def ask(where: dc.Session) -> None:
        if job == "histogram":
            where.release(dc.histogram(["credit_score", "home"], epsilon=1.0), fresh=True)
        else:
            where.release(dc.partial_dependence(model, "credit_score", epsilon=1.0), fresh=True)

    ask(small)
    before = psutil.Process().memory_info().rss
    times = []
    for _ in range(5):
        start = time.perf_counter()
        ask(session)
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(times), "peak MB": round((peak_bytes() - before) / 1e6)}))


def peak_bytes() -> int:
    """Return the greatest resident size this process ever had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def schema() -> Any:
    """Return the loan schema without what the logistic model does not use."""
    import discreet as dc

    full = dc.samples.loan_schema()
    return dc.Schema(
        {name: full[name] for name in [*FEATURES, "home", "defaulted"]}, target="defaulted"
    )


def logistic_model() -> Any:
    """Return a logistic model of the numeric columns."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import discreet as dc

    train = dc.samples.loans(5_000, seed=1)
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(
        train[FEATURES], train["defaulted"]
    )


def measure_overhead(quick: bool) -> list[dict[str, Any]]:
    """Return private over non-private seconds for a fused, an opaque and a tree model."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    import discreet as dc

    train = dc.samples.loans(5_000, seed=1)
    inputs, answers = train[FEATURES], train["defaulted"]
    network = make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=200, random_state=0))
    trees = HistGradientBoostingClassifier(max_iter=100, max_depth=4, random_state=0)
    models = {
        "logistic, fused": logistic_model(),
        "neural network, opaque": network.fit(inputs, answers),
        "boosted trees, compiled": trees.fit(inputs, answers),
    }
    records = dc.samples.loans(100_000, seed=9)
    rows = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        session = dc.protect(
            records,
            schema(),
            dataset="loans",
            epsilon=1e6,
            ledger=Path(folder) / "bench.db",
            workers=1,
            progress=False,
        )
        for name, model in models.items():
            repeats = 15 if "fused" in name else (1 if quick and "trees" in name else 6)
            plain, private = seconds_side_by_side(
                lambda model=model: plain_curve(model, records[FEATURES]),
                lambda model=model: session.release(
                    dc.partial_dependence(model, "credit_score", epsilon=1.0, rug=False), fresh=True
                ),
                repeats,
            )
            ratio = private / plain
            rows.append(
                {"model": name, "plain s": plain, "private s": private, "ratio": round(ratio, 3)}
            )
    return rows


def plain_curve(model: Any, records: Any) -> np.ndarray[Any, Any]:
    """Return the exact curve on the same grid: the non-private computation, one call per point.

    For the logistic pipeline the weights are folded by hand, so that both sides use what is known
    about the model.
    """
    grid = schema()["credit_score"].grid(20)
    last = getattr(model, "steps", [("", model)])[-1][1]
    if type(last).__name__ == "LogisticRegression":
        scaler, linear = model.steps[0][1], last
        weights = linear.coef_[0] / scaler.scale_
        matrix = records.to_numpy()
        place = FEATURES.index("credit_score")
        base = matrix @ weights + linear.intercept_[0] - scaler.mean_ @ weights
        rest = base - weights[place] * matrix[:, place]
        return np.asarray([np.mean(1 / (1 + np.exp(-(rest + weights[place] * g)))) for g in grid])
    return np.asarray([model.predict_proba(records.assign(credit_score=g))[:, 1].mean() for g in grid])


def measure_import() -> float:
    """Return the least of five times that ``import discreet`` takes in a new process."""
    code = (
        "import time; t = time.perf_counter(); import discreet; discreet.protect, discreet.histogram;"
        "print(time.perf_counter() - t)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True) for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


if __name__ == "__main__":
    main()
