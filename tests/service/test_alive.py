"""Who is alive, also when a database is started anew and forgets every lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from discreet.service.asked.alive import GRACE, Alive
from discreet.service.store import Store
from tests.ledger.conftest import new_database, server

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


def test_a_lock_of_a_file_tells_at_once(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "service.db"))
    first, second = Alive(store, "first"), Alive(store, "second")
    assert second.is_alive("first")
    first.close()
    assert not second.is_alive("first")
    second.close()
    store.close()
