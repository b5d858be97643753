"""The checks of hunts and models: every plan has one, and a certificate too small makes one fail."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc
from discreet.audit.finding import Effort, registry_of
from discreet.audit.hunting import trial
from discreet.audit.hunting.answers import model as audit
from discreet.audit.hunting.checks import checks, finding_of_audit, finding_of_hunts
from discreet.audit.hunting.hunter import hunt, hunt_stages
from discreet.audit.hunting.moves import moves_between
from discreet.audit.hunting.neighbours import draw_table
from discreet.audit.hunting.questions import SCHEMA, model_of, questions
from discreet.audit.hunting.report import HuntReport
from discreet.audit.hunting.runs import run_program
from discreet.plans import Setting
from discreet.privacy.relation import REPLACE_ONE

REGISTRY = registry_of(checks())
QUESTIONS = {question.plan: question for question in questions()}
TIGHT = (
    "accumulated_effects",
    "background",
    "choose",
    "decision_tree",
    "deniable_rows",
    "entropy",
    "evaluate",
    "feature_interaction",
    "fit",
    "functional_mean",
    "histogram",
    "most_frequent",
    "mutual_information",
    "partial_dependence",
    "percentile",
    "permutation_importance",
    "quantiles",
    "random_forest",
    "shap_ranking",
    "shap_values",
    "synthesize",
)


def test_every_plan_has_a_check() -> None:
    hunted = {name.removeprefix("hunt: ") for name in REGISTRY if name.startswith("hunt: ")}
    assert hunted == set(dc.PLANS)
    assert {name for name in REGISTRY if name.startswith("model: ")} == {
        "model: linear",
        "model: trees",
        "model: network",
        "model: opaque",
    }
    assert all(check.quick for check in REGISTRY.values())


def test_every_question_is_the_plan_that_it_says() -> None:
    for question in QUESTIONS.values():
        form = question.forms[0] if question.forms else None
        for ask in (question.ask, *question.also):
            plan = ask(None if form is None else model_of(form))
            assert plan.plan_name == question.plan


def test_every_way_to_ask_is_hunted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice by records held out is hunted with a delta and without, of two classes and of three."""
    asked: list[Any] = []

    def hunt_briefly(plan: Any, *args: Any, **options: Any) -> HuntReport:
        asked.append(plan)
        return hunt(plan, *args, **{**options, "seconds": 1e-9})

    monkeypatch.setattr("discreet.audit.hunting.checks.hunt", hunt_briefly)
    REGISTRY["hunt: fit"].run(Effort(seconds=0.1))
    told = {(plan.delta > 0, len(SCHEMA[plan.target].values)) for plan in asked}
    assert len(asked) == 6 and told == {(False, 2), (True, 2), (True, 3)}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_product_holds(name: str) -> None:
    found = REGISTRY[name].run(Effort(seconds=0.1))
    assert found.held, found.said
    assert found.tries > 0 and found.promised == 1.0 and found.found <= 1.0


@pytest.mark.parametrize("plan", TIGHT)
def test_a_certificate_of_half_the_size_is_caught(plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours move the sum of a tight plan by more than half of what is certified."""

    def halved(noise: Any, certificate: Any, *rest: Any) -> Any:
        return moves_between(noise, certificate.scale(0.5), *rest)

    monkeypatch.setattr(trial, "moves_between", halved)
    asked = QUESTIONS[plan]
    made = asked.ask(model_of(asked.forms[0]) if asked.forms else None)
    program = made.prepare(Setting(SCHEMA, REPLACE_ONE, asked.rows))
    report = hunt_stages(
        lambda table, seed: run_program(program, table, REPLACE_ONE, seed).stages,
        SCHEMA,
        REPLACE_ONE,
        draw_table(SCHEMA, asked.rows, 0),
        name=plan,
        seconds=600.0,
        until_broken=True,
    )
    assert not report.held


def test_a_hunt_without_a_pair_does_not_hold() -> None:
    assert not finding_of_hunts([]).held


@pytest.mark.parametrize(("given", "taken"), [(0.05, 0.05), (2.0, 0.5), (2.5, 2.5)])
def test_the_time_of_a_check_follows_its_effort(
    given: float, taken: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the audit of a minute a hunt has little time; where more is given, it has all of it."""
    times = []

    def hunt_briefly(*args: Any, seconds: float, **options: Any) -> HuntReport:
        times.append(seconds)
        return hunt(*args, seconds=1e-9, **options)

    monkeypatch.setattr("discreet.audit.hunting.checks.hunt", hunt_briefly)
    REGISTRY["hunt: histogram"].run(Effort(seconds=given))
    assert len(times) == 2 and sum(times) == pytest.approx(taken)


def test_a_refused_model_is_a_finding() -> None:
    report = audit(lambda rows: rows[:, 0] - rows[:, 0].mean(), SCHEMA, bounds=(0, 1), seconds=0.1)
    found = finding_of_audit(report)
    assert not found.held and found.found > 1 and found.said.startswith("No to")
