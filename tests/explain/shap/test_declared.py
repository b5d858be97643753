"""Plans about SHAP read back from their plain form, but for sealed queries; old keys stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans.declaration import DeclaredPlan

POINTS = np.random.default_rng(0).random((30, 2))
BACKGROUND = pd.DataFrame(POINTS[:5], columns=["a", "b"])
QUERY = {"a": 0.2, "b": None}


def model() -> LogisticRegression:
    return LogisticRegression().fit(POINTS, POINTS.sum(axis=1) > 1)


PLANS: dict[str, Callable[[], DeclaredPlan]] = {
    "values": lambda: dc.shap_values(model(), QUERY, epsilon=1.0),
    "values of numbers": lambda: dc.shap_values(model(), POINTS[:3], clip=0.5, epsilon=1.0),
    "ranking": lambda: dc.shap_ranking(model(), [QUERY, QUERY], k=2, epsilon=1.0),
    "threshold": lambda: dc.shap_ranking(model(), QUERY, threshold=0.1, epsilon=1.0, delta=1e-3),
    "importance": lambda: dc.shap_importance(model(), background=BACKGROUND, epsilon=1.0),
    "dependence": lambda: dc.shap_dependence(model(), "a", background=BACKGROUND, epsilon=1.0),
    "sample": lambda: dc.background(bins=4, epsilon=1.0),
    "mean": lambda: dc.background("mean", clip=0.5, epsilon=1.0),
    "baseline": lambda: dc.shap_baseline(model(), QUERY, clip=1.0, epsilon=1.0, delta=1e-3),
}


def objects(plan: DeclaredPlan) -> dict[str, Any]:
    written = plan.arguments()
    found = {written["model"]["fingerprint"]: model()} if "model" in written else {}
    return found | ({written["background"]: BACKGROUND} if "background" in written else {})


@pytest.mark.parametrize("name", PLANS)
def test_plans_read_back_equal(name: str) -> None:
    plan = PLANS[name]()
    again = dc.plan_from_json(plan.to_json(), objects(plan))
    assert again == plan and again.key == plan.key and type(again) is type(plan)


@pytest.mark.parametrize("name", PLANS)
def test_another_epsilon_changes_nothing_else(name: str) -> None:
    plan = PLANS[name]()
    assert plan.at(2.0).arguments() == plan.arguments() and plan.at(2.0).at(plan.epsilon) == plan


@pytest.mark.parametrize("name", ["importance", "dependence"])
def test_another_background_is_refused(name: str) -> None:
    plan = PLANS[name]()
    others = objects(plan) | {plan.arguments()["background"]: BACKGROUND[:2]}
    with pytest.raises(ArgumentError, match="background must be what the plan was made of"):
        dc.plan_from_json(plan.to_json(), others)


@pytest.mark.parametrize("ask", [dc.shap_values, dc.shap_ranking])
def test_a_sealed_query_is_never_written_down(ask: Any) -> None:
    given = {"protects": "query", "background": BACKGROUND, "radius": {"a": 1}, "epsilon": 1.0}
    plan = ask(model(), {"a": 0.123456, "b": 0.5}, **given)
    assert "0.123456" not in plan.to_json() + repr(plan) + repr(plan.x)
    assert plan.at(2.0).arguments() == plan.arguments(), "the same query under its token"
    with pytest.raises(ArgumentError, match="x must be public to be read back, got a sealed query"):
        dc.plan_from_json(plan.to_json(), objects(plan))
    with pytest.raises(ArgumentError, match="x must be a mapping"):
        replace(plan, protects="background", background=None, radius=None)


@pytest.mark.proves("background-separator")
def test_a_plan_that_is_made_again_keeps_its_background_s_stamp() -> None:
    schema = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
    terms: dict[str, Any] = {"dataset": "d", "epsilon": 9.0, "ledger": ":memory:", "progress": False}
    simulated = dc.protect(BACKGROUND, schema, seed=1, **terms).release(dc.background(epsilon=1.0))
    plan = dc.shap_importance(model(), background=simulated, epsilon=1.0)
    assert plan.simulated and plan.at(2.0).simulated and plan.whole().simulated


def test_a_radius_is_checked_when_the_plan_is_made() -> None:
    given: dict[str, Any] = {"protects": "query", "background": BACKGROUND, "epsilon": 1.0}
    for wrong in (0, "far", {"a": -1}, {"a": None}):
        with pytest.raises(ArgumentError, match="radius must be a positive finite number"):
            dc.shap_values(model(), QUERY, radius=wrong, **given)


def test_arguments_that_do_not_belong_to_a_plan_are_not_written() -> None:
    assert not {"background", "radius"} & {*PLANS["values"]().arguments()}
    assert "clip" not in PLANS["sample"]().arguments() and "bins" not in PLANS["mean"]().arguments()
