"""Jobs: every question that may be charged for is written down before it is asked.

A request that is sent again finds its job: the answer as it was stored, or that it is spent and lost.
It is never answered a second time, because a process that dies on one record and not on another would
tell of it. The job's id stands in the ledger beside each charge, in one transaction with it, so that
after a crash nobody has to guess what was charged for.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import (
    AnswerLost,
    ArgumentError,
    Cancelled,
    DiscreetError,
    LedgerConflict,
    NotFound,
    ReleaseFailed,
    SettlementFailed,
    TooManyRequests,
)
from discreet.ledger import Ledger, Reservation
from discreet.ledger.store.tables import new_id
from discreet.plans import Plan, Release
from discreet.privacy.accounting import Amount
from discreet.service.access.keys import Caller
from discreet.service.asked.desks import Desks
from discreet.service.asked.job import ReleaseJob
from discreet.service.store import Store, jobs, now
from discreet.session.desk import Watch
from discreet.session.settling import settle_later

_LISTED = 200


class Jobs:
    """The jobs of a service, and the threads of this process that work on them.

    Guarantees:
      - Whatever ends a process, every charge has its answer in the ledger, or its job says that it is
        spent and lost, with the reservation.
      - The same request under the same name is charged for once.
    """

    def __init__(self, store: Store, desks: Desks, *, threads: int, waiting: int) -> None:
        self._store, self._desks = store, desks
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="discreet-job")
        self._most, self._worker = waiting, new_id()
        self._running: dict[str, Future[None]] = {}
        self._alive = Alive(store, self._worker)

    def find(self, caller: Caller, dataset: str, retry: str, mark: str) -> ReleaseJob | None:
        """Return the job of a request that was sent before, or raise if that was another request."""
        row = self._select(
            jobs.c.asker == caller.name, jobs.c.dataset == dataset, jobs.c.retry == retry
        )
        if row is None:
            return None
        if row.mark != mark:
            raise LedgerConflict(
                "Idempotency-Key must be new for a new request, got one of another request. Nothing "
                "was charged."
            )
        return self.told(row)

    def get(self, caller: Caller, id_: str) -> ReleaseJob:
        """Return a job that this caller may see."""
        row = self._select(jobs.c.id == id_)
        if row is None or not (caller.role == "owner" or row.asker == caller.name):
            raise NotFound("job must be one of yours, got another.")
        return self.told(row)

    def newest(self, caller: Caller) -> list[ReleaseJob]:
        """Return the newest jobs of a caller; the owner's are all."""
        query = select(jobs).order_by(jobs.c.number.desc()).limit(_LISTED)
        if caller.role != "owner":
            query = query.where(jobs.c.asker == caller.name)
        with self._store.reading() as connection:
            return [ReleaseJob.read(row._asdict()) for row in connection.execute(query)]

    def begin(
        self,
        caller: Caller,
        dataset: str,
        plans: Sequence[Plan],
        *,
        fresh: bool,
        retry: str | None,
        mark: str,
        asked: str | None,
    ) -> ReleaseJob:
        """Write a job down and let a thread work on it; a request that was sent before is found."""
        if len(self._running) >= self._most:
            raise TooManyRequests(
                "Too many questions wait for an answer here. Nothing was charged; ask again later.",
                seconds=5.0,
            )
        job = ReleaseJob(
            id=new_id(),
            dataset=dataset,
            asker=caller.name,
            analyst=caller.analyst,
            retry=retry or f"once {secrets.token_hex(16)}",
            mark=mark,
            asked=asked,
            plans=tuple(plan.plan_name for plan in plans),
            worker=self._worker,
            created=now(),
        )
        try:
            with self._store.writing() as connection:
                last = connection.execute(select(func.max(jobs.c.number))).scalar() or 0
                connection.execute(insert(jobs), {**job.row(), "number": last + 1})
        except IntegrityError:  # sent twice at once: the other one has it
            found = self.find(caller, dataset, job.retry, mark)
            assert found is not None
            return found
        self._running[job.id] = future = self._pool.submit(self._work, job, caller, list(plans), fresh)
        future.add_done_callback(lambda _: self._running.pop(job.id, None))
        return job

    def future(self, job: ReleaseJob) -> Future[None] | None:
        """Return what a job of this process can be waited for with."""
        return self._running.get(job.id)

    def cancel(self, caller: Caller, id_: str) -> ReleaseJob:
        """End a job before it is charged for; after that it is too late, and says so."""
        self.get(caller, id_)
        with self._store.writing() as connection:
            early = jobs.c.phase.in_(("queued", "preparing"))
            where = (jobs.c.id == id_) & early & jobs.c.state.in_(("waiting", "running"))
            values = {"state": "cancelled", "phase": "done", "finished": now()}
            done = connection.execute(update(jobs).where(where).values(**values)).rowcount
        job = self.get(caller, id_)
        if not done and job.state != "cancelled":
            raise LedgerConflict(
                f"A job must be cancelled before it is charged for, got one that is {job.state} "
                f"({job.phase}). What was charged stays spent."
            )
        return job

    def again(self, caller: Caller, id_: str) -> ReleaseJob:
        """Return a lost job that the owner may ask again, with what was asked."""
        job = self.get(caller, id_)
        if job.state != "lost" or job.asked is None:
            raise LedgerConflict(
                f"A job must be lost, and its query not sealed, to be asked again, got one that is "
                f"{job.state}."
            )
        return job

    def answers(self, job: ReleaseJob) -> list[tuple[Release, Amount]]:
        """Return the answers of a job from the ledger, each with what the job was charged for it."""
        ledger, dataset = self._desks.ledger(job.dataset), job.dataset
        paid = {id_: ledger.charge_of(dataset, id_) or Amount() for id_ in job.reservations}
        return [(stored_release(ledger, dataset, id_), paid.get(id_, Amount())) for id_ in job.releases]

    def told(self, row: Any) -> ReleaseJob:
        """Return a job as it is; one whose process died is told from what the ledger has of it."""
        job = ReleaseJob.read(row._asdict())
        if job.ended or job.worker == self._worker or self._alive.is_alive(job.worker):
            return job
        return self._save(job, **self._aftermath(job))

    def close(self) -> None:
        """Let what is charged for come to its end, and begin nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._alive.close()

    def _work(self, job: ReleaseJob, caller: Caller, plans: list[Plan], fresh: bool) -> None:
        """Answer a job and write down what came of it; whatever happens stays in here."""
        try:
            self._save(job, **self._ask(job, caller, plans, fresh))
        except DiscreetError:  # the store is away: the ledger knows, and whoever asks is told from it
            return

    def _ask(self, job: ReleaseJob, caller: Caller, plans: list[Plan], fresh: bool) -> dict[str, Any]:
        charged: list[str] = []
        try:
            watch = self._watch(job, charged)
            session = self._desks.seat(caller, job.dataset, watch=watch, noted={"job": job.id})
            if caller.role != "owner":
                session.check_not_lost(plans)
            releases = session.release(plans, fresh=fresh)
            return _done(charged, [release.id for release in releases])
        except Cancelled:
            return {"state": "cancelled"}
        except SettlementFailed as failed:
            return self._settle(failed, charged)
        except ReleaseFailed:
            return _lost(charged)
        except DiscreetError as error:
            return {"state": "failed", "error": error.to_json()}
        except BaseException:  # its text could hold a row
            return _lost(charged) if charged else _broken()

    def _settle(self, failed: SettlementFailed, charged: list[str]) -> dict[str, Any]:
        """Store an answer once more; if that fails, too, what was charged is told as lost."""
        ledger = self._desks.ledger(failed.releases[0].dataset)
        with suppress(DiscreetError):
            return _done(charged, [release.id for release in settle_later(ledger, failed)])
        return _lost(charged)

    def _watch(self, job: ReleaseJob, charged: list[str]) -> Watch:
        def watch(phase: str, reservations: Sequence[Reservation]) -> None:
            charged[:] = [reservation.id for reservation in reservations] or charged
            if not reservations:
                self._move(job, phase)
                return
            with suppress(DiscreetError):  # it is charged for: nothing may end it now
                self._move(job, phase, charged)

        return watch

    def _move(self, job: ReleaseJob, phase: str, charged: Sequence[str] = ()) -> None:
        """Write down the phase, unless somebody cancelled the job before it was charged for."""
        with self._store.writing() as connection:
            values: dict[str, Any] = {"state": "running", "phase": phase}
            values |= {"reservations": json.dumps(list(charged))} if charged else {}
            own = jobs.c.id == job.id
            if (
                not charged
            ):  # then others may have ended it; after the charge it is at work, whoever says no
                own &= jobs.c.state.in_(("waiting", "running"))
            if not connection.execute(update(jobs).where(own).values(**values)).rowcount:
                raise Cancelled("The job was cancelled; nothing was charged.")

    def _save(self, job: ReleaseJob, **changes: Any) -> ReleaseJob:
        changed = job.but(**{"phase": "done", "finished": now(), **changes})
        with self._store.writing() as connection:
            connection.execute(update(jobs).where(jobs.c.id == job.id).values(**changed.row()))
        return changed

    def _aftermath(self, job: ReleaseJob) -> dict[str, Any]:
        """Return what became of a job whose process is gone, from the charges that name it."""
        entries = [
            entry
            for entry in self._desks.ledger(job.dataset).history(job.dataset)
            if entry.kind == "reserve" and entry.note.get("job") == job.id
        ]
        charged = [entry.id for entry in entries]
        if not charged:
            return _broken()
        return _done(charged, charged) if all(e.settled for e in entries) else _lost(charged)

    def _select(self, *where: Any) -> Any:
        with self._store.reading() as connection:
            return connection.execute(select(jobs).where(*where)).first()


class Alive:
    """Which workers are alive: each holds a lock that the system takes back when it ends."""

    def __init__(self, store: Store, worker: str) -> None:
        self._store = store
        self._locks = store.locks()
        self._name = worker
        self._locks.take([worker])

    def is_alive(self, worker: str) -> bool:
        """Say whether a worker still runs."""
        with self._store.reading() as connection:
            return bool(self._locks.held(connection, [worker]))

    def close(self) -> None:
        """Be gone."""
        self._locks.give_back([self._name])
        self._locks.close()


def stored_release(ledger: Ledger, dataset: str, id_: str) -> Release:
    """Return a release from the ledger, with its place in it."""
    stored = ledger.settled_release(dataset, id_)
    if stored is None:
        raise NotFound("release must be one that was stored, got another.")
    return Release.loads(stored.body).with_head(stored.head)


def _done(charged: Sequence[str], releases: Sequence[str]) -> dict[str, Any]:
    return {"state": "done", "reservations": tuple(charged), "releases": tuple(releases)}


def _lost(charged: Sequence[str]) -> dict[str, Any]:
    error = AnswerLost(
        f"The answer is lost; what was charged for it stays spent (reservation {', '.join(charged)}). "
        "Nobody draws it again but the owner, for another charge.",
        reservations=charged,
    )
    return {"state": "lost", "reservations": tuple(charged), "error": error.to_json()}


def _broken() -> dict[str, Any]:
    error = ArgumentError("The job ended before anything was charged. Ask again, under a new name.")
    return {"state": "failed", "error": error.to_json()}
