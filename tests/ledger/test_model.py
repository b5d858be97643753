"""The ledger against a model of it that fits on a page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from discreet.errors import AccessDenied, BudgetExhausted, LedgerConflict
from discreet.ledger import Head, Ledger, Reservation
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import make_terms

amounts = st.builds(Amount, st.integers(0, 12), st.integers(0, 4))
analysts = st.sampled_from(["ann", "bob"])


class LedgerAgainstModel(RuleBasedStateMachine):
    """Whatever is asked, both accept or both refuse, and both have the same left."""

    @initialize(budget=amounts)
    def begin(self, budget: Amount) -> None:
        self.ledger = Ledger.open(":memory:")
        self.ledger.register(make_terms(budget=budget))
        self.left = budget
        self.granted: dict[str, Amount] = {}
        self.spent: dict[str | None, Amount] = {}
        self.open: list[Reservation] = []
        self.heads: list[Head] = []

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify(heads=self.heads).ok
            self.ledger.close()

    def refusal(self, charge: Amount, analyst: str | None) -> type[Exception] | None:
        if analyst is not None and self.granted:
            if analyst not in self.granted:
                return AccessDenied
            if not (self.spent.get(analyst, Amount()) + charge).fits(self.granted[analyst]):
                return BudgetExhausted
        return None if charge.fits(self.left) else BudgetExhausted

    @rule(charge=amounts, analyst=st.none() | analysts)
    def reserve(self, charge: Amount, analyst: str | None) -> None:
        arguments: dict[str, Any] = {"plan_key": "k", "note": {}, "analyst": analyst}
        refusal = self.refusal(charge, analyst)
        if refusal is not None:
            with pytest.raises(refusal):
                self.ledger.reserve("adult", charge, **arguments)
            return
        self.open.append(self.ledger.reserve("adult", charge, **arguments))
        self.left -= charge
        self.spent[analyst] = self.spent.get(analyst, Amount()) + charge

    @rule(analyst=analysts, budget=amounts)
    def allot(self, analyst: str, budget: Amount) -> None:
        if self.spent.get(analyst, Amount()).fits(budget):
            self.ledger.allot("adult", analyst, budget)
            self.granted[analyst] = budget
        else:
            with pytest.raises(LedgerConflict):
                self.ledger.allot("adult", analyst, budget)

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        if self.open:
            chosen = data.draw(st.integers(0, len(self.open) - 1))
            held = self.open.pop(chosen)
            self.heads.append(self.ledger.settle(held, version="1", body=held.id))

    @invariant()
    def same_balance(self) -> None:
        balance = self.ledger.balance("adult")
        assert balance.remaining == self.left
        assert balance.spent == balance.budget - self.left
        for analyst in ("ann", "bob"):
            own = self.ledger.balance("adult", analyst)
            assert own.spent == self.spent.get(analyst, Amount())

    @invariant()
    def same_open_reservations(self) -> None:
        entries = self.ledger.history("adult")
        open_ids = {entry.id for entry in entries if entry.settled is False}
        assert open_ids == {held.id for held in self.open}


TestLedgerAgainstModel = LedgerAgainstModel.TestCase
TestLedgerAgainstModel.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, derandomize=True
)
