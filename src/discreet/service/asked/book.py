"""The book of jobs in the service's store: what is written of them, by whom, and which workers live.

A job goes on only while the book names its worker. Another worker that takes it for dead takes the job
over first and looks at the ledger afterwards; the first one looks into the book once more when it holds
the ledger's lock, right before the charge. So that a job which was told to have charged nothing never
does, whatever a clock or a broken connection made anybody believe.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import Cancelled
from discreet.service.access.keys import Caller
from discreet.service.asked.job import Outcome, ReleaseJob
from discreet.service.store import Store, jobs, now

GRACE = 4.0
"""Seconds for which a lock must be missed: a database that is started anew forgets all of them."""

_LISTED = 200
_UNDER_WAY = jobs.c.state.in_(("waiting", "running"))
_UNCHARGED = (jobs.c.state == "failed") & (jobs.c.reservations == "[]")


class JobBook:
    """What is written of every job."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, job: ReleaseJob) -> bool:
        """Write a new job down; False if its asker has another one of this name."""
        with self._store.writing() as connection:
            last = connection.execute(select(func.max(jobs.c.number))).scalar() or 0
            try:
                connection.execute(insert(jobs), {**job.row(), "number": last + 1})
            except IntegrityError:  # here: outside it would count as a failure of the store
                return False
        return True

    def find(self, id_: str) -> ReleaseJob | None:
        """Return a job by its id."""
        return self._select(jobs.c.id == id_)

    def named(self, asker: str, dataset: str, retry: str) -> ReleaseJob | None:
        """Return the job of a request by the name that its asker gave it."""
        return self._select(jobs.c.asker == asker, jobs.c.dataset == dataset, jobs.c.retry == retry)

    def newest(self, caller: Caller) -> list[ReleaseJob]:
        """Return the newest jobs that a caller may see."""
        query = select(jobs).order_by(jobs.c.number.desc()).limit(_LISTED)
        if caller.role != "owner":
            query = query.where(jobs.c.asker == caller.name)
        if caller.datasets is not None:
            query = query.where(jobs.c.dataset.in_(caller.datasets))
        with self._store.reading() as connection:
            return [ReleaseJob.read(row._asdict()) for row in connection.execute(query)]

    def move(self, job: ReleaseJob, phase: str, charged: Sequence[str] = ()) -> None:
        """Write down the phase.

        Raises:
          Cancelled: if somebody ended the job, or took it over.
        """
        values: dict[str, Any] = {"state": "running", "phase": phase}
        values |= {"reservations": json.dumps(list(charged))} if charged else {}
        if not self._update(_own(job) & _UNDER_WAY, **values):
            raise _cancelled()

    def check_own(self, job: ReleaseJob) -> None:
        """Raise if somebody ended the job, or took it over; nothing is written."""
        if self._select(_own(job) & _UNDER_WAY) is None:
            raise _cancelled()

    def cancel(self, id_: str) -> bool:
        """End a job before it is charged for; False if it is too late."""
        early = jobs.c.phase.in_(("queued", "preparing"))
        values = {"state": "cancelled", "phase": "done", "finished": now()}
        return self._update((jobs.c.id == id_) & early & _UNDER_WAY, **values)

    def end(self, job: ReleaseJob, outcome: Outcome) -> None:
        """Write down how a job ended; an answer that is there overrules whatever was told before."""
        ended = job.but(**{"phase": "done", "finished": now(), "error": None, **outcome})
        kept = ("state", "phase", "finished", "error", "reservations", "releases")
        where = jobs.c.id == job.id
        if ended.state != "done":
            where &= _UNDER_WAY
        self._update(where, **{name: ended.row()[name] for name in kept})

    def take_over(self, job: ReleaseJob, worker: str) -> bool:
        """Make a job another worker's, which then says how it ended; False if somebody was faster."""
        return self._update(_own(job) & _UNDER_WAY, worker=worker)

    def free_name(self, job: ReleaseJob) -> None:
        """Give the name of a job that failed before its charge back to its asker."""
        self._update((jobs.c.id == job.id) & _UNCHARGED, retry=f"once {job.id}")

    def forget(self, days: int) -> None:
        """Forget jobs that ended so many days ago; those whose answers are lost are kept."""
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
        over = jobs.c.state.in_(("done", "failed", "cancelled")) & (jobs.c.finished < before)
        with self._store.writing() as connection:
            connection.execute(delete(jobs).where(over))

    def _update(self, where: Any, **values: Any) -> bool:
        with self._store.writing() as connection:
            return bool(connection.execute(update(jobs).where(where).values(**values)).rowcount)

    def _select(self, *where: Any) -> ReleaseJob | None:
        with self._store.reading() as connection:
            row = connection.execute(select(jobs).where(*where)).first()
        return None if row is None else ReleaseJob.read(row._asdict())


def _own(job: ReleaseJob) -> Any:
    return (jobs.c.id == job.id) & (jobs.c.worker == job.worker)


def _cancelled() -> Cancelled:
    return Cancelled("The job was cancelled; nothing was charged.")


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
