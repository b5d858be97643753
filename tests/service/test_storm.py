"""Many analysts at once, on two workers and PostgreSQL: never over budget, every charge answered."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from discreet.ledger import Ledger
from discreet.service.access.keys import KeyRing
from discreet.service.store import Store
from tests.ledger.conftest import new_database, server

from .conftest import plan, write_project

__all__ = ["new_database", "server"]

ANALYSTS, REQUESTS = 20, 10
EPSILON, CHARGE = 1.0, 0.01


@contextmanager
def served(project: Path, environment: dict[str, str]) -> Iterator[str]:
    """Give the address of two workers, in processes of their own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = "from discreet.cli import main; main()"
    options = ["--project", str(project), "--port", str(port), "--workers", "2"]
    command = [sys.executable, "-c", code, "serve", *options]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, process)
            yield url
        finally:
            process.terminate()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            httpx.get(f"{url}/v1/health", timeout=5.0)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server ended with {process.returncode}")


@pytest.mark.slow
def test_twenty_analysts_never_overdraw(
    tmp_path: Path, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_database()
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    project = write_project(tmp_path, epsilon=EPSILON, ledger=address, store=address)
    store = Store(address)
    ring = KeyRing(store, tmp_path / "service.key")
    keys = [ring.new("analyst", analyst=f"analyst {number}")[0] for number in range(ANALYSTS)]
    store.close()

    def ask(url: str, number: int) -> Counter[int]:
        headers = {"Authorization": f"Bearer {keys[number]}", "Prefer": "wait=30"}
        asked = plan("count", where="age >= 40", epsilon=CHARGE)
        body = {"plans": [asked], "fresh": True}
        with httpx.Client(base_url=url, headers=headers, timeout=120.0) as client:
            return Counter(
                client.post("/v1/datasets/loans/releases", json=body).status_code
                for _ in range(REQUESTS)
            )

    with served(project, dict(os.environ)) as url, ThreadPoolExecutor(ANALYSTS) as pool:
        found = sum(pool.map(lambda number: ask(url, number), range(ANALYSTS)), Counter())
    with Ledger.open(address) as ledger:
        reserved = [entry for entry in ledger.history("loans") if entry.kind == "reserve"]
        balance, verified = ledger.balance("loans"), ledger.verify("loans")
    most = round(EPSILON / CHARGE)
    assert set(found) <= {200, 202, 402, 429} and sum(found.values()) == ANALYSTS * REQUESTS
    assert found[200] <= len(reserved) == most and all(entry.settled for entry in reserved)
    assert balance.remaining.loss == 0 and verified.ok
