"""Data sets that join a population, in any order, against a model of them that fits on a page."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from discreet.errors import AccessDenied, BudgetExhausted, LedgerConflict
from discreet.ledger import Ledger
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import PERSONS, join, make_terms

amounts = st.builds(Amount, st.integers(0, 12), st.integers(0, 4))
datasets = st.sampled_from(["visits", "labs"])
analysts = st.sampled_from(["ann", "bob"])
NOTHING = Amount()


class PopulationAgainstModel(RuleBasedStateMachine):
    """Both accept or both refuse: what a charge needs is there in every account that is bound by it."""

    @initialize(shared=amounts, own=amounts)
    def begin(self, shared: Amount, own: Amount) -> None:
        self.ledger = Ledger.open(":memory:")
        self.budget = {"visits": own, "labs": own, "patients": shared}
        for dataset in ("visits", "labs"):
            terms = make_terms(dataset=dataset, budget=own, schema_digest=PERSONS.digest)
            self.ledger.register(terms, PERSONS)
        self.members: set[str] = set()
        self.granted: dict[tuple[str, str], Amount] = {}
        self.spent: dict[tuple[str, str | None], Amount] = {}

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify().problems == []
            self.ledger.close()

    def accounts(self, dataset: str) -> list[str]:
        return [dataset, "patients"] if dataset in self.members else [dataset]

    def used(self, account: str, analyst: str | None = None) -> Amount:
        whose = ("ann", "bob", None) if analyst is None else (analyst,)
        return sum((self.spent.get((account, who), NOTHING) for who in whose), NOTHING)

    def refusal(self, dataset: str, charge: Amount, analyst: str | None) -> type[Exception] | None:
        for account in self.accounts(dataset) if analyst is not None else ():
            if not any(name == account for name, _ in self.granted):
                continue
            if (account, analyst) not in self.granted:
                return AccessDenied
            if not (self.used(account, analyst) + charge).fits(self.granted[account, str(analyst)]):
                return BudgetExhausted
        payer = self.accounts(dataset)[-1]
        return None if (self.used(payer) + charge).fits(self.budget[payer]) else BudgetExhausted

    @rule(dataset=datasets, charge=amounts, analyst=st.none() | analysts)
    def reserve(self, dataset: str, charge: Amount, analyst: str | None) -> None:
        refusal = self.refusal(dataset, charge, analyst)
        if refusal is not None:
            with pytest.raises(refusal):
                self.ledger.reserve(dataset, charge, plan_key="k", note={}, analyst=analyst)
            return
        self.ledger.reserve(dataset, charge, plan_key="k", note={}, analyst=analyst)
        for account in self.accounts(dataset):
            self.spent[account, analyst] = self.spent.get((account, analyst), NOTHING) + charge

    @rule(dataset=datasets)
    def join(self, dataset: str) -> None:
        if dataset in self.members:
            return
        brought = {who: self.spent.get((dataset, who), NOTHING) for who in ("ann", "bob", None)}
        fits = (self.used("patients") + self.used(dataset)).fits(self.budget["patients"])
        for who in ("ann", "bob"):
            most = self.granted.get(("patients", who))
            fits &= most is None or (self.used("patients", who) + brought[who]).fits(most)
        if not fits:
            with pytest.raises(LedgerConflict):
                join(self.ledger, dataset, budget=self.budget["patients"])
            return
        join(self.ledger, dataset, budget=self.budget["patients"])
        self.members.add(dataset)
        for who, amount in brought.items():
            self.spent["patients", who] = self.spent.get(("patients", who), NOTHING) + amount

    @rule(account=st.sampled_from(["visits", "labs", "patients"]), analyst=analysts, budget=amounts)
    def allot(self, account: str, analyst: str, budget: Amount) -> None:
        known = account != "patients" or bool(self.members)
        if known and self.used(account, analyst).fits(budget):
            self.ledger.allot(account, analyst, budget)
            self.granted[account, analyst] = budget
        else:
            with pytest.raises(LedgerConflict):
                self.ledger.allot(account, analyst, budget)

    @invariant()
    def same_left(self) -> None:
        for dataset in ("visits", "labs"):
            payer = self.accounts(dataset)[-1]
            balance = self.ledger.balance(dataset)
            assert balance.remaining == self.budget[payer] - self.used(payer)
            assert balance.population == ("patients" if payer == "patients" else None)
        assert self.ledger.members("patients") == {
            dataset: self.used(dataset) for dataset in sorted(self.members)
        }


TestPopulationAgainstModel = PopulationAgainstModel.TestCase
TestPopulationAgainstModel.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, derandomize=True
)
