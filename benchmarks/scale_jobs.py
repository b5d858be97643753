"""What ``benchmarks.scale`` asks, of whom, and one measurement in a process of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from discreet.samples import loan_schema, loans

PIECE_ROWS = 1_000_000
"""Rows of one file."""

NUMBERS = ("age", "income", "loan", "credit_score", "years_employed", "late_payments")
WAYS = ("one thread", "two threads", "one worker", "two workers")
_EPSILON = 1.0


def schema() -> dc.Schema:
    """Return the six numbers and the outcome of the example loans."""
    facts = loan_schema()
    return dc.Schema({name: facts[name] for name in (*NUMBERS, "defaulted")}, target="defaulted")


def write_folder(folder: Path, rows: int) -> Path:
    """Write a Parquet folder of example loans: one piece under many names, so that it fits any disk."""
    folder.mkdir(parents=True)
    piece, first = min(rows, PIECE_ROWS), folder / "part-0000.parquet"
    loans(piece)[[*schema()]].to_parquet(first, row_group_size=250_000, index=False)
    for number in range(1, rows // piece):
        os.link(first, folder / f"part-{number:04}.parquet")
    return folder


def _fitted(kind: Callable[[], Any]) -> dc.Model:
    train = loans(5_000, seed=1)
    model = kind().fit(train[[*NUMBERS]], train["defaulted"])
    return dc.Model(model, class_=1)


def _forest() -> dc.Model:
    from sklearn.ensemble import RandomForestClassifier

    return _fitted(lambda: RandomForestClassifier(50, max_depth=6, random_state=0))


def _logistic() -> dc.Model:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return _fitted(lambda: make_pipeline(StandardScaler(), LogisticRegression()))


def _query() -> dict[str, float]:
    return {name: float(value) for name, value in loans(1, seed=2)[[*NUMBERS]].iloc[0].items()}


JOBS: dict[str, Callable[[], dc.Plan]] = {
    "histogram": lambda: dc.histogram(["age", "defaulted"], epsilon=_EPSILON),
    "curve of a forest": lambda: dc.partial_dependence(
        _forest(), "income", grid="uniform", epsilon=_EPSILON
    ),
    "curve of a logistic model": lambda: dc.partial_dependence(_logistic(), "income", epsilon=_EPSILON),
    "Shapley values": lambda: dc.shap_values(_logistic(), _query(), epsilon=_EPSILON),
    "private forest": lambda: dc.random_forest("defaulted", trees=10, depth=4, epsilon=_EPSILON),
    "quantiles": lambda: dc.quantiles("income", [0.25, 0.5, 0.75], epsilon=_EPSILON),
    "evaluation": lambda: dc.evaluate(_logistic(), epsilon=_EPSILON),
}

STAGES = {"private forest": 5}
"""How many stages of a job read the rows one after the other: one, where nothing is said."""


def measure(job: str, folder: Path, way: str) -> dict[str, Any]:
    """Return what one release costs after one that warms up: seconds, memory, bytes, passes."""
    plan = JOBS[job]()
    with _cluster(way) as client:
        _session(_warm(folder), way, client).release(plan)
        session = _session(open_folder(folder), way, client)
        _forget_peak()
        with _bytes_received() as received:
            before, start = _spent(client), time.perf_counter()
            session.release(plan)
            wall, after = time.perf_counter() - start, _spent(client)
        worker_peak = 0.0 if client is None else max(client.run(_peak_mb).values())
    seconds, read = (after - before).T
    return {
        "wall": wall,
        "cpu": float(seconds.sum()),
        "busiest": float(seconds[0] + max(seconds[1:], default=0.0)),
        "client cpu": float(seconds[0]),
        "client MB": _peak_mb(),
        "worker MB": worker_peak,
        "received MB": received[0] / 1e6,
        "passes": float(read.sum()) / _stored_bytes(folder, plan),
    }


def _session(data: Any, way: str, client: Any) -> dc.Session:
    helpers = {"cluster": client} if client is not None else {"workers": _count(way)}
    return dc.protect(data, schema(), dataset="loans", ledger=":memory:", epsilon=1e3, **helpers)


def _count(way: str) -> int:
    return 2 if way.startswith("two") else 1


def open_folder(folder: Path) -> Any:
    """Return the data set of all files; workers read files of their own."""
    import pyarrow.dataset as ds

    return ds.dataset(folder)


def _warm(folder: Path) -> Any:
    """Return a small table of the same kind, so that everything is compiled before the clock runs."""
    small = folder.parent / "warm"
    return open_folder(small if small.exists() else write_folder(small, 20_000))


@contextmanager
def _cluster(way: str) -> Iterator[Any]:
    """Give a client of one or two worker processes of one thread each, or None."""
    if "worker" not in way:
        yield None
        return
    import dask
    from distributed import Client, LocalCluster

    memory = "distributed.worker.memory"
    dask.config.set({f"{memory}.target": False, f"{memory}.spill": False})
    workers = LocalCluster(n_workers=_count(way), threads_per_worker=1, dashboard_address=":0")
    with workers, Client(workers) as client:
        yield client


@contextmanager
def _bytes_received() -> Iterator[list[int]]:
    """Count what Dask's messages bring to this process."""
    import sys

    total = [0]
    tcp = sys.modules.get("distributed.comm.tcp")
    if tcp is None:
        yield total
        return
    plain = tcp.from_frames

    def counted(frames: Any, *args: Any, **options: Any) -> Any:
        total[0] += sum(map(len, frames))
        return plain(frames, *args, **options)

    tcp.from_frames = counted
    try:
        yield total
    finally:
        tcp.from_frames = plain


def _spent(client: Any) -> NDArray[np.float64]:
    """Return seconds of processors and bytes read so far: of this process, then of every worker."""
    return np.array([_own_spent(), *([] if client is None else client.run(_own_spent).values())])


def _own_spent() -> tuple[float, float]:
    read = Path("/proc/self/io").read_text().split()
    return time.process_time(), float(read[1])


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """Return the most memory this process has had, since it was told to forget that."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _stored_bytes(folder: Path, plan: dc.Plan) -> float:
    """Return how many bytes of the files hold the columns that a plan reads."""
    from pyarrow import parquet

    from discreet.plans import Setting

    stages = plan.prepare(Setting(schema(), "replace-one", PIECE_ROWS)).stages
    names = {name for stage in stages for name in stage.contribution.columns}
    files = sorted(folder.glob("*.parquet"))
    facts = parquet.read_metadata(files[0])
    groups = (facts.row_group(place) for place in range(facts.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    stored = sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in names)
    return float(stored * len(files))
