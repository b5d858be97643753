"""What it costs to protect all visits of a patient instead of one: noise, answers, time and memory.

``python -m benchmarks.people [--quick]``; the visits are ``diabetes_visits.csv`` in the folder that
DISCREET_DATA names (71,518 patients, 101,766 visits), without it a made-up table like it.

1. *answers*: mean time in hospital, share readmitted within 30 days, a histogram of ages, partial
   dependence and AUC of a model, each with the exact answer of its unit and the mean absolute error of
   releases. *visits* protects one visit; the others all visits of a patient. *capped 40* is the price
   of the same promise where every visit counts, as nobody has more than 40.
2. *time*: of a release where rows are records and where they share those of persons.
3. *memory*: what finding out whose every row is takes at its peak, where nearly all ids differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import print_table, save_results, seconds_side_by_side
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Plan, Setting
from discreet.plans.persons import ready
from discreet.privacy.relation import REPLACE_ONE

AGES = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
COLUMNS: dict[str, Any] = {
    "age": dc.Category(*AGES, ordered=True, missing=False, other=False),
    "time_in_hospital": dc.Number(1, 14, step=1, missing=False),
    "num_medications": dc.Number(0, 100, step=1, missing=False),
    "number_inpatient": dc.Number(0, 25, step=1, missing=False),
    "readmitted": dc.Category("no", "yes", missing=False, other=False),
}
FEATURES = ["time_in_hospital", "num_medications", "number_inpatient"]
UNITS: dict[str, dict[str, Any]] = {
    "visits": {},
    "weighted": {"person": "patient"},
    "one": {"person": "patient", "rows": "one"},
    "capped 2": {"person": "patient", "rows": "capped", "most": 2},
    "capped 40": {"person": "patient", "rows": "capped", "most": 40},
}
EPSILONS = (0.1, 1.0)
NEARLY_EXACT = 1e5


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer releases and rows")
    parser.add_argument("--part", choices=("answers", "time", "memory"), help="one part alone")
    options = parser.parse_args()
    times, rows = (20, 10**5) if options.quick else (200, 10**6)
    ids = 10**5 if options.quick else 10**7
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "answers": lambda: answers(visits(), times),
        "time": lambda: speed(rows),
        "memory": lambda: [memory(kind, ids) for kind in ("whole numbers", "texts")],
    }
    found = {name: part() for name, part in parts.items() if options.part in (None, name)}
    for name, part_rows in found.items():
        print_table(name, part_rows)
    told = [{"part": name, **row} for name, part_rows in found.items() for row in part_rows]
    print(f"results: {save_results('people', told, {})}")


def visits() -> pd.DataFrame:
    """Return the visits, or made-up ones."""
    folder = os.environ.get("DISCREET_DATA")
    path = None if folder is None else Path(folder) / "diabetes_visits.csv"
    if path is None or not path.exists():
        print("DISCREET_DATA must name the folder with diabetes_visits.csv; made-up visits are used.")
        return made_up(20_000)
    frame = pd.read_csv(path, usecols=["patient", "age", *FEATURES, "readmitted"])
    return frame.assign(readmitted=np.where(frame["readmitted"] == "<30", "yes", "no"))


def made_up(patients: int, seed: int = 0) -> pd.DataFrame:
    """Return visits of patients, of whom the ill come more often and stay longer."""
    draw = np.random.default_rng(seed)
    illness = draw.gamma(1.0, 0.5, patients)
    count = 1 + np.minimum(draw.poisson(illness), 39)
    who = np.repeat(np.arange(patients), count)
    ill = illness[who]
    return pd.DataFrame(
        {
            "patient": who,
            "age": np.array(AGES)[np.clip(draw.normal(6, 1.6, patients).astype(int), 0, 9)[who]],
            "time_in_hospital": np.clip(1 + draw.poisson(3 + ill), 1, 14),
            "num_medications": np.clip(draw.poisson(14 + 3 * ill), 0, 100),
            "number_inpatient": np.clip(draw.poisson(ill), 0, 25),
            "readmitted": np.where(draw.random(len(who)) < 0.06 + 0.06 * ill, "yes", "no"),
        }
    ).sample(frac=1.0, random_state=seed)


def schema_of(unit: str) -> dc.Schema:
    """Return the public facts, with who is protected."""
    return dc.Schema(COLUMNS, target="readmitted", **UNITS[unit])


def questions(model: Any, epsilon: float) -> dict[str, Plan]:
    """Return what is asked."""
    return {
        "mean stay, days": dc.mean("time_in_hospital", epsilon=epsilon),
        "readmitted, share": dc.proportion("readmitted", ["yes"], epsilon=epsilon),
        "ages, share in a cell": dc.histogram("age", epsilon=epsilon),
        "partial dependence": dc.partial_dependence(model, "number_inpatient", epsilon=epsilon),
        "AUC": dc.evaluate(model, epsilon=epsilon),
    }


def answers(frame: pd.DataFrame, times: int) -> list[dict[str, Any]]:
    """Return exact answers of every unit and the errors of releases."""
    model, rows = fitted(frame), []
    for unit in UNITS:
        table = PrivateTable(frame, schema_of(unit))
        setting = Setting(table.schema, REPLACE_ONE, table.count())
        exact = {
            name: numbers(name, ready(plan, setting).finish(SimulatedReleaser(table, 0)), table)
            for name, plan in questions(model, NEARLY_EXACT).items()
        }
        for epsilon in EPSILONS:
            for name, plan in questions(model, epsilon).items():
                program, releaser = ready(plan, setting), SimulatedReleaser(table, 1)
                found = [numbers(name, program.finish(releaser), table) for _ in range(times)]
                error = float(np.mean(np.abs(np.array(found) - exact[name])))
                row = {"question": name, "unit": unit, "epsilon": epsilon}
                rows.append({**row, "exact": float(exact[name][0]), "error": error})
    return sorted(rows, key=lambda row: list(questions(model, 1.0)).index(row["question"]))


def fitted(frame: pd.DataFrame) -> Any:
    """Return a model of the first visits, which stand for public ones."""
    from sklearn.ensemble import RandomForestClassifier

    public = frame.iloc[:10_000]
    model = RandomForestClassifier(20, max_depth=5, random_state=0)
    return model.fit(public[FEATURES], public["readmitted"])


def numbers(name: str, value: Any, table: PrivateTable) -> np.ndarray:
    """Return the numbers of an answer that are compared."""
    if name.startswith("ages"):
        counts = value.to_frame()["count"].to_numpy(dtype=float)
        return np.asarray(counts / max(counts.sum(), 1.0))
    if name == "partial dependence":
        return np.asarray(value.to_frame().iloc[:, 1].to_numpy(dtype=float))
    return np.array([value.auc.value if name == "AUC" else value.value])


def speed(rows: int) -> list[dict[str, Any]]:
    """Return seconds to open a table and to release, of rows and of persons."""
    frame = made_up(rows * 2 // 3)
    model = fitted(frame)
    sessions = [_session(frame, unit) for unit in ("visits", "weighted")]
    work: dict[str, list[Callable[[], object]]] = {
        "protect": [partial(_session, frame, unit) for unit in ("visits", "weighted")],
        **{
            name: [partial(session.release, plan, fresh=True) for session in sessions]
            for name, plan in questions(model, 1.0).items()
        },
    }
    found = []
    for name, (first, second) in work.items():
        plain, shared = seconds_side_by_side(first, second, 3)
        took = {"rows, s": plain, "persons, s": shared, "ratio": shared / plain}
        found.append({"question": name, "rows": len(frame), **took})
    return found


def _session(frame: pd.DataFrame, unit: str) -> dc.Session:
    return dc.protect(
        frame, schema_of(unit), dataset="d", epsilon=1e6, ledger=":memory:", workers=1, progress=False
    )


_MEASURED = """
import resource, sys, time
import numpy as np
from discreet.data.persons import read_persons
from discreet.schema.person import Person
kind, rows = sys.argv[1], int(sys.argv[2])
ids = np.random.default_rng(0).permutation(rows)
ids[0] = ids[1]  # all but two: weights are shared out, not taken from a short cut
chunks = np.array_split(ids, max(rows // 65536, 1))
texts = kind == "texts"
def read():
    for chunk in chunks:
        yield np.array([f"patient-{one}" for one in chunk], dtype=object) if texts else chunk
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
read_persons(read(), Person("who"))
took = time.perf_counter() - start
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, took)
"""


def memory(kind: str, rows: int) -> dict[str, Any]:
    """Return megabytes at the peak of finding out whose every row is, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, kind, str(rows)], check=True, capture_output=True, text=True
    )
    peak, took = map(float, done.stdout.split())
    per = {"MB": peak, "MB per 10^6 rows": peak / rows * 1e6, "s per 10^6 rows": took / rows * 1e6}
    return {"ids": kind, "rows": rows, **per}


if __name__ == "__main__":
    main()
