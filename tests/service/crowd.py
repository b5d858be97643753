"""Many analysts at once, before workers in other processes, and the account of what they were told."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from discreet.ledger import Ledger
from discreet.service.access.keys import KeyRing
from discreet.service.store import Store

from .conftest import plan, write_project
from .held_workers import HOLD

CHARGE = 0.01
_AGAIN = (429, 503)
_MOST_TRIES = 2_000


@dataclass
class Told:
    """What clients were told: answers and losses by reservation, refusals, and how long it took."""

    answered: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, answer: httpx.Response, seconds: float) -> None:
        """Write an answer down."""
        with self.lock:
            self.statuses[f"{kind} {answer.status_code}"] += 1
            self.seconds.setdefault(kind, []).append(seconds)
            if kind == "release" and answer.status_code == 200:
                self.answered += [one["id"] for one in answer.json()["releases"]]
            elif answer.status_code == 410:
                self.lost |= set(answer.json()["error"]["reservations"])

    def p99(self, kind: str) -> float:
        """Return the milliseconds in which 99 of 100 answers of a kind came, time in line included."""
        times = sorted(self.seconds[kind])
        return 1e3 * times[min(len(times) - 1, int(0.99 * len(times)))]


@dataclass
class Analyst:
    """Asks and asks; a request without an answer is sent again under its name."""

    number: int
    url: str
    key: str
    told: Told

    def ask(self, kinds: list[str], after: Callable[[], None] = lambda: None) -> None:
        """Ask a question of every kind in turn, each another one."""
        headers = {"Authorization": f"Bearer {self.key}", "Prefer": "wait=5"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=120.0) as client:
            for turn, kind in enumerate(kinds):
                start = time.perf_counter()
                answer = self._until_told(client, kind, turn)
                self.told.note(kind, answer, time.perf_counter() - start)
                after()

    def _until_told(self, client: httpx.Client, kind: str, turn: int) -> httpx.Response:
        for _ in range(_MOST_TRIES):
            try:
                answer = self._send(client, kind, turn)
            except httpx.TransportError:  # the worker is gone, and with it what it would have said
                time.sleep(0.05)
                continue
            if answer.status_code == 202:
                continue
            if answer.status_code not in _AGAIN:
                return answer
            time.sleep(0.05)
        raise AssertionError(f"the {kind} of turn {turn} was never told")

    def _send(self, client: httpx.Client, kind: str, turn: int) -> httpx.Response:
        if kind == "price":
            return client.post("/v1/datasets/loans/price", json={"plans": [self._question(turn)]})
        asked = STORED if kind == "stored" else self._question(turn)
        name = {} if kind == "stored" else {"Idempotency-Key": f"turn {turn}"}
        return client.post("/v1/datasets/loans/releases", json={"plans": [asked]}, headers=name)

    def _question(self, turn: int) -> dict[str, Any]:
        # Another one for every request: an answer that is lost is nobody else's.
        return plan("count", where=f"income >= {1_000 * self.number + turn + 1}", epsilon=CHARGE)


STORED = plan("histogram", columns="age", bins=5, epsilon=CHARGE)


def prepare(
    folder: Path, address: str, *, analysts: int, epsilon: float
) -> tuple[Path, list[str], str]:
    """Return a project whose ledger and store are on a server, keys of analysts, and the owner's."""
    project = write_project(folder, epsilon=epsilon, ledger=address, store=address)
    store = Store(address)
    ring = KeyRing(store, folder / "service.key")
    keys = [ring.new("analyst", analyst=f"analyst {number}")[0] for number in range(analysts)]
    owner = ring.new("owner")[0]
    store.close()
    return project, keys, owner


@contextmanager
def served(project: Path, hold: Path | None = None) -> Iterator[str]:
    """Give the address of two workers, in processes of their own; with a file, of such as hold."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["-c", "from discreet.cli import main; main()", "serve", "--workers", "2"]
    command = [*options, "--project", str(project), "--port", str(port)]
    if hold is not None:
        command = ["-m", "tests.service.held_workers", str(project), str(port)]
    environment = {**os.environ, HOLD: str(hold)}
    with subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL
    ) as run:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, run)
            yield url
        finally:
            run.terminate()


def holders(hold: Path, over: Callable[[], bool]) -> list[int]:
    """Return the processes that hold a question which is charged for, once there are or it is over."""
    while not (found := list(hold.parent.glob("held-*"))) and not over():
        time.sleep(0.02)
    return [int(path.name.removeprefix("held-")) for path in found]


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            httpx.get(f"{url}/v1/health", timeout=5.0)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server ended with {process.returncode}")


def check_account(address: str, told: Told) -> None:
    """Compare what was told with the ledger: nothing twice, nothing uncharged, every charge told."""
    with Ledger.open(address) as ledger:
        reserved = {e.id: e for e in ledger.history("loans") if e.kind == "reserve"}
        balance, verified = ledger.balance("loans"), ledger.verify("loans")
    shared = {id_ for id_, e in reserved.items() if e.analyst is None}  # the owner's, asked before
    settled = {id_ for id_, entry in reserved.items() if entry.settled}
    answered = set(told.answered)
    assert len(told.answered) == len(answered), "a request is answered by a charge of its own"
    assert answered <= settled, "what is told was charged for and stored"
    assert set(reserved) - shared == answered | told.lost, "every charge is answered or told as lost"
    assert verified.ok, verified.problems
    assert balance.remaining.loss >= 0 and balance.spent.loss <= balance.budget.loss, balance
    jobs = Counter(entry.note["job"] for entry in reserved.values() if entry.id not in shared)
    assert set(jobs.values()) <= {1}, "no job is charged for twice"
