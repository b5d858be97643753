"""Hunting certificates: true ones hold, those that promise too much are found, time is kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.hunter import find_thresholds, hunt, hunt_stages
from discreet.audit.hunting.neighbours import draw_table
from discreet.audit.hunting.questions import SCHEMA as LOANS
from discreet.audit.hunting.questions import model_of
from discreet.audit.hunting.search import Search
from discreet.audit.hunting.trial import Trial
from discreet.errors import DiscreetError
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from tests.audit.hunting.plans import SCHEMA, SumOf


def scaled(values: np.ndarray) -> np.ndarray:
    return values / 200_000


def bump(values: np.ndarray) -> np.ndarray:
    """Where no corner, no grid point and no end is: only a search along the slope arrives."""
    return np.exp(-np.square((values - 61_803.4) / 5_000))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_true_certificate_holds_and_is_reached(relation: Any) -> None:
    report = hunt(SumOf(scaled), SCHEMA, relation=relation, rows=12, seconds=0.3)
    assert report.held and report.tightness["sum"] == pytest.approx(1.0, abs=1e-4)
    assert report.pairs >= 9 and not report.partial


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_certificate_of_half_the_size_is_broken(relation: Any) -> None:
    report = hunt(SumOf(scaled, 0.5), SCHEMA, relation=relation, rows=12, seconds=0.2)
    assert not report.held
    assert report.found[0].share == pytest.approx(2.0, abs=1e-4)
    pair = report.found[0].to_frame()
    assert list(pair.columns) == ["income", "home"] and list(pair.index) == ["one", "other"]
    assert "BROKEN" in str(report) and "is certified" in str(report.found[0])


def _searched(plan: Any, climbing: bool, ticks: int) -> Trial:
    """Search with a clock that goes on by one second whenever somebody looks."""
    clock = iter(range(10**9))
    program = plan.prepare(Setting(SCHEMA, REPLACE_ONE, 12))
    trial = Trial(SCHEMA, REPLACE_ONE, float(ticks), clock=lambda: float(next(clock)))
    search = Search(trial, draw_table(SCHEMA, 12, 0), climbing=climbing)
    search.go(lambda table, seed: program.stages)
    return trial


def test_hill_climbing_finds_what_structure_misses() -> None:
    """Three quarters are promised. No corner, grid point or own row is near the middle of the bump."""
    plan = SumOf(bump, 0.75)
    by_structure = _searched(plan, climbing=False, ticks=1_200)
    assert by_structure.pairs > 100 and not by_structure.found
    climbed = _searched(plan, climbing=True, ticks=1_200)
    assert climbed.found and climbed.found["sum", "linf"].pair == "by hill-climbing"
    assert climbed.reached["sum", "linf"].move.far == pytest.approx(1.0, abs=0.01)


def test_the_budget_of_seconds_is_kept() -> None:
    """Every look at the clock takes a second: the search ends with the first look that is too late."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return float(looks)

    program = SumOf(scaled).prepare(Setting(SCHEMA, REPLACE_ONE, 12))
    trial = Trial(SCHEMA, REPLACE_ONE, 200.0, clock=clock)
    Search(trial, draw_table(SCHEMA, 12, 0)).go(lambda table, seed: program.stages)
    assert looks == 201 and trial.climbed > 0
    assert trial.report("sum", 12).seconds == 201.0


def test_corners_are_tried_however_short_the_time() -> None:
    trial = _searched(SumOf(scaled), climbing=True, ticks=1)
    assert trial.pairs == 36, "nine who could stand at the first place, two by two"


def test_an_interrupt_keeps_what_was_found() -> None:
    calls = 0

    def interrupted(values: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 15:
            raise KeyboardInterrupt
        return scaled(values)

    report = hunt(SumOf(interrupted, 0.5), SCHEMA, rows=12, seconds=5.0)
    assert report.partial and not report.held and report.pairs > 10
    assert "interrupted" in str(report)


def test_a_contribution_that_raises_because_of_a_value_is_found() -> None:
    def strict(values: np.ndarray) -> np.ndarray:
        if len(values) > 1 and (values == 200_000).sum() > 1:
            raise ValueError("too rich")
        return scaled(values)

    report = hunt(SumOf(strict), SCHEMA, rows=12, seconds=0.3)
    assert not report.held and "ValueError: too rich" in str(report)


def test_a_vector_that_follows_other_rows_is_found() -> None:
    def centred(values: np.ndarray) -> np.ndarray:
        return (values - values.mean()) / 400_000 + 0.5

    program = SumOf(centred).prepare(Setting(SCHEMA, REPLACE_ONE, 12))
    rows = draw_table(SCHEMA, 12, 0)
    report = hunt_stages(
        lambda table, seed: program.stages,
        SCHEMA,
        REPLACE_ONE,
        rows,
        name="centred",
        seconds=600.0,
        until_broken=True,
    )
    assert "the same row beside another" in report.found[0].pair


def test_later_stages_are_hunted_too() -> None:
    plan = dc.decision_tree("defaulted", depth=2, epsilon=1.0)
    report = hunt(plan, LOANS, rows=48, seconds=0.3)
    assert {"level 1", "level 2", "leaves"} <= set(report.tightness) and report.held


def test_a_public_frame_to_start_from() -> None:
    frame = pd.DataFrame({"income": np.linspace(0, 10, 9), "home": ["own"] * 9})
    report = hunt(SumOf(scaled), SCHEMA, start=frame, seconds=0.2)
    assert report.rows == 9 and report.held


def test_split_points_and_arguments_are_thresholds() -> None:
    plan = dc.percentile("income", 90, candidates=[1, 60_000], epsilon=1.0)
    found = find_thresholds(plan, model_of("trees"), LOANS)
    assert {1.0, 60_000.0} <= set(found["income"]) and len(found["income"]) > 4
    assert all(18 <= split <= 90 for split in found["age"])


def test_a_model_may_be_given_apart() -> None:
    def ask(model: Any) -> Any:
        return dc.partial_dependence(model, "income", resolution=3, epsilon=1.0)

    report = hunt(ask, LOANS, model_of("opaque"), rows=24, seconds=0.2)
    assert report.held and "curve" in report.tightness


def test_a_stage_without_a_row_is_told() -> None:
    from tests.explain.shap.test_values import sealed
    from tests.laws import world

    report = hunt(sealed(world.model("linear"), 0.0), world.SCHEMA, rows=8, seconds=0.2)
    assert report.pairs == 0 and "sealed query" in str(report) and "Nothing was tried" in str(report)


def test_the_report_as_a_frame_and_as_json() -> None:
    report = hunt(SumOf(scaled, 0.5), SCHEMA, rows=12, seconds=0.2)
    frame = report.to_frame()
    assert list(frame.columns) == ["stage", "norm", "moved", "certified", "share", "broken", "pair"]
    assert frame["norm"].tolist() == ["l1", "l2", "linf"] and frame["broken"].all()
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["held"] is False and len(plain["found"]) == 3
    assert set(plain["found"][0]["record"]) == {"income", "home"}


def raising(rows: Any) -> Any:
    raise RuntimeError("no such file")


WRONG: dict[str, tuple[Any, str]] = {
    "no model": ({"plan": lambda model: model}, "model must be given"),
    "no plan": ({"plan": 3}, "plan must be a plan or a function"),
    "a function that makes none": ({"plan": lambda m: 3, "model": 4}, "plan must make a plan"),
    "a function that fails": (
        {"plan": lambda m: 1 / 0, "model": 4},
        "plan must make a plan of the model, and raised ZeroDivisionError",
    ),
    "relation": ({"relation": "delete-two"}, "relation must be one of"),
    "column": ({"plan": dc.histogram("debt", epsilon=1.0)}, "column must be one of"),
    "rows": ({"rows": 2}, "rows must be"),
    "seconds": ({"seconds": 0}, "seconds must be"),
    "start": ({"start": pd.DataFrame({"home": ["own"]})}, "data must have a column"),
    "start too short": ({"start": pd.DataFrame({"home": ["own"], "income": [3]})}, "rows of start"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_sentence(name: str) -> None:
    given, says = WRONG[name]
    options = {"plan": SumOf(scaled), "model": None} | given
    with pytest.raises(DiscreetError, match=says) as caught:
        hunt(options.pop("plan"), SCHEMA, options.pop("model"), **options)
    assert "\n" not in str(caught.value)


MODELS: dict[str, tuple[Any, str]] = {
    "raises": (raising, "no such file"),
    "strings": (lambda rows: np.array(["yes"] * len(rows)), "model must predict rows"),
    "wrong shape": (lambda rows: np.zeros((len(rows), 3)), "one number per row"),
    "looks around": (lambda rows: rows[:, 0] / rows[:, 0].sum(), "must answer every row by itself"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_cannot_be_asked_is_refused_in_one_sentence(name: str) -> None:
    function, says = MODELS[name]
    plan = dc.partial_dependence(dc.Model(function, bounds=(0, 1)), "income", epsilon=1.0)
    with pytest.raises(DiscreetError, match=says) as caught:
        hunt(plan, SCHEMA, rows=12, seconds=0.2)
    assert "\n" not in str(caught.value)


def test_a_model_that_answers_nothing_moves_nothing() -> None:
    nothing = dc.Model(lambda rows: np.full(len(rows), np.nan), bounds=(0, 1), name="nothing")
    plan = dc.partial_dependence(nothing, "income", resolution=3, rug=False, epsilon=1.0)
    report = hunt(plan, SCHEMA, rows=12, seconds=0.2)
    assert report.held and report.tightness["curve"] == 0.0


def test_relations_are_named_in_reports() -> None:
    report = hunt(SumOf(scaled), SCHEMA, relation=ADD_REMOVE.value, rows=12, seconds=0.1)
    assert Relation(report.relation) is ADD_REMOVE


def test_records_with_ids_go_to_their_subsets() -> None:
    """Under add-remove the id of a record decides which subset it is in."""
    named = dc.Schema({"income": dc.Number(0, 200_000, missing=False)}, id="person")

    def mean(frame: pd.DataFrame) -> np.ndarray:
        return np.array([float(frame["income"].mean()) / 200_000] * 2)

    plan = dc.any_curve(mean, grid=[0, 1], bounds=(0, 1), subsets=4, name="mean", epsilon=1.0)
    for relation in ("replace-one", "add-remove"):
        report = hunt(plan, named, relation=relation, rows=8, seconds=0.3)
        assert report.held and report.tightness["curve"] > 0.05
        assert set(report.reached[0].to_frame().columns) == {"income", "person"}
