"""The same question asked by several at once: one of them is charged, the others are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, exists, select

from discreet.errors import UnderWay
from discreet.ledger.books import EntryDraft
from discreet.ledger.store.locks import Locks
from discreet.ledger.store.tables import entries, releases

_settled = entries.alias("settled")


class Answered(UnderWay):
    """The question was answered between looking for its answer and charging for it: look again."""


def question(dataset: str, draft: EntryDraft) -> str:
    """Return the name under which others see that a question is under way."""
    return "\0".join((dataset, draft.version, draft.plan_key))


def check_not_asked(
    connection: Connection, locks: Locks, dataset: str, drafts: Sequence[EntryDraft]
) -> None:
    """Raise if one of these questions was answered or is under way; the data set's row is locked.

    Guarantees:
        - Of those who ask the same question of the same version at once, one is charged.
        - A reservation that nobody works on any more does not count.
    """
    held = locks.held(connection, [question(dataset, draft) for draft in drafts])
    for draft in drafts:
        if _is_answered(connection, dataset, draft):
            raise Answered("This question was just answered. Ask again: the answer is free.")
        newest = _find_open(connection, dataset, draft) if question(dataset, draft) in held else None
        if newest is not None:
            raise _under_way(newest.reference, newest.time)


def _under_way(reservation: str, time: str) -> UnderWay:
    since = time.partition(".")[0] + "Z"
    return UnderWay(
        f"The same question is under way since {since} (reservation {reservation}): whoever asked it is"
        " still at work, as the lock shows that ends with its process. Nothing was charged. Ask again"
        " when it is done and its answer is free, or pay for another one with fresh=True (--fresh).",
        since=since,
        reservation=reservation,
    )


def _is_answered(connection: Connection, dataset: str, draft: EntryDraft) -> bool:
    wanted = {"dataset": dataset, "version": draft.version, "plan_key": draft.plan_key}
    query = select(releases.c.reservation).filter_by(**wanted).limit(1)
    return connection.execute(query).first() is not None


def _find_open(connection: Connection, dataset: str, draft: EntryDraft) -> Any:
    """Return the newest reservation for this question that has no settlement."""
    same = {
        "dataset": dataset,
        "kind": "reserve",
        "version": draft.version,
        "plan_key": draft.plan_key,
    }
    is_settled = exists().where(
        _settled.c.kind == "settle", _settled.c.reference == entries.c.reference
    )
    query = select(entries.c.reference, entries.c.time).filter_by(**same).where(~is_settled)
    return connection.execute(query.order_by(entries.c.sequence.desc()).limit(1)).first()
