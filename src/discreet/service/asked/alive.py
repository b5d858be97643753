"""Which workers are alive: each holds a lock that the system takes back when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from discreet.service.store import Store

GRACE = 4.0
"""Seconds for which a lock must be missed: a database that is started anew forgets all of them."""


class Alive:
    """This worker's own sign of life, and those of others.

    A lock of a file lasts as long as its process. Those of a PostgreSQL server are forgotten when it is
    started anew or a connection breaks; so they are renewed again and again, and one that is missed
    counts as given up after ``GRACE``. Charges do not rest on it: see ``JobBook.take_over``.
    """

    def __init__(
        self, store: Store, worker: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._name, self._clock = store, worker, clock
        self._locks = store.locks()
        self._missed: dict[str, float] = {}
        self._locks.take([worker])

    def hold(self) -> None:
        """Show that this worker lives, also after the server was started anew."""
        if self._locks.renew():
            self._missed.clear()  # others lost their locks, too, and need the time to take them again

    def is_alive(self, worker: str) -> bool:
        """Say whether a worker still runs, or may have lost its lock for a moment."""
        self.hold()
        with self._store.reading() as connection:
            held = bool(self._locks.held(connection, [worker]))
        if held or self._locks.lasting:
            self._missed.pop(worker, None)
            return held
        return self._clock() - self._missed.setdefault(worker, self._clock()) < GRACE

    def close(self) -> None:
        """Be gone."""
        self._locks.give_back([self._name])
        self._locks.close()
