"""A price says how long a model takes that is asked for one record at a time, or is slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.session.price import Waiting
from tests.oracles.clocks import Clock

SCHEMA = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
CALLS: list[int] = []


def answer(rows: Any) -> Any:
    CALLS.append(len(rows))
    return rows[:, 0] / 3


def session(relation: Any, records: int = 40) -> dc.Session:
    rows = np.random.default_rng(0).uniform(size=(records, 2))
    return dc.protect(
        rows, SCHEMA, dataset="d", ledger=":memory:", epsilon=9.0, relation=relation, progress=False
    )


def curve(isolated: bool) -> dc.Plan:
    model = dc.Model(answer, bounds=(0, 1), name="answer", isolated=isolated)
    return dc.partial_dependence(model, "b", resolution=4, rug=False, epsilon=1.0)


@pytest.mark.parametrize(("relation", "records"), [("replace-one", "40"), ("add-remove", "1,000")])
def test_a_price_says_how_long_it_takes(
    relation: str, records: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.session.price.time", Clock(look=1e-3))
    priced = session(relation).price(curve(isolated=True))
    assert "one record at a time: about " in str(priced) and f"for {records} records" in str(priced)
    assert priced.to_json()["plans"][0]["waiting"]["seconds_per_record"] > 0
    other = session(relation).price(curve(isolated=False))
    assert "one record at a time" not in str(other)
    assert other.to_json()["plans"][0]["waiting"] is None


def test_a_price_says_how_long_a_slow_model_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("discreet.session.price.time", clock)

    def slow(rows: Any) -> Any:
        clock.passes(0.02)
        return answer(rows)

    model = dc.Model(slow, bounds=(0, 1), name="slow")
    plan = dc.shap_importance(
        model, background=np.full((600, 2), 0.5), clip=None, epsilon=1.0
    )  # 2,400 mixed rows for every record: five calls for four
    told = session("replace-one", 400).price(plan).plans[0].waiting
    assert told is not None and told.seconds_per_record == pytest.approx(0.025) and not told.alone
    assert str(told).startswith("the model is called: about ")


def test_long_waits_are_told_in_minutes() -> None:
    assert str(Waiting(0.1, 36_000)) == "one record at a time: about 60 min for 36,000 records"


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_one_call_per_record_holds_all_its_points(relation: str) -> None:
    plan, counts = curve(isolated=True), []
    session(relation).price(plan)
    for records in (40, 57):
        CALLS.clear()
        release = session(relation, records).release(plan)
        counts.append(len(CALLS))
    assert counts[1] - counts[0] == 17 and len(set(CALLS[1:])) == 1
    assert release.guarantee.grade == "isolated"
    assert "provided the model keeps nothing from one call to the next" in str(release.guarantee)
    assert dc.Release.loads(release.dumps()).guarantee == release.guarantee


def test_an_isolated_model_is_another_question() -> None:
    assert curve(isolated=True).key != curve(isolated=False).key
