"""Groups of evaluations: both sides of a condition, levels of a category, for every kind of target."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.errors import ArgumentError
from discreet.evaluation.question import coarser, find_group, groups_of, within
from discreet.plans import Setting
from discreet.plans.results.result import Result
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE

WARDS = ("a", "b", "c", "d")
KINDS = ("binary", "regression", "classes")
HOSPITALS = {"north": ["a", "b", "c"], "south": ["d"]}


def schema(kind: str, *, gaps: bool = True) -> dc.Schema:
    """Return a table with an age that may be missing, wards within hospitals, and a target."""
    target: Any = {
        "binary": dc.Category(0, 1, missing=False, other=False),
        "regression": dc.Number(-4, 4, missing=False),
        "classes": dc.Category("p", "q", "r", missing=False, other=False),
    }[kind]
    columns = {
        "x": dc.Number(-3, 3, missing=False),
        "age": dc.Number(0, 100, step=1, missing=gaps),
        "ward": dc.Category(*WARDS, missing=False, other=False),
        "y": target,
    }
    levels = {"hospital": dc.Level("ward", HOSPITALS)}
    return dc.Schema(columns, target="y", levels=levels)


@cache
def frame(kind: str, rows: int = 3_000) -> pd.DataFrame:
    draw = np.random.default_rng(8)
    x = draw.normal(0, 1, rows).clip(-3, 3)
    made = pd.DataFrame({"x": x, "age": draw.integers(0, 100, rows).astype(float)})
    made["ward"] = draw.choice(WARDS, rows)
    noisy = x + draw.normal(0, 0.7, rows) + 0.4 * (made.ward == "d")
    if kind == "binary":
        return made.assign(y=(noisy > 0).astype(int))
    if kind == "classes":
        return made.assign(y=np.select([noisy < -0.4, noisy < 0.5], ["p", "q"], "r"))
    return made.assign(y=noisy.clip(-4, 4))


def model(kind: str) -> Any:
    records = frame(kind)
    if kind == "regression":
        line = LinearRegression().fit(records[["x"]], records.y)
        return dc.Model(line, bounds=(-4, 4), columns=["x"])
    return LogisticRegression().fit(records[["x"]], records.y)


def released(kind: str, records: pd.DataFrame, *, gaps: bool = True, **asked: Any) -> Any:
    terms: Any = {"dataset": "d", "epsilon": 4e6, "ledger": ":memory:"}
    session = dc.protect(records, schema(kind, gaps=gaps), **terms)
    return session.release(dc.evaluate(model(kind), **{"epsilon": 1e6, **asked})).value


def right(kind: str, value: Any, group: Any = None) -> float:
    """Return one figure of a group: accuracy, or the mean absolute error."""
    if kind == "binary":
        return float(value.metric("accuracy", group=group))
    return float(value.errors(group).mae if kind == "regression" else value.accuracy(group))


def exact(kind: str, records: pd.DataFrame) -> float:
    if kind == "regression":
        answers = model(kind).wrapped.predict(records[["x"]]).clip(-4, 4)
        return float((records.y - answers).abs().mean())
    return float((model(kind).predict(records[["x"]]) == records.y).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_makes_two_groups_and_what_is_unknown_is_in_neither(kind: str) -> None:
    records = frame(kind).copy()
    records.loc[:599, "age"] = None
    value = released(kind, records, by=dc.col("age") >= 40)
    old, young = value.told
    assert value.columns == ("part",) and (old, young) == (("age >= 40",), ("not (age >= 40)",))
    for label, own in ((old, records[records.age >= 40]), (young, records[records.age < 40])):
        assert value.size(label).value == pytest.approx(len(own), abs=1)
        assert right(kind, value, label) == pytest.approx(exact(kind, own), abs=0.01)
    known = records[records.age.notna()]
    assert value.size().value == pytest.approx(len(known), abs=2), "nobody is counted twice"
    assert right(kind, value) == pytest.approx(exact(kind, known), abs=0.01)
    if kind != "regression":
        assert value.rows is None, "how many are left out is private"
    assert Result.read(value.to_json()) == value and len(value.by_group().groups) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_records_is_public_if_a_condition_cannot_be_unknown(kind: str) -> None:
    value = released(kind, frame(kind), gaps=False, by=dc.col("age") >= 40, epsilon=0.1)
    assert value.size().value == pytest.approx(3_000) and value.size().noise == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.parametrize("ask", [dc.evaluate, dc.model_card])
def test_a_condition_is_one_as_an_expression_as_text_and_as_data(ask: Any) -> None:
    condition = dc.col("age") >= 40
    plans = [
        ask(model("binary"), by=by, epsilon=1.0) for by in (condition, "age >= 40", condition.to_json())
    ]
    assert plans[0] == plans[1] == plans[2] and plans[0].key == plans[1].key
    assert ask(model("binary"), by="ward", epsilon=1.0).by == ("ward",)
    setting = Setting(schema("binary"), REPLACE_ONE, 3_000)
    assert plans[0].prepare(setting).stages


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_a_condition_costs_what_a_category_of_two_does(kind: str, relation: Any) -> None:
    setting = Setting(schema(kind), relation, 3_000 if relation.rows_public else None)
    bins: dict[str, Any] = {"bins": 10} if kind == "binary" else {}
    programs = [
        dc.evaluate(model(kind), by=by, epsilon=1.0, **bins).prepare(setting)
        for by in ("age >= 40", "hospital")
    ]
    assert programs[0].stages[0].noise.std == pytest.approx(programs[1].stages[0].noise.std)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_which_a_condition_is_unknown_adds_nothing(kind: str) -> None:
    from discreet.audit.hunting.runs import SimulatedReleaser
    from discreet.data import PrivateTable

    setting = Setting(schema(kind), REPLACE_ONE, 3_000)
    program = dc.evaluate(model(kind), by="age >= 40", epsilon=1.0).prepare(setting)
    records = frame(kind).assign(age=np.nan)
    releaser = SimulatedReleaser(PrivateTable(records, schema(kind), REPLACE_ONE), 0)
    value: Any = program.finish(releaser)
    noise = 8 * value.size().noise
    assert all(abs(value.size(group).value) <= noise for group in (None, *value.told))


@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_told_one_and_all_from_the_finest(kind: str) -> None:
    records = frame(kind)
    value = released(kind, records, by=["ward", "hospital"])
    assert value.columns == ("hospital", "ward") and value.nested
    assert value.told[:2] == (("north", "(all)"), ("south", "(all)"))
    assert value.told[2:] == (("north", "a"), ("north", "b"), ("north", "c"), ("south", "d"))
    for hospital, wards in HOSPITALS.items():
        own = records[records.ward.isin(wards)]
        for named in (hospital, (hospital,), (hospital, "(all)")):
            assert right(kind, value, named) == pytest.approx(exact(kind, own), abs=0.01)
        parts = sum(value.size((hospital, ward)).value for ward in wards)
        assert value.size(hospital).value == pytest.approx(parts, rel=1e-9)
    ward = value.size(("north", "a"))
    assert value.size("north").noise == pytest.approx(ward.noise * 3**0.5), "variances add up"
    assert value.size("south").noise == pytest.approx(ward.noise)
    assert right(kind, value, ("north", "b")) == pytest.approx(
        exact(kind, records[records.ward == "b"]), abs=0.01
    )
    assert Result.read(value.to_json()) == value
    assert set(value.by_group(of="hospital").groups) == set(value.told[:2])
    assert value.by_group().groups == value.told[2:] == value.by_group(of="ward").groups
    assert len(value.to_frame().drop_duplicates(subset=_index(value))) == 7


def _index(value: Any) -> list[str]:
    frame = value.to_frame()
    return ["group"] if "group" in frame else list(value.columns)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_coarser_groups_hold(kind: str) -> None:
    """Of 100 releases of the same records, which vary by noise alone, few are outside."""
    from discreet.audit.hunting.runs import SimulatedReleaser
    from discreet.data import PrivateTable

    records = frame(kind)
    setting = Setting(schema(kind), REPLACE_ONE, len(records))
    plan = dc.evaluate(model(kind), by=["hospital", "ward"], epsilon=0.3)
    program = plan.prepare(setting)
    releaser = SimulatedReleaser(PrivateTable(records, schema(kind), REPLACE_ONE), 3)
    size = int(records.ward.isin(HOSPITALS["north"]).sum())
    off, held = [], 0
    for _ in range(100):
        found: Any = program.finish(releaser)
        told = found.size("north")
        held += told.low <= size <= told.high
        off.append(told.value - size)
    assert held >= 88, "fewer than 88 of 100 once in a thousand"
    assert np.std(off) >= found.size(("north", "a")).noise / 3, "more noise than a ward has"


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (dc.col("y") == 1, "other than the target"),
        (dc.col("height") >= 3, "height"),
        ("height", "or be a condition"),
        (3, "by must"),
        (["hospital", "x"], "by must name categories"),
    ],
)
def test_groups_that_will_not_do_get_a_sentence_and_cost_nothing(by: Any, told: str) -> None:
    terms: Any = {"dataset": "d", "epsilon": 1.0, "ledger": ":memory:"}
    session = dc.protect(frame("binary"), schema("binary"), **terms)
    for ask in (dc.evaluate, dc.model_card):
        with pytest.raises((ArgumentError, dc.errors.SchemaError), match=told) as raised:
            session.release(ask(model("binary"), by=by, epsilon=0.5))
        assert "Ordered" not in str(raised.value)
    assert float(session.remaining.loss) == 1.0


def test_levels_are_told_only_where_there_are_some() -> None:
    value = released("binary", frame("binary"), by="ward")
    with pytest.raises(ArgumentError, match="of must be left out"):
        value.by_group(of="hospital")
    nested = released("binary", frame("binary"), by=["hospital", "ward"])
    with pytest.raises(ArgumentError, match="of must be one of"):
        nested.by_group(of="age")
    with pytest.raises(ArgumentError, match="group must be one of"):
        nested.metric("accuracy", group="east")


def test_names_of_groups() -> None:
    fine = (("n", "a"), ("n", "b"), ("s", "c"))
    assert coarser(fine) == (("n", "(all)"), ("s", "(all)")) and coarser([("a",)]) == ()
    assert within(fine, ("n", "(all)")) == [0, 1] and within(fine, ("s", "c")) == [2]
    assert find_group((*coarser(fine), *fine), "n") == ("n", "(all)")
    assert groups_of(schema("binary"), None).groups == 1
