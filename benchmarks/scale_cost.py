"""A model of what a release costs: fitted on small tables, checked on large ones, told for larger.

Seconds of one core = fixed + rows x (passes x columns x reading + work). Reading is what one number
costs from a Parquet file to an encoded block, the same for all plans; work is the plan's own, per row.
A plan with several stages keeps encoded rows up to ``KeptRows.room`` bytes, and reads them anew in
every stage beyond.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_jobs import NUMBERS, STAGES, open_folder, schema
from discreet.data import PrivateTable
from discreet.data.blocks import KeptRows, packed_bytes
from discreet.data.rows import open_rows

FITTED_ON = 1_000_000
"""Tables up to so many rows are fitted; larger ones are predicted."""

LARGER = (10**9, 10**11)


def reading_seconds(folder: Path) -> float:
    """Return what reading and encoding one number costs a core, in seconds."""
    table = PrivateTable(open_folder(folder), schema())
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        for _block in open_rows(table, NUMBERS):
            pass
        best = min(best, time.process_time() - start)
    return float(best / (table.count() * len(NUMBERS)))


def is_kept(row: dict[str, Any]) -> bool:
    """Say whether a table is small enough for its encoded rows to be kept for the next stage."""
    facts = schema()
    names = tuple(facts) if row["columns"] == len(facts) else NUMBERS
    return bool(row["rows"] * packed_bytes(facts, names) <= KeptRows().room)


@dataclass(frozen=True)
class Cost:
    """What one plan costs: seconds at the start, then per row, and per number that is read again."""

    fixed: float
    per_row: float
    columns: int
    stages: int
    reading: float

    @classmethod
    def fit(cls, job: str, rows: list[dict[str, Any]], reading: float) -> Cost:
        """Fit what it costs at the start and per row by least squares of relative errors."""
        sizes, seconds = (np.array([row[name] for row in rows], float) for name in ("rows", "cpu"))
        design = np.column_stack([np.ones_like(sizes), sizes]) / seconds[:, None]
        fixed, per_row = np.linalg.lstsq(design, np.ones_like(sizes), rcond=None)[0]
        return cls(float(fixed), float(per_row), rows[0]["columns"], STAGES.get(job, 1), reading)

    def seconds(self, rows: int) -> float:
        """Return the predicted seconds of one core."""
        kept = is_kept({"rows": rows, "columns": self.columns})
        again = 0 if kept else (self.stages - 1) * self.columns * self.reading
        return self.fixed + rows * (self.per_row + again)


def predict(rows: list[dict[str, Any]], reading: float) -> list[dict[str, Any]]:
    """Return for every job what was fitted, how far larger tables are from it, and what others need."""
    told = []
    for job in dict.fromkeys(row["job"] for row in rows):
        own = [row for row in rows if row["job"] == job and row["way"] == "one thread"]
        small = [row for row in own if row["rows"] <= FITTED_ON]
        if len(small) < 2:
            continue
        cost = Cost.fit(job, small, reading)
        off = {row["rows"]: row["cpu"] / cost.seconds(row["rows"]) for row in own}
        line = {"job": job, "columns": cost.columns, "start s": cost.fixed}
        line |= {"ns per row": cost.per_row * 1e9}
        line |= {f"measured / model at {size:.0e}": ratio for size, ratio in off.items()}
        line |= {f"core-hours for {size:.0e}": cost.seconds(size) / 3600 for size in LARGER}
        told.append(line)
    return told
