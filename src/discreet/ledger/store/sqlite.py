"""Connections to a SQLite file: durable, without making files, and able to read in a read-only folder.

Python's driver opens transactions of its own accord; that is switched off and SQLAlchemy's ``begin``
event does it, with the statement that the engine's options name.

Those who write to one file stand in a fair queue.

SQLite lets writers poll: whoever just wrote comes back first, and others starve. Here the system wakes
one waiting process after the other: each takes a lock on the ledger's key file, which exists wherever
somebody may write and which nobody else can open. The queue decides who comes next, nothing more: that
only one process writes is SQLite's doing. So a lock that cannot be had (a file system without locks, a
process that was stopped in its turn) costs order, not correctness.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from discreet.errors import LedgerUnavailable
from discreet.ledger.store.place import Place

if sys.platform != "win32":  # pragma: no branch - on Windows SQLite's own waiting has to do
    import fcntl


class Queue:
    """Those who wait to write to one ledger.

    Guarantees:
        - Nobody waits longer than ``patience``, also if whoever is in turn never ends.
        - A process that dies leaves the queue.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def turn(self, patience: float) -> Iterator[None]:
        """Wait until it is this caller's turn, or until patience ends."""
        ticket = self._draw()
        try:
            if ticket is not None:
                ticket.wait(patience)
            yield
        finally:
            if ticket is not None:
                ticket.give_back()

    def _draw(self) -> _Ticket | None:
        if sys.platform == "win32":  # pragma: no cover
            return None
        try:
            return _Ticket(os.open(self._path, os.O_RDONLY))
        except OSError:
            return None


class _Ticket:
    """One place in the queue. The lock is of the open file: threads and processes wait alike."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._answered = threading.Lock()
        self._taken = self._given_back = False

    def wait(self, patience: float) -> None:
        """Return when it is our turn or patience is at its end."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._taken = True
        except BlockingIOError:
            # The call that waits has no time limit, so that a thread makes it.
            waiter = threading.Thread(target=self._take, daemon=True)
            waiter.start()
            waiter.join(patience)
        except OSError:
            self._taken = True  # no locks here: go on, and close the file at the end

    def give_back(self) -> None:
        """Let the next one in; a thread that still waits does so when it is woken."""
        with self._answered:
            self._given_back = True
            if self._taken:
                self._close()

    def _take(self) -> None:
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._answered:
            self._taken = True
            if self._given_back:
                self._close()

    def _close(self) -> None:
        # Unlocked by name: a process forked meanwhile holds the open file, too.
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)


BEGIN = "discreet_begin"
"""The execution option that names the statement with which a transaction begins."""

PAGE = 512
"""Bytes of a page of a new file, as few as there can be: a commit writes whole pages to the journal,
which cannot be emptied while somebody reads."""

_JOURNAL = 4 * 2**20
"""Bytes to which the journal is cut once nobody reads in it any more."""


class FileConnection(sqlite3.Connection):
    """A connection that knows whether it looks at a file that nobody can be writing to."""

    frozen = False


def sqlite_engine(place: Place, patience: float) -> Engine:
    """Return the engine of a file, or of a database in memory."""
    pool: dict[str, Any] = {"poolclass": StaticPool}
    if not place.is_memory:
        pool = {"poolclass": QueuePool, "max_overflow": -1}
    engine = create_engine(
        "sqlite://", creator=lambda: _connect(place, patience), hide_parameters=True, **pool
    )
    event.listen(engine, "connect", lambda connection, record: prepare(connection))
    event.listen(engine, "begin", _begin)
    return engine


def prepare(connection: sqlite3.Connection) -> None:
    """Set what every connection needs."""
    connection.isolation_level = None
    # Text that is not UTF-8 was put there by others: verify must see it to report it.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA journal_size_limit={_JOURNAL}")


def journal_of(path: Path) -> Path:
    """Return where SQLite keeps what is not yet in the file itself."""
    return path.with_name(path.name + "-wal")


def has_journal(path: Path) -> bool:
    """Say whether there are entries that only the journal has."""
    journal = journal_of(path)
    return journal.exists() and journal.stat().st_size > 0


def _connect(place: Place, patience: float) -> FileConnection:
    if place.path is None:
        return sqlite3.connect(
            ":memory:", timeout=patience, check_same_thread=False, factory=FileConnection
        )
    # SQLite would make a file that is missing: a ledger that was deleted must not come back empty.
    options = {"mode": "rw", **place.options}
    try:
        return _open(place.path, options, patience)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname not in ("SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN"):
            raise
        return _open_frozen(place.path, patience, error)


def _open(path: Path, options: dict[str, str], patience: float) -> FileConnection:
    address = f"file:{quote(str(path))}?{urlencode(options)}"
    connection = sqlite3.connect(
        address, uri=True, timeout=patience, check_same_thread=False, factory=FileConnection
    )
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _open_frozen(path: Path, patience: float, error: sqlite3.OperationalError) -> FileConnection:
    """Read a file in a folder where SQLite cannot make the files with which readers and writers meet.

    That it failed shows that nobody is writing: a writer would have made them.
    """
    if not path.is_file():
        raise error
    if has_journal(path):
        raise LedgerUnavailable(
            f"The ledger {path} was not closed and its newest entries are in {journal_of(path).name},"
            " which cannot be read in a read-only folder. Copy both to a folder you may write to."
        ) from error
    connection = _open(path, {"mode": "ro", "immutable": "1"}, patience)
    connection.frozen = True
    return connection


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options()[BEGIN]
    if statement:
        connection.exec_driver_sql(statement)
