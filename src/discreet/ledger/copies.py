"""A release as somebody holds it, compared with the one that was stored with its settlement.

A copy's head is its place in the chain; whoever edits a copy leaves the head as it is. Only the text
that was settled, whose digest is in the chain, tells whether the rest of the copy is genuine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from discreet.ledger.books import Row
from discreet.ledger.chain import is_release_of
from discreet.ledger.records import Head
from discreet.ledger.replay import Replay
from discreet.ledger.store.tables import releases

Rewrite = Callable[[str], str]
"""Makes of a stored text the one that this version would write."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A release that ``verify`` shall compare with the ledger.

    Attributes:
        dataset: The data set it says it is of.
        reservation: The reservation it says it was paid with.
        head: The place in the chain it carries, if any.
        content: The rest of it, as one text that is equal for equal releases.
        rewrite: For texts stored by an earlier version, which may lack fields that a copy read and
            saved since has.
    """

    dataset: str
    reservation: str
    head: Head | None
    content: str
    rewrite: Rewrite = str

    @classmethod
    def of(cls, plain: Mapping[str, Any], rewrite: Rewrite = str) -> Copy:
        """Return the copy that a release's JSON object is."""
        head = None if plain["head"] is None else Head.from_json(plain["head"])
        return cls(str(plain["dataset"]), str(plain["id"]), head, _content(plain), rewrite)


def check_copies(connection: Connection, replay: Replay, copies: list[Copy]) -> Iterator[str]:
    """Yield what is wrong with copies of releases of the replayed data set."""
    for copy in copies:
        fault = _find_fault(connection, replay, copy)
        if fault is not None:
            yield f"The release {copy.reservation!r} of dataset {copy.dataset!r} {fault}."


def _find_fault(connection: Connection, replay: Replay, copy: Copy) -> str | None:
    settlement = replay.settled.get(copy.reservation)
    if settlement is None or not replay.chain.is_genuine(settlement):
        return "was never settled in this ledger: its id was edited, or it is another's"
    if copy.head is None:
        return (
            "carries no place in the ledger: it was removed, or this copy was saved before it had one"
        )
    if copy.head != Head(copy.dataset, settlement["sequence"], settlement["digest"]):
        return "carries the place of another entry: its head or its id was edited"
    stored = _stored_text(connection, settlement)
    if stored is None:
        return "cannot be compared, because the ledger's own text of it is missing or was edited"
    if not _is_same(stored, copy):
        return "was edited: it is not the one that was settled"
    return None


def _stored_text(connection: Connection, settlement: Row) -> str | None:
    own = releases.c.reservation == settlement["reference"]
    row = connection.execute(select(releases).where(own)).first()
    if row is None or not is_release_of(row._asdict(), settlement):
        return None
    return str(row.body)


def _is_same(stored: str, copy: Copy) -> bool:
    # The later reading is asked only if it is needed: most copies are what was stored.
    return any(_content(json.loads(text)) == copy.content for text in _readings(stored, copy))


def _readings(stored: str, copy: Copy) -> Iterator[str]:
    yield stored
    yield copy.rewrite(stored)


def _content(plain: Mapping[str, Any]) -> str:
    # Through JSON once: keys are texts and sequences lists, as in a text that was read.
    read = json.loads(json.dumps(dict(plain)))
    return json.dumps({k: v for k, v in read.items() if k != "head"}, sort_keys=True)
