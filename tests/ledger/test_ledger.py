from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from discreet.errors import (
    AccessDenied,
    ArgumentError,
    BudgetExhausted,
    LedgerConflict,
    LedgerTampered,
    LedgerUnavailable,
)
from discreet.ledger import Head, Ledger, Order, Reservation
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms

TENTH = Amount.charge(0.1)


def reserve(ledger: Ledger, charge: Amount = TENTH, **options: Any) -> Reservation:
    return ledger.reserve("adult", charge, **{"plan_key": "plan", "note": {}, **options})


# -- registration


def test_registering_gives_the_whole_budget(ledger: Ledger) -> None:
    balance = ledger.balance("adult")
    assert balance.budget == balance.remaining == Amount(3 * 10**12, 10**6)
    assert balance.spent == Amount()
    assert ledger.account("adult").terms == make_terms()
    assert ledger.datasets() == ["adult"]


def test_registering_again_returns_the_stored_account(ledger: Ledger, backend: Backend) -> None:
    stored = ledger.account("adult")
    assert ledger.register(make_terms(epsilon=3)) == stored
    with backend.open(create=False) as again:
        assert again.register(make_terms()) == stored
    assert [entry.kind for entry in ledger.history("adult")] == ["register"]


@pytest.mark.parametrize(
    ("term", "value", "stored", "given"),
    [
        ("relation", "add-remove", "replace-one", "add-remove"),
        ("accountant", "zcdp", "basic", "zcdp"),
        ("epsilon", 2.5, "3.0", "2.5"),
        ("delta", 0.0, "1e-06", "0.0"),
        ("budget", Amount(7), "epsilon=3 and delta=0.000001", "epsilon=0.000000000007 and delta=0"),
    ],
)
def test_other_terms_are_refused_by_name(
    ledger: Ledger, term: str, value: Any, stored: str, given: str
) -> None:
    never = term in ("relation", "accountant")
    advice = (
        "" if never else ", or change them in the open: change_terms, on the command line budget change"
    )
    with pytest.raises(LedgerConflict) as caught:
        ledger.register(make_terms(**{term: value}))
    assert str(caught.value) == (
        f"{term} must be {stored} as registered for dataset 'adult', got {given}."
        f" Use the registered terms{advice}."
    )
    assert ledger.account("adult").terms == make_terms()


def test_an_unknown_dataset_is_named_with_the_next_step(ledger: Ledger) -> None:
    assert ledger.find_account("other") is None
    assert ledger.find_release("other", version="1", plan_key="plan") is None
    sentence = "got 'other'. Register it with protect first."
    for call in (ledger.account, ledger.balance, ledger.history):
        with pytest.raises(LedgerConflict, match=sentence):
            call("other")
    with pytest.raises(LedgerConflict, match=sentence):
        ledger.reserve("other", TENTH, plan_key="plan", note={})
    with pytest.raises(LedgerConflict, match=sentence):
        ledger.allot("other", "ann", TENTH)


def test_names_beyond_ascii_are_kept(ledger: Ledger) -> None:
    ledger.register(make_terms(dataset="Zähler 'ω'; --"))
    assert ledger.datasets() == ["Zähler 'ω'; --", "adult"]
    assert ledger.verify("Zähler 'ω'; --").ok


# -- spending


def test_a_charge_is_spent_when_it_is_reserved(ledger: Ledger) -> None:
    reservation = reserve(ledger, Amount.charge(0.4, 1e-7))
    balance = ledger.balance("adult")
    assert balance.spent == reservation.charge == Amount(4 * 10**11, 10**5)
    assert balance.remaining == Amount(26 * 10**11, 9 * 10**5)
    assert (reservation.dataset, reservation.plan_key) == ("adult", "plan")
    assert ledger.verify(heads=[reservation.head]).ok


def test_the_budget_is_spent_to_the_last_unit_and_not_one_more(ledger: Ledger) -> None:
    reserve(ledger, Amount(3 * 10**12 - 1, 10**6))
    with pytest.raises(BudgetExhausted):
        reserve(ledger, Amount(2))
    with pytest.raises(BudgetExhausted, match="Lower delta or ask for fewer answers"):
        reserve(ledger, Amount(0, 1))
    reserve(ledger, Amount(1))
    with pytest.raises(BudgetExhausted):
        reserve(ledger, Amount(1))
    assert ledger.balance("adult").remaining == Amount()
    reserve(ledger, Amount())


def test_a_refusal_says_what_is_left_and_leaves_no_trace(ledger: Ledger) -> None:
    reserve(ledger, Amount.charge(2.75))
    before = ledger.history("adult"), ledger.balance("adult")
    with pytest.raises(BudgetExhausted) as caught:
        reserve(ledger, Amount.charge(0.4))
    assert str(caught.value) == (
        "This plan costs epsilon=0.4 and delta=0; dataset 'adult' has epsilon=0.25 and"
        " delta=0.000001 left. Lower epsilon or ask for fewer answers."
    )
    assert caught.value.requested == {"epsilon": "0.4", "delta": "0"}
    assert caught.value.remaining == {"epsilon": "0.25", "delta": "0.000001"}
    assert (ledger.history("adult"), ledger.balance("adult")) == before
    reserve(ledger, Amount.charge(0.25))


def test_a_zcdp_ledger_speaks_of_rho(ledger: Ledger) -> None:
    ledger.register(make_terms(dataset="z", accountant="zcdp", budget=Amount.budget(0.05)))
    with pytest.raises(
        BudgetExhausted, match=r"costs rho=0.1 \(worth epsilon=2.14 .* has rho=0.05 \(worth"
    ) as no:
        ledger.reserve("z", TENTH, plan_key="plan", note={})
    assert no.value.requested == {"rho": "0.1", "delta": "0"}


def test_datasets_have_budgets_of_their_own(ledger: Ledger) -> None:
    ledger.register(make_terms(dataset="other", budget=Amount(5)))
    reserve(ledger, Amount(7))
    ledger.reserve("other", Amount(5), plan_key="plan", note={})
    assert ledger.balance("adult").spent == Amount(7)
    assert ledger.balance("other").remaining == Amount()
    assert ledger.verify().entries == 4


# -- settling


def test_settling_stores_the_release_with_its_entry(ledger: Ledger) -> None:
    reservation = reserve(ledger)
    body = '{"value": [1, 2], "unit": "µ"}'
    head = ledger.settle(reservation, version="2024", body=body)
    stored = ledger.find_release("adult", version="2024", plan_key="plan")
    assert stored is not None
    assert (stored.body, stored.head) == (body, head)
    assert (stored.version, stored.plan_key) == ("2024", "plan")
    assert stored.reservation == reservation.id
    assert head == ledger.history("adult")[-1].head == Head("adult", 3, head.digest)
    assert ledger.balance("adult").spent == TENTH


def test_the_newest_release_of_a_plan_and_version_is_found(ledger: Ledger) -> None:
    for version, body in [("1", "old"), ("1", "new"), ("2", "other version")]:
        ledger.settle(reserve(ledger), version=version, body=body)
    ledger.settle(reserve(ledger, plan_key="else"), version="1", body="other plan")
    reserve(ledger)
    found = {
        (version, plan): ledger.find_release("adult", version=version, plan_key=plan)
        for version in ("1", "2")
        for plan in ("plan", "else")
    }
    bodies = {where: stored.body for where, stored in found.items() if stored is not None}
    assert bodies == {
        ("1", "plan"): "new",
        ("2", "plan"): "other version",
        ("1", "else"): "other plan",
    }


def test_a_reservation_is_settled_once(ledger: Ledger) -> None:
    reservation = reserve(ledger)
    ledger.settle(reservation, version="", body="first")
    with pytest.raises(LedgerConflict, match="must be settled only once"):
        ledger.settle(reservation, version="", body="second")
    stored = ledger.find_release("adult", version="", plan_key="plan")
    assert stored is not None and stored.body == "first"


def test_a_reservation_of_another_ledger_or_dataset_is_unknown(ledger: Ledger) -> None:
    with Ledger.open(":memory:") as other:
        other.register(make_terms())
        foreign = reserve(other)
    ledger.register(make_terms(dataset="second"))
    own = reserve(ledger)
    moved = Reservation(own.id, "second", own.charge, own.plan_key, own.analyst, own.head)
    for reservation in (foreign, moved):
        with pytest.raises(LedgerConflict, match="must be one this ledger made"):
            ledger.settle(reservation, version="", body="{}")
    ledger.settle(own, version="", body="{}")


def test_another_process_may_settle(ledger: Ledger, backend: Backend) -> None:
    reservation = reserve(ledger)
    with backend.open() as other:
        head = other.settle(reservation, version="", body="{}")
    assert ledger.verify(heads=[head]).ok


# -- several at once


def orders(*losses: int) -> list[Order]:
    return [Order(Amount(loss), f"plan-{loss}", {"loss": loss}) for loss in losses]


def test_several_charges_are_spent_together(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", Amount(10))
    held = ledger.reserve_all("adult", orders(2, 3, 5), analyst="ann")
    assert [(one.charge, one.plan_key) for one in held] == [
        (Amount(2), "plan-2"),
        (Amount(3), "plan-3"),
        (Amount(5), "plan-5"),
    ]
    assert ledger.balance("adult").spent == ledger.balance("adult", "ann").spent == Amount(10)
    heads = ledger.settle_all([(one, one.plan_key) for one in held], version="1")
    assert [head.sequence for head in heads] == [6, 7, 8]
    stored = ledger.find_release("adult", version="1", plan_key="plan-3")
    assert stored is not None and (stored.body, stored.head) == ("plan-3", heads[1])
    assert ledger.verify(heads=heads).ok


def test_several_charges_are_refused_together(ledger: Ledger) -> None:
    whole = make_terms().budget.loss
    ledger.allot("adult", "ann", Amount(10))
    before = ledger.history("adult")
    with pytest.raises(BudgetExhausted, match=r"costs epsilon=3\.000000000001 "):
        ledger.reserve_all("adult", orders(1, whole))
    with pytest.raises(BudgetExhausted, match="analyst 'ann'"):
        ledger.reserve_all("adult", orders(1, 10), analyst="ann")
    with pytest.raises(ArgumentError, match="plan_key must not be empty"):
        ledger.reserve_all("adult", [*orders(1), Order(Amount(1), "", {})])
    assert ledger.history("adult") == before
    assert ledger.balance("adult").spent == ledger.balance("adult", "ann").spent == Amount()


def test_several_releases_are_stored_together_or_not_at_all(ledger: Ledger) -> None:
    first, second = ledger.reserve_all("adult", orders(1, 2))
    ledger.settle(second, version="1", body="{}")
    with pytest.raises(LedgerConflict, match="must be settled only once"):
        ledger.settle_all([(first, "{}"), (second, "other")], version="1")
    assert ledger.find_release("adult", version="1", plan_key="plan-1") is None
    assert ledger.verify().ok
    ledger.settle(first, version="1", body="{}")


# -- history


def test_history_tells_everything_in_order(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", Amount(50, 5))
    lost = reserve(ledger, Amount(4, 2), analyst="ann", note={"plan": "pdp", "grid": [1, 2.5]})
    kept = reserve(ledger, Amount(5), plan_key="second")
    ledger.settle(kept, version="v", body="{}")
    register, allot, first, _second, settle = ledger.history("adult")
    assert [entry.sequence for entry in ledger.history("adult")] == [1, 2, 3, 4, 5]
    assert (register.kind, register.amount) == ("register", make_terms().budget)
    assert register.note["epsilon"] == 3.0
    assert (allot.kind, allot.analyst, allot.amount) == ("allot", "ann", Amount(50, 5))
    assert (first.kind, first.id, first.analyst) == ("reserve", lost.id, "ann")
    assert (first.amount, first.note) == (Amount(4, 2), {"plan": "pdp", "grid": [1, 2.5]})
    assert (settle.kind, settle.id, settle.amount) == ("settle", kept.id, Amount())
    assert (settle.version, settle.plan_key) == ("v", "second")
    assert [e.settled for e in ledger.history("adult")] == [None, None, False, True, None]
    assert first.to_json() == {
        "sequence": 3,
        "time": first.time,
        "kind": "reserve",
        "id": lost.id,
        "analyst": "ann",
        "loss": "0.000000000004",
        "delta": "0.000000000002",
        "settled": False,
        "version": "",
        "note": {"plan": "pdp", "grid": [1, 2.5]},
        "digest": lost.head.digest,
    }
    assert sorted(e.time for e in ledger.history("adult")) == [e.time for e in ledger.history("adult")]


def test_history_with_an_unreadable_note_says_so(ledger: Ledger, backend: Backend) -> None:
    backend.execute("UPDATE discreet_entries SET note = 'no json'")
    with pytest.raises(LedgerTampered, match="Entry 1 of dataset 'adult' was changed"):
        ledger.history("adult")


# -- allotments


def test_an_allotment_binds_inside_the_budget(ledger: Ledger) -> None:
    ledger.allot("adult", "ann", Amount(10, 1))
    reserve(ledger, Amount(6), analyst="ann")
    with pytest.raises(BudgetExhausted) as caught:
        reserve(ledger, Amount(5), analyst="ann")
    assert "analyst 'ann' of dataset 'adult' has epsilon=0.000000000004" in str(caught.value)
    assert caught.value.remaining == {"epsilon": "0.000000000004", "delta": "0.000000000001"}
    reserve(ledger, Amount(4, 1), analyst="ann")
    balance = ledger.balance("adult", "ann")
    assert (balance.budget, balance.spent, balance.remaining) == (
        Amount(10, 1),
        Amount(10, 1),
        Amount(),
    )
    assert ledger.balance("adult").spent == Amount(10, 1)
    assert ledger.verify().ok


def test_the_budget_binds_also_when_allotments_exceed_it(ledger: Ledger) -> None:
    whole = make_terms().budget
    ledger.allot("adult", "ann", whole)
    ledger.allot("adult", "bob", whole)
    reserve(ledger, Amount(2 * 10**12), analyst="ann")
    assert ledger.balance("adult", "bob").remaining == Amount(10**12, 10**6)
    with pytest.raises(BudgetExhausted, match="dataset 'adult' has epsilon=1 "):
        reserve(ledger, Amount(10**12 + 1), analyst="bob")
    assert ledger.balance("adult", "bob").spent == Amount()
    reserve(ledger, Amount(10**12), analyst="bob")
    assert ledger.verify().ok


def test_a_refused_analyst_reads_what_is_left_of_share_and_whole(ledger: Ledger) -> None:
    """A share may be larger than the whole: what it has left alone would promise too much."""
    ledger.allot("adult", "ann", Amount(90 * 10**12, 1))
    reserve(ledger, Amount(2 * 10**12))
    with pytest.raises(BudgetExhausted, match=r"has epsilon=1 and .* left. Lower delta") as caught:
        reserve(ledger, Amount(5, 2), analyst="ann")
    assert caught.value.remaining == {"epsilon": "1", "delta": "0.000000000001"}


def test_without_an_allotment_an_analyst_is_denied_once_others_have_one(ledger: Ledger) -> None:
    reserve(ledger, Amount(2), analyst="bob")
    free = ledger.balance("adult", "bob")
    assert (free.budget, free.spent) == (make_terms().budget, Amount(2))
    assert free.remaining == ledger.balance("adult").remaining
    ledger.allot("adult", "ann", Amount(10))
    for analyst in ("bob", "cy"):
        with pytest.raises(AccessDenied, match=f"got '{analyst}'. Ask the owner"):
            reserve(ledger, Amount(1), analyst=analyst)
    assert ledger.balance("adult", "bob").spent == Amount(2)
    assert ledger.balance("adult", "bob").remaining == Amount()
    assert ledger.balance("adult", "cy").budget == Amount()
    reserve(ledger, Amount(20), analyst=None)
    assert ledger.verify().ok


def test_an_allotment_moves_but_not_below_what_was_spent(ledger: Ledger) -> None:
    reserve(ledger, Amount(5, 1), analyst="ann")
    for small in (Amount(4, 1), Amount(5, 0)):
        with pytest.raises(LedgerConflict, match="which analyst 'ann' already spent"):
            ledger.allot("adult", "ann", small)
    ledger.allot("adult", "ann", Amount(9, 2))
    ledger.allot("adult", "ann", Amount(5, 1))
    assert ledger.balance("adult", "ann").remaining == Amount()
    assert [e.kind for e in ledger.history("adult")].count("allot") == 2
    assert ledger.verify().ok


def test_the_database_itself_refuses_to_overdraw(ledger: Ledger, backend: Backend) -> None:
    ledger.allot("adult", "ann", Amount(1))
    with closing(backend.connect(checked=True)) as connection:
        for table in ("discreet_datasets", "discreet_analysts"):
            with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
                connection.execute(f"UPDATE {table} SET spent_loss = budget_loss + 1")


# -- totals that were edited are refused before anything is spent on them


def test_an_edited_account_is_refused(ledger: Ledger, backend: Backend) -> None:
    reservation = reserve(ledger)
    backend.execute("UPDATE discreet_datasets SET spent_loss = 0")
    with pytest.raises(LedgerTampered, match="The account of dataset 'adult' was changed"):
        reserve(ledger)
    with pytest.raises(LedgerTampered):
        ledger.settle(reservation, version="", body="{}")


def test_an_edited_allotment_is_refused(ledger: Ledger, backend: Backend) -> None:
    ledger.allot("adult", "ann", Amount(1))
    backend.execute("UPDATE discreet_analysts SET budget_loss = 1000")
    with pytest.raises(LedgerTampered, match="The allotment of analyst 'ann'"):
        reserve(ledger, analyst="ann")


def test_an_edited_reservation_is_not_settled(ledger: Ledger, backend: Backend) -> None:
    reservation = reserve(ledger)
    backend.execute("UPDATE discreet_entries SET loss = 1 WHERE kind = 'reserve'")
    with pytest.raises(LedgerTampered, match=f"The reservation {reservation.id}"):
        ledger.settle(reservation, version="", body="{}")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE discreet_releases SET body = 'forged'",
        "UPDATE discreet_releases SET version = '2'",
        "DELETE FROM discreet_entries WHERE kind = 'settle'",
        "UPDATE discreet_entries SET time = '' WHERE kind = 'settle'",
    ],
)
def test_a_forged_release_is_not_handed_out(ledger: Ledger, backend: Backend, edit: str) -> None:
    ledger.settle(reserve(ledger), version="1", body="true")
    reserve(ledger)
    backend.execute(edit)
    with pytest.raises(LedgerTampered, match="A stored release of dataset 'adult'"):
        for version in ("1", "2"):
            ledger.find_release("adult", version=version, plan_key="plan")


# -- the ledger as an object


def test_a_closed_ledger_says_so(backend: Backend) -> None:
    ledger = backend.open()
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerUnavailable, match="is closed"):
        ledger.datasets()


def test_a_ledger_shows_where_it_is(backend: Backend) -> None:
    with backend.open() as ledger:
        assert repr(ledger).startswith("Ledger('")
        assert "ledger.db" in repr(ledger) or "postgresql://" in repr(ledger)


@pytest.mark.parametrize("name", ["", " adult", "a\nb", "a\0", "x" * 201, 5, None])
def test_names_are_checked_everywhere(name: Any) -> None:
    with Ledger.open(":memory:") as ledger:
        ledger.register(make_terms())
        calls = [
            lambda: ledger.register(make_terms(dataset=name)),
            lambda: ledger.account(name),
            lambda: ledger.history(name),
            lambda: ledger.balance(name),
            lambda: ledger.allot(name, "ann", TENTH),
            lambda: ledger.allot("adult", name, TENTH),
            lambda: ledger.reserve(name, TENTH, plan_key="plan", note={}),
            lambda: ledger.reserve("adult", TENTH, plan_key=name, note={}),
            lambda: ledger.find_release(name, version="", plan_key="plan"),
        ]
        optional = [
            lambda: ledger.verify(name),
            lambda: ledger.balance("adult", name),
            lambda: ledger.reserve("adult", TENTH, plan_key="plan", note={}, analyst=name),
        ]
        for call in calls + (optional if name is not None else []):
            with pytest.raises(ArgumentError):
                call()
        assert len(ledger.history("adult")) == 1
