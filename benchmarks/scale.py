"""How releases scale with rows: processor and wall time, memory, bytes moved, passes of the files.

A Parquet folder of 10^6 to 3 x 10^7 example loans (one piece of a million rows under many names, so
that it costs no disk), asked for a histogram, curves of a forest and of a logistic model, Shapley
values, a private forest, quantiles and an evaluation: by one thread, by two, by one Dask worker and by
two, and by one thread where two rows are a person's and share a record. Each measurement runs in a
process of its own, after a small release that compiles what it needs; so do scheduler and workers.

Wall times mean something on a machine that does nothing else. Seconds of processors, which the aims
are about, are those of the process and of its workers; ``busiest`` is what the client, the scheduler
and the busier worker spent one after the other, which is the time that two idle cores would need.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results
from benchmarks.scale_cost import FITTED_ON, is_kept, predict, reading_seconds
from benchmarks.scale_jobs import (
    JOBS,
    STAGES,
    WARM_ROWS,
    WAYS,
    measure,
    serve,
    write_folder,
    write_models,
    write_warm,
)

SIZES = (1_000_000, 10_000_000, 30_000_000)
QUICK = (100_000, 300_000, 1_000_000)
_MOST_RECEIVED, _MOST_CLIENT, _LEAST_GAIN, _SLOPE, _MOST_SHARING = 1.0, 300.0, 1.7, 0.05, 1.5
_LARGE = 10_000_000


def main() -> None:
    """Measure every job at every size in every way, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundred thousand to a million rows")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=[*JOBS])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--sizes", nargs="+", type=int, help="numbers of rows")
    parser.add_argument("--repeats", type=int, default=1, help="the least of so many is told")
    parser.add_argument("--one", nargs=3, metavar=("JOB", "FOLDER", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.one:
        job, folder, way = options.one
        print(json.dumps(measure(job, Path(folder), way)))
        return
    sizes = options.sizes or (QUICK if options.quick else SIZES)
    rows, reading = measure_all(options.jobs, options.ways, sizes, options.repeats)
    print_table("what one release costs", rows)
    aims = judge(rows)
    if aims:
        print_table("aims", aims)
    model = predict(rows, reading)
    print(f"reading and encoding a number: {reading * 1e9:.1f} ns")
    if model:
        print_table("a model of cost, fitted on tables of up to a million rows", model)
    summary = {row["aim"]: row["found"] for row in aims} | {"ns per number": reading * 1e9}
    save_results("scale", [*rows, *model], summary)


def measure_all(
    jobs: list[str], ways: list[str], sizes: tuple[int, ...], repeats: int
) -> tuple[list[dict[str, Any]], float]:
    """Return one row per job, way and size, and what reading a number costs."""
    rows, reading = [], np.inf
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = write_folder(Path(place) / "loans", size)
            write_warm(Path(place))
            write_models(Path(place))
            if size <= FITTED_ON:
                reading = min(reading, reading_seconds(folder))
            for job in jobs:
                for way in ways:
                    found = [_apart(job, folder, way) for _ in range(repeats)]
                    rows.append({"job": job, "way": way, "rows": size, **_least(found)})
                    print({name: _short(value) for name, value in rows[-1].items()}, flush=True)
    return sorted(rows, key=lambda row: (row["job"], row["way"], row["rows"])), float(reading)


def _apart(job: str, folder: Path, way: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "--one", job, str(folder), way]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{job}, {way}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _least(found: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of every figure: what other processes add is noise."""
    return {name: min(row[name] for row in found) for name in found[0]}


def _short(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def judge(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was found for every aim, the worst of all jobs where it is about each of them."""
    aims = []
    for job in dict.fromkeys(row["job"] for row in rows):
        own = [row for row in rows if row["job"] == job]
        aims += _slope(job, [row for row in own if row["way"] == "one thread"])
        aims += _gain(job, own)
        aims += _sharing(job, own)
    sent = [row for row in rows if "worker" in row["way"]]
    if sent:
        received = max(row["received MB"] for row in sent)
        aims.append(_aim("the client receives at most 1 MB", received, received <= _MOST_RECEIVED))
        memory = max(row["client MB"] for row in sent)
        aims.append(_aim("the client stays below 300 MB", memory, memory <= _MOST_CLIENT))
    curves = [row for row in rows if row["job"] == "curve of a forest"]
    if curves:
        passes = max(row["passes"] for row in curves if row["rows"] == max(r["rows"] for r in curves))
        aims.append(_aim("the curve of a forest needs one pass", passes, passes < 1.5))
    return aims


def _slope(job: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the slope on logarithmic axes of what a release takes beside one of ``WARM_ROWS``."""
    again = [row for row in rows if job in STAGES and not is_kept(row)]
    judged = again if len(again) > 1 else rows  # as many passes for each of them
    if len(judged) < 2:
        return []
    logs = np.log([[row["rows"] - WARM_ROWS, row["cpu"] - row["start cpu"]] for row in judged])
    slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    sizes = f"{judged[0]['rows']:.0e} to {judged[-1]['rows']:.0e}"
    return [_aim(f"{job}: slope of 1, {sizes} rows", slope, abs(slope - 1) <= _SLOPE)]


def _gain(job: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how much sooner two workers end than one, on tables large enough to be worth two."""
    busy = _at_largest([row for row in rows if "worker" in row["way"]], "busiest")
    if not {"one worker", "two workers"} <= busy.keys() or max(r["rows"] for r in rows) < _LARGE:
        return []
    gain = busy["one worker"] / busy["two workers"]
    return [_aim(f"{job}: two workers are 1.7 times as fast as one", gain, gain >= _LEAST_GAIN)]


def _sharing(job: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cpu = _at_largest([row for row in rows if row["way"] in ("one thread", "persons")], "cpu")
    if len(cpu) < 2:
        return []
    ratio = cpu["persons"] / cpu["one thread"]
    return [_aim(f"{job}: person weights cost at most 1.5 times", ratio, ratio <= _MOST_SHARING)]


def _at_largest(rows: list[dict[str, Any]], figure: str) -> dict[str, float]:
    """Return a figure of every way at the largest size that all of them have."""
    ways = {row["way"] for row in rows}
    sizes = [{row["rows"] for row in rows if row["way"] == way} for way in ways]
    largest = max(set.intersection(*sizes), default=0) if sizes else 0
    return {row["way"]: row[figure] for row in rows if row["rows"] == largest}


def _aim(text: str, found: float, met: bool) -> dict[str, Any]:
    return {"aim": text, "found": round(found, 3), "met": "yes" if met else "NO"}


if __name__ == "__main__":
    main()
