"""Terms change in the open: an entry of its own, spent stays spent, sessions notice."""

from __future__ import annotations

import json
import multiprocessing
from typing import Any

import pytest

from discreet import Category, Number, Schema
from discreet.errors import ArgumentError, LedgerConflict, LedgerTampered, SchemaError
from discreet.ledger import Ledger, Order
from discreet.privacy.accounting import budget_amount
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms

AGE = Number(18, 90)
OLD = Schema({"age": AGE, "home": Category("rent", "own")})
NEW = Schema({"age": Number(18, 100), "home": Category("rent", "own")})
WHY = "the office admits centenarians"


@pytest.fixture
def kept(backend: Backend) -> Ledger:
    """A ledger that knows the schema of its data set."""
    ledger = backend.open()
    ledger.register(make_terms(schema_digest=OLD.digest), OLD)
    return ledger


def test_a_budget_is_raised_by_an_entry_with_its_reason(kept: Ledger, backend: Backend) -> None:
    kept.reserve("adult", Amount.charge(2.5), plan_key="p", note={})
    account = kept.change_terms("adult", epsilon=4.0, reason="a second year was agreed")
    assert account.terms.budget == Amount.budget(4.0, 1e-6)
    assert kept.balance("adult").remaining == Amount.budget(1.5, 1e-6)
    entry = kept.history("adult")[-1]
    assert (entry.kind, entry.amount) == ("change", Amount.budget(4.0, 1e-6))
    assert entry.note["reason"] == "a second year was agreed" and entry.note["epsilon"] == 4.0
    with backend.open(create=False) as again:
        assert again.account("adult") == account
        assert again.verify("adult").ok and kept.verify().ok


def test_a_lowered_budget_holds_what_was_spent_to_the_unit(kept: Ledger) -> None:
    kept.reserve("adult", Amount.charge(2.0, 1e-7), plan_key="p", note={})
    for less in ({"epsilon": 1.999999999999}, {"delta": 9.99e-8}):
        with pytest.raises(LedgerConflict, match=r"budget must be at least epsilon=2 and delta="):
            kept.change_terms("adult", **less, reason="less")
    assert [entry.kind for entry in kept.history("adult")] == ["register", "reserve"]
    kept.change_terms("adult", epsilon=2.0, delta=1e-7, reason="no more")
    assert kept.balance("adult").remaining == Amount()
    assert kept.verify("adult").ok


def test_rho_is_computed_anew_and_bound_by_what_was_spent(backend: Backend) -> None:
    ledger = backend.open()
    rho = budget_amount("zcdp", 3.0, 1e-6)
    ledger.register(make_terms(accountant="zcdp", budget=rho))
    ledger.reserve("adult", rho, plan_key="p", note={})
    with pytest.raises(LedgerConflict, match="budget must be at least rho="):
        ledger.change_terms("adult", delta=1e-7, reason="a stricter delta")
    with pytest.raises(ArgumentError, match="delta must be positive for the accountant zcdp"):
        ledger.change_terms("adult", delta=0.0, reason="pure")
    ledger.change_terms("adult", epsilon=4.0, reason="more")
    assert ledger.balance("adult").remaining == budget_amount("zcdp", 4.0, 1e-6) - rho


def test_the_same_change_again_adds_no_entry(kept: Ledger) -> None:
    for _ in range(2):
        kept.change_terms("adult", epsilon=4.0, schema=NEW, reason=WHY)
    assert [entry.kind for entry in kept.history("adult")] == ["register", "change"]


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"reason": "x"}, ArgumentError, "epsilon, delta, schema or most_rows must be given"),
        ({"reason": "", "epsilon": 4.0}, ArgumentError, "reason must not be empty"),
        ({"reason": "x" * 201, "epsilon": 4.0}, ArgumentError, "reason must be at most 200"),
        ({"reason": None, "epsilon": 4.0}, ArgumentError, "reason must be a text"),
        ({"reason": "x", "epsilon": 0.0}, ArgumentError, "epsilon must be a positive"),
        ({"reason": "x", "epsilon": "4"}, ArgumentError, "epsilon must be a positive"),
        ({"reason": "x", "epsilon": float("nan")}, ArgumentError, "epsilon must be"),
        ({"reason": "x", "delta": 1.5}, ArgumentError, "delta must be"),
        (
            {"reason": "x", "schema": Schema({"age": Number(18, 90, read_from_data=("low",))})},
            SchemaError,
            "these were read from data: age.low",
        ),
        ({"reason": "x", "epsilon": 4.0, "dataset": "other"}, LedgerConflict, "got 'other'"),
    ],
)
def test_a_wrong_change_leaves_no_trace(
    kept: Ledger, change: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        kept.change_terms(**{"dataset": "adult", **change})
    assert [entry.kind for entry in kept.history("adult")] == ["register"]


def test_a_mismatch_names_the_column(kept: Ledger) -> None:
    with pytest.raises(LedgerConflict) as caught:
        kept.register(make_terms(schema_digest=NEW.digest), NEW)
    assert str(caught.value) == (
        "schema must be the registered one of dataset 'adult', got another: column 'age' has high"
        " 100.0 where 90.0 is registered. Use the registered schema, or correct it in the open:"
        " change_terms, on the command line budget change."
    )
    kept.change_terms("adult", schema=NEW, reason=WHY)
    assert kept.schema("adult") == NEW
    kept.register(make_terms(schema_digest=NEW.digest), NEW)


def test_a_ledger_without_facts_tells_digests(ledger: Ledger) -> None:
    assert ledger.schema("adult") is None
    with pytest.raises(LedgerConflict, match=r"its digest is ffff where 5c4e is registered"):
        ledger.register(make_terms(schema_digest="ffff"))


def test_a_schema_of_other_terms_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ArgumentError, match="schema must be the one of schema_digest 5c4e"):
        ledger.register(make_terms(), OLD)


def test_who_reads_rows_by_an_old_schema_is_not_charged(kept: Ledger, backend: Backend) -> None:
    with backend.open(create=False) as other:
        other.change_terms("adult", schema=NEW, reason=WHY)
    sentence = "was changed since this session was opened: column 'age' has high 90.0 where 100.0"
    with pytest.raises(LedgerConflict, match=sentence):
        kept.reserve_all("adult", [Order(Amount.charge(0.1), "p", {})], schema=OLD)
    with pytest.raises(LedgerConflict, match=sentence):
        kept.check_schema("adult", OLD)
    kept.reserve_all("adult", [Order(Amount.charge(0.1), "p", {})], schema=NEW)
    assert kept.balance("adult").spent == Amount.charge(0.1)


def _raise_budget(where: str, key: str, step: int) -> None:
    with Ledger.open(where, key=key, create=False) as ledger:
        for time in range(5):
            ledger.change_terms("adult", epsilon=10.0 + step + time / 10, reason=f"{step}/{time}")
            ledger.reserve("adult", Amount.charge(0.1), plan_key=f"{step}/{time}", note={})


def test_processes_that_change_and_charge_at_once_agree(kept: Ledger, backend: Backend) -> None:
    context = multiprocessing.get_context("spawn")
    crowd = [
        context.Process(target=_raise_budget, args=(backend.where, str(backend.key), step))
        for step in range(3)
    ]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert [one.exitcode for one in crowd] == [0, 0, 0]
    entries = kept.history("adult")
    last = [entry for entry in entries if entry.kind == "change"][-1]
    assert kept.balance("adult").budget == last.amount
    assert kept.balance("adult").spent == Amount.charge(1.5)
    assert kept.verify().ok


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE discreet_datasets SET budget_loss = budget_loss + 1", "budget_loss of dataset"),
        ("UPDATE discreet_datasets SET epsilon = 9", "epsilon of dataset 'adult' is 9.0"),
        ("UPDATE discreet_entries SET loss = loss + 1 WHERE kind = 'change'", "was edited"),
        ("UPDATE discreet_entries SET note = '{}' WHERE kind = 'change'", "was edited"),
        ("DELETE FROM discreet_entries WHERE kind = 'change'", "missing or was moved"),
    ],
)
def test_an_edited_change_is_found(
    kept: Ledger, backend: Backend, statement: str, problem: str
) -> None:
    kept.change_terms("adult", epsilon=4.0, reason="more")
    kept.reserve("adult", Amount.charge(0.1), plan_key="p", note={})
    assert kept.verify("adult").ok
    backend.execute(statement)
    found = kept.verify("adult")
    assert any(problem in told for told in found.problems), found.problems


def test_edited_facts_are_found_and_not_believed(kept: Ledger, backend: Backend) -> None:
    edited = json.dumps(NEW.to_json())
    backend.execute(f"UPDATE discreet_schemas SET facts = '{edited}'")
    assert kept.schema("adult") is None
    assert kept.verify("adult").problems == [f"The facts of schema {OLD.digest} were edited."]


def test_an_edited_budget_is_no_ground_for_a_change(kept: Ledger, backend: Backend) -> None:
    backend.execute("UPDATE discreet_datasets SET spent_loss = 0, budget_loss = 1")
    with pytest.raises(LedgerTampered, match="The account of dataset 'adult' was changed"):
        kept.change_terms("adult", epsilon=4.0, reason="more")


def test_ledgers_of_earlier_versions_open_whole(backend: Backend) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms(relation="add-remove"))
    backend.execute(
        "ALTER TABLE discreet_datasets DROP COLUMN most_rows",
        "ALTER TABLE discreet_datasets DROP COLUMN population",
        "DELETE FROM discreet_migrations WHERE number >= 5",
    )
    with backend.open(create=False) as ledger:
        assert ledger.verify().ok
        assert ledger.account("adult").terms.rows_cap == 2**24
        ledger.change_terms("adult", epsilon=4.0, reason="more")
        assert ledger.verify().ok
        ledger.change_terms("adult", most_rows=50, reason="it grows")
        ledger.change_terms("adult", epsilon=5.0, reason="more still")
        assert ledger.account("adult").terms.rows_cap == 50 and ledger.verify().ok
    backend.execute("UPDATE discreet_datasets SET most_rows = 60")
    with backend.open(create=False) as ledger:
        (problem,) = ledger.verify().problems
        assert problem.startswith("most_rows of dataset 'adult' is 60, but its entries say 50")
