"""Books that are open: what can be read in them.

Transactions notice when the file under them is not the one they knew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Self

from sqlalchemy import Connection

from discreet.ledger.books import find_row
from discreet.ledger.checks import check_label, check_name, unknown_dataset
from discreet.ledger.queries import (
    find_entry,
    members_of,
    payers_of,
    read_account,
    read_balance,
    read_history,
    read_names,
    read_populations,
    read_release,
    read_settled,
    read_terms,
)
from discreet.ledger.records import Account, Balance, Head, StoredRelease, Verification
from discreet.ledger.shares import check_share
from discreet.ledger.showing import History
from discreet.ledger.store.key import KeyMissing
from discreet.ledger.store.locks import find_locks
from discreet.ledger.store.opening import Books
from discreet.ledger.terms import check_schema, read_facts
from discreet.ledger.under_way import find_lost
from discreet.ledger.verify import Copy, verify_books
from discreet.privacy.accounting.filters import Amount
from discreet.schema import Schema
from discreet.schema.files import from_plain


class OpenBooks:
    """What can be read in a ledger, by its connections, its chain, and the witness of both."""

    def __init__(self, books: Books) -> None:
        self._connections = books.connections
        self._chain = books.chain
        self._witness = books.witness
        self._refusal = books.refusal
        self._locks = find_locks(books.connections)
        self._may_store: set[str] = set()

    def close(self) -> None:
        """Close the ledger; closing twice is allowed."""
        self._locks.close()
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connections.place.name!r})"

    def schema(self, dataset: str) -> Schema | None:
        """Return the registered schema of a data set; ``None`` if the ledger has its digest alone."""
        check_name("dataset", dataset)
        with self._reading(dataset) as connection:
            facts = read_facts(connection, read_terms(connection, dataset).schema_digest)
        return None if facts is None else from_plain(json.loads(facts))

    def check_schema(self, dataset: str, schema: Schema) -> None:
        """Raise if the schema of a data set was changed since a session with this one was opened."""
        check_name("dataset", dataset)
        with self._reading(dataset) as connection:
            stored = read_terms(connection, dataset)
            check_schema(connection, stored, schema.digest, schema, since=True)

    def account(self, dataset: str) -> Account:
        """Return the account of a registered data set, or of a population."""
        account = self.find_account(dataset)
        if account is None:
            raise unknown_dataset(dataset)
        return account

    def find_account(self, dataset: str) -> Account | None:
        """Return the account of a data set, or ``None`` if it was never registered."""
        check_name("dataset", dataset)
        with self._reading(dataset) as connection:
            return read_account(connection, dataset)

    def datasets(self) -> list[str]:
        """Return the names of all registered data sets, sorted."""
        with self._reading() as connection:
            return read_names(connection)

    def populations(self) -> list[str]:
        """Return the names of all populations, sorted: budgets that data sets share."""
        with self._reading() as connection:
            return read_populations(connection)

    def members(self, population: str) -> dict[str, Amount]:
        """Return what each data set of a population spent, by name; empty if it is no population."""
        check_name("population", population)
        with self._reading(population) as connection:
            return members_of(connection, population)

    def find_release(self, dataset: str, *, version: str, plan_key: str) -> StoredRelease | None:
        """Return the newest stored release of a plan on a version, or ``None``."""
        check_name("dataset", dataset)
        check_label("version", version)
        check_name("plan_key", plan_key)
        self._check_own_key()
        with self._reading(dataset) as connection:
            return read_release(connection, self._chain, dataset, version, plan_key)

    def settled_release(self, dataset: str, reservation: str) -> StoredRelease | None:
        """Return the release that a reservation paid for, or ``None`` if it was never stored."""
        check_name("dataset", dataset)
        check_name("reservation", reservation)
        self._check_own_key()
        with self._reading(dataset) as connection:
            return read_settled(connection, self._chain, dataset, reservation)

    def charge_of(self, dataset: str, reservation: str) -> Amount | None:
        """Return what a reservation spent, or ``None`` if there is none of this id."""
        check_name("reservation", reservation)
        with self._reading(dataset) as connection:
            entry = find_entry(connection, "reserve", reservation)
        return None if entry is None else Amount(entry["loss"], entry["delta"])

    def lost_reservation(self, dataset: str, *, version: str, plan_key: str) -> str | None:
        """Return the newest reservation for a plan that has no release and that nobody works on."""
        check_name("dataset", dataset)
        check_label("version", version)
        check_name("plan_key", plan_key)
        asked = (dataset, version, plan_key)
        with self._reading(dataset) as connection:
            lost = find_lost(connection, self._locks, *asked)
        if lost is None:
            return None
        # Its answer may have been stored after this moment was read and before the lock was looked at.
        with self._reading(dataset) as connection:
            return lost if lost == find_lost(connection, self._locks, *asked) else None

    def check_reader(self, dataset: str, analyst: str | None) -> None:
        """Raise unless this analyst may ask; ``None`` is the owner, who always may.

        Raises:
            AccessDenied: Others have an allotment of this data set, this analyst has none.
        """
        check_name("dataset", dataset)
        if analyst is None:
            return
        check_name("analyst", analyst)
        self._check_own_key()
        with self._reading(dataset) as connection:
            for account in payers_of(connection, dataset):
                check_share(connection, self._chain, account["dataset"], analyst)

    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return what was granted, spent and is left, in constant time.

        For an analyst, ``remaining`` is what both the allotment and the data set still allow.
        """
        check_name("dataset", dataset)
        if analyst is not None:
            check_name("analyst", analyst)
        with self._reading(dataset) as connection:
            return read_balance(connection, dataset, analyst)

    def history(self, dataset: str) -> History:
        """Return everything that happened to a data set's budget, in order."""
        check_name("dataset", dataset)
        with self._reading(dataset) as connection:
            return History(read_history(connection, dataset))

    def head(self, dataset: str) -> Head:
        """Return the newest entry of a data set, as a head that ``verify`` can check later."""
        check_name("dataset", dataset)
        with self._reading(dataset) as connection:
            found = find_row(connection, dataset)
        if found is None:
            raise unknown_dataset(dataset)
        return Head(dataset, found["sequence"], found["digest"])

    def verify(
        self, dataset: str | None = None, heads: Iterable[Head] = (), copies: Iterable[Copy] = ()
    ) -> Verification:
        """Check the chain, the totals and the stored releases; tampering is reported, not raised.

        Args:
            dataset: One data set; all of them if left out. Data sets of ``heads`` and ``copies`` are
                included.
            heads: Heads that releases carry; they show whether the chain was cut short.
            copies: Releases as somebody holds them; each must be the one that was settled.
        """
        if dataset is not None:
            check_name("dataset", dataset)
        if isinstance(self._refusal, KeyMissing):
            raise self._refusal
        seen = self._witness.heads(dataset)
        with self._connections.reading() as connection:
            found = verify_books(connection, self._chain, dataset, list(heads), list(copies))
            return replace(found, problems=[*found.problems, *self._witness.problems(connection, seen)])

    @contextmanager
    def _reading(self, *datasets: str) -> Iterator[Connection]:
        with self._witnessed(self._connections.reading, datasets) as connection:
            yield connection

    @contextmanager
    def _writing(self, *datasets: str) -> Iterator[Connection]:
        self._check_own_key()
        with self._witnessed(self._connections.writing, datasets) as connection:
            yield connection

    @contextmanager
    def _witnessed(
        self, transaction: Callable[[], AbstractContextManager[Connection]], datasets: Sequence[str]
    ) -> Iterator[Connection]:
        # Before the transaction begins: what others commit later is not in what it sees.
        known = [head for dataset in datasets for head in self._witness.heads(dataset)]
        with transaction() as connection:
            self._witness.check(connection, known)
            yield connection
            newest = self._witness.look(connection, datasets)
        self._witness.remember(newest)

    def _check_own_key(self) -> None:
        if self._refusal is not None:
            raise self._refusal
