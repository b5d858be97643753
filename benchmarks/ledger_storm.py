"""Sixteen processes that charge one SQLite ledger at once, while somebody reads it all the time.

What matters: how long the unlucky wait compared with the others, that nobody is turned away but by
the budget, and how large the journal gets that cannot be emptied beside the reader.
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger import Ledger, Terms
from discreet.privacy.accounting.filters import Amount

PROCESSES, CHARGES = 16, 200
DATASET = "storm"
SIZES = (1, 7, 7, 13)
BUDGET = Amount(PROCESSES * CHARGES * 7 * 8 // 10 + 3)
"""Four fifths of what is asked for."""


def storm_row() -> dict[str, Any]:
    """Measure the storm and check that it spent what it was granted, and no more."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "storm.db")
        with Ledger.open(path) as ledger:
            ledger.register(Terms(DATASET, "replace-one", "basic", 3.0, 0.0, BUDGET, "5c4e"))
            began = time.perf_counter()
            with _long_reader(path), _greatest_journal(path) as sizes:
                answers = _unleash(path)
            took = time.perf_counter() - began
            spent, found = ledger.balance(DATASET).spent, ledger.verify()
    assert spent.loss == sum(answer["accepted"] for answer in answers) <= BUDGET.loss
    assert found.ok, found.problems
    return _summarise(answers, took, max(sizes))


def _unleash(path: Path) -> list[dict[str, Any]]:
    context = multiprocessing.get_context("fork")
    gate, answers = context.Barrier(PROCESSES), context.SimpleQueue()
    writers = [
        context.Process(target=_write, args=(path, seed, gate, answers)) for seed in range(PROCESSES)
    ]
    for writer in writers:
        writer.start()
    found = [answers.get() for _ in writers]
    for writer in writers:
        writer.join()
    return found


def _write(path: Path, seed: int, gate: Any, answers: Any) -> None:
    draw = random.Random(seed)
    answer: dict[str, Any] = {"accepted": 0, "refused": 0, "seconds": []}
    with Ledger.open(path) as ledger:
        gate.wait()
        for _ in range(CHARGES):
            began = time.perf_counter()
            _charge(ledger, draw, answer)
            answer["seconds"].append(time.perf_counter() - began)
    answers.put(answer)


def _charge(ledger: Ledger, draw: random.Random, answer: dict[str, Any]) -> None:
    size, settles = draw.choice(SIZES), draw.random() < 0.3
    try:
        held = ledger.reserve(DATASET, Amount(size), plan_key="plan", note={"plan": "histogram"})
        answer["accepted"] += size
        if settles:
            ledger.settle(held, version="2024", body='{"value": [0.123456789]}')
    except BudgetExhausted:
        return
    except LedgerError:
        answer["refused"] += 1


@contextmanager
def _long_reader(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM discreet_entries").fetchone()
        yield


@contextmanager
def _greatest_journal(path: Path) -> Iterator[list[int]]:
    sizes, end = [0], threading.Event()

    def watch() -> None:
        while not end.wait(0.05):
            sizes.append(Path(f"{path}-wal").stat().st_size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        end.set()
        watcher.join()


def _summarise(answers: list[dict[str, Any]], took: float, journal: int) -> dict[str, Any]:
    times = np.concatenate([answer["seconds"] for answer in answers]) * 1000
    middle, late = np.quantile(times, [0.5, 0.99])
    return {
        "storm": f"{PROCESSES} processes x {CHARGES}, a reader",
        "charges_per_second": round(times.size / took, 1),
        "p50_ms": round(float(middle), 1),
        "p99_ms": round(float(late), 1),
        "p99_over_p50": round(float(late / middle), 2),
        "greatest_ms": round(float(times.max()), 1),
        "refused": sum(answer["refused"] for answer in answers),
        "journal_mb": round(journal / 1e6, 2),
    }
