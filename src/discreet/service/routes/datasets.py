"""Data sets: what is public about them, their budgets, their history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter

from discreet.cards import Card, describe
from discreet.errors import DiscreetError
from discreet.ledger import Balance, Entry, Signature
from discreet.privacy.accounting import Amount, total
from discreet.service.access.keys import Caller
from discreet.service.office import AnOffice, Anyone, Office, Overseer
from discreet.service.routes.answers import (
    BudgetTold,
    Checked,
    ClosedDataset,
    LedgerEntry,
    ListedDataset,
    shows,
)
from discreet.session import Remaining, Session

router = APIRouter(tags=["data sets"])

_NO_ADDRESS = (
    "dataset must be named without a slash to be asked here. The owner protects it under another."
)
_COMMON = ("register", "change", "state", "join")
"""Entries of the ledger that are everybody's: what was promised, and when that changed."""


@router.get("/v1/datasets", responses=shows(list[ListedDataset | ClosedDataset]))
def datasets(caller: Anyone, office: AnOffice) -> list[dict[str, Any]]:
    """Return the data sets that this key opens; one that cannot be asked now has a reason."""
    return [_listed_or_closed(office, caller, name) for name in office.desks.names(caller)]


@router.get("/v1/datasets/{dataset}")
def card(dataset: str, caller: Anyone, office: AnOffice) -> dict[str, Any]:
    """Return the card of a data set: public, dated and signed."""
    return card_of(office, office.desks.check(caller, dataset)).to_json()


@router.get("/v1/datasets/{dataset}/budget", responses=shows(BudgetTold))
def budget(dataset: str, caller: Anyone, office: AnOffice) -> dict[str, Any]:
    """Return what was granted, spent and is left, and what it was spent on."""
    session = office.desks.check(caller, dataset)
    ledger, entries = office.desks.ledger(dataset), seen_by(caller, office, dataset)
    tell = _Teller(session)
    whole = tell.balance(session.balance)
    analysts = {str(entry.analyst): None for entry in ledger.history(dataset) if entry.kind == "allot"}
    shares = [{"analyst": name, **tell.balance(ledger.balance(dataset, name))} for name in analysts]
    own = None if caller.analyst is None else tell.balance(ledger.balance(dataset, caller.analyst))
    return {
        "unit": session.remaining.unit,
        **whole,
        "population": session.balance.population,
        "yours": own,
        "shares": shares if caller.role != "analyst" else [],
        "spent_on": tell.spent_on(entries),
    }


@router.get("/v1/datasets/{dataset}/history", responses=shows(list[LedgerEntry]))
def history(dataset: str, caller: Anyone, office: AnOffice) -> list[dict[str, Any]]:
    """Return entries of the ledger, oldest first; an analyst sees her own."""
    office.desks.admit(caller, dataset)
    return [entry.to_json() for entry in seen_by(caller, office, dataset)]


@router.get("/v1/datasets/{dataset}/verification", responses=shows(Checked))
def verification(dataset: str, caller: Overseer, office: AnOffice) -> dict[str, Any]:
    """Check the hash chain of a data set now."""
    found = office.desks.admit(caller, dataset).verify(dataset)
    return {"ok": found.ok, "entries": found.entries, "problems": list(found.problems)}


def card_of(office: Office, session: Session) -> Card:
    """Return the card of a data set, with the service's models, signed."""
    bare = describe(session)
    named = office.models.described(session.dataset, session.schema)
    unsigned = replace(bare, models=named, signature=Signature("", ""))
    return replace(unsigned, signature=session.sign(unsigned.unsigned()))


def seen_by(caller: Caller, office: Office, dataset: str) -> list[Entry]:
    """Return the entries of a ledger that a caller may see: an analyst's are her own."""
    entries = office.desks.ledger(dataset).history(dataset)
    if caller.role != "analyst":
        return list(entries)
    mine = {entry.id for entry in entries if entry.analyst == caller.analyst}
    return [entry for entry in entries if entry.kind in _COMMON or entry.id in mine]


def _listed_or_closed(office: Office, caller: Caller, name: str) -> dict[str, Any]:
    if "/" in name:  # no address would lead to it
        return {"dataset": name, "reason": _NO_ADDRESS}
    try:
        return _listed(office, caller, name)
    except DiscreetError as error:
        return {"dataset": name, "reason": str(error)}


def _listed(office: Office, caller: Caller, name: str) -> dict[str, Any]:
    session = office.desks.check(caller, name)
    facts, tell = session.facts(), _Teller(session)
    ledger = office.desks.ledger(name)
    own = None if caller.analyst is None else tell.balance(ledger.balance(name, caller.analyst))
    return {
        "dataset": name,
        "version": session.version,
        "relation": str(facts.terms.relation),
        "rows": facts.setting.rows,
        "accountant": facts.terms.accountant,
        "epsilon": facts.terms.epsilon,
        "delta": facts.terms.delta,
        "unit": session.remaining.unit,
        **tell.balance(session.balance),
        "yours": own,
        "columns": len(session.schema),
        "models": office.models.names(name),
    }


class _Teller:
    """Tells amounts of a data set in its own currency."""

    def __init__(self, session: Session) -> None:
        terms = session.facts().terms
        self._accountant, self._delta = terms.accountant, terms.delta

    def amount(self, amount: Amount, worth: bool = True) -> dict[str, Any]:
        # Spent rho is told without an epsilon: the budget is the claim.
        return Remaining(amount, self._accountant, self._delta if worth else 0.0).to_json()

    def balance(self, balance: Balance) -> dict[str, Any]:
        return {
            "budget": self.amount(balance.budget),
            "spent": self.amount(balance.spent, worth=False),
            "remaining": self.amount(balance.remaining),
        }

    def spent_on(self, entries: Iterable[Entry]) -> list[dict[str, Any]]:
        """Return what questions cost in all, by their names, the dearest first."""
        spent: dict[str, list[Amount]] = {}
        for entry in entries:
            if entry.kind == "reserve":
                spent.setdefault(_asked(entry), []).append(entry.amount)
        dearest = sorted(spent.items(), key=lambda one: -total(one[1]).loss)
        return [
            {"plan": plan, "times": len(costs), "spent": self.amount(total(costs), worth=False)}
            for plan, costs in dearest
        ]


def _asked(entry: Entry) -> str:
    plan = entry.note.get("plan", {})
    return str(plan.get("kind", "")) if isinstance(plan, dict) else ""
