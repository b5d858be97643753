"""What a session makes of terms that change: budgets at once, schemas by another session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import LedgerConflict
from discreet.plans import Plan
from tests.session.conftest import small_frame

Open = Callable[..., dc.Session]
ASKED = dc.histogram("age", bins=5, epsilon=0.25)


def corrected(schema: dc.Schema) -> dc.Schema:
    columns = {name: schema[name] for name in schema}
    return dc.Schema({**columns, "age": dc.Number(18, 100, step=1)}, target=schema.target, id=schema.id)


def reopened(schema: dc.Schema, ledger: Path) -> dc.Session:
    return dc.protect(small_frame(), schema, dataset="people", ledger=ledger)


def test_a_raised_budget_is_spent_by_sessions_that_are_open(open_session: Open) -> None:
    owner, other = open_session(), open_session()
    owner.release(dc.histogram("age", epsilon=1.0))
    owner.change_terms(epsilon=1.5, reason="a second year was agreed")
    assert other.remaining.loss == 0.5
    other.release(dc.histogram("income", epsilon=0.5))
    assert owner.remaining.loss == 0.0 and owner.verify().ok
    assert list(owner.history()["kind"]) == [
        "register",
        "reserve",
        "settle",
        "change",
        "reserve",
        "settle",
    ]


def test_a_corrected_schema_asks_anew_and_old_releases_keep_their_terms(
    open_session: Open, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    stale = open_session()
    before = stale.release(ASKED)
    new = corrected(tiny_schema)
    stale.change_terms(schema=new, reason="the office admits centenarians")
    for ask in (stale.release, stale.price):
        with pytest.raises(
            LedgerConflict, match=r"column 'age' has high 90.0 where 100.0 is registered"
        ):
            ask(ASKED)
    assert stale.balance.spent.loss == 250_000_000_000

    session = reopened(new, tmp_path / "books.db")
    after = session.release(ASKED)
    assert after.id != before.id and session.release(ASKED).id == after.id
    assert (before.schema_digest, after.schema_digest) == (tiny_schema.digest, new.digest)
    assert before.value.to_json() != after.value.to_json()
    assert session.verify([before, after]).ok


def test_a_schema_put_back_finds_its_own_answers(
    open_session: Open, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    first = open_session()
    before = first.release(ASKED)
    first.change_terms(schema=corrected(tiny_schema), reason="a correction")
    first.change_terms(schema=tiny_schema, reason="the correction was wrong")
    assert first.release(ASKED).id == before.id


def test_a_mismatch_at_protect_names_the_column(
    open_session: Open, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    open_session()
    with pytest.raises(LedgerConflict) as caught:
        reopened(corrected(tiny_schema), tmp_path / "books.db")
    assert "column 'age' has high 100.0 where 90.0 is registered" in str(caught.value)
    assert tiny_schema.digest not in str(caught.value)


@pytest.mark.proves("plan-keys")
def test_an_answer_of_another_meaning_does_not_come_back(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session()
    before = session.release(ASKED)
    monkeypatch.setattr(dc.histogram, "meaning", dc.histogram.meaning + 1)
    after = session.release(ASKED)
    assert after.id != before.id
    assert after.plan["meaning"] == before.plan["meaning"] + 1


@pytest.mark.refutes("plan-keys")
def test_a_key_without_the_schema_returns_an_old_encoding(
    open_session: Open, tiny_schema: dc.Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plan, "key_on", lambda self, schema: self.key)
    first = open_session()
    before = first.release(ASKED)
    new = corrected(tiny_schema)
    first.change_terms(schema=new, reason="a correction")
    wrong = reopened(new, tmp_path / "books.db").release(ASKED)
    assert wrong.id == before.id, "the planted fault: counts of other bins come back"


def test_a_saved_release_without_a_digest_still_reads(open_session: Open) -> None:
    plain: dict[str, Any] = open_session().release(ASKED).to_json()
    del plain["schema_digest"]
    assert dc.Release.loads(json.dumps(plain)).schema_digest == ""
