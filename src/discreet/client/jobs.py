"""A release as a job of the server: asked once whatever happens, waited for, interrupted with care."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from discreet.client.sending import Lost, Reply, Request, Steps, ask
from discreet.errors import (
    AccessDenied,
    Cancelled,
    DiscreetError,
    LedgerConflict,
    LedgerUnavailable,
    ServerUnreachable,
)
from discreet.plans import Release
from discreet.privacy.accounting import Amount
from discreet.progress import Tell, phase_line

_FIRST_WAIT, _LONGEST_WAIT = 2, 10
"""Seconds that the server is asked to wait for the end of a job before it tells its phase."""

_PHASES = {
    "queued": "waiting for its turn",
    "preparing": "preparing, nothing is charged yet",
    "reserving": "preparing, nothing is charged yet",
    "reserved": "charged",
    "answering": "charged, answering",
    "storing": "storing the answer",
}
_INTERRUPTS = (KeyboardInterrupt, asyncio.CancelledError)
_FREE = "Interrupted before anything was charged."
_UNKNOWN = (
    "Interrupted; whether it was charged is not known here. The history tells, and asking the same "
    "again is free if it was."
)


@dataclass(frozen=True)
class JobFacts:
    """What a server tells of a job.

    Attributes:
      id: its name on the server.
      dataset: whose rows are asked.
      state: waiting, running, done, failed, cancelled or lost.
      phase: how far it is: queued, preparing, reserved, answering, storing or done.
      plans: the names of its questions.
      reservations: what paid for it.
    """

    id: str
    dataset: str
    state: str
    phase: str
    plans: tuple[str, ...]
    reservations: tuple[str, ...]

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> JobFacts:
        """Read the job of a reply."""
        plans, paid = (tuple(map(str, plain.get(name) or ())) for name in ("plans", "reservations"))
        return cls(
            str(plain["id"]),
            str(plain["dataset"]),
            str(plain["state"]),
            str(plain["phase"]),
            plans,
            paid,
        )


def release_steps(
    dataset: str, body: Mapping[str, Any], key: str, show: bool | None
) -> Steps[list[Release]]:
    """Return the releases of a request, of which every repetition is known by its idempotency key.

    Raises:
      KeyboardInterrupt: if it is interrupted: cancelled if nothing was charged by then; else it says
        what stays spent.
      ServerUnreachable: if the server went away, with the key by which the same can be asked again.
    """
    headers = {"Idempotency-Key": key, "Prefer": f"wait={_FIRST_WAIT}"}
    path = f"/v1/datasets/{dataset}/releases"
    asked = Request("POST", path, body=body, headers=headers, wait=_FIRST_WAIT)
    found: dict[str, Any] = {}
    try:
        with phase_line(_title(body), show) as tell:
            found = yield from ask(asked)
            try:
                found = yield from _finished(found, tell)
            except LedgerUnavailable:  # of the job: if it was not charged, the server begins it anew
                found = yield from ask(asked)
                found = yield from _finished(found, tell)
        return read_releases(found)
    except _INTERRUPTS as interrupt:
        interrupt.args = ((yield from _stopped(found.get("job"), key)),)
        raise
    except ServerUnreachable as lost:
        raise ServerUnreachable(
            f"{lost} Whether the question was charged is not known: ask it again with the "
            "idempotency_key of this error, and it is charged once.",
            idempotency_key=key,
        ) from None


def wait_for(job: str, show: bool | None) -> Steps[list[Release]]:
    """Return the releases of a job, once it has ended."""
    found = yield from ask(Request("GET", f"/v1/jobs/{job}"))
    with phase_line("the question", show) as tell:
        found = yield from _finished(found, tell)
    return read_releases(found)


def cancel(job: str) -> Steps[bool]:
    """Cancel a job that was not charged yet; False if it was, and goes on."""
    try:
        yield from ask(Request("DELETE", f"/v1/jobs/{job}"))
    except LedgerConflict:
        return False
    return True


def _finished(found: dict[str, Any], tell: Tell) -> Steps[dict[str, Any]]:
    """Ask until a job has ended; one that failed answers with its own error."""
    wait = _FIRST_WAIT
    while "releases" not in found:
        job = JobFacts.read(found["job"])
        if job.state == "cancelled":
            raise Cancelled(f"Job {job.id} was cancelled before anything was charged. Ask again.")
        tell(_PHASES.get(job.phase, job.phase))
        query = {"wait": wait}
        found = yield from ask(Request("GET", f"/v1/jobs/{job.id}", query=query, wait=wait))
        wait = min(2 * wait, _LONGEST_WAIT)
    return found


def _stopped(job: Mapping[str, Any] | None, key: str) -> Steps[str]:
    """Cancel what can be, and return the sentence of an interruption; no try is repeated."""
    if job is None:
        reply = yield Request("GET", "/v1/jobs")
        own = [one for one in _listed(reply) if one.get("idempotency_key") == key]
        if not own:
            return _UNKNOWN
        job = own[0]
    reply = yield Request("DELETE", f"/v1/jobs/{job['id']}")
    if isinstance(reply, Reply) and reply.status < 300:
        return _FREE
    if isinstance(reply, Reply) and reply.status == 409:
        return (
            f"Interrupted. The charge was taken and stays; the server goes on with job {job['id']}. "
            f"server.job({job['id']!r}) gets the answer, and asking the same again is free."
        )
    return _UNKNOWN


def _listed(reply: Reply | Lost) -> Sequence[Mapping[str, Any]]:
    """Return the jobs of a reply; none if it holds something else."""
    if not isinstance(reply, Reply) or reply.status != 200:
        return []
    with suppress(DiscreetError):
        plain = reply.plain()
        jobs = plain.get("jobs", []) if isinstance(plain, Mapping) else plain
        return [one for one in jobs if isinstance(one, Mapping)]
    return []


def _title(body: Mapping[str, Any]) -> str:
    names = [str(plan.get("kind") or plan.get("plan")).replace("_", " ") for plan in body["plans"]]
    return names[0] if len(names) == 1 else f"{len(names)} questions"


def read_releases(plain: Mapping[str, Any]) -> list[Release]:
    """Return the releases of a reply, with what each took from the budget."""
    return [read_release(entry) for entry in plain["releases"]]


def read_release(plain: Mapping[str, Any]) -> Release:
    """Return a release as the server told it.

    Raises:
      AccessDenied: if it came without its value, which is not meant for the key's role.
    """
    if "value" not in plain:
        raise AccessDenied(
            f"release must be one whose answer this key may see, got {plain.get('id')!r}: its "
            "certificate and its place in the ledger are public to it, the answer is not."
        )
    charged = plain.get("charged")
    release = Release.loads(json.dumps(plain))
    return release if charged is None else replace(release, charged=Amount.from_json(charged))
