"""The ledger itself: each method checks its arguments and is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from discreet.errors import ArgumentError
from discreet.ledger.books import lock_accounts
from discreet.ledger.checks import (
    check_amount,
    check_name,
    check_terms,
    is_no_dataset,
)
from discreet.ledger.open_books import OpenBooks
from discreet.ledger.populations import post_membership
from discreet.ledger.postings import (
    check_may_store,
    draft_order,
    post_allotment,
    post_registration,
    post_reservations,
    post_settlement,
    post_state,
)
from discreet.ledger.publication import Signature, sign
from discreet.ledger.queries import (
    account_from,
    read_history,
)
from discreet.ledger.records import (
    Account,
    Entry,
    Head,
    Order,
    Reservation,
    State,
    Terms,
)
from discreet.ledger.store.locks import WorkLock, work_with
from discreet.ledger.store.opening import open_books, open_to_read
from discreet.ledger.terms import Change, check_same_terms, check_schema, post_change
from discreet.ledger.under_way import check_not_asked, question
from discreet.ledger.unsettled import Unsettled
from discreet.privacy.accounting.filters import Amount
from discreet.schema import Schema


class Ledger(OpenBooks):
    """The memory of what was spent on each data set; open one with ``Ledger.open``.

    Guarantees:
        - What was spent on a data set, or on all data sets of a population, never exceeds its budget,
          not by one unit of 1e-12, however many threads and processes reserve at once.
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

    def register(
        self, terms: Terms, schema: Schema | None = None, state: State | None = None
    ) -> Account:
        """Add a data set, or return its account if these are its terms.

        Args:
            terms: What is promised for the data set. If they name a population it joins it, with what
                it spent so far; the first to name it fixes its budget.
            schema: The schema of ``schema_digest``; kept, so that a mismatch names the column.
            state: What is public of the data; noted if the data set is new.

        Raises:
            LedgerConflict: The data set or the population has other terms, or the population too little
                left for what the data set spent.
        """
        check_terms(terms, schema)
        account = self.find_account(terms.dataset)
        joins = terms.population is not None
        if account is None or (joins and account.terms.population != terms.population):
            post = post_membership if joins else post_registration
            with self._writing(terms.dataset) as connection:
                account = post(connection, self._chain, terms, schema, state)
        elif account.is_population:
            raise is_no_dataset(terms.dataset)
        with self._reading(terms.dataset) as connection:
            check_same_terms(connection, account.terms, terms, schema)
        return account

    def find_state(self, dataset: str, version: str) -> dict[str, Any]:
        """Return what was noted last of a version of a data set; nothing of one that is new."""
        noted = (
            entry.note["data"]
            for entry in reversed(self.history(dataset))
            if entry.version == version and "data" in entry.note
        )
        return dict(next(noted, {}))

    def note_state(self, dataset: str, state: State) -> None:
        """Note what is public of a version of a data set that is new."""
        with self._writing(dataset) as connection:
            post_state(connection, self._chain, dataset, state)

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
            dataset: A registered data set, or a population, whose budget its data sets follow.
            reason: Why, for everybody who reads the history. It must not come from looking at rows.
            epsilon: The whole budget from now on, what was spent included.
            delta: The whole delta from now on.
            schema: The public facts from now on. Sessions with the old ones are refused.
            most_rows: How many rows the table may have from now on, under add-remove.

        Guarantees:
            - What was spent stays spent; a release keeps the terms under which it was made.
            - The relation, the accountant and the population never change.

        Raises:
            LedgerConflict: More was already spent, the data set is not registered, or its budget is a
                population's.
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

    def allot(self, dataset: str, analyst: str, budget: Amount) -> None:
        """Set how much of a budget an analyst may spend, on a data set or all those of a population.

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
        check: Callable[[], None] | None = None,
    ) -> list[Reservation]:
        """Spend several charges in one transaction: all of them or none. See ``reserve``.

        Args:
            dataset: The data set to charge.
            orders: What is asked.
            analyst: Who asks.
            fresh: Charge also for what was answered before, or is under way in another process.
            work: Shows others that these orders are under way; see ``at_work``.
            schema: The schema by which rows will be read.
            check: Called when nobody else can charge the data set any more; to raise spends nothing.

        Raises:
            LedgerConflict: Another schema is registered by now. Nothing was spent.
            UnderWay: Unless ``fresh``: somebody is at work on one of them. Nothing was spent.
        """
        check_name("dataset", dataset)
        if analyst is not None:
            check_name("analyst", analyst)
        drafts = [draft_order(order, analyst) for order in orders]
        with self._writing(dataset) as connection:
            accounts = lock_accounts(connection, self._chain, dataset)
            if check is not None:
                check()
            if schema is not None:
                stored = account_from(accounts[0]).terms
                check_schema(connection, stored, schema.digest, schema, since=True)
            if not fresh:
                check_not_asked(connection, self._locks, dataset, drafts)
            if work is not None:
                work.begin([question(dataset, draft) for draft in drafts])
            if dataset not in self._may_store:
                check_may_store(connection, dataset)
            reserved = post_reservations(connection, self._chain, accounts, drafts, analyst)
        self._may_store.add(dataset)
        return reserved

    def charges_noting(self, dataset: str, name: str, value: str) -> list[Entry]:
        """Return the reservations whose notes have this entry, when nobody is about to make one.

        A reservation whose acknowledgement was lost is found, or will never be made.
        """
        check_name("dataset", dataset)
        with self._writing(dataset) as connection:
            lock_accounts(connection, self._chain, dataset)
            entries = read_history(connection, dataset)
        return [one for one in entries if one.kind == "reserve" and one.note.get(name) == value]

    def renew_locks(self) -> None:
        """Show others again what is under way here, after the ledger's server was started anew."""
        self._locks.renew()

    def at_work(self) -> AbstractContextManager[WorkLock]:
        """Return a context in which others see that somebody is at work on what is reserved.

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

    def sign(self, plain: Mapping[str, Any]) -> Signature:
        """Return a signature over plain data that everybody can check with its public key.

        Guarantees:
            - Only who holds the ledger's key can make it; the public key is always the same one.
        """
        self._check_own_key()
        return sign(self._chain, plain)
