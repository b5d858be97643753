"""Data sets about the same persons share one budget, and never overdraw it, whoever asks when."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest

from discreet import Number, Schema
from discreet.errors import (
    AccessDenied,
    ArgumentError,
    BudgetExhausted,
    LedgerConflict,
    LedgerTampered,
)
from discreet.ledger import Ledger, Order, postings
from discreet.ledger.books import Row
from discreet.privacy.accounting import budget_amount
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import PERSONS, Backend, join, make_terms
from tests.ledger.test_concurrency import run_swarm


def reserve(ledger: Ledger, dataset: str, loss: float, **options: Any) -> Any:
    return ledger.reserve(dataset, Amount.charge(loss), plan_key="p", note={}, **options)


@pytest.fixture
def shared(backend: Backend) -> Ledger:
    """A ledger with the data sets 'visits' and 'labs' of one population: epsilon 3, delta 1e-6."""
    ledger = backend.open()
    join(ledger, "visits")
    join(ledger, "labs")
    return ledger


def test_members_spend_one_budget_to_the_unit(shared: Ledger) -> None:
    assert reserve(shared, "visits", 1.0).population == "patients"
    reserve(shared, "labs", 2.0 - 1e-12)
    for dataset in ("visits", "labs", "patients"):
        balance = shared.balance(dataset)
        assert balance.remaining == Amount.charge(1e-12) + Amount.budget(0.0, 1e-6)
        assert (balance.population, balance.budget) == ("patients", Amount.budget(3.0, 1e-6))
    with pytest.raises(BudgetExhausted, match=r"patients. has epsilon=0\.000000000001 "):
        reserve(shared, "visits", 2e-12)
    reserve(shared, "visits", 1e-12)
    assert shared.members("patients") == {
        "labs": Amount.charge(2.0 - 1e-12),
        "visits": Amount.charge(1.0 + 1e-12),
    }
    assert shared.verify().problems == []


def test_a_population_is_listed_beside_data_sets(shared: Ledger) -> None:
    shared.register(make_terms())
    assert shared.datasets() == ["adult", "labs", "visits"]
    assert shared.populations() == ["patients"]
    assert shared.members("adult") == {}
    assert shared.account("patients").is_population
    assert not shared.account("visits").is_population
    assert shared.account("visits").terms.population == "patients"


def test_the_histories_tell_who_drew(shared: Ledger) -> None:
    held = reserve(shared, "visits", 1.0, analyst="ann")
    shared.settle(held, version="1", body="{}")
    kinds = [entry.kind for entry in shared.history("visits")]
    assert kinds == ["register", "join", "reserve", "settle"]
    assert shared.history("visits")[1].note["population"] == "patients"
    paid = shared.history("patients")
    assert [entry.kind for entry in paid] == ["register", "admit", "admit", "draw"]
    assert (paid[-1].id, paid[-1].analyst, paid[-1].note) == (held.id, "ann", {"dataset": "visits"})
    assert "joined a population" in repr(shared.history("visits"))
    assert "visits, by ann" in repr(paid)
    assert "shared by the data sets of population" in shared.balance("visits")._repr_html_()


def test_several_charges_are_drawn_together_or_not_at_all(shared: Ledger) -> None:
    orders = [Order(Amount.charge(1.0), f"p{n}", {}) for n in range(2)]
    shared.reserve_all("visits", orders)
    with pytest.raises(BudgetExhausted):
        shared.reserve_all("labs", orders)
    assert shared.balance("patients").spent == Amount.charge(2.0)
    assert shared.members("patients")["labs"] == Amount()
    assert shared.verify().ok


def test_rho_is_shared_like_epsilon(backend: Backend) -> None:
    rho = budget_amount("zcdp", 3.0, 1e-6)
    with backend.open() as ledger:
        join(ledger, "visits", accountant="zcdp", budget=rho)
        join(ledger, "labs", accountant="zcdp", budget=rho)
        ledger.reserve("visits", rho, plan_key="p", note={})
        with pytest.raises(BudgetExhausted, match="population 'patients' has rho=0 "):
            ledger.reserve("labs", Amount(1), plan_key="p", note={})


# -- joining


def begin_alone(ledger: Ledger, dataset: str, spent: float, analyst: str | None = None) -> None:
    ledger.register(make_terms(dataset=dataset, schema_digest=PERSONS.digest), PERSONS)
    reserve(ledger, dataset, spent, analyst=analyst)


def test_what_was_spent_before_is_carried_in(backend: Backend) -> None:
    with backend.open() as ledger:
        begin_alone(ledger, "visits", 1.25, "ann")
        join(ledger, "labs")
        reserve(ledger, "labs", 1.0)
        join(ledger, "visits")
        assert ledger.balance("labs").remaining == Amount.budget(0.75, 1e-6)
        assert ledger.balance("patients", "ann").spent == Amount.charge(1.25)
        assert ledger.verify().problems == []
        join(ledger, "visits")  # again: nothing is carried twice
        assert [entry.kind for entry in ledger.history("patients")].count("admit") == 2
        assert ledger.balance("patients").spent == Amount.charge(2.25)


def test_what_does_not_fit_stays_outside(backend: Backend) -> None:
    with backend.open() as ledger:
        begin_alone(ledger, "visits", 1.5)
        join(ledger, "labs")
        reserve(ledger, "labs", 1.6)
        with pytest.raises(LedgerConflict) as caught:
            join(ledger, "visits")
        assert str(caught.value) == (
            "population must have at least epsilon=1.5 and delta=0 left, which dataset 'visits' already"
            " spent, got 'patients' with epsilon=1.4 and delta=0.000001. Raise its budget first, in the"
            " open: change_terms, on the command line budget change."
        )
        assert [entry.kind for entry in ledger.history("visits")] == ["register", "reserve"]
        assert list(ledger.members("patients")) == ["labs"]
        ledger.change_terms("patients", epsilon=4.0, reason="visits join")
        join(ledger, "visits", epsilon=4.0, budget=Amount.budget(4.0, 1e-6))
        assert ledger.balance("visits").remaining == Amount.budget(0.9, 1e-6)
        assert ledger.verify().ok


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epsilon": 2.0}, "epsilon must be 3.0 as registered for population 'patients', got 2.0."),
        ({"delta": 0.0}, "delta must be 1e-06 as registered for population 'patients'"),
        ({"relation": "add-remove"}, "relation must be replace-one as registered for population"),
        ({"accountant": "zcdp"}, "accountant must be basic as registered for population"),
        ({"dataset": "patients", "population": "others"}, "got 'patients', which is a population"),
        ({"population": "adult"}, "got 'adult', which is a data set"),
        ({"dataset": "visits", "population": "others"}, "population must be 'patients', which dataset"),
    ],
)
def test_terms_that_differ_are_refused_without_a_trace(
    shared: Ledger, change: dict[str, Any], sentence: str
) -> None:
    shared.register(make_terms())
    before = {name: shared.head(name) for name in ("visits", "labs", "patients", "adult")}
    with pytest.raises(LedgerConflict, match=sentence):
        join(shared, **{"dataset": "drugs", **change})
    assert {name: shared.head(name) for name in before} == before
    assert (shared.datasets(), shared.populations()) == (["adult", "labs", "visits"], ["patients"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"population": ""}, "population must not be empty"),
        ({"population": 3}, "population must be a text"),
        ({"population": "drugs"}, "population must have another name than its data sets"),
    ],
)
def test_names_of_populations_are_checked(
    shared: Ledger, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        join(shared, "drugs", **change)


def test_a_data_set_that_protects_rows_is_refused(shared: Ledger) -> None:
    shared.register(make_terms())
    for dataset in ("adult", "new"):
        with pytest.raises(ArgumentError, match=f"'patients' for '{dataset}', which protects rows"):
            shared.register(make_terms(dataset=dataset, population="patients"))
    assert shared.datasets() == ["adult", "labs", "visits"]


def test_a_member_never_leaves(shared: Ledger) -> None:
    alone = make_terms(dataset="visits", schema_digest=PERSONS.digest)
    with pytest.raises(LedgerConflict, match="population must be 'patients' as registered for dataset"):
        shared.register(alone, PERSONS)


def test_a_population_is_no_data_set(shared: Ledger) -> None:
    with pytest.raises(LedgerConflict, match="got 'patients', which is a population"):
        reserve(shared, "patients", 0.1)
    with pytest.raises(LedgerConflict, match="got 'patients', which is a population"):
        shared.register(make_terms(dataset="patients"))


# -- shares


def test_a_share_of_the_population_binds_on_all_data_sets(shared: Ledger) -> None:
    shared.allot("patients", "ann", Amount.budget(1.0))
    reserve(shared, "visits", 0.75, analyst="ann")
    assert shared.balance("labs", "ann").remaining == Amount.budget(0.25)
    with pytest.raises(BudgetExhausted, match=r"analyst .ann. of population .patients. has"):
        reserve(shared, "labs", 0.5, analyst="ann")
    for dataset in ("visits", "labs"):
        with pytest.raises(AccessDenied, match="'patients', got 'bob'"):
            shared.check_reader(dataset, "bob")
        with pytest.raises(AccessDenied):
            reserve(shared, dataset, 0.1, analyst="bob")
    assert shared.balance("labs", "bob").remaining == Amount()
    assert shared.verify().ok


def test_a_share_of_a_data_set_binds_inside_the_population(shared: Ledger) -> None:
    shared.allot("visits", "ann", Amount.budget(2.0))
    assert shared.balance("visits", "ann").remaining == Amount.budget(2.0)
    reserve(shared, "labs", 2.5)
    left = shared.balance("visits", "ann")
    assert (left.budget, left.remaining) == (Amount.budget(2.0), Amount.budget(0.5))
    with pytest.raises(AccessDenied):
        reserve(shared, "visits", 0.1, analyst="bob")
    reserve(shared, "labs", 0.1, analyst="bob")
    assert shared.balance("labs", "bob").spent == Amount.charge(0.1)
    assert shared.verify().ok


def test_a_share_that_does_not_hold_what_is_carried_in_refuses_it(shared: Ledger) -> None:
    begin_alone(shared, "drugs", 0.5, "ann")
    shared.allot("patients", "ann", Amount.budget(0.25))
    with pytest.raises(LedgerConflict, match="which analyst 'ann' already spent on dataset 'patients'"):
        join(shared, "drugs")
    assert shared.balance("patients").spent == Amount()
    assert shared.verify().ok


# -- changes


def test_a_changed_budget_is_that_of_all_members(shared: Ledger) -> None:
    shared.change_terms("patients", epsilon=5.0, reason="a second year")
    reserve(shared, "labs", 4.0)
    for dataset in ("visits", "labs"):
        assert shared.account(dataset).terms.epsilon == 5.0
        told = [entry for entry in shared.history(dataset) if entry.kind == "change"]
        assert [entry.note["reason"] for entry in told] == ["a second year"]
    with pytest.raises(LedgerConflict, match="which was already spent"):
        shared.change_terms("patients", epsilon=3.0, reason="less")
    assert shared.verify().problems == []


def test_a_budget_is_not_changed_at_one_member(shared: Ledger) -> None:
    for change in ({"epsilon": 4.0}, {"delta": 1e-7}):
        with pytest.raises(LedgerConflict, match="must be changed for the population 'patients'"):
            shared.change_terms("visits", **change, reason="more")
    shared.change_terms("visits", epsilon=3.0, reason="the same")  # changes nothing
    assert [entry.kind for entry in shared.history("visits")] == ["register", "join"]


def test_who_a_person_is_never_changes(shared: Ledger) -> None:
    rows = Schema({"age": Number(18, 90)})
    with pytest.raises(LedgerConflict, match="schema must protect the same persons as the registered"):
        shared.change_terms("visits", schema=rows, reason="no persons")
    with pytest.raises(LedgerConflict, match="got 'patients', which is a population"):
        shared.change_terms("patients", schema=rows, reason="a schema")
    assert shared.verify().ok


# -- verify, and what it must find


def skip_the_draw(connection: Any, chain: Any, accounts: tuple[Row, Row | None], *rest: Any) -> Any:
    """The planted fault: a member's charge that the population never sees."""
    return _honest(connection, chain, (accounts[0], None), *rest)


_honest = postings.post_reservations


def test_a_charge_that_bypasses_the_population_is_found(
    shared: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(shared, "labs", 1.0)
    monkeypatch.setattr("discreet.ledger.ledger.post_reservations", skip_the_draw)
    held = reserve(shared, "visits", 1.0)
    told = [
        f"The charge {held.id} of dataset 'visits' was not drawn on population 'patients' as it was."
    ]
    for name in (None, "visits", "labs", "patients"):
        assert shared.verify(name).problems == told


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE discreet_datasets SET spent_loss = 0 WHERE dataset = 'patients'", "spent_loss of"),
        ("UPDATE discreet_datasets SET population = NULL WHERE dataset = 'visits'", "population of"),
        (
            "UPDATE discreet_datasets SET population = 'others' WHERE dataset = 'visits'",
            "population of",
        ),
        (
            "DELETE FROM discreet_datasets WHERE dataset = 'patients'",
            "The account of dataset 'patients'",
        ),
        ("DELETE FROM discreet_entries WHERE kind = 'draw'", "totals of|but its entries say"),
        ("UPDATE discreet_entries SET loss = 1 WHERE kind = 'draw'", "was edited"),
        ("UPDATE discreet_entries SET note = '{}' WHERE kind = 'join'", "was edited"),
        ("UPDATE discreet_entries SET loss = 1 WHERE kind = 'admit'", "was edited"),
    ],
)
def test_edits_of_a_shared_budget_are_found(
    shared: Ledger, backend: Backend, statement: str, problem: str
) -> None:
    reserve(shared, "visits", 1.0)
    assert shared.verify("labs").ok
    backend.execute(statement)
    told = " ".join(shared.verify("visits").problems)
    assert any(part in told for part in problem.split("|")), told
    if "discreet_datasets" in statement:
        with pytest.raises(LedgerTampered):
            reserve(shared, "visits", 0.1)


def test_a_member_removed_with_all_its_rows_is_missed_by_its_population(
    shared: Ledger, backend: Backend
) -> None:
    held = reserve(shared, "visits", 1.0)
    for table in ("discreet_datasets", "discreet_entries"):
        backend.execute(f"DELETE FROM {table} WHERE dataset = 'visits'")
    with backend.open() as again:
        problems = again.verify().problems
    assert any(f"paid for the charge {held.id} of dataset 'visits'" in told for told in problems)


def test_the_database_itself_refuses_to_overdraw(shared: Ledger, backend: Backend) -> None:
    reserve(shared, "visits", 1.0)
    connection = backend.connect(checked=True)
    with pytest.raises(Exception, match=r"(?i)check constraint"):
        connection.execute(
            "UPDATE discreet_datasets SET spent_loss = budget_loss + 1 WHERE dataset = 'patients'"
        )
    connection.close()


def test_an_open_session_notices_that_the_population_was_put_back(sqlite_backend: Backend) -> None:
    with sqlite_backend.open() as ledger:
        join(ledger, "visits")
        join(ledger, "labs")
        reserve(ledger, "visits", 0.1)
        reserve(ledger, "labs", 0.1)
        old = sqlite_backend.rows("SELECT * FROM discreet_datasets WHERE dataset = 'patients'")
        last = ledger.head("patients").sequence
        reserve(ledger, "labs", 1.0)
        # Somebody with the key undoes what 'labs' spent, and leaves the chain of 'visits' as it is.
        row = old[0]
        sqlite_backend.execute(
            f"DELETE FROM discreet_entries WHERE dataset = 'patients' AND sequence > {last}",
            f"UPDATE discreet_datasets SET spent_loss = {row[8]}, sequence = {row[11]},"
            f" digest = '{row[12]}', seal = '{row[13]}' WHERE dataset = 'patients'",
        )
        with pytest.raises(LedgerTampered, match="no longer has entry"):
            reserve(ledger, "visits", 0.1)


# -- many at once, and processes that die


def test_eight_processes_spend_a_shared_budget_to_the_unit(backend: Backend) -> None:
    with backend.open() as ledger:
        join(ledger, "visits", budget=Amount(403))
        join(ledger, "labs", budget=Amount(403))
        accepted = run_swarm("spend_shared", backend)
        assert len(accepted) == 8 and sum(accepted) == 403, accepted
        assert ledger.balance("patients").spent == Amount(403)
        assert sum((own for own in ledger.members("patients").values()), Amount()) == Amount(403)
        assert ledger.verify().problems == []


def test_processes_that_join_spend_and_change_at_once_agree(backend: Backend) -> None:
    with backend.open() as ledger:
        for number in range(8):
            begin_alone(ledger, f"set {number}", 0.1)
        answers = run_swarm("join_and_spend", backend)
        assert answers == [8] * 8, answers
        assert ledger.balance("patients").spent == Amount.charge(0.8) + Amount(3 * 8 * 8)
        assert len(ledger.members("patients")) == 8
        assert ledger.verify().problems == []


def test_killed_processes_leave_both_accounts_consistent(backend: Backend) -> None:
    with backend.open() as ledger:
        join(ledger, "visits")
        join(ledger, "labs")
    steps = run_swarm("crash_shared", backend, "12")
    with backend.open() as ledger:
        assert ledger.verify().problems == []
        reserved = [
            entry
            for dataset in ("visits", "labs")
            for entry in ledger.history(dataset)
            if entry.kind == "reserve"
        ]
        drawn = [entry for entry in ledger.history("patients") if entry.kind == "draw"]
        assert {entry.id for entry in reserved} == {entry.id for entry in drawn}
        assert ledger.balance("patients").spent == Amount(3 * len(reserved))
        assert 2 * len(reserved) >= steps >= 12


# -- the statement


Ask = tuple[str, float]


def next_ask(answers: Sequence[int]) -> Ask:
    """What an analyst asks after some answers: which data set, and for how much, hangs on them."""
    dataset = ("visits", "labs")[(sum(answers) + len(answers)) % 2]
    return dataset, (0.5, 0.25, 1.0)[(3 * sum(answers) + len(answers)) % 3]


def likelihood(answers: Sequence[int], asked: Sequence[Ask], bits: dict[str, int]) -> float:
    """Of randomised response on a person's bit in each data set, which is exactly epsilon-private."""
    chance = 1.0
    for answer, (dataset, epsilon) in zip(answers, asked, strict=True):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        chance *= truth if answer == bits[dataset] else 1 - truth
    return chance


def worst_loss(population: bool) -> float:
    """The largest log-ratio between neighbours, who differ in all rows of one person, anywhere."""
    runs = list(_runs((), population))
    worst = 0.0
    worlds = [
        dict(zip(("visits", "labs"), bits, strict=True)) for bits in itertools.product((0, 1), repeat=2)
    ]
    for answers, asked in runs:
        for one, other in itertools.product(worlds, repeat=2):
            worst = max(
                worst, math.log(likelihood(answers, asked, one) / likelihood(answers, asked, other))
            )
    return worst


def _runs(answers: tuple[int, ...], population: bool) -> Any:
    asked = [next_ask(answers[:place]) for place in range(len(answers))]
    with Ledger.open(":memory:") as ledger:
        for dataset in ("visits", "labs"):
            terms = {"epsilon": 2.0, "delta": 0.0, "budget": Amount.budget(2.0)}
            if population:
                join(ledger, dataset, **terms)
            else:
                ledger.register(make_terms(dataset=dataset, **terms))
        for dataset, epsilon in asked:
            reserve(ledger, dataset, epsilon)
        try:
            reserve(ledger, *next_ask(answers))
        except BudgetExhausted:
            yield answers, asked
            return
    for answer in (0, 1):
        yield from _runs((*answers, answer), population)


@pytest.mark.proves("population")
def test_adaptive_questions_to_members_keep_the_shared_budget() -> None:
    assert 1.5 < worst_loss(population=True) <= 2.0 + 1e-9


@pytest.mark.refutes("population")
def test_budgets_of_their_own_lose_more_of_one_person() -> None:
    assert worst_loss(population=False) > 2.0 + 1e-9
