"""A price reads no row, and is what is charged and what the release promises; a release reads back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, product
from typing import Any, NoReturn

import pytest

import discreet as dc
from discreet.data import PrivateTable
from discreet.errors import ArgumentError, ModelError, UnsupportedEvent
from discreet.numerics import from_units, to_units
from discreet.plans import Program, Result, Setting
from discreet.plans.kinds import UNSAID
from discreet.plans.results.result import Histogram
from discreet.privacy.accounting import ACCOUNTANTS, Event, joint_delta
from discreet.privacy.accounting.conversion import zcdp_delta
from discreet.privacy.accounting.events import event_from_json
from discreet.privacy.relation import RELATIONS, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases
from tests.laws.runs import block_of
from tests.laws.test_plan_persons import MODES, cases, everybody, needs_targets, schema_of


class RowRead(Exception):
    """Somebody read rows, or counted them where their number is private."""


@contextmanager
def sealed(monkeypatch: pytest.MonkeyPatch, relation: Relation) -> Iterator[None]:
    """Let nobody look at the rows."""

    def refuse(*_: Any) -> NoReturn:
        raise RowRead

    with monkeypatch.context() as patch:
        patch.setattr(PrivateTable, "unseal", refuse)
        if not relation.rows_public:
            patch.setattr(PrivateTable, "count", refuse)
        yield


def open_session(relation: str, accountant: str) -> dc.Session:
    return dc.protect(
        world.table(),
        world.SCHEMA,
        dataset="people",
        ledger=":memory:",
        epsilon=1e3,
        delta=0.5,
        relation=relation,
        accountant=accountant,
        seed=1,
        workers=1,
        heuristics=True,
        progress=False,
    )


def check_bill(session: dc.Session, plan: dc.Plan, monkeypatch: pytest.MonkeyPatch) -> dc.Release:
    """Price a plan and release it; price, charge and promise must agree."""
    relation = Relation(session._account.terms.relation)
    with sealed(monkeypatch, relation):
        price = session.price(plan)
    release = session.release(plan)
    assert session.balance.spent == price.cost.amount, "the charge is another than the price"
    if plan.rho is None:
        check_epsilon(session, plan, release)
    else:
        check_rho(session, plan, release)
    return release


def check_epsilon(session: dc.Session, plan: dc.Plan, release: dc.Release) -> None:
    """A plan with an epsilon keeps it; where rho is counted and it has a delta, maybe with less."""
    spent, promised = session.balance.spent, release.guarantee
    assert promised.epsilon <= plan.epsilon and promised.delta <= plan.delta
    if "joint-stages" in promised.statements:
        events = [event for stage in release.stages for event in read_events(stage)]
        assert joint_delta(events, promised.epsilon) <= promised.delta
    else:
        each = sum(to_units(stage["epsilon"]) for stage in release.stages)
        assert each == to_units(promised.epsilon)
    if not release.stages:  # a public fact is free
        assert promised.epsilon == promised.delta == spent.loss == 0
        return
    if session._account.terms.accountant == "basic" or plan.delta == 0:
        assert promised.epsilon == plan.epsilon
    if session._account.terms.accountant == "basic":
        units = to_units(promised.epsilon), to_units(promised.delta)
        assert (spent.loss, spent.delta) == units, "the charge is another than the promise"
        assert promised.rho is None
    else:
        assert promised.rho == pytest.approx(float(from_units(spent.loss)), rel=1e-9)


def check_rho(session: dc.Session, plan: dc.Plan, release: dc.Release) -> None:
    """A plan with a rho is charged no more, and promises what it is worth at the data set's delta."""
    spent, promised, delta = session.balance.spent, release.guarantee, session._account.terms.delta
    if not release.stages:  # a public fact is free
        assert promised.rho == promised.epsilon == promised.delta == spent.loss == 0
        return
    assert plan.rho is not None and promised.rho == plan.rho and promised.delta == delta
    assert spent.loss <= to_units(plan.rho), "the charge is more than the rho that was asked"
    told = sum(event.rho for stage in release.stages for event in read_events(stage))
    assert told <= plan.rho * (1 + 1e-9), "the events cost more than the rho that was asked"
    assert zcdp_delta(promised.epsilon, plan.rho) <= promised.delta


def read_events(stage: dict[str, Any]) -> list[Event]:
    """Return the events of a stage as a release tells them."""
    plain = [
        (event["times"], {k: v for k, v in event.items() if k != "times"}) for event in stage["events"]
    ]
    return [event_from_json(event) for times, event in plain for _ in range(times)]


@pytest.mark.once_per("case", "accountant")
@pytest.mark.proves("price-free")
@pytest.mark.proves("reserve-first")
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_price_is_charge_is_promise_and_a_release_reads_back(
    case: Case, accountant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(case.relation, accountant)
    if accountant in case.example.accountants:
        assert_reads_back(check_bill(session, case.plan(), monkeypatch))
    else:
        with pytest.raises(UnsupportedEvent):
            session.release(case.plan())
        assert session.balance.spent.loss == 0


@pytest.mark.once_per("case")
@pytest.mark.proves("price-free")
@pytest.mark.proves("filter-zcdp")
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_a_plan_with_a_rho_costs_no_more_and_promises_it(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, plan = open_session(case.relation, "zcdp"), case.plan()
    if "zcdp" not in case.example.accountants:
        pytest.skip("it has no rho")
    asked = plan._with({"epsilon": UNSAID, "delta": 0.0, "rho": 0.05})
    release = check_bill(session, asked, monkeypatch)
    assert release.plan["rho"] == 0.05 and "epsilon" not in release.plan
    assert_reads_back(release)
    with pytest.raises(ArgumentError, match="rho must be asked of a data set that counts rho"):
        open_session(case.relation, "basic").release(asked)


# Persons.


def person_session(mode: str, case: Case, accountant: str) -> dc.Session:
    frame = everybody()
    if needs_targets(case):
        frame = frame.assign(paid=frame["paid"].fillna(0))
    return dc.protect(
        frame,
        schema_of(mode, needs_targets(case)),
        dataset="people",
        ledger=":memory:",
        epsilon=1e3,
        delta=0.5,
        relation=case.relation,
        accountant=accountant,
        seed=1,
        workers=1,
        heuristics=True,
        progress=False,
    )


def asked_of_persons() -> list[Any]:
    """Return every plan under every relation in every mode, with one accountant after the other."""
    found: dict[Any, Case] = {}
    for case in cases():
        found.setdefault((case.example.plan, case.relation), case)
    rules = cycle(ACCOUNTANTS)
    asked = [(case, mode, next(rules)) for case, mode in product(found.values(), MODES)]
    return [pytest.param(*one, id=" ".join(map(str, one))) for one in asked]


@pytest.mark.once_per("mode", "accountant")
@pytest.mark.proves("price-free")
@pytest.mark.proves("reserve-first")
@pytest.mark.parametrize(("case", "mode", "accountant"), asked_of_persons())
def test_the_price_for_persons_is_the_charge_and_the_promise(
    case: Case, mode: str, accountant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, plan = person_session(mode, case, accountant), case.plan()
    try:
        with sealed(monkeypatch, case.relation):
            price = session.price(plan)
        release = session.release(plan)
    except (ArgumentError, ModelError, UnsupportedEvent):
        assert session.balance.spent.loss == 0 == session.balance.spent.delta
        return
    spent, promised = session.balance.spent, release.guarantee
    assert spent == price.cost.amount, "the charge is another than the price"
    assert promised.epsilon <= plan.epsilon and promised.delta <= plan.delta
    if accountant == "basic":
        # Of capped rows each is paid in whole units of the budget, and what is left over by nobody.
        over = to_units(promised.epsilon) - spent.loss
        assert 0 <= over <= (MODES[mode].get("most", 1) - 1) * len(release.stages)
        assert spent.delta == to_units(promised.delta)
    if release.stages:
        assert promised.protects != "one record of the table"
        assert any("a record is a person (who)" in told for told in promised.assumptions)
    assert_reads_back(release)


def assert_reads_back(release: dc.Release) -> None:
    again = dc.Release.loads(release.dumps())
    assert again == release and again.dumps() == release.dumps()
    assert type(again.value) is type(release.value)


# Planted faults.


class Peeking(dc.histogram):
    """Looks at a row before it names a price."""

    def prepare(self, setting: Setting) -> Program:
        block_of(world.table(), ("age",))
        return super().prepare(setting)


class Fickle(dc.histogram):
    """Says one price and means another."""

    def prepare(self, setting: Setting) -> Program:
        told = seen.append(self) is None and len(seen) == 1
        return dc.histogram("age", epsilon=self.epsilon / 2 if told else self.epsilon).prepare(setting)


seen: list[Any] = []


@pytest.mark.refutes("price-free")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_plan_that_peeks_is_caught(relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RowRead):
        check_bill(open_session(relation, "basic"), Peeking("age", epsilon=1.0), monkeypatch)


def test_a_plan_with_two_prices_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    seen.clear()
    with pytest.raises(AssertionError, match="the charge is another than the price"):
        check_bill(open_session("replace-one", "basic"), Fickle("age", epsilon=1.0), monkeypatch)


def test_a_result_that_forgets_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    release = open_session("replace-one", "basic").release(dc.histogram("income", epsilon=1.0))
    assert_reads_back(release)
    true = Result.to_json

    def forgetful(self: Result) -> dict[str, Any]:
        return true(self) | {"half_width_all": None}

    monkeypatch.setattr(Histogram, "to_json", forgetful, raising=False)
    with pytest.raises(AssertionError):
        assert_reads_back(release)
