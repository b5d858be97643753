"""One job: a request for releases, how it is kept, and what became of it in the ledger's words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from discreet.errors import AnswerLost, ArgumentError, DiscreetError, LedgerUnavailable, NotFound
from discreet.ledger import Ledger
from discreet.plans import Release
from discreet.service.store import Row

State = Literal["waiting", "running", "done", "failed", "cancelled", "lost"]
ENDED = ("done", "failed", "cancelled", "lost")

_LISTS = ("plans", "reservations", "releases")


@dataclass(frozen=True)
class ReleaseJob:
    """What is known of a request for releases.

    Args:
      id: its own, which is noted with every reservation it makes.
      dataset: whose rows are asked.
      asker: who asked, as ``Caller.name``; for owners to see and for nobody else.
      analyst: whose allotment pays; None is the owner.
      retry: what the client calls the request, so that sending it again is known as the same.
      mark: a keyed digest of the request; of a sealed query under the asker's own key.
      asked: the request itself, for an owner to ask it again; None if it holds a sealed query.
      plans: the names of the questions.
      state: how far it is.
      phase: what is being done; follows from no row.
      reservations: what was charged.
      releases: the ids of the answers.
      error: what ended it, in the one shape of errors.
      worker: the process that has it.
      created: when it was asked, UTC.
      finished: when it ended.
    """

    id: str
    dataset: str
    asker: str
    analyst: str | None
    retry: str
    mark: str
    asked: str | None
    plans: tuple[str, ...]
    worker: str
    created: str
    state: State = "waiting"
    phase: str = "queued"
    reservations: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    error: dict[str, Any] | None = field(default=None)
    finished: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return what its asker may see."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "state": self.state,
            "phase": self.phase,
            "created": self.created,
            "finished": self.finished,
            "plans": list(self.plans),
            "reservations": list(self.reservations),
            "error": None if self.error is None else self.error["error"],
        }

    def row(self) -> Row:
        """Return it as a row of the store."""
        lists = {name: json.dumps(getattr(self, name)) for name in _LISTS}
        error = None if self.error is None else json.dumps(self.error)
        return {**vars(self), **lists, "error": error}

    @classmethod
    def read(cls, row: Row) -> ReleaseJob:
        """Return a row of the store as a job."""
        own = {name: value for name, value in row.items() if name != "number"}
        lists = {name: tuple(json.loads(row[name])) for name in _LISTS}
        return cls(
            **{**own, **lists, "error": None if row["error"] is None else json.loads(row["error"])}
        )

    def but(self, **changes: Any) -> ReleaseJob:
        """Return it with other fields."""
        return replace(self, **changes)


NOTED = "job"
"""Under which a job's id is noted with every reservation that it makes."""

_REFUSED = ArgumentError.http_status
_SEALED = (
    "The question was refused; nothing was charged. Its query is sealed: ask for its price to read why."
)

Outcome = dict[str, Any]
"""The fields of a job that say how it ended."""


def aftermath(ledger: Ledger, dataset: str, job: str) -> Outcome | None:
    """Return how a job ended on which nobody works any more; None if nothing was charged for it.

    Guarantees:
      - Also a charge whose acknowledgement was lost on the way is found.
    """
    entries = ledger.charges_noting(dataset, NOTED, job)
    charged = [entry.id for entry in entries]
    if not charged:
        return None
    return done(charged, charged) if all(entry.settled for entry in entries) else lost(charged)


def done(charged: Sequence[str], releases: Sequence[str]) -> Outcome:
    """Return that a job has its answers."""
    return {"state": "done", "reservations": tuple(charged), "releases": tuple(releases)}


def lost(charged: Sequence[str]) -> Outcome:
    """Return that a job was charged for and has no answer."""
    error = AnswerLost(
        f"The answer is lost; what was charged for it stays spent (reservation {', '.join(charged)}). "
        "Nobody draws it again but the owner, for another charge.",
        reservations=charged,
    )
    return {"state": "lost", "reservations": tuple(charged), "error": error.to_json()}


def failed(error: DiscreetError, *, sealed: bool = False) -> Outcome:
    """Return that a job ended with an error before anything was charged.

    Guarantees:
      - No sentence about the arguments of a sealed question is kept: it could quote the query.
    """
    told = ArgumentError(_SEALED) if sealed and error.http_status == _REFUSED else error
    return {"state": "failed", "error": told.to_json()}


def broken() -> Outcome:
    """Return that a job ended before anything was charged, for a reason that is not shown."""
    return failed(ArgumentError("The job ended before anything was charged. Ask again."))


def interrupted() -> Outcome:
    """Return that a job's worker ended before anything was charged: it may be asked again, as it is."""
    return failed(
        LedgerUnavailable("The worker of this job ended before anything was charged. Ask again.")
    )


def stored_release(ledger: Ledger, dataset: str, id_: str) -> Release:
    """Return a release from the ledger, with its place in it."""
    stored = ledger.settled_release(dataset, id_)
    if stored is None:
        raise NotFound("release must be one that was stored, got another.")
    return Release.loads(stored.body).with_head(stored.head)
