"""The ledger itself: each method checks its arguments and is one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import ArgumentError
from discreet.ledger.books import find_row, lock_account
from discreet.ledger.checks import (
    check_amount,
    check_label,
    check_name,
    check_terms,
    unknown_dataset,
)
from discreet.ledger.open_books import OpenBooks
from discreet.ledger.postings import (
    check_may_store,
    draft_order,
    post_allotment,
    post_registration,
    post_reservations,
    post_settlement,
)
from discreet.ledger.publication import Signature, sign
from discreet.ledger.queries import (
    account_from,
    read_account,
    read_balance,
    read_history,
    read_names,
    read_release,
    read_terms,
)
from discreet.ledger.records import (
    Account,
    Balance,
    Head,
    Order,
    Reservation,
    StoredRelease,
    Terms,
    Verification,
)
from discreet.ledger.shares import check_share
from discreet.ledger.showing import History
from discreet.ledger.store.key import KeyMissing
from discreet.ledger.store.locks import WorkLock, work_with
from discreet.ledger.store.opening import open_books, open_to_read
from discreet.ledger.terms import Change, check_same_terms, check_schema, post_change, read_facts
from discreet.ledger.under_way import check_not_asked, question
from discreet.ledger.unsettled import Unsettled
from discreet.ledger.verify import Copy, verify_books
from discreet.privacy.accounting.filters import Amount
from discreet.schema import Schema
from discreet.schema.files import from_plain


class Ledger(OpenBooks):
    """The memory of what was spent on each data set; open one with ``Ledger.open``.

    Guarantees:
        - What was spent on a data set never exceeds its budget, not by one unit of 1e-12, however
          many threads and processes reserve at once.
        - A refusal leaves no trace. What was reserved stays spent, also if the process dies.
        - A release is stored together with its settlement, or neither is.
        - After a method returned, its effect survives a crash of the machine.
    """

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        key: str | Path | None = None,
        create: bool = True,
        anew: bool = False,
        read_only: bool = False,
    ) -> Ledger:
        """Open a ledger, making a new one if there is none.

        Args:
            where: A file, ``":memory:"`` for experiments, or a ``postgresql://`` address.
                ``file:<path>?mode=ro`` opens a file for reading only.
            key: The key file. A ledger file has it at ``<file>.key``; for a server it is needed
                here or in the environment variable ``DISCREET_LEDGER_KEY``.
            create: Whether a ledger that does not exist is made.
            anew: Begin an empty ledger although the key or the journal of an earlier one is there:
                after a crash while it was made, or to forget what was spent.
            read_only: Look without the key: accounts, balances and history are shown, stored releases
                never, and nothing is written or verified.

        Raises:
            LedgerConflict: There is a key or a journal, but no ledger; see ``anew``.
            LedgerUnavailable: It cannot be opened, or others may read its key.
        """
        if read_only:
            return cls(open_to_read(where))
        return cls(open_books(where, key=key, create=create, anew=anew))

    def register(self, terms: Terms, schema: Schema | None = None) -> Account:
        """Add a data set, or return its account if these are its terms.

        Args:
            terms: What is promised for the data set.
            schema: The schema of ``schema_digest``; kept, so that a mismatch names the column.

        Raises:
            LedgerConflict: The data set has other terms.
        """
        check_terms(terms, schema)
        account = self.find_account(terms.dataset)
        if account is None:
            with self._writing(terms.dataset) as connection:
                account = post_registration(connection, self._chain, terms, schema)
        with self._reading(terms.dataset) as connection:
            check_same_terms(connection, account.terms, terms, schema)
        return account

    def change_terms(
        self,
        dataset: str,
        *,
        reason: str,
        epsilon: float | None = None,
        delta: float | None = None,
        schema: Schema | None = None,
        most_rows: int | None = None,
    ) -> Account:
        """Change the budget or correct the schema of a data set, as an entry of its history.

        Args:
            dataset: A registered data set.
            reason: Why, for everybody who reads the history. It must not come from looking at rows.
            epsilon: The whole budget from now on, what was spent included.
            delta: The whole delta from now on.
            schema: The public facts from now on. Sessions with the old ones are refused.
            most_rows: How many rows the table may have from now on, under add-remove.

        Guarantees:
            - What was spent stays spent; a release keeps the terms under which it was made.
            - The relation and the accountant never change.

        Raises:
            LedgerConflict: More was already spent, or the data set is not registered.
        """
        check_name("dataset", dataset)
        check_name("reason", reason)
        if all(term is None for term in (epsilon, delta, schema, most_rows)):
            raise ArgumentError(
                "epsilon, delta, schema or most_rows must be given to change terms, got none."
            )
        if schema is not None:
            schema.check_confirmed()
        change = Change(reason, epsilon, delta, schema, most_rows)
        with self._writing(dataset) as connection:
            return post_change(connection, self._chain, dataset, change)

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
        """Return the account of a registered data set."""
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

    def allot(self, dataset: str, analyst: str, budget: Amount) -> None:
        """Set how much of a data set's budget an analyst may spend.

        An allotment may be raised, and lowered to what the analyst already spent. Allotments may
        add up to more than the data set's budget: then whoever asks first is served, because the
        data set's own budget binds everyone. Once a data set has an allotment, an analyst without
        one is denied.
        """
        check_name("dataset", dataset)
        check_name("analyst", analyst)
        check_amount("budget", budget)
        with self._writing(dataset) as connection:
            post_allotment(connection, self._chain, dataset, analyst, budget)

    def reserve(
        self,
        dataset: str,
        charge: Amount,
        *,
        plan_key: str,
        note: Mapping[str, Any],
        analyst: str | None = None,
    ) -> Reservation:
        """Spend a charge before the rows are read.

        Args:
            dataset: The data set to charge.
            charge: What the plan costs.
            plan_key: The fingerprint of the plan, for ``find_release``.
            note: Public facts for the history; anything JSON can hold.
            analyst: Who asks. ``None`` is the owner, whom only the data set's budget binds.

        Raises:
            BudgetExhausted: The charge does not fit; nothing was spent.
            AccessDenied: Others have an allotment of this data set, this analyst has none.
        """
        (reservation,) = self.reserve_all(dataset, [Order(charge, plan_key, note)], analyst=analyst)
        return reservation

    def reserve_all(
        self,
        dataset: str,
        orders: Sequence[Order],
        *,
        analyst: str | None = None,
        fresh: bool = True,
        work: WorkLock | None = None,
        schema: Schema | None = None,
    ) -> list[Reservation]:
        """Spend several charges in one transaction: all of them or none. See ``reserve``.

        Args:
            dataset: The data set to charge.
            orders: What is asked.
            analyst: Who asks.
            fresh: Charge also for what was answered before, or is under way in another process.
            work: Shows others that these orders are under way; see ``at_work``.
            schema: The schema by which rows will be read.

        Raises:
            LedgerConflict: Another schema is registered by now. Nothing was spent.
            UnderWay: Unless ``fresh``: somebody is at work on one of them. Nothing was spent.
        """
        check_name("dataset", dataset)
        if analyst is not None:
            check_name("analyst", analyst)
        drafts = [draft_order(order, analyst) for order in orders]
        with self._writing(dataset) as connection:
            account = lock_account(connection, self._chain, dataset)
            if schema is not None:
                stored = account_from(account).terms
                check_schema(connection, stored, schema.digest, schema, since=True)
            if not fresh:
                check_not_asked(connection, self._locks, dataset, drafts)
            if work is not None:
                work.begin([question(dataset, draft) for draft in drafts])
            if dataset not in self._may_store:
                check_may_store(connection, dataset)
            reserved = post_reservations(connection, self._chain, account, drafts, analyst)
        self._may_store.add(dataset)
        return reserved

    def at_work(self) -> AbstractContextManager[WorkLock]:
        """Give what shows others, inside a block, that somebody is at work on what is reserved.

        Leave the block when all is settled or given up; the death of the process leaves it, too.
        """
        return work_with(self._locks)

    def settle(self, reservation: Reservation, *, version: str, body: str) -> Head:
        """Store the release of a reservation and return the head that the release carries.

        Args:
            reservation: What ``reserve`` returned, here or in another process.
            version: The owner's label of the data set's version.
            body: The release as JSON text. Settled again with the same text, the head is the same.

        Raises:
            LedgerConflict: The reservation is settled with another text, or is not of this ledger.
        """
        (head,) = self.settle_all([(reservation, body)], version=version)
        return head

    def settle_all(self, settlements: Sequence[tuple[Reservation, str]], *, version: str) -> list[Head]:
        """Store the releases of several reservations in one transaction. See ``settle``."""
        return self._settle([Unsettled.of(held, version, body) for held, body in settlements])

    def set_aside(self, reservation: Reservation, *, version: str, body: str) -> Unsettled:
        """Return a release that cannot be stored now, sealed so that ``settle_unsettled`` knows it."""
        self._check_own_key()
        return Unsettled.of(reservation, version, body).sealed(self._chain)

    def settle_unsettled(self, kept: Sequence[Unsettled]) -> list[Head]:
        """Store releases that were set aside, in one transaction; nothing is charged. See ``settle``.

        Raises:
            ReleaseError: One was edited meanwhile, or is of another ledger.
        """
        self._check_own_key()
        for one in kept:
            one.check_seal(self._chain)
        return self._settle(kept)

    def _settle(self, given: Sequence[Unsettled]) -> list[Head]:
        with self._writing(*{one.dataset for one in given}) as connection:
            return [post_settlement(connection, self._chain, one) for one in given]

    def find_release(self, dataset: str, *, version: str, plan_key: str) -> StoredRelease | None:
        """Return the newest stored release of a plan on a version, or ``None``."""
        check_name("dataset", dataset)
        check_label("version", version)
        check_name("plan_key", plan_key)
        self._check_own_key()
        with self._reading(dataset) as connection:
            return read_release(connection, self._chain, dataset, version, plan_key)

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
            check_share(connection, self._chain, dataset, analyst)

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

    def sign(self, plain: Mapping[str, Any]) -> Signature:
        """Return a signature over plain data that everybody can check with its public key.

        Guarantees:
            - Only who holds the ledger's key can make it; the public key is always the same one.
        """
        self._check_own_key()
        return sign(self._chain, plain)

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
