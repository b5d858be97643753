"""Many analysts at once, on two workers and PostgreSQL: never over budget, every charge told of.

A worker that is killed and a database that is restarted in the middle of it change nothing of that.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ledger.conftest import new_database, server
from tests.ledger.server import find_binaries, restart, running_server

from .crowd import CHARGE, STORED, Analyst, Told, check_account, holders, prepare, served

__all__ = ["new_database", "server"]

ANALYSTS, REQUESTS = 20, 50
EPSILON = 1.0
KINDS = ["price", "stored", "release", "price", "stored"] * (REQUESTS // 5)


@pytest.mark.slow
def test_twenty_analysts_never_overdraw(
    tmp_path: Path,
    new_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, Any], None],
) -> None:
    address, told = new_database(), Told()
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    project, keys, owner = prepare(tmp_path, address, analysts=ANALYSTS, epsilon=EPSILON)
    with served(project) as url, ThreadPoolExecutor(ANALYSTS) as pool:
        store_one(url, owner)
        crowd = [Analyst(number, url, key, told) for number, key in enumerate(keys)]
        list(pool.map(lambda one: one.ask(KINDS), crowd))
    for kind in ("price", "stored", "release"):
        record_property(f"p99 ms of {kind}", told.p99(kind))
        print(f"p99 of {kind}: {told.p99(kind):.0f} ms")
    check_account(address, told)
    most = round(EPSILON / CHARGE) - 1  # the stored one was the first
    assert told.statuses == {
        "price 200": 20 * ANALYSTS,
        "stored 200": 20 * ANALYSTS,
        "release 200": most,
        "release 402": 10 * ANALYSTS - most,
    }


def store_one(url: str, owner: str) -> None:
    """Answer the question that all will ask."""
    headers = {"Authorization": f"Bearer {owner}", "Prefer": "wait=30"}
    found = httpx.post(
        f"{url}/v1/datasets/loans/releases", json={"plans": [STORED]}, headers=headers, timeout=120.0
    )
    assert found.status_code == 200, found.text


class Blows:
    """A load of releases, during which something is done to workers or database, thrice.

    Twice in the middle of answers that are charged for, once whenever it happens to be.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.address, self.hold, self.told = address, folder / "hold" / "on", Told()
        self.hold.parent.mkdir()
        self.project, self.keys, _ = prepare(folder, address, analysts=FEW, epsilon=10.0)
        self._asked = threading.Semaphore(0)

    def run(self, blow: Callable[[list[int]], None]) -> None:
        """Ask with all analysts, and strike; then compare what they were told with the ledger."""
        with served(self.project, self.hold) as url, ThreadPoolExecutor(FEW) as pool:
            crowd = [Analyst(number, url, key, self.told) for number, key in enumerate(self.keys)]
            asking = [pool.submit(one.ask, ["release"] * TURNS, self._asked.release) for one in crowd]
            for _ in range(2):
                self.hold.touch()
                blow(holders(self.hold, lambda: all(one.done() for one in asking)))
                self._let_go()
                for _ in range(FEW):
                    self._asked.acquire()
            blow([])
            for one in asking:
                one.result()
        assert sum(self.told.statuses.values()) == FEW * TURNS
        assert set(self.told.statuses) <= {"release 200", "release 410"}, self.told.statuses
        check_account(self.address, self.told)

    def _let_go(self) -> None:
        self.hold.unlink()
        for mark in self.hold.parent.glob("held-*"):
            mark.unlink()


FEW, TURNS = 6, 6


@pytest.mark.slow
def test_a_worker_is_killed_under_load(
    tmp_path: Path, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    load = Blows(tmp_path, new_database())

    def kill(holding: list[int]) -> None:
        for process in holding[:1]:
            os.kill(process, signal.SIGKILL)

    load.run(kill)
    assert load.told.lost, "what it held is told as lost"


@pytest.mark.slow
def test_the_database_is_restarted_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's initdb was not found; install the server to run these tests.")
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    with running_server(binaries) as home:
        load = Blows(tmp_path, f"postgresql://postgres@/postgres?host={home}")
        load.run(lambda _: restart(binaries, home))
