"""One line for all private models: which is taken, why, and what it costs."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.fitting.held_out import Side, class_score
from discreet.fitting.plan import PLANS
from discreet.plans import Setting
from discreet.privacy.accounting import joint_delta
from discreet.session.together import ready_together
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 10, missing=False),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "price": dc.Number(0, 1, missing=False),
        "class": dc.Category("no", "yes", missing=False, other=False),
    },
    target="class",
)


def frame(rows: int = 4000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    size, kind = draw.uniform(0, 10, rows), draw.choice(["a", "b", "c"], rows)
    label = np.where((size > 4) ^ (kind == "b"), "yes", "no")
    return pd.DataFrame({"size": size, "kind": kind, "price": size / 10, "class": label})


def session(relation: str = "replace-one", **options: Any) -> dc.Session:
    terms = {"dataset": "d", "ledger": ":memory:", "epsilon": 20.0, "delta": 1e-5, "seed": 1}
    return dc.protect(frame(), SCHEMA, relation=relation, **(terms | options))  # type: ignore[arg-type]


def trained(relation: str = "replace-one", **options: Any) -> Any:
    plan = dc.fit("class", **{"epsilon": 8.0, "features": ["size", "kind"], **options})
    setting = Setting(SCHEMA, relation, 4000 if relation == "replace-one" else None)  # type: ignore[arg-type]
    return plan.prepare(setting).finish(SimulatedReleaser(PrivateTable(frame(), SCHEMA), 1))


@pytest.mark.parametrize("name", PLANS)
def test_a_model_that_is_asked_for_is_the_answer_of_its_own_question(name: str) -> None:
    plan = dc.fit("class", model=name, epsilon=2.0)
    own = PLANS[name]("class", epsilon=2.0)
    with_why, alone = session().release(plan), session().release(own)
    assert with_why.value == alone.value
    assert with_why.guarantee.epsilon == alone.guarantee.epsilon == 2.0
    assert "it was asked for" in with_why.guarantee.assumptions[0]


def test_price_and_release_say_why() -> None:
    plan, own = dc.fit("class", epsilon=1.0), session()
    (why,) = own.price(plan).plans[0].reasons
    assert why.startswith("answered by a") and ": " in why
    assert f"\n  {why}\n" in str(own.price(plan))
    assert own.price(plan).to_json()["plans"][0]["reasons"] == [why]
    assert why in own.release(plan).guarantee.assumptions
    assert str(session(seed=None).release(plan)).endswith(f"certified; {why}")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_better_candidate_is_chosen_by_records_held_out(relation: str, delta: float) -> None:
    own = session(relation)
    release = own.release(dc.fit("class", choose="held-out", epsilon=8.0, delta=delta))
    assert release.value.score(frame(seed=1), frame(seed=1)["class"]) > 0.85
    assert own.remaining.loss == pytest.approx(12.0)
    assert {"row-to-subset", "choose"} <= set(release.guarantee.statements)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_candidates_never_see_a_record_that_is_held_out(relation: str) -> None:
    """Whatever records held out say, or if there are none, sums that are trained on are the same."""
    rows = 4000 if relation == "replace-one" else None
    setting = Setting(SCHEMA, relation, rows)  # type: ignore[arg-type]
    names, table = tuple(SCHEMA), frame()
    encoded = np.column_stack([SCHEMA[name].encode(table[name].to_numpy()) for name in names])
    held = Side(setting, names, True).place(Block(0, names, encoded)) == 0
    assert 0.15 < held.mean() < 0.25
    turned = table.assign(**{"class": np.where(held, "no", table["class"])})
    first, second = sums(setting, table), sums(setting, turned if rows else table[~held])
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    third = sums(setting, table.assign(**{"class": "no"}))
    assert not all(np.array_equal(one, other) for one, other in zip(first, third, strict=True))


def sums(setting: Setting, table: pd.DataFrame) -> list[Any]:
    """Return the exact sums that all candidates are trained on, first levels and leaves."""
    *stages, choice = dc.fit("class", choose="held-out", epsilon=8.0).prepare(setting).stages
    assert choice.name == "choice"
    sealed = PrivateTable(table, SCHEMA, setting.relation)
    return add_up(sealed, [Summand(stage.contribution, stage.noise.step) for stage in stages])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_score_of_a_candidate_is_the_log_of_what_it_thought(relation: str) -> None:
    model = trained(relation, model="tree")
    names, table = ("size", "kind", "class"), frame(50, seed=3)
    encoded = np.column_stack([SCHEMA[name].encode(table[name].to_numpy()) for name in names])
    found = class_score(model, Block(0, names, encoded), names, 2)
    chances = model.predict_proba(table[["size", "kind"]])[np.arange(50), encoded[:, 2].astype(int)]
    np.testing.assert_allclose(found, np.log(np.maximum(chances, 1 / 64)) / np.log(64) + 0.5)
    assert found.min() >= -0.5 and found.max() <= 0.5
    encoded[:, 2] = 5.0  # no class
    assert np.isnan(class_score(model, Block(0, names, encoded), names, 2)).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "tree", "choose": "held-out"}, "model must be 'auto'"),
        ({"choose": "held-out", "where": "size > 3"}, "where must be left out"),
        ({"model": "net"}, "model must be one of"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        dc.fit("class", epsilon=1.0, **options)


@pytest.mark.parametrize(
    ("epsilon", "delta", "relation", "taken"),
    [
        (0.1, 1e-6, "add-remove", "an additive model"),
        (0.1, 0.0, "add-remove", "a forest"),
        (7.4, 0.0, "replace-one", "a forest"),
        (7.6, 0.0, "replace-one", "an additive model"),
        (1.4, 0.0, "add-remove", "a forest"),
        (1.6, 0.0, "add-remove", "an additive model"),
    ],
)
def test_the_rule_goes_by_the_promise(epsilon: float, delta: float, relation: str, taken: str) -> None:
    setting = Setting(SCHEMA, relation, 4000 if relation == "replace-one" else None)  # type: ignore[arg-type]
    (why,) = dc.fit("class", epsilon=epsilon, delta=delta).prepare(setting).reasons
    assert why.startswith(f"answered by {taken}: ")


def test_the_rule_goes_by_the_columns() -> None:
    many = dc.Category(*range(10), missing=False, other=False)
    wide = dc.Category(*range(5000), missing=False, other=False)
    size = dc.Number(0, 1, missing=False)
    told = {}
    for name, columns in {"many": {"a": size, "t": many}, "wide": {"a": wide, "t": size}}.items():
        setting = Setting(dc.Schema(columns, target="t"), "add-remove", None)  # type: ignore[arg-type]
        with contextlib.suppress(ArgumentError):
            told[name] = dc.fit("t", epsilon=5.0).prepare(setting).reasons[0]
    assert told["many"].startswith("answered by a forest: without a delta an additive model of 10")
    assert "wide" not in told  # nothing else predicts a number
    listed = dc.Schema({"a": wide, "t": many}, target="t")
    setting = Setting(listed, "add-remove", None)  # type: ignore[arg-type]
    (why,) = dc.fit("t", epsilon=5.0, delta=1e-6).prepare(setting).reasons
    assert why == "answered by a forest: an additive model would have too many cells"


def test_a_number_is_predicted() -> None:
    release = session().release(dc.fit("price", features=["size", "kind"], epsilon=8.0, delta=1e-6))
    found = release.value.predict(frame(seed=1)[["size", "kind"]])
    assert np.mean((found - frame(seed=1)["price"].to_numpy()) ** 2) < 0.01
    assert "the target is a number" in release.guarantee.assumptions[0]


def test_a_number_is_not_chosen_for() -> None:
    plan = dc.fit("price", choose="held-out", epsilon=1.0)
    with pytest.raises(ArgumentError, match="choose must be 'rule'"):
        session().price(plan)


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_of_a_large_epsilon_with_a_delta_as_much_is_spent_as_lattices_leave_room_for(
    accountant: Any,
) -> None:
    setting = Setting(SCHEMA, "replace-one", 4_000)
    made = dc.fit("class", choose="held-out", epsilon=30.0, delta=1e-6).prepare(setting)
    assert made.joint is not None and 4.0 < made.joint[0] < 30.0
    assert joint_delta(made.events, made.joint[0]) <= 1e-6
    assert made.cost(accountant).loss > 0
    assert any("leaves room for epsilon" in reason for reason in made.reasons)


@pytest.mark.parametrize("choose", ["rule", "held-out"])
def test_a_rho_is_used_and_never_exceeded(choose: str) -> None:
    own = session(accountant="zcdp", epsilon=8.0)
    before = own.remaining.loss
    release = own.release(dc.fit("class", choose=choose, rho=0.3))
    assert 0.299 < before - own.remaining.loss <= 0.3
    assert release.value.score(frame(seed=1), frame(seed=1)["class"]) > 0.6


@pytest.mark.parametrize("mode", [{"rows": "weighted"}, {"rows": "one"}, {"rows": "capped", "most": 3}])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("choose", "least"), [("rule", 0.6), ("held-out", 0.9)])
def test_persons_are_protected(choose: str, least: float, relation: str, mode: dict[str, Any]) -> None:
    own = of_persons(relation, mode)
    release = own.release(dc.fit("class", choose=choose, epsilon=4.0, delta=1e-6))
    assert own.remaining.loss == pytest.approx(16.0)
    assert release.guarantee.protects == "all rows of one person"
    assert release.value.score(frame(seed=1), frame(seed=1)["class"]) > least


def of_persons(relation: str, mode: dict[str, Any]) -> dc.Session:
    """Return a session on rows of which every second person has two."""
    table = frame().assign(who=np.arange(4000) * 2 // 3)
    schema = dc.Schema({name: SCHEMA[name] for name in SCHEMA}, target="class", person="who", **mode)
    terms: dict[str, Any] = {"dataset": "p", "ledger": ":memory:", "epsilon": 20.0, "delta": 1e-5}
    return dc.protect(table, schema, relation=relation, seed=1, **terms)  # type: ignore[arg-type]


def test_records_held_out_get_all_that_a_delta_leaves() -> None:
    """Candidates and choice are priced together: the promise is used up, and never exceeded."""
    setting = Setting(SCHEMA, "replace-one", 4000)
    plan = dc.fit("class", choose="held-out", epsilon=1.0, delta=1e-6)
    by, together = ready_together(plan, setting)
    assert by.epsilon > 1.05 and together.joint == (1.0, 1e-6)
    assert joint_delta(together.events, 1.0) <= 1e-6 < joint_delta(together.events, 0.99)


EXAMPLES = [
    Example("fit", lambda _: dc.fit("paid", model="tree", epsilon=1.0)),
    Example("fit", lambda _: dc.fit("paid", choose="held-out", features=["age", "home"], epsilon=1.0)),
]
