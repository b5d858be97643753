"""What became of a job, in the ledger's words: done, lost, or ended before anything was charged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import AnswerLost, ArgumentError, DiscreetError, NotFound
from discreet.ledger import Ledger
from discreet.plans import Release

NOTED = "job"
"""Under which a job's id is noted with every reservation that it makes."""

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


def failed(error: DiscreetError) -> Outcome:
    """Return that a job ended with an error before anything was charged."""
    return {"state": "failed", "error": error.to_json()}


def broken() -> Outcome:
    """Return that a job ended before anything was charged, for a reason that is not shown."""
    return failed(ArgumentError("The job ended before anything was charged. Ask again."))


def stored_release(ledger: Ledger, dataset: str, id_: str) -> Release:
    """Return a release from the ledger, with its place in it."""
    stored = ledger.settled_release(dataset, id_)
    if stored is None:
        raise NotFound("release must be one that was stored, got another.")
    return Release.loads(stored.body).with_head(stored.head)
