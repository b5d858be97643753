"""The same question asked by several at once is charged once; those who died do not block it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import ReleaseFailed, UnderWay
from discreet.ledger import Ledger
from discreet.ledger.store.locks import FileLocks, Locks, find_locks, work_with
from tests.ledger.asking_swarm import FRAME, PLAN, SCHEMA
from tests.ledger.backends import Backend

ROOT = Path(__file__).parents[2]
SINCE = r"under way since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def run_swarm(job: str, backend: Backend) -> Any:
    command = [sys.executable, "-m", "tests.ledger.asking_swarm", job, backend.where, str(backend.key)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_eight_processes_are_charged_once(backend: Backend) -> None:
    found = run_swarm("together", backend)
    assert found["spent"] == 5 * 10**11
    told = [answer for answer in found["answers"] if re.fullmatch(SINCE, answer)]
    answered = set(found["answers"]) - set(told)
    assert len(answered) == 1 and len(found["answers"]) == 8, found
    assert len(told) == 7, "whoever is at work waits until everybody else was told"
    assert found["later"] in answered, "asked later it is free"


def test_a_process_that_died_does_not_block(backend: Backend) -> None:
    found = run_swarm("killed", backend)
    at_work, stopped, dead = found["told"]
    assert re.fullmatch(SINCE, at_work) and re.fullmatch(SINCE, stopped)
    assert not dead.startswith("under way")
    assert found["spent"] == 10**12 and found["problems"] == []


# -- threads of one process, where each moment can be chosen


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    if request.param == "memory":
        with Ledger.open(":memory:") as opened:
            yield opened
        return
    name = "sqlite_backend" if request.param == "sqlite" else "server_backend"
    with request.getfixturevalue(name).open() as opened:
        yield opened


def open_session(ledger: Ledger, **options: Any) -> dc.Session:
    terms = {"dataset": "people", "epsilon": 1.0, "ledger": ledger, "workers": 1, "progress": False}
    return dc.protect(FRAME, SCHEMA, **{**terms, **options})


class Slow:
    """A session's release that waits, in a thread, between its reservation and its answer."""

    def __init__(self, session: dc.Session, plan: dc.Plan = PLAN) -> None:
        self.reserved, self.go_on = threading.Event(), threading.Event()
        self.releases: list[dc.Release] = []
        run = session._run

        def wait_then_run(*args: Any) -> Any:
            self.reserved.set()
            assert self.go_on.wait(600)
            return run(*args)

        session._run = wait_then_run  # type: ignore[method-assign]
        self.thread = threading.Thread(target=lambda: self.releases.append(session.release(plan)))

    def __enter__(self) -> Slow:
        self.thread.start()
        assert self.reserved.wait(600)
        return self

    def end(self) -> dc.Release:
        self.go_on.set()
        self.thread.join()
        return self.releases[0]

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self.thread.join()


def test_who_asks_meanwhile_is_told_and_pays_nothing(ledger: Ledger) -> None:
    session = open_session(ledger)
    with Slow(open_session(ledger)) as slow:
        left = session.remaining
        with pytest.raises(UnderWay) as caught:
            session.release(PLAN)
        assert re.search(SINCE, str(caught.value)) and "fresh=True" in str(caught.value)
        (entry,) = [entry for entry in ledger.history("people") if entry.kind == "reserve"]
        assert caught.value.fields()["reservation"] == entry.id
        assert caught.value.since == entry.time[:19] + "Z"
        with pytest.raises(UnderWay):
            session.release([dc.histogram("age", epsilon=0.1), PLAN])
        assert session.remaining == left
        first = slow.end()
    assert session.release(PLAN).to_json() == first.to_json()
    assert session.remaining == left


def test_a_lock_without_a_reservation_does_not_count(ledger: Ledger) -> None:
    """Somebody holds the lock without a charge yet: whoever comes first is charged."""
    session = open_session(ledger)
    name = "\0".join(("people", session.version, PLAN.key))
    with holding(ledger._locks, [name]):
        assert session.release(PLAN).guarantee.epsilon == 0.5


def test_fresh_goes_past_it(ledger: Ledger) -> None:
    session = open_session(ledger)
    with Slow(open_session(ledger)) as slow:
        own = session.release(PLAN, fresh=True)
        assert own.id != slow.end().id
    assert session.remaining.loss == 0


@pytest.mark.parametrize("change", ["version", "plan", "dataset"])
def test_another_question_is_not_held_up(ledger: Ledger, change: str) -> None:
    other = {"version": {"version": "2"}, "dataset": {"dataset": "others"}}.get(change, {})
    plan = dc.histogram("age", epsilon=0.25) if change == "plan" else PLAN
    with Slow(open_session(ledger)):
        assert open_session(ledger, **other).release(plan).guarantee.certified


def test_who_looked_too_early_gets_the_answer_free(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole budget is spent on the answer: charging would be refused, looking again is not."""
    plan = dc.histogram("age", epsilon=1.0)
    first, session = open_session(ledger).release(plan), open_session(ledger)
    found, looks = session._stored, []

    def look_too_early(asked: dc.Plan) -> dc.Release | None:
        looks.append(asked)
        return None if len(looks) == 1 else found(asked)

    monkeypatch.setattr(session, "_stored", look_too_early)
    assert session.release(plan).to_json() == first.to_json()
    assert len(looks) == 2 and session.remaining.loss == 0


def test_a_release_that_failed_does_not_block(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(session, "_finish", lambda *_: ReleaseFailed)
        with pytest.raises(ReleaseFailed):
            session.release(PLAN)
    assert session.release(PLAN).guarantee.epsilon == 0.5
    assert session.remaining.loss == 0


@contextmanager
def holding(locks: Locks, names: list[str]) -> Iterator[None]:
    with work_with(locks) as work:
        work.begin(names)
        yield


def open_files() -> list[str]:
    folder = "/proc/self/fd"
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def test_no_lock_is_left_behind(backend: Backend) -> None:
    with backend.open() as ledger:
        session = open_session(ledger)
        session.release(PLAN)
        files = open_files()
        session.release(PLAN, fresh=True)
        assert open_files() == files
        name = "\0".join(("people", session.version, PLAN.key))
        with ledger._connections.writing() as connection:
            assert ledger._locks.held(connection, [name]) == set()
            with holding(ledger._locks, [name]):
                assert ledger._locks.held(connection, [name]) == {name}


# -- the locks alone


def test_locks_are_seen_while_they_are_held(backend: Backend) -> None:
    with backend.open() as ledger, backend.open() as other:
        mine, theirs = find_locks(ledger._connections), find_locks(other._connections)
        with holding(mine, ["a", "b"]):
            with holding(theirs, ["c"]), other._connections.writing() as connection:
                assert theirs.held(connection, ["a", "b", "c", "d"]) == {"a", "b", "c"}
            with ledger._connections.writing() as connection:
                assert mine.held(connection, ["a", "b", "c"]) == {"a", "b"}
        with ledger._connections.writing() as connection:
            assert mine.held(connection, ["a", "b", "c"]) == set()


def test_a_lock_that_two_hold_is_held_until_both_gave_it_back(backend: Backend) -> None:
    with backend.open() as ledger, backend.open() as other:
        with holding(ledger._locks, ["a"]):
            with holding(other._locks, ["a"]), holding(ledger._locks, ["a"]):
                pass
            with other._connections.writing() as connection:
                assert other._locks.held(connection, ["a"]) == {"a"}
        with other._connections.writing() as connection:
            assert other._locks.held(connection, ["a"]) == set()


def test_a_lost_connection_is_replaced_with_all_its_locks(server_backend: Backend) -> None:
    with server_backend.open() as ledger:
        locks = ledger._locks
        with holding(locks, ["a"]):
            server_backend.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            with holding(locks, ["b"]), ledger._connections.writing() as connection:
                assert locks.held(connection, ["a", "b", "c"]) == {"a", "b"}
        with ledger._connections.writing() as connection:
            assert locks.held(connection, ["a", "b"]) == set()


def test_a_folder_without_room_for_locks(tmp_path: Path) -> None:
    with Ledger.open(":memory:") as ledger, ledger._connections.writing() as connection:
        locks = FileLocks(tmp_path / "gone" / "x-alive")
        with holding(locks, ["a"]):
            assert locks.held(connection, ["a"]) == set()


def test_the_file_of_locks_is_empty_and_private(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger:
        open_session(ledger).release(PLAN)
    file = Path(sqlite_backend.where + "-alive")
    assert file.stat().st_size == 0 and file.stat().st_mode & 0o077 == 0
