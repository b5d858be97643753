"""Writers to a SQLite file come in turn, and the journal stays small beside a long reader."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.ledger.store.sqlite import Queue
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms
from tests.ledger.test_concurrency import run_swarm

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(99)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.touch()
    return path


def is_free(place: Path) -> bool:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_one_at_a_time(place: Path) -> None:
    queue, inside, seen = Queue(place), threading.Lock(), []

    def work() -> None:
        for _ in range(20):
            with queue.turn(60):
                seen.append(inside.acquire(blocking=False))
                inside.release()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 120
    assert is_free(place)


def test_patience_has_an_end_and_the_place_in_the_queue_with_it(place: Path) -> None:
    queue = Queue(place)
    with open(place) as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        with queue.turn(0.01):
            pass
    with queue.turn(60):  # whoever gave up does not keep the lock it gets at last
        assert not is_free(place)
    assert is_free(place)


def test_an_error_ends_the_turn(place: Path) -> None:
    with pytest.raises(ZeroDivisionError), Queue(place).turn(60):
        raise ZeroDivisionError
    assert is_free(place)


def test_a_process_that_dies_leaves_the_queue(place: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, place], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not is_free(place)
        holder.send_signal(signal.SIGKILL)
        with Queue(place).turn(60):
            assert not is_free(place)


def test_a_forked_process_does_not_keep_a_turn(place: Path) -> None:
    with Queue(place).turn(60):
        child = os.fork()
        if child == 0:
            signal.pause()
    free = is_free(place)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert free


def test_without_a_file_or_locks_everybody_may_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = []
    with Queue(place.with_name("none")).turn(60):
        served.append("no file")

    def refuse(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr("discreet.ledger.store.sqlite.fcntl.flock", refuse)
    with Queue(place).turn(60):
        served.append("no locks")
    assert served == ["no file", "no locks"]


def test_nobody_starves(sqlite_backend: Backend) -> None:
    """When the first of eight is done with its charges, the last has a share of its own.

    SQLite's own waiting lets whoever just wrote come back first: half of them had none. On a quiet
    machine the last has a third; on a busy one the system, not the queue, keeps it from its turns.
    """
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
    answers = run_swarm("spend_in_turn", sqlite_backend)
    end = min(max(own) for own in answers)
    done = sorted(sum(number <= end for number in own) for own in answers)
    assert done[-1] == len(answers[0])
    assert done[0] >= len(answers[0]) / 10, done


def test_the_journal_stays_small_beside_a_long_reader(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger:
        ledger.register(make_terms())
        with closing(sqlite3.connect(sqlite_backend.where, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM discreet_entries").fetchone()
            before = Path(f"{sqlite_backend.where}-wal").stat().st_size
            for _ in range(100):
                ledger.reserve("adult", Amount(1), plan_key="k", note={})
            grown = Path(f"{sqlite_backend.where}-wal").stat().st_size - before
        assert grown / 100 < 16e6 / 4160  # 3,200 charges, 960 of them settled, stay below 16 MB


def test_the_journal_is_cut_once_the_reader_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    body = "x" * 2_000_000
    with Ledger.open(path) as ledger:
        ledger.register(make_terms())
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM discreet_entries").fetchone()
            for _ in range(4):
                held = ledger.reserve("adult", Amount(1), plan_key="k", note={})
                ledger.settle(held, version="", body=body)
            assert Path(f"{path}-wal").stat().st_size > 8e6
        for _ in range(3):
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
        assert Path(f"{path}-wal").stat().st_size < 5e6
