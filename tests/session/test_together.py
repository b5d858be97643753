"""Stages priced together: less noise, the same charge, and nothing asked that was not priced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import discreet as dc
from discreet.errors import CertificateError, ReleaseFailed
from discreet.numerics import to_units
from discreet.plans import Program, Setting
from discreet.plans.persons import ready
from discreet.privacy.accounting import joint_delta
from discreet.privacy.relation import RELATIONS
from discreet.session.together import ready_together

SCHEMA = dc.samples.loan_schema()
LOANS = dc.samples.loans(500)
PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}


def setting(relation: Any, schema: dc.Schema = SCHEMA) -> Setting:
    return Setting(schema, relation, 500 if relation == "replace-one" else None)


def open_session(accountant: Any = "basic") -> dc.Session:
    return dc.protect(
        LOANS,
        SCHEMA,
        dataset="loans",
        epsilon=3.0,
        delta=1e-5,
        ledger=":memory:",
        accountant=accountant,
        workers=1,
    )


@pytest.mark.proves("joint-stages")
@pytest.mark.parametrize("relation", RELATIONS)
def test_stages_together_have_less_noise_for_the_same_promise(relation: str) -> None:
    plan = dc.background(**PROMISE)
    alone, (by, together) = ready(plan, setting(relation)), ready_together(plan, setting(relation))
    assert by.epsilon > 1.3 and together.joint == (1.0, 1e-6)
    assert joint_delta(together.events, 1.0) <= 1e-6
    assert all(
        new.noise.std < 0.85 * old.noise.std
        for new, old in zip(together.stages, alone.stages, strict=True)
    )
    assert together.cost("basic").loss == to_units(1.0)


@pytest.mark.parametrize("mode", [{"rows": "weighted"}, {"rows": "one"}, {"rows": "capped", "most": 3}])
@pytest.mark.parametrize("relation", RELATIONS)
def test_stages_of_persons_are_priced_together(relation: str, mode: dict[str, Any]) -> None:
    schema = dc.Schema({name: SCHEMA[name] for name in SCHEMA}, person="who", **mode)
    plan = dc.background(**PROMISE)
    by, together = ready_together(plan, setting(relation, schema))
    assert together.joint == (1.0, 1e-6) and by.epsilon > 1.01
    assert joint_delta(together.events, 1.0) <= 1e-6


@pytest.mark.parametrize(
    "plan",
    [
        dc.histogram("age", **PROMISE),
        dc.random_forest("defaulted", trees=1, depth=2, **PROMISE),
        dc.quantiles("age", [0.25, 0.5], **PROMISE),
    ],
    ids=lambda plan: plan.plan_name,
)
def test_what_gains_nothing_stays_as_it_is_and_spends_no_delta(plan: dc.Plan) -> None:
    by, program = ready_together(plan, setting("replace-one"))
    assert by is plan and program.joint is None
    assert program.cost("basic").delta == 0


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_price_charge_and_promise_agree(accountant: str) -> None:
    session = open_session(accountant)
    plan = dc.synthesize(100, **PROMISE)
    price = session.price(plan)
    release = session.release(plan)
    assert session.balance.spent == price.cost.amount
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    assert "joint-stages" in release.guarantee.statements
    assert len(price.plans[0].stages) == len(release.stages)


class Greedy(dc.synthesize):
    """Asks for its first stage twice, having priced it once."""

    def prepare_whole(self, setting: Setting) -> Program:
        program = super().prepare_whole(setting)

        def finish(releaser: Any) -> Any:
            releaser.answer(program.stages[0])
            return program.finish(releaser)

        return replace(program, finish=finish)


@pytest.mark.refutes("joint-stages")
def test_a_stage_that_was_not_priced_is_not_answered() -> None:
    session = open_session()
    with pytest.raises(ReleaseFailed):
        session.release(Greedy(100, **PROMISE))
    assert session.balance.spent.loss == to_units(1.0), "what was reserved stays spent"


class Promising(dc.synthesize):
    """Promises all of its stages together what they keep one by one at twice the epsilon."""

    def prepare_whole(self, setting: Setting) -> Program:
        bold = dc.synthesize(100, epsilon=2 * self.epsilon, delta=self.delta, mechanism="laplace")
        program = bold.prepare_whole(setting)
        return replace(program, joint=(self.epsilon, self.delta))


@pytest.mark.refutes("joint-stages")
def test_a_joint_promise_is_checked_against_the_events() -> None:
    program = Promising(100, **PROMISE).prepare(setting("replace-one"))
    with pytest.raises(CertificateError, match="does not keep"):
        program.cost("basic")
    by, kept = ready_together(Promising(100, **PROMISE), setting("replace-one"))
    assert by.epsilon < 1 and joint_delta(kept.events, 1.0) <= 1e-6, "a session takes more noise"
