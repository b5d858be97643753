"""Figures of many classes: exact without noise, with intervals that hold as often as they say."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

import discreet as dc
from discreet.errors import ArgumentError, ModelError
from discreet.evaluation.classes.result import PER_CLASS, ClassEvaluation
from discreet.evaluation.figures import Figure
from discreet.evaluation.plan import evaluate
from discreet.plans import Setting
from discreet.plans.registry import plan_from_json
from discreet.plans.results.result import Result
from tests.evaluation.classes.cases import (
    CLASSES,
    FEATURES,
    Unknown,
    draw,
    forest,
    logistic,
    released,
    schema,
)

ROWS = 3_000


def exact(model: Any, frame: pd.DataFrame) -> dict[Any, float]:
    """Return figures as scikit-learn computes them."""
    scores = model.predict_proba(frame[FEATURES])
    given = np.array(CLASSES)[scores.argmax(1)]
    each = precision_recall_fscore_support(frame.y, given, labels=list(CLASSES))[:3]
    found: dict[Any, float] = {"accuracy": float((given == frame.y).mean())}
    for name, values in zip(PER_CLASS, each, strict=True):
        found |= {(name, class_): float(v) for class_, v in zip(CLASSES, values, strict=True)}
        found[f"macro {name}"] = float(np.mean(values))
    for place, class_ in enumerate(CLASSES):
        found["auc", class_] = float(roc_auc_score(frame.y == class_, scores[:, place]))
    return found


def figures(found: ClassEvaluation, group: Any = None) -> dict[Any, Figure]:
    """Return the same figures of a release."""
    told: dict[Any, Figure] = {"accuracy": found.accuracy(group)}
    for name in PER_CLASS:
        told |= {(name, class_): found.metric(name, class_, group) for class_ in CLASSES}
        told[f"macro {name}"] = found.macro(name, group)
    if found.rest_knots:
        told |= {("auc", class_): found.auc(class_, group) for class_ in CLASSES}
    return told


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("model", [forest, logistic, Unknown])
def test_without_noise_figures_are_exact(model: Any, relation: str) -> None:
    frame, known = draw(1), model()
    found = released(frame, known, relation=relation, noise=False, by="sex")
    for group, rows in ((None, frame), ("M", frame[frame.sex == "M"])):
        truths = exact(known, rows)
        for name, figure in figures(found, group).items():
            assert figure.value == pytest.approx(truths[name], abs=2e-3), name
        assert found.confusion_matrix(group).to_numpy().sum() == pytest.approx(len(rows))


def test_highest_scores_are_compared_with_what_is_right() -> None:
    frame = draw(2)
    found = released(frame, forest(), noise=False)
    scores = forest().predict_proba(frame[FEATURES])
    right, top = np.array(CLASSES)[scores.argmax(1)] == frame.y, scores.max(1)
    edges = np.linspace(1 / 3, 1, 11)
    place = np.clip(np.searchsorted(edges, top, side="right") - 1, 0, 9)
    missed = [abs(right[place == i].sum() - top[place == i].sum()) for i in range(10)]
    error = found.calibration_error()  # less what noise of its deviation would have added
    assert error.low <= sum(missed) / len(frame) <= error.high
    assert error.value == pytest.approx(sum(missed) / len(frame), abs=0.01)
    curve = found.calibration_curve()
    assert curve["score"].iloc[6] == pytest.approx(top[place == 6].mean(), abs=1e-3)
    assert curve["value"].iloc[6] == pytest.approx(right[place == 6].mean(), abs=1e-3)


def test_areas_are_told_only_if_asked_for_and_the_split_is_told() -> None:
    frame = draw(1)
    plain, asked = (released(frame, forest(), one_vs_rest=rest) for rest in (False, True))
    with pytest.raises(ArgumentError, match="one_vs_rest must be asked for"):
        plain.auc("a")
    assert asked.shares == (0.35, 0.15, 0.5) and plain.shares == (0.6, 0.4)
    truths = exact(forest(), frame)
    for class_ in CLASSES:
        area = asked.auc(class_)
        assert area.low <= truths["auc", class_] <= area.high
        assert area.binning > 0
    assert asked.stds[0] == pytest.approx(plain.stds[0] * 0.6 / 0.35, rel=1e-6)


@pytest.mark.once_per()
@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (forest, {}),
        (forest, {"relation": "add-remove", "by": "sex", "epsilon": 0.5}),
        (logistic, {"by": "sex", "delta": 1e-6, "epsilon": 0.5}),
        (Unknown, {"one_vs_rest": True}),
    ],
)
def test_intervals_hold_the_truth_of_the_population(model: Any, asked: dict[str, Any]) -> None:
    """Of 60 draws a 95 % interval that holds misses more than 11 once in ten thousand times."""
    times, many, known = 60, draw(99, 200_000), model()
    truths = {None: exact(known, many), "F": exact(known, many[many.sex == "F"])}
    held: Counter[Any] = Counter()
    for seed in range(times):
        found = released(draw(seed), known, seed=seed, **asked)
        for group in (None, "F") if found.columns else (None,):
            for name, figure in figures(found, group).items():
                held[group, name] += figure.low <= truths[group][name] <= figure.high
    assert all(count >= times - 11 for count in held.values()), held


def test_a_class_and_a_group_of_nobody_are_answers() -> None:
    frame = draw(1).assign(sex="F")
    found = released(frame[frame.y != "c"], forest(), by="sex")
    assert found.metric("recall", "c").low == 0.0 and found.metric("recall", "c").high == 1.0
    assert found.accuracy("M").low == 0.0 and found.accuracy("M").high == 1.0
    assert found.small("M") and not found.small("F")
    assert found.macro("recall").high - found.macro("recall").low > 1 / 3


def test_records_without_a_class_are_in_no_table() -> None:
    frame = draw(1)
    gone = frame.assign(y=frame.y.where(np.arange(ROWS) % 3 > 0))
    found = released(gone, forest(), table=schema(gaps=True), noise=False)
    assert found.rows is None
    assert found.confusion_matrix().to_numpy().sum() == pytest.approx(ROWS * 2 / 3)
    assert found.accuracy().value == pytest.approx(exact(forest(), gone.dropna())["accuracy"], abs=1e-4)


def test_results_come_back_from_json_and_are_drawn() -> None:
    found = released(draw(1), forest(), by="sex", one_vs_rest=True)
    assert Result.read(json.loads(json.dumps(found.to_json()))) == found
    frame = found.to_frame()
    assert list(frame.sex.unique()) == ["(all)", "F", "M"]
    assert {"precision", "recall", "f1", "accuracy", "calibration_error", "auc"} == set(frame.metric)
    map_ = found.plot(title="Confusions").ax_
    assert [label.get_text() for label in map_.get_xticklabels()] == list(CLASSES)
    assert len(map_.texts) == 9
    assert found.plot_calibration(group="M").ax_.get_ylabel() == "share that is right"


def test_plans_come_back_from_json() -> None:
    plan = evaluate(forest(), by="sex", one_vs_rest=True, epsilon=1.0)
    again = plan_from_json(plan.to_json(), objects={plan.model.fingerprint: forest()})
    assert again == plan and again.key == plan.key
    with pytest.raises(ArgumentError, match="model must be the one that the plan was made of"):
        plan_from_json(plan.to_json(), objects={plan.model.fingerprint: _two_classes()})


def _two_classes() -> Any:
    from sklearn.linear_model import LogisticRegression

    frame = draw(5)
    return LogisticRegression().fit(frame[FEATURES], frame.y == "a")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (dc.Number(0, 5), "target must be a category for a classifier of many classes"),
        (dc.Category("a", "b", "d"), "model must predict values of the schema's target"),
    ],
)
def test_targets_that_will_not_do_are_refused(target: Any, words: str) -> None:
    columns = {**{name: schema()[name] for name in ("x", "z")}, "y": target}
    table = dc.Schema(columns, target="y")
    with pytest.raises((ArgumentError, ModelError), match=words):
        evaluate(forest(), epsilon=1.0).prepare(Setting(table, "replace-one", 100))


def test_single_precision_is_refused_with_what_to_do() -> None:
    plan = evaluate(Unknown(np.float32), epsilon=1.0)
    with pytest.raises(ModelError, match="evaluate one class at a time"):
        plan.prepare(Setting(schema(), "replace-one", 100))


@pytest.mark.parametrize("name", ["residuals", "clip"])
def test_arguments_of_other_targets_are_refused(name: str) -> None:
    plan = evaluate(forest(), epsilon=1.0, **{name: ["x"] if name == "residuals" else 3.0})
    with pytest.raises(ArgumentError, match=f"{name} must be left out unless the model answers"):
        plan.prepare(Setting(schema(), "replace-one", 100))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda found: found.metric("recall", "d"), "class_ must be one of a, b, c"),
        (lambda found: found.metric("auc", "a"), "name must be one of precision, recall, f1"),
        (lambda found: found.accuracy("X"), "group must be one of the groups"),
    ],
)
def test_what_is_not_there_is_said(call: Any, words: str) -> None:
    found = released(draw(1), forest())
    with pytest.raises(ArgumentError, match=words):
        call(found)


def test_a_part_of_the_table_has_figures_of_its_own() -> None:
    frame = draw(1)
    found = released(frame, forest(), noise=False, where=dc.col("sex") == "M")
    part = frame[frame.sex == "M"]
    assert found.rows is None
    assert found.accuracy().value == pytest.approx(exact(forest(), part)["accuracy"], abs=1e-4)
