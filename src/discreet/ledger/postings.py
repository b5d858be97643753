"""What each kind of event does to the books, inside a transaction that the caller opened."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, insert

from discreet.ledger.books import (
    EntryDraft,
    Row,
    add_state,
    append,
    check_charge,
    create_account,
    lock_account,
)
from discreet.ledger.chain import Chain, body_digest
from discreet.ledger.checks import (
    already_settled,
    check_amount,
    check_label,
    check_name,
    note_text,
    tampered,
    unknown_reservation,
)
from discreet.ledger.queries import account_from, find_entry, read_account
from discreet.ledger.records import Account, Head, Order, Reservation, State, Terms
from discreet.ledger.shares import set_share, spend_share
from discreet.ledger.store.connection import lock_creation
from discreet.ledger.store.tables import new_id, releases
from discreet.ledger.terms import keep_schema
from discreet.ledger.unsettled import Unsettled
from discreet.privacy.accounting.filters import Amount
from discreet.schema import Schema


def post_registration(
    connection: Connection, chain: Chain, terms: Terms, schema: Schema | None, state: State | None
) -> Account:
    """Add a data set, unless someone else just did."""
    lock_creation(connection)
    known = read_account(connection, terms.dataset)
    if known is not None:
        return known
    keep_schema(connection, schema)
    return account_from(create_account(connection, chain, terms, state))


def post_state(connection: Connection, chain: Chain, dataset: str, state: State) -> None:
    """Note what is public of a state of the data."""
    add_state(connection, chain, lock_account(connection, chain, dataset), state)


def post_allotment(
    connection: Connection, chain: Chain, dataset: str, analyst: str, budget: Amount
) -> None:
    """Set an analyst's allotment."""
    account = lock_account(connection, chain, dataset)
    set_share(connection, chain, account, analyst, budget)
    append(connection, chain, account, EntryDraft("allot", new_id(), analyst, budget))


def post_reservations(
    connection: Connection,
    chain: Chain,
    accounts: tuple[Row, Row | None],
    drafts: Sequence[EntryDraft],
    analyst: str | None,
) -> list[Reservation]:
    """Spend all charges, or raise and spend none; the data set and its population are locked.

    Guarantees:
        - Every charge of a member is drawn on its population in the same transaction. [population]
    """
    together = sum((draft.amount for draft in drafts), Amount())
    account, population = accounts
    for bound in (account, population) if analyst is not None else ():
        if bound is not None:
            spend_share(connection, chain, bound, str(analyst), together)
    check_charge(account if population is None else population, together)
    return [_post_reservation(connection, chain, account, population, draft) for draft in drafts]


def _post_reservation(
    connection: Connection, chain: Chain, account: Row, population: Row | None, draft: EntryDraft
) -> Reservation:
    if population is not None:
        note = json.dumps({"dataset": account["dataset"]})
        drawn = EntryDraft("draw", draft.reference, draft.analyst, draft.amount, note=note)
        append(connection, chain, population, drawn, charge=draft.amount)
    head = append(connection, chain, account, draft, charge=draft.amount)
    return Reservation(
        id=draft.reference,
        dataset=account["dataset"],
        charge=draft.amount,
        plan_key=draft.plan_key,
        analyst=draft.analyst,
        head=head,
        population=account["population"],
    )


def post_settlement(connection: Connection, chain: Chain, given: Unsettled) -> Head:
    """Store a release and the entry that fixes its text.

    The same text again gets the same head: whoever lost the connection during a commit cannot know
    whether it is stored.
    """
    account = lock_account(connection, chain, given.dataset)
    reserved = _find_reserved(connection, chain, given.reservation, given.dataset)
    draft = EntryDraft(
        "settle",
        given.reservation,
        reserved["analyst"],
        plan_key=reserved["plan_key"],
        version=given.version,
        body_digest=body_digest(given.body),
    )
    settled = _find_settled(connection, chain, draft)
    if settled is not None:
        return Head(given.dataset, settled["sequence"], settled["digest"])
    head = append(connection, chain, account, draft)
    _store_release(connection, draft, head, given.body)
    return head


def check_may_store(connection: Connection, dataset: str) -> None:
    """Try what settling will need, and take it back: who may not store a release shall not pay for it.

    Rights on a server are given table by table, and row by row; a file has one right for all.
    """
    if connection.dialect.name == "postgresql":
        with connection.begin_nested() as trial:
            find_entry(connection, "settle", "")
            _store_release(connection, EntryDraft("settle", new_id()), Head(dataset, 0, ""), "")
            trial.rollback()


def _find_reserved(connection: Connection, chain: Chain, reservation: str, dataset: str) -> Row:
    entry = find_entry(connection, "reserve", reservation)
    if entry is None or entry["dataset"] != dataset:
        raise unknown_reservation(reservation, dataset)
    if not chain.is_genuine(entry):
        raise tampered(f"The reservation {reservation}")
    return entry


def _find_settled(connection: Connection, chain: Chain, draft: EntryDraft) -> Row | None:
    entry = find_entry(connection, "settle", draft.reference)
    if entry is None:
        return None
    if not chain.is_genuine(entry):
        raise tampered(f"The settlement of {draft.reference}")
    if (entry["version"], entry["body_digest"]) != (draft.version, draft.body_digest):
        raise already_settled(draft.reference)
    return entry


def _store_release(connection: Connection, draft: EntryDraft, head: Head, body: str) -> None:
    row = {
        "reservation": draft.reference,
        "dataset": head.dataset,
        "sequence": head.sequence,
        "version": draft.version,
        "plan_key": draft.plan_key,
        "body": body,
    }
    connection.execute(insert(releases), row)


def draft_order(order: Order, analyst: str | None) -> EntryDraft:
    """Return the entry that an order becomes, once it is checked."""
    check_amount("charge", order.charge)
    check_name("plan_key", order.plan_key)
    check_label("version", order.version)
    note = note_text(order.note)
    return EntryDraft(
        "reserve", new_id(), analyst, order.charge, order.plan_key, version=order.version, note=note
    )
