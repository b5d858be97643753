"""A fair queue of those who write to one SQLite file.

SQLite lets writers poll: whoever just wrote comes back first, and others starve. Here the system wakes
one waiting process after the other: each takes a lock on the ledger's key file, which exists wherever
somebody may write and which nobody else can open. The queue decides who comes next, nothing more: that
only one process writes is SQLite's doing. So a lock that cannot be had (a file system without locks, a
process that was stopped in its turn) costs order, not correctness.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
