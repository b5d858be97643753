"""Writing: one account row per data set, one entry per event, changed together.

``append`` is the only function that adds an entry, and it writes the new totals in the same
transaction: totals and chain cannot part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.ledger.chain import GENESIS, LATER, Chain, said
from discreet.ledger.checks import budget_exhausted, is_no_dataset, tampered, unknown_dataset
from discreet.ledger.records import Head, State, Terms
from discreet.ledger.store.tables import datasets, entries, keys, new_id
from discreet.privacy.accounting.filters import Amount

Row = dict[str, Any]

NO_AMOUNT = Amount()

TERMS_IN_NOTE = ("relation", "accountant", "epsilon", "delta", "schema_digest", "created", *LATER)
"""What the first entry of a chain holds of a data set's terms, besides the budget."""


_TERMS = ("epsilon", "delta", "schema_digest", "budget_loss", "budget_delta", *LATER)
"""What a change of terms may change of a data set's row."""

_CHANGING = ("spent_loss", "spent_delta", "sequence", "digest", "seal")

# Built once: building a statement takes longer than running it.
_FIND_ACCOUNT = select(datasets).where(datasets.c.dataset == bindparam("own"))
_LOCK_ACCOUNT = _FIND_ACCOUNT.with_for_update()
_member = datasets.alias("member")
_payer = select(_member.c.population).where(_member.c.dataset == bindparam("own")).scalar_subquery()
# The population's row is locked first, by everybody: whoever holds it waits for members alone.
_LOCK_ACCOUNTS = (
    select(datasets)
    .where((datasets.c.dataset == bindparam("own")) | (datasets.c.dataset == _payer))
    .order_by(datasets.c.dataset == bindparam("own"))
    .with_for_update()
)
_ADD_ENTRY = insert(entries)
_SAVE_TOTALS = (
    update(datasets)
    .where(datasets.c.dataset == bindparam("own"))
    .values({name: bindparam(name) for name in _CHANGING})
)
_SAVE_TERMS = (
    update(datasets)
    .where(datasets.c.dataset == bindparam("own"))
    .values({name: bindparam(name) for name in _TERMS})
)


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry before it has its place in the chain."""

    kind: str
    reference: str
    analyst: str | None = None
    amount: Amount = NO_AMOUNT
    plan_key: str = ""
    version: str = ""
    body_digest: str = ""
    note: str = "{}"


def has_own_key(connection: Connection, chain: Chain) -> bool:
    """Say whether the ledger was written with this chain's key."""
    return list(connection.execute(select(keys.c.mark)).scalars()) == [chain.mark()]


def create_account(
    connection: Connection, chain: Chain, terms: Terms, state: State | None = None
) -> Row:
    """Add an account with its whole budget left, and the entry that says so; return its row."""
    account: Row = {
        "dataset": terms.dataset,
        "relation": str(terms.relation),
        "accountant": terms.accountant,
        **_terms_row(terms),
        "spent_loss": 0,
        "spent_delta": 0,
        "created": _now(),
        "sequence": 0,
        "digest": GENESIS,
    }
    connection.execute(insert(datasets), {**account, "seal": ""})
    noted = said({name: account[name] for name in TERMS_IN_NOTE})
    draft = EntryDraft("register", new_id(), amount=terms.budget)
    if state is not None:
        noted, draft = {**noted, "data": dict(state.facts)}, replace(draft, version=state.version)
    append(connection, chain, account, replace(draft, note=json.dumps(noted, sort_keys=True)))
    return account


def add_state(connection: Connection, chain: Chain, account: Row, state: State) -> None:
    """Add an entry with what is public of a state of the data."""
    note = json.dumps({"data": dict(state.facts)}, sort_keys=True)
    draft = EntryDraft("state", new_id(), version=state.version, note=note)
    append(connection, chain, account, draft)


def save_terms(connection: Connection, account: Row, terms: Terms) -> None:
    """Write terms that changed to a data set's locked row; ``append`` seals it."""
    account.update(_terms_row(terms))
    connection.execute(_SAVE_TERMS, {"own": account["dataset"], **_terms_row(terms)})


def find_row(connection: Connection, dataset: str) -> Row | None:
    """Return a data set's row of totals, if it is registered."""
    found = connection.execute(_FIND_ACCOUNT, {"own": dataset}).first()
    return None if found is None else found._asdict()


def lock_account(connection: Connection, chain: Chain, dataset: str) -> Row:
    """Return a data set's row; nobody else changes it until the transaction ends.

    Guarantees:
        - Totals that the ledger did not write itself are refused, not built upon.
    """
    found = connection.execute(_LOCK_ACCOUNT, {"own": dataset}).first()
    if found is None:
        raise unknown_dataset(dataset)
    return _sealed(chain, found._asdict())


def lock_accounts(connection: Connection, chain: Chain, dataset: str) -> tuple[Row, Row | None]:
    """Return a data set's row and that of the population that pays for it, if there is one.

    Guarantees:
        - Nobody else changes either until the transaction ends.
        - A population is no data set and is charged for its members alone.
    """
    rows = [row._asdict() for row in connection.execute(_LOCK_ACCOUNTS, {"own": dataset})]
    if not rows or rows[-1]["dataset"] != dataset:
        raise unknown_dataset(dataset)
    account = _sealed(chain, rows[-1])
    if is_population(account):
        raise is_no_dataset(dataset)
    name = account["population"]
    if name is None:
        return account, None
    if len(rows) == 1:  # it joined while we waited for it, or somebody removed the population
        if find_row(connection, name) is None:
            raise tampered(f"The account of population {name!r}")
        return account, lock_account(connection, chain, name)
    return account, _sealed(chain, rows[0])


def _sealed(chain: Chain, account: Row) -> Row:
    if not chain.is_sealed("dataset", account):
        raise tampered(f"The account of dataset {account['dataset']!r}")
    return account


def is_population(account: Row) -> bool:
    """Say whether a row is of a population: it names itself as the one that pays."""
    return bool(account["population"] == account["dataset"])


def check_charge(account: Row, charge: Amount, share: Row | None = None) -> None:
    """Raise unless a charge fits what a data set or population has left, or a share of it.

    A share may be larger than what is left of the whole; then that is told.
    """
    payer = account if share is None else share
    left = budget_of(payer) - spent_of(payer)
    if not charge.fits(left):
        if account["population"] is None:  # else it pays nothing by itself
            whole = budget_of(account) - spent_of(account)
            left = Amount(min(left.loss, whole.loss), min(left.delta, whole.delta))
        raise budget_exhausted(
            account["accountant"],
            charge,
            left,
            owner=f"{kind_of(account)} {account['dataset']!r}",
            delta=account["delta"],
            analyst=None if share is None else share["analyst"],
        )


def kind_of(account: Row) -> str:
    """Return what messages call an account."""
    return "population" if is_population(account) else "dataset"


def append(
    connection: Connection, chain: Chain, account: Row, draft: EntryDraft, charge: Amount = NO_AMOUNT
) -> Head:
    """Add an entry at the end of the chain and ``charge`` to what was spent."""
    entry = _entry_row(account, draft)
    entry["digest"] = chain.entry_digest(entry)
    connection.execute(_ADD_ENTRY, entry)
    account["spent_loss"] += charge.loss
    account["spent_delta"] += charge.delta
    account["sequence"], account["digest"] = entry["sequence"], entry["digest"]
    account["seal"] = chain.seal("dataset", account)
    connection.execute(_SAVE_TOTALS, {"own": account["dataset"], **_changed(account)})
    return Head(account["dataset"], entry["sequence"], entry["digest"])


def budget_of(row: Row) -> Amount:
    """Return the budget a row of totals grants."""
    return Amount(row["budget_loss"], row["budget_delta"])


def spent_of(row: Row) -> Amount:
    """Return what a row of totals has spent."""
    return Amount(row["spent_loss"], row["spent_delta"])


def _terms_row(terms: Terms) -> Row:
    return {
        "epsilon": float(terms.epsilon),
        "delta": float(terms.delta),
        "schema_digest": terms.schema_digest,
        "budget_loss": terms.budget.loss,
        "budget_delta": terms.budget.delta,
        "most_rows": terms.most_rows,
        "population": terms.population,
    }


def _entry_row(account: Row, draft: EntryDraft) -> Row:
    return {
        "dataset": account["dataset"],
        "sequence": account["sequence"] + 1,
        "kind": draft.kind,
        "reference": draft.reference,
        "analyst": draft.analyst,
        "loss": draft.amount.loss,
        "delta": draft.amount.delta,
        "plan_key": draft.plan_key,
        "version": draft.version,
        "body_digest": draft.body_digest,
        "note": draft.note,
        "time": _now(),
        "previous": account["digest"],
    }


def _changed(account: Row) -> Row:
    return {name: account[name] for name in _CHANGING}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
