"""Jobs: every question that may be charged for is written down before it is asked.

A request that is sent again finds its job: the answer as it was stored, or that it is spent and lost.
It is never answered a second time, because a process that dies on one record and not on another would
tell of it. The job's id stands in the ledger beside each charge, in one transaction with it, so that
after a crash nobody has to guess what was charged for.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress

from discreet.errors import (
    Cancelled,
    DiscreetError,
    LedgerConflict,
    NotFound,
    ReleaseFailed,
    SettlementFailed,
    TooManyRequests,
)
from discreet.ledger import Reservation
from discreet.ledger.store.tables import new_id
from discreet.plans import Plan, Release
from discreet.privacy.accounting import Amount
from discreet.service.access.keys import Caller, KeyRing
from discreet.service.asked.book import Alive, JobBook
from discreet.service.asked.desks import Desks
from discreet.service.asked.job import (
    NOTED,
    Outcome,
    ReleaseJob,
    aftermath,
    broken,
    done,
    failed,
    interrupted,
    lost,
    stored_release,
)
from discreet.service.pools import Turns, too_slow
from discreet.service.problems import without_place
from discreet.service.settings import Settings
from discreet.service.store import Store, now
from discreet.session.desk import Watch
from discreet.session.settling import settle_later

BEAT = 1.0
"""Seconds between two signs of life of a worker."""


class Jobs:
    """The jobs of a service, and the threads of this process that work on them.

    Guarantees:
      - Whatever ends a process or takes a database away, every charge has its answer in the ledger, or
        its job says that it is spent and lost, with the reservation.
      - The same request under the same name is charged for once.
      - A job that says that nothing was charged never charges later.
      - Nothing is charged for a key that was revoked or expired by then.
    """

    def __init__(self, store: Store, desks: Desks, settings: Settings, keys: KeyRing) -> None:
        self._desks, self._book, self._settings, self._keys = desks, JobBook(store), settings, keys
        self._pool = Turns("job", settings.jobs)
        self._worker = new_id()
        self._running: dict[str, Future[None]] = {}
        # Whose they are; known before the book knows them, until it knows their end.
        self._mine: dict[str, str] = {}
        self._unwritten: set[str] = set()  # whose end the book does not know
        self._alive = Alive(store, self._worker)
        self._book.forget(settings.keep_days)
        self._closing = threading.Event()
        self._heart = threading.Thread(target=self._live, name="discreet-alive", daemon=True)
        self._heart.start()

    def find(self, caller: Caller, dataset: str, retry: str, mark: str) -> ReleaseJob | None:
        """Return the job of a request that was sent before, or raise if that was another request.

        One that failed before its charge counts as never sent.
        """
        found = self._book.named(caller.name, dataset, retry)
        if found is None:
            return None
        if found.mark != mark:
            raise LedgerConflict(
                "Idempotency-Key must be new for a new request, got one of another request. Nothing "
                "was charged."
            )
        job = self.told(found)
        if job.state == "failed":
            self._book.free_name(job)
            return None
        return job

    def get(self, caller: Caller, id_: str) -> ReleaseJob:
        """Return a job that this caller may see."""
        found = self._book.find(id_)
        own = found is not None and (caller.role == "owner" or found.asker == caller.name)
        if found is None or not own or not caller.may_see(found.dataset):
            raise NotFound("job must be one of yours, got another.")
        return self.told(found)

    def newest(self, caller: Caller) -> list[ReleaseJob]:
        """Return the newest jobs of a caller; the owner's are all."""
        return [self._told_if_possible(job) for job in self._book.newest(caller)]

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
        self._check_room(caller)
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
        self._mine[job.id] = job.asker
        try:
            if self._book.add(job):
                self._start(job, caller, plans, fresh)
                return job
        except BaseException:
            self._mine.pop(job.id, None)
            self._unwritten.add(job.id)  # if it was written down after all, it ends
            raise
        self._mine.pop(job.id, None)  # sent twice at once: the other one has it
        found = self.find(caller, dataset, job.retry, mark)
        return found or self.begin(
            caller, dataset, plans, fresh=fresh, retry=retry, mark=mark, asked=asked
        )

    def future(self, job: ReleaseJob) -> Future[None] | None:
        """Return what a job of this process can be waited for with."""
        return self._running.get(job.id)

    def cancel(self, caller: Caller, id_: str) -> ReleaseJob:
        """End a job before it is charged for; after that it is too late, and says so."""
        self.get(caller, id_)
        ended = self._book.cancel(id_)
        job = self.get(caller, id_)
        if not ended and job.state != "cancelled":
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

    def told(self, job: ReleaseJob) -> ReleaseJob:
        """Return a job as it is; one that nobody works on is told from what the ledger has of it."""
        if job.ended or job.id in self._mine:
            return job
        if job.worker != self._worker:
            if self._alive.is_alive(job.worker):
                return job
            self._book.take_over(job, self._worker)
        now_ = self._book.find(job.id) or job  # it may have ended, or be another's, since it was read
        if now_.ended or now_.worker != self._worker:
            return now_
        outcome = aftermath(self._desks.ledger(job.dataset), job.dataset, job.id) or interrupted()
        with suppress(DiscreetError):  # who cannot write can tell
            self._book.end(now_, outcome)
        return now_.but(phase="done", finished=now(), **outcome)

    def tend(self) -> None:
        """Show that this worker lives, and write down what could not be written before.

        Nothing that fails here ends it: it is tried again.
        """
        with suppress(Exception):
            self._alive.hold()
            self._desks.renew_locks()
        for id_ in list(self._unwritten):
            with suppress(Exception):
                job = self._book.find(id_)
                if job is None or self.told(job).ended:
                    self._unwritten.discard(id_)

    def close(self) -> None:
        """Let what is charged for come to its end, and begin nothing more."""
        self._pool.close()
        self._closing.set()
        self._heart.join()
        self.tend()
        self._alive.close()

    def _live(self) -> None:
        while not self._closing.wait(BEAT):
            self.tend()

    def _told_if_possible(self, job: ReleaseJob) -> ReleaseJob:
        with suppress(DiscreetError):
            return self.told(job)
        return job

    def _check_room(self, caller: Caller) -> None:
        askers = list(self._mine.values())
        if len(askers) >= self._settings.waiting_jobs or (
            askers.count(caller.name) >= self._settings.jobs_each
        ):
            raise TooManyRequests(
                "Too many questions wait for an answer here. Nothing was charged; ask again later.",
                seconds=5.0,
            )

    def _start(self, job: ReleaseJob, caller: Caller, plans: Sequence[Plan], fresh: bool) -> None:
        future = self._pool.submit(caller.name, lambda: self._work(job, caller, list(plans), fresh))
        self._running[job.id] = future
        future.add_done_callback(lambda over: self._over(job, over.cancelled()))

    def _over(self, job: ReleaseJob, never_begun: bool) -> None:
        if never_begun:
            self._unwritten.add(job.id)
        self._running.pop(job.id, None)
        self._mine.pop(job.id, None)

    def _work(self, job: ReleaseJob, caller: Caller, plans: list[Plan], fresh: bool) -> None:
        """Answer a job and write down what came of it; whatever happens stays in here."""
        try:
            self._book.end(job, self._ask(job, caller, plans, fresh))
        except BaseException:  # the store is away, or the ledger: they are asked again and again
            self._unwritten.add(job.id)

    def _ask(self, job: ReleaseJob, caller: Caller, plans: list[Plan], fresh: bool) -> Outcome:
        charged: list[str] = []
        phases: list[str] = []
        try:
            with without_place(self._desks.folder):
                watch = self._watch(job, caller, charged, phases)
                session = self._desks.seat(caller, job.dataset, watch=watch, noted={NOTED: job.id})
                if caller.role != "owner":
                    session.check_not_lost(plans)
                releases = session.release(plans, fresh=fresh)
            return done(charged, [release.id for release in releases])
        except Cancelled:
            return {"state": "cancelled"}
        except SettlementFailed as unsettled:
            return self._settle(unsettled, charged)
        except ReleaseFailed:
            return lost(charged)
        except DiscreetError as error:
            return self._charged_anyway(job, phases) or failed(error, sealed=job.asked is None)
        except BaseException:  # its text could hold a row
            return self._charged_anyway(job, phases) or broken()

    def _charged_anyway(self, job: ReleaseJob, phases: Sequence[str]) -> Outcome | None:
        """Return how a job ended that was charged for although nobody acknowledged it."""
        if "charging" not in phases:
            return None
        return aftermath(self._desks.ledger(job.dataset), job.dataset, job.id)

    def _settle(self, unsettled: SettlementFailed, charged: list[str]) -> Outcome:
        """Store an answer once more; if that fails, too, what was charged is told as lost."""
        ledger = self._desks.ledger(unsettled.releases[0].dataset)
        with suppress(DiscreetError):
            return done(charged, [release.id for release in settle_later(ledger, unsettled)])
        return lost(charged)

    def _watch(self, job: ReleaseJob, caller: Caller, charged: list[str], phases: list[str]) -> Watch:
        longest, since = float(self._settings.slowest_price), 0.0

        def watch(phase: str, reservations: Sequence[Reservation]) -> None:
            nonlocal since
            phases.append(phase)
            if phase == "preparing":
                since = time.monotonic()
            elif phase == "reserving" and time.monotonic() - since > longest:  # no row is read by then
                raise too_slow(longest)
            charged[:] = [reservation.id for reservation in reservations] or charged
            if phase == "charging":
                self._book.check_own(job)
                self._keys.check(caller)  # it may have waited since her key was revoked
            elif not reservations:
                self._book.move(job, phase)
            else:
                with suppress(DiscreetError):  # it is charged for: nothing may end it now
                    self._book.move(job, phase, charged)

        return watch
