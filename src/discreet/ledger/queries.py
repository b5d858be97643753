"""Reading: accounts, balances, history and stored releases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, bindparam, false, func, select

from discreet.ledger.books import Row, budget_of, find_row, spent_of
from discreet.ledger.chain import Chain, is_release_of
from discreet.ledger.checks import tampered, unknown_dataset
from discreet.ledger.records import Account, Balance, Entry, Head, StoredRelease, Terms
from discreet.ledger.shares import find_share, has_allotment, is_shared
from discreet.ledger.store.tables import datasets, entries, releases
from discreet.privacy.accounting.filters import Amount

_IS_POPULATION = func.coalesce(datasets.c.population == datasets.c.dataset, false())
_FIND_ENTRY = select(entries).where(
    entries.c.kind == bindparam("kind"), entries.c.reference == bindparam("reference")
)


def read_account(connection: Connection, dataset: str) -> Account | None:
    """Return a data set's account, if it is registered."""
    row = find_row(connection, dataset)
    return None if row is None else account_from(row)


def read_terms(connection: Connection, dataset: str) -> Terms:
    """Return the terms of a registered data set."""
    account = read_account(connection, dataset)
    if account is None:
        raise unknown_dataset(dataset)
    return account.terms


def account_from(row: Row) -> Account:
    """Return the account a row describes."""
    terms = Terms(
        dataset=row["dataset"],
        relation=row["relation"],
        accountant=row["accountant"],
        epsilon=row["epsilon"],
        delta=row["delta"],
        budget=budget_of(row),
        schema_digest=row["schema_digest"],
        most_rows=row["most_rows"],
        population=row["population"],
    )
    return Account(terms, row["created"])


def read_names(connection: Connection) -> list[str]:
    """Return the names of all data sets, sorted."""
    return sorted(connection.execute(select(datasets.c.dataset).where(~_IS_POPULATION)).scalars())


def read_populations(connection: Connection) -> list[str]:
    """Return the names of all populations, sorted."""
    return sorted(connection.execute(select(datasets.c.dataset).where(_IS_POPULATION)).scalars())


def members_of(connection: Connection, population: str) -> dict[str, Amount]:
    """Return what each data set of a population spent, by name, sorted; empty if it is none."""
    own = (datasets.c.population == population) & ~_IS_POPULATION
    rows = connection.execute(select(datasets).where(own).order_by(datasets.c.dataset))
    return {row.dataset: spent_of(row._asdict()) for row in rows}


def payers_of(connection: Connection, dataset: str) -> list[Row]:
    """Return the rows of a data set and, after it, of the population that pays for it."""
    row = find_row(connection, dataset)
    if row is None:
        raise unknown_dataset(dataset)
    if row["population"] in (None, dataset):
        return [row]
    population = find_row(connection, row["population"])
    if population is None:
        raise tampered(f"The account of population {row['population']!r}")
    return [row, population]


def read_balance(connection: Connection, dataset: str, analyst: str | None) -> Balance:
    """Return the balance of a data set or of its population, or of an analyst's part in it."""
    *shared, payer = payers_of(connection, dataset)
    budget, spent = budget_of(payer), spent_of(payer)
    balance = Balance(budget, spent, budget - spent, payer["population"])
    if analyst is None:
        return balance
    balance = _share_balance(connection, payer["dataset"], analyst, balance)
    # A share of a data set binds inside the analyst's share of its population.
    bound = [row["dataset"] for row in shared if is_shared(connection, row["dataset"])]
    return _share_balance(connection, bound[0], analyst, balance) if bound else balance


def read_history(connection: Connection, dataset: str) -> list[Entry]:
    """Return a data set's entries in order."""
    if find_row(connection, dataset) is None:
        raise unknown_dataset(dataset)
    query = select(entries).where(entries.c.dataset == dataset).order_by(entries.c.sequence)
    rows = [row._asdict() for row in connection.execute(query)]
    settled = {row["reference"] for row in rows if row["kind"] == "settle"}
    return [_entry_from(row, settled) for row in rows]


def read_release(
    connection: Connection, chain: Chain, dataset: str, version: str, plan_key: str
) -> StoredRelease | None:
    """Return the newest stored release of a plan.

    Guarantees:
        - The text is the one that was settled, or ``LedgerTampered`` is raised.
    """
    wanted = {"dataset": dataset, "version": version, "plan_key": plan_key}
    return _read_newest(connection, chain, wanted)


def read_settled(
    connection: Connection, chain: Chain, dataset: str, reservation: str
) -> StoredRelease | None:
    """Return the release that a reservation paid for, as ``read_release`` does."""
    return _read_newest(connection, chain, {"dataset": dataset, "reservation": reservation})


def _read_newest(
    connection: Connection, chain: Chain, wanted: Mapping[str, str]
) -> StoredRelease | None:
    query = select(releases).filter_by(**wanted).order_by(releases.c.sequence.desc()).limit(1)
    row = _first(connection, query)
    if row is None:
        return None
    entry = find_entry(connection, "settle", row["reservation"])
    if entry is None or not (chain.is_genuine(entry) and is_release_of(row, entry)):
        raise tampered(f"A stored release of dataset {wanted['dataset']!r}")
    head = Head(wanted["dataset"], entry["sequence"], entry["digest"])
    return StoredRelease(row["body"], head, row["reservation"], row["version"], row["plan_key"])


def find_entry(connection: Connection, kind: str, reference: str) -> Row | None:
    """Return the entry of this kind with this id, if there is one."""
    row = connection.execute(_FIND_ENTRY, {"kind": kind, "reference": reference}).first()
    return None if row is None else row._asdict()


def _first(connection: Connection, query: Select[Any]) -> Row | None:
    row = connection.execute(query).first()
    return None if row is None else row._asdict()


def _share_balance(connection: Connection, dataset: str, analyst: str, whole: Balance) -> Balance:
    share = find_share(connection, dataset, analyst)
    spent = Amount() if share is None else spent_of(share)
    if share is not None and has_allotment(share):
        left = budget_of(share) - spent
        smaller = Amount(min(left.loss, whole.remaining.loss), min(left.delta, whole.remaining.delta))
        return replace(whole, budget=budget_of(share), spent=spent, remaining=smaller)
    if is_shared(connection, dataset):
        return replace(whole, budget=Amount(), spent=spent, remaining=Amount())
    return replace(whole, spent=spent)


def _entry_from(row: Row, settled: set[str]) -> Entry:
    return Entry(
        dataset=row["dataset"],
        sequence=row["sequence"],
        kind=row["kind"],
        id=row["reference"],
        analyst=row["analyst"],
        amount=Amount(row["loss"], row["delta"]),
        plan_key=row["plan_key"],
        version=row["version"],
        note=_parse_note(row),
        time=row["time"],
        digest=row["digest"],
        settled=row["reference"] in settled if row["kind"] == "reserve" else None,
    )


def _parse_note(row: Row) -> Mapping[str, Any]:
    try:
        return dict(json.loads(row["note"]))
    except (TypeError, ValueError):
        what = f"Entry {row['sequence']} of dataset {row['dataset']!r}"
        raise tampered(what) from None
