"""Who is at work: locks that the system takes back when their process ends.

Whoever is charged for a question holds a lock named after it, from before the charge is committed until
the release is stored or given up; several may hold the same one. No clock and no process number is
trusted: a lock that is held is held by somebody alive.

SQLite: one byte of an empty file beside the ledger (POSIX record locks, which belong to a process and
are not inherited by a fork). PostgreSQL: an advisory lock of a connection of its own. Memory: a count.
Where a file system has no locks everybody seems to be gone, and a question may be charged twice.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.exc import SQLAlchemyError

from discreet.ledger.store.connection import Connections
from discreet.ledger.store.failures import plain_failures

if sys.platform != "win32":  # pragma: no branch - Windows knows who is at work in one process only
    import fcntl


class Locks(Protocol):
    """The locks of one ledger."""

    @property
    def lasting(self) -> bool:
        """Whether they are held as long as the process lives; else ``renew`` them now and then."""

    def take(self, names: Collection[str]) -> None:
        """Hold these locks until they are given back or the process ends."""

    def give_back(self, names: Collection[str]) -> None:
        """Hold these locks no longer."""

    def held(self, connection: Connection, names: Collection[str]) -> set[str]:
        """Return which of these locks somebody holds, this process included."""

    def renew(self) -> bool:
        """Hold again what was taken back although this process lives; say whether anything was."""

    def close(self) -> None:
        """Let go of whatever the locks need."""


def find_locks(connections: Connections) -> Locks:
    """Return the locks that go with a ledger."""
    place = connections.place
    if place.is_server:
        return ServerLocks(connections)
    if place.path is None or sys.platform == "win32":
        return MemoryLocks()
    return FileLocks(place.path.with_name(place.path.name + "-alive"))


@dataclass
class WorkLock:
    """What somebody works on, as others see it."""

    locks: Locks
    names: list[str] = field(default_factory=list)

    def begin(self, names: Collection[str]) -> None:
        """Hold these locks until the work ends."""
        self.names += names
        self.locks.take(names)


@contextmanager
def work_with(locks: Locks) -> Iterator[WorkLock]:
    """Give a work that ends with the block."""
    work = WorkLock(locks)
    try:
        yield work
    finally:
        locks.give_back(work.names)


class MemoryLocks:
    """Locks between the threads of one process."""

    lasting = True

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def take(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        self._held.update(names)

    def give_back(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        self._held.subtract(names)

    def held(self, connection: Connection, names: Collection[str]) -> set[str]:
        """See ``Locks``."""
        return {name for name in names if self._held[name] > 0}

    def renew(self) -> bool:
        """See ``Locks``."""
        return False

    def close(self) -> None:
        """See ``Locks``."""


@dataclass
class _OpenFile:
    """A file of locks. A process has it open once: closing any descriptor of it frees all its locks."""

    descriptor: int
    held: Counter[str] = field(default_factory=Counter)


_open_files: dict[Path, _OpenFile] = {}
_guard = threading.Lock()


@dataclass(frozen=True)
class FileLocks:
    """Locks between the processes that use one ledger file."""

    path: Path
    lasting: ClassVar[bool] = True

    def take(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        with _guard, suppress(OSError):
            file = _open_files.get(self.path) or _OpenFile(_open(self.path))
            _open_files[self.path] = file
            file.held.update(names)
            for name in names:
                fcntl.lockf(file.descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _number(name))

    def give_back(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        with _guard:
            file = _open_files.get(self.path)
            if file is None:
                return
            file.held -= Counter(names)
            for name in set(names) - set(file.held):
                with suppress(OSError):
                    fcntl.lockf(file.descriptor, fcntl.LOCK_UN, 1, _number(name))
            if not file.held:
                os.close(_open_files.pop(self.path).descriptor)

    def held(self, connection: Connection, names: Collection[str]) -> set[str]:
        """See ``Locks``."""
        with _guard:
            own = _open_files.get(self.path)
            if own is not None:
                return {n for n in names if n in own.held or _is_taken(own.descriptor, n)}
            try:
                descriptor = _open(self.path)
            except OSError:
                return set()
            try:
                return {name for name in names if _is_taken(descriptor, name)}
            finally:
                os.close(descriptor)

    def renew(self) -> bool:
        """See ``Locks``."""
        return False

    def close(self) -> None:
        """See ``Locks``; the file is closed when the last lock is given back."""


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _is_taken(descriptor: int, name: str) -> bool:
    """Say whether another process holds a lock, by trying to take it.

    Nobody is misled by the trial: whoever asks is inside the ledger's only write transaction.
    """
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _number(name))
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return False
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _number(name))
    return False


_LOCK = text("SELECT pg_advisory_lock_shared(n) FROM unnest(CAST(:numbers AS bigint[])) AS n")
_UNLOCK = text("SELECT pg_advisory_unlock_shared(n) FROM unnest(CAST(:numbers AS bigint[])) AS n")
_PING = text("SELECT 1")
_HELD_ON_SERVER = text(
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory'"
    " AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class ServerLocks:
    """Locks between the connections to one database."""

    lasting = False

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._line: list[Connection] = []
        self._inherited: list[Connection] = []
        self._held: Counter[str] = Counter()
        self._guard = threading.Lock()
        weakref.finalize(self, _hang_up, self._line)
        _on_servers.add(self)

    def take(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        with self._guard, plain_failures(self._connections.place.name):
            self._held.update(names)
            try:
                self._ask(_LOCK, names)
            # The connection broke while nobody looked, and with it all its locks; one that broke when
            # locks were given back refuses everything since, which is no error of the database's.
            except SQLAlchemyError:
                self._line.clear()
                self._ask(_LOCK, list(self._held.elements()))

    def give_back(self, names: Collection[str]) -> None:
        """See ``Locks``."""
        with self._guard, suppress(SQLAlchemyError):  # a connection that broke holds no lock
            self._held -= Counter(names)
            if self._line and names:
                self._ask(_UNLOCK, names)

    def held(self, connection: Connection, names: Collection[str]) -> set[str]:
        """See ``Locks``."""
        numbers = set(connection.execute(_HELD_ON_SERVER).scalars())
        return {name for name in names if _number(name) in numbers}

    def renew(self) -> bool:
        """See ``Locks``."""
        with self._guard, plain_failures(self._connections.place.name):
            held = list(self._held.elements())
            if not held or self._is_connected():
                return False
            self._line.clear()
            self._ask(_LOCK, held)
            return True

    def close(self) -> None:
        """See ``Locks``."""
        _hang_up(self._line)

    def _is_connected(self) -> bool:
        try:
            return bool(self._line) and bool(self._line[0].execute(_PING).scalar())
        except SQLAlchemyError:
            return False

    def _ask(self, statement: TextClause, names: Collection[str]) -> None:
        if not self._line:
            self._line.append(self._connections.apart())
        self._line[0].execute(statement, {"numbers": [_number(name) for name in names]})

    def start_over_after_fork(self) -> None:
        """Leave the locks to the parent: with the socket open here, too, they would outlive it."""
        self._held, self._guard = Counter(), threading.Lock()
        while self._line:  # closed without a word to the server, and kept: it is not ours
            self._inherited.append(self._line.pop())
            driver: Any = self._inherited[-1].connection.dbapi_connection
            os.close(driver.fileno())


def _hang_up(line: list[Connection]) -> None:
    while line:
        with suppress(SQLAlchemyError):
            line.pop().close()


_on_servers: weakref.WeakSet[ServerLocks] = weakref.WeakSet()


def _start_over_in_child() -> None:
    # A fork inherits open files and sockets, and must not keep a dead parent's locks alive.
    global _guard
    _guard = threading.Lock()
    for file in _open_files.values():
        os.close(file.descriptor)
    _open_files.clear()
    for locks in _on_servers:
        locks.start_over_after_fork()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows does not fork
    os.register_at_fork(after_in_child=_start_over_in_child)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
