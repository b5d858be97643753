"""Many processes and threads on one ledger, and processes that die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExhausted, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.store.connection import put_away_all
from discreet.ledger.store.migrations import NEWEST
from discreet.privacy.accounting.filters import Amount
from tests.ledger import swarm
from tests.ledger.backends import Backend, make_terms


def run_swarm(job: str, backend: Backend, *rest: str) -> Any:
    command = [sys.executable, swarm.__file__, job, backend.where, str(backend.key), *rest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_eight_processes_spend_the_budget_to_the_unit(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms(budget=Amount(403)))
        accepted = run_swarm("spend_all", backend)
        assert len(accepted) == 8
        assert sum(accepted) == 403, accepted
        assert ledger.balance("adult").spent == Amount(403)
        charges = [e.amount.loss for e in ledger.history("adult") if e.kind == "reserve"]
        assert sum(charges) == 403
        assert ledger.verify().problems == []


def test_eight_processes_get_as_many_charges_as_fit(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms(budget=Amount(1000)))
        accepted = run_swarm("spend_sevens", backend)
        assert sum(accepted) == 1000 // 7, accepted
        assert ledger.balance("adult").spent == Amount(1000 // 7 * 7)
        assert ledger.verify().problems == []


def test_eight_processes_make_one_ledger(backend: Backend) -> None:
    answers = run_swarm("open", backend)
    assert all(isinstance(answer, dict) for answer in answers), answers
    assert {answer["created"] for answer in answers} == {answers[0]["created"]}
    assert [answer["problems"] for answer in answers] == [[]] * 8
    with backend.open(create=False) as ledger:
        assert [entry.kind for entry in ledger.history("fresh")] == ["register"]
    applied = backend.rows("SELECT number FROM discreet_migrations ORDER BY number")
    assert applied == [(number,) for number in range(1, NEWEST + 1)]
    leftovers = [path for path in backend.key.parent.iterdir() if path.name.count(".key") > 0]
    assert leftovers == [backend.key]


def test_killed_processes_leave_a_ledger_that_verifies(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
    steps = run_swarm("crash", backend, "12")
    with backend.open() as ledger:
        entries = ledger.history("adult")
        assert ledger.verify().problems == []
        reserved = [entry for entry in entries if entry.kind == "reserve"]
        settled = {entry.id for entry in entries if entry.kind == "settle"}
        assert len(reserved) + len(settled) >= steps >= 12
        assert ledger.balance("adult").spent == Amount(3 * len(reserved))
        assert settled == {entry.id for entry in reserved if entry.settled}
        released = backend.rows("SELECT reservation, body FROM discreet_releases")
        assert {reservation for reservation, _ in released} == settled
        assert all(reservation == body for reservation, body in released)
        assert len(reserved) - len(settled) <= 12


def test_a_forked_process_opens_connections_of_its_own(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
    answer = run_swarm("fork", backend)
    assert answer == {"inherited": [], "problems": []}
    with backend.open() as ledger:
        plans = [e.plan_key for e in ledger.history("adult") if e.kind == "reserve"]
        assert (plans.count("parent"), plans.count("child")) == (3, 2)


def fork_and_wait() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn if threads run
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def test_forking_leaves_the_parents_ledger_usable(ledger: Ledger) -> None:
    ledger.reserve("adult", Amount(1), plan_key="k", note={})
    fork_and_wait()
    ledger.reserve("adult", Amount(1), plan_key="k", note={})
    assert ledger.balance("adult").spent == Amount(2)


def test_another_process_id_means_new_connections(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_away_all()  # as before a fork
    monkeypatch.setattr("discreet.ledger.store.connection.os.getpid", lambda: 1)
    ledger.reserve("adult", Amount(1), plan_key="k", note={})
    assert ledger.balance("adult").spent == Amount(1)


def test_an_in_memory_ledger_stays_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(":memory:") as ledger:
        ledger.register(make_terms())
        fork_and_wait()
        assert ledger.datasets() == ["adult"]
        with monkeypatch.context() as patch:
            patch.setattr("discreet.ledger.store.connection.os.getpid", lambda: 1)
            with pytest.raises(LedgerUnavailable, match="belongs to the process that opened it"):
                ledger.datasets()
        assert ledger.datasets() == ["adult"]


@pytest.mark.parametrize("where", ["memory", "file"])
def test_threads_share_a_ledger(tmp_path: Path, where: str) -> None:
    place = ":memory:" if where == "memory" else tmp_path / "ledger.db"

    def spend(_: int) -> int:
        try:
            ledger.reserve("adult", Amount(3), plan_key="k", note={})
            return 3
        except BudgetExhausted:
            return 0

    with Ledger.open(place) as ledger, ThreadPoolExecutor(8) as pool:
        ledger.register(make_terms(budget=Amount(100)))
        assert sum(pool.map(spend, range(80))) == 99
        assert ledger.balance("adult").spent == Amount(99)
        assert ledger.verify().ok
