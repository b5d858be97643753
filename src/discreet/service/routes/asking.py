"""Prices, releases and the jobs that answer them."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.plans import Plan, Release
from discreet.privacy.accounting import Amount
from discreet.service.access.keys import Caller
from discreet.service.access.visibility import may_see_value
from discreet.service.asked.job import ReleaseJob
from discreet.service.asked.wire import is_sealed, read_plans
from discreet.service.office import AnOffice, Asker, Office, Owner, key_of
from discreet.service.problems import status_of
from discreet.service.routes.answers import AnswersTold, JobTold, JobUnderWay, shows
from discreet.service.routes.shapes import PriceAsked, ReleaseAsked, faults
from discreet.session import Session

router = APIRouter(tags=["asking"])

_LONGEST_WAIT = 30.0
_GLANCE = 0.1

_OURS = ("once ", "again ")

_LET_GO = {"Connection": "close"}
"""After an answer that was worked for, so that whoever asks next comes to the worker that has time."""

_ANSWERS = {
    **shows(AnswersTold),
    202: {"model": JobUnderWay, "description": "It is under way: ask for the job at Location."},
}

JobId = Annotated[str, Path(max_length=64)]
Wait = Annotated[float, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for its end.")]
Retry = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=128,
        description="Your name of this request: sent again, it is never charged for twice.",
    ),
]


@router.post("/v1/datasets/{dataset}/price", responses=faults(402))
async def price(dataset: str, asked: PriceAsked, caller: Asker, office: AnOffice) -> dict[str, Any]:
    """Return what plans would cost and how far off they would be; spends nothing, reads no row."""
    # To open the table takes as long as it has rows: that is not counted.
    session = await run_in_threadpool(office.desks.seat, caller, dataset)
    found: dict[str, Any] = await office.prices.do(
        caller.name, lambda: _price(office, session, asked, asked.queries)
    )
    return found


@router.post(
    "/v1/datasets/{dataset}/releases",
    responses={**_ANSWERS, **faults(402, 410)},
)
async def release(
    dataset: str,
    asked: ReleaseAsked,
    caller: Asker,
    office: AnOffice,
    request: Request,
    retry: Retry = None,
    prefer: Annotated[str | None, Header(description="wait=SECONDS, 0 to 30; 10 if left out.")] = None,
) -> JSONResponse:
    """Answer plans, all of them or none, and charge for them; what was answered before is free."""
    sealed = any(is_sealed(one) for one in asked.plans)
    text, keys = await request.body(), office.keys
    mark = keys.sealed_mark(key_of(request.headers), text) if sealed else keys.mark(text)
    _check_name(retry)
    if sealed:
        await _check_sealed(office, caller, dataset, asked, retry, mark)
    found = await run_in_threadpool(_find_or_begin, office, caller, dataset, asked, retry, mark, sealed)
    if not isinstance(found, ReleaseJob):
        return JSONResponse({"job": None, "releases": [_told(one, Amount()) for one in found]})
    return await _when_done(office, caller, found, _seconds(prefer))


@router.get("/v1/jobs", responses=shows(list[JobTold]))
def jobs(caller: Asker, office: AnOffice) -> list[dict[str, Any]]:
    """Return the newest jobs of this caller, newest first; of everybody for the owner."""
    return [_job(caller, job) for job in office.jobs.newest(caller)]


@router.get("/v1/jobs/{id}", responses={**_ANSWERS, **faults(402, 410)})
async def job(id: JobId, caller: Asker, office: AnOffice, wait: Wait = 0.0) -> JSONResponse:
    """Return how far a job is, with its answers when it is done."""
    found = await run_in_threadpool(office.jobs.get, caller, id)
    return await _when_done(office, caller, found, wait)


@router.delete("/v1/jobs/{id}", responses=shows(JobUnderWay))
def cancel(id: JobId, caller: Asker, office: AnOffice) -> dict[str, Any]:
    """Cancel a job before it is charged for."""
    return {"job": _job(caller, office.jobs.cancel(caller, id))}


@router.post("/v1/jobs/{id}/again", responses={**_ANSWERS, **faults(402, 410)})
async def again(id: JobId, caller: Owner, office: AnOffice) -> JSONResponse:
    """Ask a lost job again, for another charge; the owner's. Sent twice, it is charged once."""
    new = await run_in_threadpool(_begin_again, office, caller, id)
    return await _when_done(office, caller, new, _seconds(None))


def _check_name(retry: str | None) -> None:
    """Refuse names that the service gives itself: with one, a job could take another's place."""
    if retry is not None and retry.startswith(_OURS):
        raise ArgumentError(
            f"Idempotency-Key must not begin with {' or '.join(map(repr, _OURS))}: such names are the "
            f"service's own, got {shown(retry)}. Take another."
        )


def _price(
    office: Office, session: Session, asked: PriceAsked | ReleaseAsked, queries: int | None = None
) -> dict[str, Any]:
    plans = read_plans(asked.plans, asked.rows, session.dataset, office.models)
    return session.price(plans, queries=queries).to_json()


async def _check_sealed(
    office: Office, caller: Caller, dataset: str, asked: ReleaseAsked, retry: str | None, mark: str
) -> None:
    """Refuse a sealed question here, where what is wrong with it is told and not kept."""
    session = await run_in_threadpool(office.desks.seat, caller, dataset)
    known = None
    if retry is not None:
        known = await run_in_threadpool(office.jobs.find, caller, dataset, retry, mark)
    if known is None:
        await office.prices.do(caller.name, lambda: _price(office, session, asked))


def _find_or_begin(
    office: Office,
    caller: Caller,
    dataset: str,
    asked: ReleaseAsked,
    retry: str | None,
    mark: str,
    sealed: bool,
) -> ReleaseJob | list[Release]:
    """Return the job of a request, or the answers that are there already."""
    session = office.desks.seat(caller, dataset)
    known = None if retry is None else office.jobs.find(caller, dataset, retry, mark)
    if known is not None:
        return known
    plans: list[Plan] = read_plans(asked.plans, asked.rows, dataset, office.models)
    stored = None if asked.fresh else session.stored(plans)
    if stored is not None:
        return stored
    if caller.role != "owner":
        session.check_not_lost(plans)
    text = None if sealed else asked.model_dump_json()
    return office.jobs.begin(
        caller, dataset, plans, fresh=asked.fresh, retry=retry, mark=mark, asked=text
    )


def _begin_again(office: Office, caller: Caller, id_: str) -> ReleaseJob:
    lost = office.jobs.again(caller, id_)
    # Its name follows from the job, so that asking twice is charged once.
    retry, mark = f"again {lost.id}", office.keys.mark(str(lost.asked).encode())
    known = office.jobs.find(caller, lost.dataset, retry, mark)
    if known is not None:
        return known
    asked = ReleaseAsked.model_validate_json(str(lost.asked))
    plans = read_plans(asked.plans, asked.rows, lost.dataset, office.models)
    return office.jobs.begin(
        caller, lost.dataset, plans, fresh=asked.fresh, retry=retry, mark=mark, asked=lost.asked
    )


async def _when_done(office: Office, caller: Caller, job: ReleaseJob, seconds: float) -> JSONResponse:
    """Return a job's answers, or how far it is when patience ends."""
    ended = await _await_end(office, caller, job, seconds)
    told = {"job": _job(caller, ended)}
    if ended.state == "done":
        await run_in_threadpool(_check_still, office, caller, ended)
        answers = await run_in_threadpool(office.jobs.answers, ended)
        seen = [
            _told(one, charged)
            for one, charged in answers
            if may_see_value(caller, one.plan, ended.analyst)
        ]
        return JSONResponse({**told, "releases": seen}, headers=_LET_GO)
    if ended.error is not None:
        return JSONResponse(ended.error, status_code=_status(ended))
    place = {"Location": f"/v1/jobs/{ended.id}"}
    return JSONResponse(told, status_code=200 if ended.ended else 202, headers=place)


def _check_still(office: Office, caller: Caller, job: ReleaseJob) -> None:
    """Raise if her key or her share were taken from her while she waited."""
    office.keys.check(caller)
    office.desks.admit(caller, job.dataset)


async def _await_end(office: Office, caller: Caller, job: ReleaseJob, seconds: float) -> ReleaseJob:
    until, pause = time.monotonic() + seconds, _GLANCE / 4
    future = office.jobs.future(job)
    if future is not None and seconds > 0:
        await asyncio.wait([asyncio.wrap_future(future)], timeout=seconds)
    while not job.ended:
        job = await run_in_threadpool(office.jobs.get, caller, job.id)
        if job.ended or time.monotonic() + pause > until:
            break
        await asyncio.sleep(pause)  # it is another worker's
        pause = min(2 * pause, 1.0)
    return job


def _status(job: ReleaseJob) -> int:
    return status_of(str((job.error or {})["error"]["code"]))


def _job(caller: Caller, job: ReleaseJob) -> dict[str, Any]:
    own = job.asker == caller.name
    named = {"idempotency_key": job.retry} if own and not job.retry.startswith("once ") else {}
    return {**job.to_json(), **named, **({"asker": job.asker} if caller.role == "owner" else {})}


def _told(release: Release, charged: Amount) -> dict[str, Any]:
    """Return a release with what this request was charged for it."""
    return {**release.to_json(), "charged": charged.to_json()}


def _seconds(prefer: str | None) -> float:
    """Return how long a client wants to wait, from ``Prefer: wait=SECONDS``."""
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "wait" and re.fullmatch("[0-9]{1,9}", value):
            return min(float(value), _LONGEST_WAIT)
    return 10.0
