"""How fast the ledger is, and whether it slows down as it fills.

``python -m benchmarks.ledger [--quick]``: a *charge* is one ``reserve`` and one ``settle``, both
durable. A young ledger (100 charges) and an old one (10,000) are charged in turn, so that whatever
else the machine does meets both alike; their ratio is the figure that matters. Then many processes
write at once beside a long reader (``ledger_storm``).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from rich.progress import track

from benchmarks.harness import print_table, save_results
from benchmarks.ledger_storm import storm_row
from discreet.ledger import Ledger, Terms
from discreet.privacy.accounting.filters import Amount
from tests.ledger.server import find_binaries, running_server

YOUNG, OLD = 100, 10_000
DATASET = "bench"
BODY = '{"value": [' + ", ".join(["0.123456789"] * 40) + "]}"


def measure_charge(ledger: Ledger) -> float:
    """Return the seconds one durable charge takes."""
    begin = time.perf_counter()
    held = ledger.reserve(DATASET, Amount(1), plan_key="plan", note={"plan": "partial_dependence"})
    ledger.settle(held, version="2024", body=BODY)
    return time.perf_counter() - begin


def fill(ledger: Ledger, charges: int, label: str) -> float:
    """Charge a new ledger many times; return charges per second."""
    terms = Terms(DATASET, "replace-one", "basic", 3.0, 0.0, Amount.budget(3.0), "5c4e")
    ledger.register(terms)
    times = [measure_charge(ledger) for _ in track(range(charges), label, transient=True)]
    return charges / sum(times)


def compare(young: Ledger, old: Ledger, samples: int) -> tuple[float, float]:
    """Return the median seconds of a charge on either ledger, measured in turn."""
    pairs = [
        (measure_charge(young), measure_charge(old))
        for _ in track(range(samples), "young against old", transient=True)
    ]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def measure_backend(backend: str, young: Ledger, old: Ledger, samples: int) -> dict[str, Any]:
    """Return one row of the table."""
    fill(young, YOUNG, f"{backend}: young")
    filling = fill(old, OLD, f"{backend}: old")
    early, late = compare(young, old, samples)
    begin = time.perf_counter()
    verification = old.verify()
    verifying = time.perf_counter() - begin
    assert verification.ok, verification.problems
    return {
        "backend": backend,
        "charges_per_second": round(filling, 1),
        "young_ms": round(early * 1000, 3),
        "old_ms": round(late * 1000, 3),
        "old_over_young": round(late / early, 3),
        "verified_entries_per_second": round(verification.entries / verifying),
    }


def sqlite_row(samples: int) -> dict[str, Any]:
    """Measure two files in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        young, old = (
            stack.enter_context(Ledger.open(Path(folder, f"{name}.db"))) for name in ("young", "old")
        )
        return measure_backend("sqlite", young, old, samples)


def server_rows(samples: int) -> Iterator[dict[str, Any]]:
    """Measure two databases of a throw-away server, if one can be started."""
    binaries = find_binaries()
    if binaries is None:
        print("PostgreSQL was not found; its row is left out.")
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = stack.enter_context(running_server(binaries, durable=True))
        ledgers = []
        for name in ("young", "old"):
            address = "postgresql://postgres@/{}?host=" + home
            with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            ledgers.append(
                stack.enter_context(Ledger.open(address.format(name), key=Path(folder, f"{name}.key")))
            )
        yield measure_backend("postgresql", *ledgers, samples)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="SQLite only, fewer samples")
    quick = parser.parse_args().quick
    rows = [sqlite_row(200 if quick else 1000)]
    if not quick:
        rows += server_rows(1000)
    summary = {f"{row['backend']}_{name}": row[name] for row in rows for name in list(row)[1:]}
    storm = storm_row()
    summary |= {f"storm_{name}": storm[name] for name in list(storm)[1:]}
    print_table("A durable charge: reserve + settle", rows)
    print_table("Many writers at once on one SQLite ledger", [storm])
    print(f"written to {save_results('ledger', [*rows, storm], summary)}")


if __name__ == "__main__":
    main()
