"""A price reads no row, and is what is charged and what the release promises; a release reads back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

import discreet as dc
from discreet.data import PrivateTable
from discreet.errors import UnsupportedEvent
from discreet.numerics import to_units
from discreet.plans import Program, Result, Setting
from discreet.plans.results.result import Histogram
from discreet.privacy.accounting import ACCOUNTANTS
from discreet.privacy.relation import RELATIONS, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases
from tests.laws.runs import block_of


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
    spent, promised = session.balance.spent, release.guarantee
    assert spent == price.cost.amount, "the charge is another than the price"
    assert promised.epsilon == plan.epsilon and promised.delta <= plan.delta
    stages = [to_units(stage["epsilon"]) for stage in release.stages]
    assert sum(stages) <= to_units(promised.epsilon), "stages cost more than is promised"
    if session._account.terms.accountant == "basic":
        assert spent.loss <= to_units(promised.epsilon) and spent.delta <= to_units(plan.delta)
    return release


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
