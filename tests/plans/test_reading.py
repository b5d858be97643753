"""Plans are read back from their plain form; what is wrong with a text is said in one sentence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

import discreet as dc
from discreet.errors import ArgumentError
from discreet.value.engines.scores import custom_score


def fitted(flip: bool = False) -> LogisticRegression:
    draw = np.random.default_rng(0)
    x = draw.random((30, 2))
    return LogisticRegression().fit(x, (x.sum(axis=1) > 1) ^ flip)


def test_a_plan_reads_back_equal() -> None:
    plan = dc.histogram(["a", "b"], bins={"a": 3}, consistent=False, epsilon=0.5, delta=1e-6)
    again = dc.plan_from_json(plan.to_json())
    assert again == plan and again.key == plan.key and type(again) is dc.histogram
    assert dc.plan_from_json(plan.describe()) == plan, "as a release has it"


def test_a_model_comes_by_its_fingerprint() -> None:
    model = fitted()
    for given in (
        model,
        dc.Model(model, class_=False),
        dc.Model(model, output="margin", bounds=(0, 2)),
    ):
        plan = dc.partial_dependence(given, ("a", "b"), epsilon=1.0)
        printed = plan.arguments()["model"]["fingerprint"]
        for brought in (fitted(), given):
            assert dc.plan_from_json(plan.to_json(), {printed: brought}) == plan
        missing = f"objects must have model under its fingerprint '{printed}', got none"  # to be copied
        with pytest.raises(ArgumentError, match=missing):
            dc.plan_from_json(plan.to_json())
        with pytest.raises(ArgumentError, match="model must be the one that the plan was made of"):
            dc.plan_from_json(plan.to_json(), {printed: fitted(flip=True)})


def test_a_function_with_a_name_reads_back_and_one_without_does_not() -> None:
    def answer(x: Any) -> Any:
        return x[:, 0]

    named = dc.partial_dependence(dc.Model(answer, bounds=(0, 1), name="mine"), "a", epsilon=1.0)
    assert dc.plan_from_json(named.to_json(), {"name:mine": answer}) == named
    plan = dc.partial_dependence(dc.Model(answer, bounds=(0, 1)), "a", epsilon=1.0)
    with pytest.raises(ArgumentError, match="model must have a name to be read back"):
        dc.plan_from_json(plan.to_json(), {plan.arguments()["model"]["fingerprint"]: answer})


PLAN = dc.histogram("a", epsilon=1.0).describe()
ARGUMENTS = PLAN["arguments"]
WRONG: list[tuple[Any, str]] = [
    ("", "text must be a plan"),
    ("[" * 100_000, "text must be a plan"),
    ("{}", "text must be a plan"),
    (PLAN | {"more": 1}, "text must be a plan"),
    (PLAN | {"kind": "os.system"}, "kind must be one of"),
    (PLAN | {"kind": ["histogram"]}, "kind must be one of"),
    (PLAN | {"kind": "histogramm"}, "got 'histogramm'. Did you mean 'histogram'"),
    (PLAN | {"meaning": 99}, "meaning must be 1, which histogram has in this version, got 99"),
    (PLAN | {"meaning": True}, "meaning must be 1"),
    (PLAN | {"meaning": None}, "meaning must be 1"),
    ({name: value for name, value in PLAN.items() if name != "meaning"}, "text must be a plan"),
    (PLAN | {"arguments": []}, "arguments must be an object"),
    (PLAN | {"arguments": ARGUMENTS | {"colour": 1}}, "text must hold arguments of histogram alone"),
    (PLAN | {"arguments": {"bins": 3}}, "text must hold every argument of histogram"),
    (PLAN | {"arguments": {"columns": ["a"]}}, "bins must be what the plan was made of"),
    (PLAN | {"arguments": ARGUMENTS | {"epsilon": 1}}, "text must hold arguments of histogram alone"),
    (PLAN | {"arguments": ARGUMENTS | {"bins": "x"}}, "bins must be a whole number"),
    (PLAN | {"epsilon": None}, "epsilon must be a positive finite number"),
    (PLAN | {"epsilon": float("nan")}, "epsilon must be a positive finite number"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_text_gets_one_sentence(text: Any, said: str) -> None:
    for form in (text, text if isinstance(text, str) else json.dumps(text)):
        with pytest.raises(ArgumentError, match=said):
            dc.plan_from_json(form)


def test_functions_of_a_choice_come_by_their_names() -> None:
    def score(block: Any, candidates: Any) -> Any:
        return np.zeros(len(candidates))

    given: dict[str, Any] = {"candidates": ["p", "q"], "sensitivity": 1.0, "epsilon": 1.0}
    plan = dc.choose(score, distance=score, name={"utility": "u", "distance": "d"}, **given)
    objects = {"name:u": score, "name:d": score}
    assert dc.plan_from_json(plan.to_json(), objects) == plan
    with pytest.raises(ArgumentError, match="objects must have distance under its fingerprint"):
        dc.plan_from_json(plan.to_json(), {"name:u": score})
    with pytest.raises(ArgumentError, match="utility must have a name to be read back"):
        dc.plan_from_json(dc.choose(score, **given).to_json(), objects)


@pytest.mark.parametrize(
    "plan",
    [
        dc.most_frequent("a", epsilon=1.0),
        dc.percentile("a", 50, candidates=[2, 1], epsilon=1.0),
        dc.quantiles("a", [0.75, 0.25], epsilon=1.0, mechanism="exponential"),
        dc.additive_model("y", features=["a"], bins=4, interactions=3, epsilon=1.0, delta=1e-6),
        dc.decision_tree("y", features=["a"], depth=2, cuts="private", epsilon=1.0),
        dc.random_forest("y", trees=3, method="random", seed=2, epsilon=1.0, delta=1e-6),
    ],
    ids=lambda plan: plan.plan_name,
)
def test_plans_without_objects_read_back(plan: Any) -> None:
    assert dc.plan_from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("accumulated_effects", {"features": "a", "intervals": 4, "limit": 1, "smooth": True}),
        ("accumulated_effects", {"features": "c", "order": np.array([2, 1]), "limit": None}),
        ("feature_interaction", {"feature": "a", "k": 1}),
        ("permutation_importance", {"release": "ranking", "k": np.int64(1), "mechanism": "sorted"}),
        ("permutation_importance", {"clip": 0.5, "scoring": "log_loss", "mechanism": "gaussian"}),
    ],
    ids=str,
)
def test_explanations_of_a_model_read_back(name: str, given: dict[str, Any]) -> None:
    plan = getattr(dc, name)(fitted(), **given, epsilon=1.0, delta=1e-6)
    printed = plan.arguments()["model"]["fingerprint"]
    assert dc.plan_from_json(plan.to_json(), {printed: fitted()}) == plan
    assert plan.at(0.5).at(1.0) == plan and plan.whole().whole() == plan.whole()


def test_rows_to_draw_from_come_by_their_digest_and_keep_their_stamp() -> None:
    rows, model = [{"a": 0.1, "b": 0.9}, {"a": 0.5, "b": 0.5}], fitted()
    given: dict[str, Any] = {"sampling": "marginal", "epsilon": 1.0}
    plan = dc.permutation_importance(model, background=rows, **given)
    printed = plan.arguments()
    objects = {printed["model"]["fingerprint"]: model, printed["background"]: rows}
    assert dc.plan_from_json(plan.to_json(), objects) == plan
    stamped = dc.permutation_importance(model, background=plan.background.stamped(True), **given)
    assert stamped.at(2.0).simulated and stamped.key != plan.key and not plan.at(2.0).simulated


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("any_curve", {"grid": [0, 1, 2.5], "bounds": (0, 1)}),
        ("any_curve", {"feature": "a", "bounds": (0, 1), "repeatable": False, "smooth": True}),
        ("any_ranking", {"items": ["p", "q"], "k": np.int64(1)}),
    ],
    ids=str,
)
def test_explainers_of_ones_own_come_by_their_names(name: str, given: dict[str, Any]) -> None:
    def explain(table: Any) -> Any:
        return table

    make = getattr(dc, name)
    plan = make(explain, name="mine", epsilon=1.0, **given)
    assert dc.plan_from_json(plan.to_json(), {"name:mine": explain}) == plan
    assert plan.arguments()["explainer"] == {"kind": "mine", "fingerprint": "name:mine"}
    assert plan.at(0.5).at(1.0) == plan and plan.at(0.5).explainer is plan.explainer
    unnamed = make(explain, epsilon=1.0, **given)
    assert unnamed.arguments()["explainer"]["kind"] == "explain" and unnamed.at(1.0) == unnamed
    with pytest.raises(ArgumentError, match="explainer must have a name to be read back"):
        dc.plan_from_json(unnamed.to_json(), {"name:mine": explain})


def test_values_of_records_read_back_with_their_model_rows_and_score() -> None:
    test = pd.DataFrame({"a": [0.1, 0.9], "y": [0, 1]})
    given: dict[str, Any] = {"test": test, "epsilon": 1.0}
    score = custom_score("share", accuracy_score, low=0.0, high=1.0, needs="label")
    plans = [
        dc.data_shapley(LogisticRegression(), records=3, coreset=dc.Coreset(), n_jobs=2, **given),
        dc.data_shapley(LogisticRegression(), score=score, audience="public", top=2, **given),
        dc.data_shapley(method="tknn", radius=0.5, **given),
    ]
    for plan in plans:
        told = plan.arguments()
        objects = {told["test"]: test.copy(), told["score"]: score}
        if told["model"] is not None:
            objects[told["model"]["fingerprint"]] = LogisticRegression()
        assert dc.plan_from_json(plan.to_json(), objects) == plan
        with pytest.raises(ArgumentError, match="objects must have test under its fingerprint"):
            dc.plan_from_json(plan.to_json(), {k: v for k, v in objects.items() if k != told["test"]})
    objects = {plans[0].arguments()["model"]["fingerprint"]: LogisticRegression(C=2.0)}
    objects[plans[0].arguments()["test"]] = test
    with pytest.raises(ArgumentError, match="model must be what the plan was made of, got another"):
        dc.plan_from_json(plans[0].to_json(), objects)


def test_what_says_nothing_to_counts_is_no_part_of_their_question() -> None:
    given: dict[str, Any] = {"test": np.zeros((2, 2)), "method": "tknn", "epsilon": 1.0}
    assert dc.data_shapley(rounds=9, seed=3, clip=0.5, **given) == dc.data_shapley(**given)
