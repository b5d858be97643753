"""What ``benchmarks.scale`` asks, of whom, and one measurement in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
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

WARM_ROWS = 20_000
"""Rows of the table that is asked first."""

NUMBERS = ("age", "income", "loan", "credit_score", "years_employed", "late_payments")
WAYS = ("one thread", "two threads", "one worker", "two workers", "persons")
_EPSILON = 1.0
_ROWS_OF_A_PERSON = 2


def schema(person: bool = False) -> dc.Schema:
    """Return the six numbers and the outcome of the example loans; with a person, whose they are."""
    facts = loan_schema()
    columns = {name: facts[name] for name in (*NUMBERS, "defaulted")}
    return dc.Schema(columns, target="defaulted", person="who" if person else None)


def write_folder(folder: Path, rows: int, piece: int = PIECE_ROWS) -> Path:
    """Write a Parquet folder of example loans: one piece under many names, so that it fits any disk."""
    folder.mkdir(parents=True)
    piece, first = min(rows, piece), folder / "part-0000.parquet"
    owners = np.random.default_rng(0).permutation(piece) // _ROWS_OF_A_PERSON
    table = loans(piece)[[*schema()]].assign(who=owners)
    table.to_parquet(first, row_group_size=250_000, index=False)
    for number in range(1, rows // piece):
        os.link(first, folder / f"part-{number:04}.parquet")
    return folder


def write_warm(folder: Path) -> Path:
    """Write what is asked first, in files enough for every worker to load what it needs."""
    return write_folder(folder / "warm", WARM_ROWS, WARM_ROWS // 4)


def write_models(folder: Path) -> None:
    """Fit the models that are explained; who asks about them loads them, as people do."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train = loans(5_000, seed=1)
    models = {
        "forest": RandomForestClassifier(50, max_depth=6, random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    for name, model in models.items():
        fitted = model.fit(train[[*NUMBERS]], train["defaulted"])
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(fitted))


def _load(folder: Path, name: str) -> dc.Model:
    return dc.Model(pickle.loads((folder / f"{name}.pickle").read_bytes()), class_=1)


def _query() -> dict[str, float]:
    return {name: float(schema()[name].grid(5)[2]) for name in NUMBERS}


JOBS: dict[str, Callable[[Path], dc.Plan]] = {
    "histogram": lambda _: dc.histogram(["age", "defaulted"], epsilon=_EPSILON),
    "curve of a forest": lambda models: dc.partial_dependence(
        _load(models, "forest"), "income", grid="uniform", epsilon=_EPSILON
    ),
    "curve of a logistic model": lambda models: dc.partial_dependence(
        _load(models, "logistic"), "income", epsilon=_EPSILON
    ),
    "Shapley values": lambda models: dc.shap_values(
        _load(models, "logistic"), _query(), epsilon=_EPSILON
    ),
    "private forest": lambda _: dc.random_forest("defaulted", trees=10, depth=4, epsilon=_EPSILON),
    "quantiles": lambda _: dc.quantiles("income", [0.25, 0.5, 0.75], epsilon=_EPSILON),
    "evaluation": lambda models: dc.evaluate(_load(models, "logistic"), epsilon=_EPSILON),
}
"""What is asked, by the folder that holds the models."""

STAGES = {"private forest": 5}
"""How many stages of a job read the rows one after the other: one, where nothing is said."""


def measure(job: str, folder: Path, way: str) -> dict[str, Any]:
    """Return what one release costs after one that warms up: seconds, memory, bytes, passes."""
    plan, warm = JOBS[job](folder.parent), open_folder(folder.parent / "warm")
    with _cluster(way) as client:
        _session(warm, way, client).release(plan)  # compiles what it needs
        small, before = _session(warm, way, client), _spent(client)
        small.release(plan)
        first = _spent(client) - before
        start = time.process_time()
        session = _session(open_folder(folder), way, client)
        opened = time.process_time() - start
        _forget_peak()
        with _bytes_received() as received:
            before, start = _spent(client), time.perf_counter()
            session.release(plan)
            wall, after = time.perf_counter() - start, _spent(client)
        worker_peak = 0.0 if client is None else max(client.run(_peak_mb).values())
    seconds, read = (after - before).T
    names = _columns(plan)
    return {
        "wall": wall,
        "cpu": float(seconds.sum()),
        "start cpu": float(first[:, 0].sum()),
        "busiest": float(seconds[:2].sum() + max(seconds[2:], default=0.0)),
        "client cpu": float(seconds[0]),
        "opening cpu": opened,
        "client MB": _peak_mb(),
        "client own MB": _memory_mb("RssAnon"),
        "worker MB": worker_peak,
        "received MB": received[0] / 1e6,
        "passes": float(read.sum()) / _stored_bytes(folder, names),
        "columns": len(names),
    }


def _session(data: Any, way: str, client: Any) -> dc.Session:
    helpers = {"cluster": client} if client is not None else {"workers": _count(way)}
    facts = schema(person=way == "persons")
    return dc.protect(data, facts, dataset="loans", ledger=":memory:", epsilon=1e3, **helpers)


def _count(way: str) -> int:
    return 2 if way.startswith("two") else 1


def open_folder(folder: Path) -> Any:
    """Return the data set of all files; workers read files of their own."""
    import pyarrow.dataset as ds

    return ds.dataset(folder)


@contextmanager
def _cluster(way: str) -> Iterator[Any]:
    """Give a client of one or two worker processes of one thread each, or None."""
    if "worker" not in way:
        yield None
        return
    from distributed import Client

    command = [sys.executable, "-m", "benchmarks.scale", "--serve", str(_count(way))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as served:  # type: ignore[call-overload]
        with Client(served.stdout.readline().strip()) as client:
            yield client
        served.communicate("")


def serve(workers: int) -> None:
    """Run a scheduler and workers, apart from whoever asks them, until the input ends."""
    import dask
    from distributed import LocalCluster

    memory = "distributed.worker.memory"
    dask.config.set({f"{memory}.target": False, f"{memory}.spill": False})
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


@contextmanager
def _bytes_received() -> Iterator[list[int]]:
    """Count what Dask's messages bring to this process."""
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
    """Return seconds and bytes read so far: of this process, of the scheduler, of every worker."""
    if client is None:
        return np.array([_own_spent()])
    others = [client.run_on_scheduler(_own_spent), *client.run(_own_spent).values()]
    return np.array([_own_spent(), *others])


def _own_spent() -> tuple[float, float]:
    read = Path("/proc/self/io").read_text().split()
    return time.process_time(), float(read[1])


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """Return the most memory this process has had, since it was told to forget that."""
    return _memory_mb("VmHWM")


def _memory_mb(kind: str) -> float:
    """Return a figure of this process; ``RssAnon`` leaves out code that is read from libraries."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def _columns(plan: dc.Plan) -> set[str]:
    """Return the columns that a plan reads."""
    from discreet.plans import Setting

    stages = plan.prepare(Setting(schema(), "replace-one", PIECE_ROWS)).stages
    return {name for stage in stages for name in stage.contribution.columns}


def _stored_bytes(folder: Path, names: set[str]) -> float:
    """Return how many bytes of the files hold some columns."""
    from pyarrow import parquet

    files = sorted(folder.glob("*.parquet"))
    facts = parquet.read_metadata(files[0])
    groups = (facts.row_group(place) for place in range(facts.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    stored = sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in names)
    return float(stored * len(files))
