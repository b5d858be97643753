"""What a session spends, refuses, remembers and never shows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.data import PrivateTable
from discreet.errors import (
    AccessDenied,
    ArgumentError,
    BudgetExhausted,
    CertificateError,
    DataRefused,
    LedgerConflict,
    LedgerUnavailable,
    ReleaseFailed,
    SchemaError,
)
from discreet.plans import Plan, Program, Setting
from discreet.privacy.accounting import Amount
from tests.session.conftest import small_frame

Open = Callable[..., dc.Session]


def age_function(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0] / 100


def age_model() -> dc.Model:
    return dc.Model(age_function, bounds=(0, 1), name="age over 100")


def test_a_release_spends_and_says_so(open_session: Open) -> None:
    session = open_session()
    release = session.release(dc.histogram("home", epsilon=0.25))
    assert str(session.remaining) == "epsilon=0.75, delta=1e-06"
    assert release.guarantee.epsilon == 0.25
    assert release.guarantee.certified and not release.guarantee.simulation
    assert release.value.labels == (("rent", "own", "other"),)
    assert session.verify([release]).ok


def test_the_price_is_what_is_charged_and_costs_nothing(open_session: Open) -> None:
    session = open_session()
    plan = dc.partial_dependence(age_model(), "age", epsilon=0.3, delta=1e-7)
    price = session.price(plan)
    assert session.remaining.amount == Amount.budget(1.0, 1e-6)
    session.release(plan)
    assert session.remaining.amount + price.cost.amount == Amount.budget(1.0, 1e-6)
    assert price.affordable and price.cost.amount.loss == 300_000_000_000


def test_the_same_plan_again_is_free_unless_fresh(open_session: Open) -> None:
    session = open_session()
    plan = dc.histogram("home", epsilon=0.25)
    first, again = session.release(plan), open_session(epsilon=None, delta=None).release(plan)
    assert again.to_json() == first.to_json()
    assert session.remaining.loss == 0.75
    assert session.release(plan, fresh=True).id != first.id
    assert session.remaining.loss == 0.5


def test_a_new_version_of_the_data_is_asked_anew(open_session: Open) -> None:
    plan = dc.histogram("home", epsilon=0.25)
    first = open_session(version="2025").release(plan)
    second = open_session(version="2026").release(plan)
    assert first.id != second.id
    assert open_session(version="2025").release(plan).id == first.id


def test_an_unnamed_function_is_never_taken_for_another(open_session: Open) -> None:
    session = open_session()
    ids = {
        session.release(dc.partial_dependence(dc.Model(f, bounds=(0, 1)), "age", epsilon=0.2)).id
        for f in (age_function, age_function)
    }
    assert len(ids) == 2


def test_several_plans_are_all_or_nothing(open_session: Open) -> None:
    session = open_session()
    with pytest.raises(BudgetExhausted) as caught:
        session.release([dc.histogram("home", epsilon=0.6), dc.histogram("age", epsilon=0.6)])
    assert caught.value.requested["epsilon"] == "1.2" and caught.value.remaining["epsilon"] == "1"
    assert session.remaining.loss == 1.0
    assert [entry for entry in session.history()["kind"]] == ["register"]
    home, age = session.release([dc.histogram("home", epsilon=0.4), dc.histogram("age", epsilon=0.6)])
    assert home.value.columns == ("home",) and age.value.columns == ("age",)
    assert session.remaining.loss == 0.0
    assert session.release(dc.histogram("age", epsilon=0.6)).id == age.id


def test_the_same_plan_twice_in_one_call_is_paid_once(open_session: Open) -> None:
    session = open_session()
    plan = dc.histogram("home", epsilon=0.4)
    first, second = session.release([plan, plan])
    assert first.id == second.id and session.remaining.loss == 0.6


def test_the_budget_can_be_spent_to_the_last_unit_and_no_further(open_session: Open) -> None:
    session = open_session()
    for epsilon in (0.1, 0.2, 0.7):
        session.release(dc.partial_dependence(age_model(), "age", epsilon=epsilon))
    assert session.remaining.amount.loss == 0
    with pytest.raises(BudgetExhausted):
        session.release(dc.histogram("home", epsilon=1e-12))


def test_zcdp_charges_rho(open_session: Open) -> None:
    session = open_session(accountant="zcdp")
    before = session.remaining
    session.release(dc.histogram("home", epsilon=0.1))
    assert before.unit == "rho"
    spent = before.loss - session.remaining.loss
    assert spent == pytest.approx(0.1 * np.tanh(0.05), rel=1e-6)
    assert "rho=" in str(session.remaining)


def test_add_remove_hides_the_number_of_rows(open_session: Open) -> None:
    session = open_session(relation="add-remove")
    price = session.price(dc.partial_dependence(age_model(), "age", epsilon=0.5))
    assert [stage["name"] for stage in price.plans[0].stages] == ["curve", "number of records", "rug"]
    release = session.release(dc.partial_dependence(age_model(), "age", epsilon=0.5))
    assert release.guarantee.relation == "add-remove"
    assert any("at most" in assumption for assumption in release.guarantee.assumptions)
    assert all(0 <= y <= 1 for y in release.value.y)


def test_an_empty_table(open_session: Open) -> None:
    empty = small_frame().head(0)
    with pytest.raises(DataRefused, match="at least one row"):
        open_session(empty)
    session = open_session(empty, relation="add-remove")
    release = session.release(
        [dc.histogram("home", epsilon=0.2), dc.partial_dependence(age_model(), "age", epsilon=0.2)]
    )
    assert len(release) == 2


@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_and_constant_tables(open_session: Open, rows: int) -> None:
    frame = pd.DataFrame(
        {"age": [30] * rows, "income": [np.inf] * rows, "home": [None] * rows, "paid": [7] * rows}
    )
    session = open_session(frame)
    curve = session.release(dc.partial_dependence(age_model(), "income", epsilon=0.5))
    assert np.isfinite(curve.value.y).all()


def test_simulation_is_stamped_and_kept_away_from_real_ledgers(open_session: Open) -> None:
    with pytest.raises(ArgumentError, match="seed must be left out"):
        open_session(seed=1)
    first = open_session(ledger=":memory:", seed=1).release(dc.histogram("home", epsilon=0.5))
    second = open_session(ledger=":memory:", seed=1).release(dc.histogram("home", epsilon=0.5))
    assert first.guarantee.simulation and not first.guarantee.certified
    assert first.value == second.value
    assert "no privacy" in str(first.guarantee)


def test_polars_and_pandas_give_the_same_seeded_release(open_session: Open) -> None:
    plans = [
        dc.histogram(["home", "age"], epsilon=0.5),
        dc.partial_dependence(age_model(), "age", epsilon=0.5),
    ]
    frame = small_frame(20_000)
    pandas = open_session(frame, ledger=":memory:", seed=3, workers=1).release(plans)
    polars = open_session(pl.from_pandas(frame), ledger=":memory:", seed=3, workers=2).release(plans)
    assert [release.value for release in pandas] == [release.value for release in polars]


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"epsilon": 0}, ArgumentError, "epsilon must be a positive"),
        ({"epsilon": None}, ArgumentError, "epsilon must be given the first time"),
        ({"epsilon": float("nan")}, ArgumentError, "epsilon must be a positive"),
        ({"delta": 1.0}, ArgumentError, "delta must be at least 0"),
        (
            {"delta": 0.0, "accountant": "zcdp"},
            ArgumentError,
            "delta must be positive for the accountant zcdp",
        ),
        ({"relation": "swap"}, ArgumentError, "relation must be one of"),
        ({"accountant": "rdp"}, ArgumentError, "accountant must be one of"),
        ({"workers": 0}, ArgumentError, "workers must be a whole number"),
        ({"dataset": ""}, ArgumentError, "dataset must not be empty"),
        ({"ledger": "no/such/folder/books.db"}, LedgerUnavailable, "no/such/folder"),
        ({"data": 7}, DataRefused, "data must be a pandas"),
        ({"data": small_frame().drop(columns="age")}, DataRefused, "data must have a column 'age'"),
    ],
)
def test_wrong_terms_are_one_sentence(
    open_session: Open, options: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        open_session(**options)


@pytest.mark.parametrize(
    ("ask", "kind", "sentence"),
    [
        (lambda: dc.histogram("height", epsilon=0.1), SchemaError, "columns must be among"),
        (lambda: dc.histogram([], epsilon=0.1), ArgumentError, "columns must be one or more"),
        (lambda: dc.histogram("age", epsilon=-1), ArgumentError, "epsilon must be a positive"),
        (
            lambda: dc.histogram("age", bins=0, epsilon=0.1),
            ArgumentError,
            "bins must be a whole number",
        ),
        (
            lambda: dc.histogram("age", epsilon=0.1, mechanism="gaussian"),
            ArgumentError,
            "delta must be positive",
        ),
        (
            lambda: dc.histogram("age", epsilon=0.1, mechanism="magic"),
            ArgumentError,
            "mechanism must be one of",
        ),
        (
            lambda: dc.partial_dependence(age_model(), "paid", epsilon=0.1),
            ArgumentError,
            "features must be among those the model uses",
        ),
        (
            lambda: dc.partial_dependence(age_model(), ["age", 3], epsilon=0.1),
            ArgumentError,
            "features must be the name",
        ),
        (
            lambda: dc.partial_dependence(age_model(), "age", resolution=1, epsilon=0.1),
            ArgumentError,
            "resolution must be",
        ),
        (
            lambda: dc.partial_dependence(age_model(), "age", kind="both", epsilon=0.1),
            ArgumentError,
            "kind must be one of average",
        ),
        (lambda: 3, ArgumentError, "plans must be a plan"),
        (lambda: [], ArgumentError, "plans must be a plan"),
    ],
)
def test_wrong_plans_are_one_sentence_and_cost_nothing(
    open_session: Open, ask: Callable[[], Any], kind: type[Exception], sentence: str
) -> None:
    session = open_session()
    with pytest.raises(kind, match=sentence):
        session.release(ask())
    assert session.remaining.amount == Amount.budget(1.0, 1e-6)
    assert len(session.history()) == 1


def test_other_terms_for_a_known_data_set_are_refused(
    open_session: Open, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    open_session()
    for other in (
        {"epsilon": 2.0},
        {"delta": 1e-5},
        {"relation": "add-remove"},
        {"accountant": "zcdp"},
    ):
        with pytest.raises(LedgerConflict):
            open_session(**other)
    changed = dc.Schema(
        {
            **{name: tiny_schema[name] for name in tiny_schema},
            "age": dc.Number(0, 90, step=1, missing=False),
        }
    )
    with pytest.raises(LedgerConflict, match="schema"):
        dc.protect(small_frame(), changed, dataset="people", ledger=tmp_path / "books.db")


def test_a_draft_schema_is_refused(tmp_path: Path) -> None:
    draft = dc.Schema.sketch(small_frame())
    with pytest.raises(SchemaError, match="read from data"):
        dc.protect(small_frame(), draft, dataset="people", epsilon=1.0, ledger=tmp_path / "books.db")


def test_an_analyst_spends_an_allotment(open_session: Open) -> None:
    owner = open_session()
    owner.allot("ann", epsilon=0.3)
    ann = open_session(analyst="ann")
    assert ann.remaining.loss == 0.3
    ann.release(dc.histogram("home", epsilon=0.3))
    with pytest.raises(BudgetExhausted):
        ann.release(dc.histogram("age", epsilon=0.1))
    with pytest.raises(AccessDenied):
        open_session(analyst="bob")
    assert owner.remaining.loss == 0.7


class _Overdrawn(Plan):
    """Declares one stage and asks for it twice."""

    kind = "overdrawn"

    def arguments(self) -> dict[str, Any]:
        return {}

    def prepare(self, setting: Setting) -> Program:
        (stage,) = dc.histogram("home", epsilon=self.epsilon).prepare(setting).stages
        return Program(
            (stage,), lambda releaser: (releaser.answer(stage), releaser.answer(stage))[1], {}
        )


def test_a_plan_cannot_spend_more_than_it_reserved(open_session: Open) -> None:
    session = open_session()
    with pytest.raises(ReleaseFailed, match="stays spent") as caught:
        session.release(_Overdrawn(0.3, 0.0))
    assert caught.value.__context__ is None, "the cause could hold a row"
    assert session.remaining.loss == 0.7


class _Adaptive(Plan):
    """Counts the homes, then asks for the ages in as many cells as the answer suggests."""

    kind = "adaptive"

    def arguments(self) -> dict[str, Any]:
        return {}

    def prepare(self, setting: Setting) -> Program:
        (first,) = dc.histogram("home", epsilon=self.epsilon / 2).prepare(setting).stages
        (second,) = dc.histogram("age", epsilon=self.epsilon / 2).prepare(setting).stages

        def finish(releaser: Any) -> Any:
            (counts,) = releaser.answer(first)
            plan = dc.histogram("age", bins=2 + int(counts[0] > 0), epsilon=self.epsilon / 2)
            return plan.prepare(setting).finish(releaser)

        return Program((first, second), finish, {})


def test_an_adaptive_plan_spends_inside_its_reservation(open_session: Open) -> None:
    session = open_session()
    release = session.release(_Adaptive(0.5, 0.0))
    assert len(release.value.counts) in (2, 3)
    assert session.remaining.loss == 0.5


def test_nothing_private_rides_along(open_session: Open, capsys: pytest.CaptureFixture[str]) -> None:
    marker = 61.23456789
    frame = small_frame().assign(income=marker, home="castle-Zyxw")
    session = open_session(frame, progress=True)

    def talkative(rows: np.ndarray) -> np.ndarray:
        print("row", rows[0])
        return rows[:, 1] / 100

    plans = [
        dc.histogram("home", epsilon=0.2),
        dc.partial_dependence(dc.Model(talkative, bounds=(0, 1)), "age", epsilon=0.2),
    ]
    releases = session.release(plans)
    texts = [repr(session), str(session.price(plans)), repr(plans), session.history().to_string()]
    texts += [json.dumps(release.to_json()) for release in releases]
    texts += [pickle.dumps(release).decode("latin-1") for release in releases]
    texts += list(capsys.readouterr())
    assert all("61.2345678" not in text and "Zyxw" not in text for text in texts)
    with pytest.raises(Exception, match=r"shows no rows|pickle|cannot be copied"):
        pickle.dumps(session)


def order_of_work(session: dc.Session, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Release a histogram and note when the books and the rows were touched."""
    seen: list[str] = []
    ledger = session._ledger

    def noting(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return act(*args, **kwargs)

        return noted

    monkeypatch.setattr(ledger, "reserve_all", noting("reserve", ledger.reserve_all))
    monkeypatch.setattr(ledger, "settle_all", noting("settle", ledger.settle_all))
    monkeypatch.setattr(PrivateTable, "unseal", noting("rows", PrivateTable.unseal))
    session.release(dc.histogram("home", epsilon=0.1))
    return seen


class _RowsFirst(dc.Session):
    def _answer(self, plans: list[Plan], fresh: bool) -> Any:
        list(self._table.unseal().chunks(["home"]))
        return super()._answer(plans, fresh)


@pytest.mark.proves("reserve-first")
def test_reserve_then_rows_then_settle(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    assert order_of_work(open_session(), monkeypatch) == ["reserve", "rows", "settle"]


@pytest.mark.refutes("reserve-first")
def test_reading_rows_before_the_reservation_is_seen(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session()
    session.__class__ = _RowsFirst
    assert order_of_work(session, monkeypatch) != ["reserve", "rows", "settle"]


def pricing_reads(session: dc.Session, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return what of the sealed table pricing touches."""
    touched: set[str] = set()
    for name in ("unseal", "count"):
        act = getattr(PrivateTable, name)

        def noted(table: PrivateTable, act: Any = act, name: str = name) -> Any:
            touched.add(name)
            return act(table)

        monkeypatch.setattr(PrivateTable, name, noted)
    session.price(plan)
    return touched


@pytest.mark.proves("price-free")
def test_pricing_touches_no_row(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dc.partial_dependence(age_model(), "age", epsilon=0.1)
    assert pricing_reads(open_session(relation="add-remove"), plan, monkeypatch) == set()


class _Peeking(Plan):
    kind = "peeking"
    session: dc.Session

    def arguments(self) -> dict[str, Any]:
        return {}

    def prepare(self, setting: Setting) -> Program:
        self.session._table.unseal()
        return dc.histogram("home", epsilon=self.epsilon).prepare(setting)


@pytest.mark.refutes("price-free")
def test_a_plan_that_peeks_is_seen(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _Peeking(0.1, 0.0)
    plan.session = open_session()
    assert pricing_reads(plan.session, plan, monkeypatch) != set()


def test_a_plan_whose_stages_cost_more_than_it_says_is_refused() -> None:
    class Greedy(dc.histogram):
        def prepare(self, setting: Any) -> Any:
            program = super().prepare(setting)
            return replace(program, stages=(*program.stages, *program.stages))

    schema = dc.Schema({"k": dc.Category("a", "b", missing=False, other=False)})
    frame = pd.DataFrame({"k": ["a", "b"] * 10})
    session = dc.protect(frame, schema, dataset="d", epsilon=9.0, ledger=":memory:")
    plan = Greedy("k", epsilon=1.0)
    with pytest.raises(CertificateError, match="more than the 1"):
        session.release(plan)
    assert float(session.remaining.to_json()["epsilon"]) == 9.0
