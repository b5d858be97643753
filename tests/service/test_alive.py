"""Who is alive, also when a database is started anew and forgets every lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.service import make_app
from discreet.service.asked.book import GRACE, Alive
from discreet.service.store import Store
from discreet.session import Session
from tests.ledger.conftest import new_database, server

from .conftest import Server, World, plan, write_project

__all__ = ["new_database", "server"]


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def address(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    opened = Store(address)
    yield opened
    opened.close()


def forget_all(address: str) -> None:
    """Break every connection to a database, as a server does that is started anew."""
    with closing(psycopg.connect(address, autocommit=True)) as line:
        line.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_locks_given_back_over_a_broken_line_are_the_last_that_fail(store: Store, address: str) -> None:
    locks = store.locks()
    locks.take(["first", "second"])
    forget_all(address)
    locks.give_back(["first"])  # notices, and cannot mend it
    locks.take(["third"])
    assert held(store, locks) == {"second", "third"}
    forget_all(address)
    locks.give_back(["third"])
    assert locks.renew() and held(store, locks) == {"second"}
    locks.close()


def held(store: Store, locks: Any) -> set[str]:
    with store.reading() as connection:
        return set(locks.held(connection, ["first", "second", "third"]))


def test_a_server_that_starts_anew_makes_nobody_dead(store: Store, address: str) -> None:
    clock = Clock()
    first, second = Alive(store, "first"), Alive(store, "second", clock=clock)
    assert second.is_alive("first")
    forget_all(address)
    assert second.is_alive("first"), "it had no time yet to take its lock again"
    first.hold()
    clock.time += 2 * GRACE
    assert second.is_alive("first"), "its lock is there again"
    first.close()
    assert second.is_alive("first")
    clock.time += GRACE
    assert not second.is_alive("first")
    second.close()


def test_a_server_that_starts_anew_begins_the_time_again(store: Store, address: str) -> None:
    clock = Clock()
    second = Alive(store, "second", clock=clock)
    assert second.is_alive("first")
    clock.time += GRACE / 2
    forget_all(address)
    assert second.is_alive("first")
    clock.time += GRACE / 2
    assert second.is_alive("first")
    clock.time += GRACE / 2
    assert not second.is_alive("first")
    second.close()


def test_a_job_goes_on_while_a_database_starts_anew(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker tells it as running; it is charged for once, and answered."""
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    project = write_project(tmp_path, ledger=address, store=address)
    first, second = (make_app(project) for _ in range(2))
    key = first.state.office.keys.new("analyst", analyst="ann")[0]
    worlds = [World(tmp_path, app, {"ann": key}, Server(app)) for app in (first, second)]
    begun, go_on, run = threading.Event(), threading.Event(), Session._run

    def held(session: Session, *given: Any) -> Any:
        begun.set()
        go_on.wait(120)
        return run(session, *given)

    monkeypatch.setattr(Session, "_run", held)
    try:
        asked = plan("count", where="age >= 40", epsilon=0.1)
        job = worlds[0].begin("ann", asked).json()["job"]["id"]
        assert begun.wait(60)
        forget_all(address)
        here, there = (world.client("ann") for world in worlds)
        for _ in range(3):
            assert there.get(f"/v1/jobs/{job}").json()["job"]["state"] == "running"
        go_on.set()
        states = [one.get(f"/v1/jobs/{job}?wait=30").json()["job"]["state"] for one in (here, there)]
        reserved = first.state.office.desks.ledger("loans").history("loans")
    finally:
        go_on.set()
        for world in worlds:
            world.close()
    assert states == ["done", "done"]
    assert [entry.settled for entry in reserved if entry.kind == "reserve"] == [True]


def test_a_lock_of_a_file_tells_at_once(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "service.db"))
    first, second = Alive(store, "first"), Alive(store, "second")
    assert second.is_alive("first")
    first.close()
    assert not second.is_alive("first")
    second.close()
    store.close()
