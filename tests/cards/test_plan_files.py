"""Plan files: written with a card alone, answered by the owner, safe to be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted, CardError, DiscreetError
from tests.cards.test_card import JUNK, edited
from tests.session.conftest import small_frame

HISTOGRAM = dc.histogram("age", bins=5, epsilon=0.25)


@pytest.fixture
def file(session: dc.Session, tmp_path: Path) -> Path:
    return dc.describe(session).save_plans(HISTOGRAM, tmp_path / "plans.json")


@pytest.mark.parametrize("files", [True, False])
def test_the_owner_answers_what_was_written_without_rows(
    session: dc.Session, model: Any, tmp_path: Path, files: bool
) -> None:
    card = dc.describe(session, models={"risk": model}, files=files)
    read = dc.Card.load(card.save(tmp_path / "card.json"))
    plans = [HISTOGRAM, dc.partial_dependence(read.model("risk"), "age", epsilon=0.5)]
    path = read.save_plans(plans, tmp_path / "plans.json")
    given = {"card": card} if files else {"models": [model]}
    assert dc.read_plans(session, path, **given) == plans == dc.read_plans(read, path)
    first, second = dc.answer(session, path, **given)
    assert (first.plan, second.plan) == tuple(plan.describe() for plan in plans)
    assert session.remaining.loss == 0.25
    assert [again.id for again in dc.answer(session, path, **given)] == [first.id, second.id]
    for release in (first, second):
        read.check_release(dc.Release.load(release.save(tmp_path / "answer.json")))


def test_public_rows_travel_with_the_plan(session: dc.Session, model: Any, tmp_path: Path) -> None:
    card = dc.describe(session, models={"risk": model}, files=True)
    rows = pd.DataFrame({"age": [30, 50], "income": [10.0, 60.0]})
    plan = dc.shap_importance(card.model("risk"), background=rows, epsilon=0.5)
    path = card.save_plans(plan, tmp_path / "plans.json")
    assert dc.read_plans(session, path, card=card) == [plan]


def test_an_analysts_share_pays(session: dc.Session, file: Path, tmp_path: Path) -> None:
    session.allot("ann", epsilon=0.3)
    ann = dc.protect(
        small_frame(), session.schema, dataset="people", ledger=tmp_path / "books.db", analyst="ann"
    )
    dc.answer(ann, file)
    assert ann.remaining.to_json()["epsilon"] == "0.05"
    with pytest.raises(BudgetExhausted):
        dc.answer(ann, file, fresh=True)


def test_a_missing_model_is_asked_for(session: dc.Session, model: Any, tmp_path: Path) -> None:
    card = dc.describe(session, models={"risk": model})
    plan = dc.partial_dependence(card.model("risk"), "age", epsilon=0.5)
    path = card.save_plans(plan, tmp_path / "plans.json")
    with pytest.raises(ArgumentError, match="objects must have model under its fingerprint"):
        dc.answer(session, path)
    assert len(session.history()) == 1


def test_plans_for_another_schema_are_refused(session: dc.Session, file: Path, tmp_path: Path) -> None:
    columns = {name: session.schema[name] for name in session.schema} | {"age": dc.Number(18, 100)}
    new = dc.Schema(columns, target=session.schema.target)
    session.change_terms(schema=new, reason="a correction")
    again = dc.protect(small_frame(), new, dataset="people", ledger=tmp_path / "books.db")
    with pytest.raises(CardError, match="made for another schema of 'people'"):
        dc.answer(again, file)


def test_a_function_without_a_name_is_not_written(session: dc.Session, tmp_path: Path) -> None:
    card = dc.describe(session)
    plan = dc.partial_dependence(dc.Model(lambda x: x[:, 0], bounds=(0, 1)), "age", epsilon=0.1)
    path = card.save_plans(plan, tmp_path / "plans.json")
    with pytest.raises(ArgumentError, match="model must have a name to be read back"):
        dc.answer(session, path)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("format",), 2, "format must be 1, got 2"),
        (("dataset",), "others", "dataset must be 'people', got plans for 'others'"),
        (("dataset",), 7, "field 'dataset', which holds 7"),
        (("schema_digest",), "0", "made for another schema"),
        (("plans",), [], "must hold 1 to 1000 plans"),
        (("plans",), {}, "must hold 1 to 1000 plans"),
        (("plans",), ["histogram"], "field 'plans', which holds 'histogram'"),
        (("plans",), [{"kind": "histogram"}], "text must be a plan"),
        (("rows",), [], "field 'rows', which holds"),
        (("rows",), {"hash:0": "/etc/passwd"}, "must hold lists of rows"),
        (("rows",), {"hash:0": ["/etc/passwd"]}, "must hold lists of rows"),
        (("more",), 1, "got other fields"),
    ],
)
def test_an_edited_plan_file_gets_one_sentence_and_costs_nothing(
    session: dc.Session, file: Path, path: Any, value: Any, sentence: str
) -> None:
    file.write_text(json.dumps(edited(json.loads(file.read_text()), path, value)))
    with pytest.raises((CardError, ArgumentError), match=sentence):
        dc.answer(session, file)
    assert len(session.history()) == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from(["kind", "meaning", "epsilon", "delta", "arguments"]), value=JUNK)
def test_strange_plans_get_one_sentence_and_cost_nothing(
    session: dc.Session, file: Path, field: str, value: Any
) -> None:
    plain = json.loads(file.read_text())
    plain["plans"][0] = {**plain["plans"][0], field: value}
    other = file.with_name("other.json")
    other.write_text(json.dumps(plain))
    try:
        plans = dc.read_plans(session, other)
    except DiscreetError as error:
        assert len(str(error)) < 700
    else:
        assert [plan.describe() for plan in plans] == plain["plans"]
    assert len(session.history()) == 1


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"format": Infinity}'])
def test_what_is_no_plan_file_gets_one_sentence(session: dc.Session, tmp_path: Path, text: str) -> None:
    (tmp_path / "plans.json").write_text(text)
    with pytest.raises(CardError, match="a plan file"):
        dc.answer(session, tmp_path / "plans.json")
