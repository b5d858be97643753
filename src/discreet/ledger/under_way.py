"""The same question asked by several at once: one of them is charged, the others are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, exists, select

from discreet.errors import UnderWay
from discreet.ledger.books import EntryDraft
from discreet.ledger.store.locks import Locks
from discreet.ledger.store.tables import entries, releases

_settled = entries.alias("settled")


class Answered(UnderWay):
    """The question was answered between looking for its answer and charging for it: look again."""


def question(dataset: str, draft: EntryDraft) -> str:
    """Return the name under which others see that a question is under way."""
    return _name(dataset, draft.version, draft.plan_key)


def _name(dataset: str, version: str, plan_key: str) -> str:
    return "\0".join((dataset, version, plan_key))


def find_lost(
    connection: Connection, locks: Locks, dataset: str, version: str, plan_key: str
) -> str | None:
    """Return the last reservation of a question if it has no answer and nobody is at work on it."""
    last = connection.execute(_reserved(dataset, version, plan_key)).first()
    open_ = _find_open(connection, dataset, version, plan_key)
    if last is None or open_ is None or last.reference != open_.reference:
        return None
    at_work = locks.held(connection, [_name(dataset, version, plan_key)])
    return None if at_work else str(last.reference)


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
        own = (dataset, draft.version, draft.plan_key)
        newest = _find_open(connection, *own) if question(dataset, draft) in held else None
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


def _find_open(connection: Connection, dataset: str, version: str, plan_key: str) -> Any:
    """Return the newest reservation for this question that has no settlement."""
    is_settled = exists().where(
        _settled.c.kind == "settle", _settled.c.reference == entries.c.reference
    )
    return connection.execute(_reserved(dataset, version, plan_key).where(~is_settled)).first()


def _reserved(dataset: str, version: str, plan_key: str) -> Select[Any]:
    """Return the query for the newest reservation of a question."""
    same = {"dataset": dataset, "kind": "reserve", "version": version, "plan_key": plan_key}
    query = select(entries.c.reference, entries.c.time).filter_by(**same)
    return query.order_by(entries.c.sequence.desc()).limit(1)
