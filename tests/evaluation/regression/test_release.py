"""Errors of a regressor: exact without noise, with intervals that hold as often as they say."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.evaluation.regression.release import prepare_regression
from discreet.evaluation.regression.result import RegressionEvaluation
from discreet.plans import Setting
from discreet.plans.results.result import Result
from discreet.randomness import IntArray, SimulatedNoise
from tests.evaluation.regression.cases import identity, layout, opaque, question, schema

ROWS = 2_000


class NoNoise(SimulatedNoise):
    """A source that adds nothing."""

    def laplace(self, scale: float, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)


def draw(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Return records whose target is the model's answer, a shift in ward b, and an error."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["a", "b"], rows, p=[0.7, 0.3])
    x = rng.uniform(5.0, 50.0, rows)
    y = x + 2.0 * (ward == "b") + rng.normal(0, 3.0, rows)
    return pd.DataFrame({"x": x, "y": np.clip(y, 0.0, 60.0), "ward": ward})


def released(
    frame: pd.DataFrame,
    model: Any,
    table: dc.Schema,
    *,
    noise: bool = True,
    seed: int = 0,
    **asked: Any,
) -> RegressionEvaluation:
    """Return an evaluation with seeded noise, or with none."""
    relation = asked.get("relation", "replace-one")
    releaser = SimulatedReleaser(PrivateTable(frame, table, relation), seed)
    if not noise:
        releaser.source = NoNoise(0)
    program = prepare_regression(question(model, table, rows=len(frame), **asked))
    found = program.finish(releaser)
    assert isinstance(found, RegressionEvaluation)
    return found


def exact(frame: pd.DataFrame) -> dict[str, float]:
    """Return the errors of some records, as everybody computes them."""
    error = frame.y - np.clip(frame.x, 0.0, 60.0)
    square = float((error**2).mean())
    return {
        "mae": float(error.abs().mean()),
        "rmse": square**0.5,
        "r2": 1 - square / float(frame.y.var(ddof=0)),
        "bias": float(error.mean()),
    }


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("model", [identity, opaque])
def test_without_noise_figures_are_exact(model: Any, relation: str) -> None:
    frame = draw(1)
    asked = {"relation": relation, "by": ("ward",), "residuals": ("x",)}
    found = released(frame, model(), schema(), noise=False, **asked)
    for report, rows in ((found.overall, frame), (found.errors("b"), frame[frame.ward == "b"])):
        for name, value in exact(rows).items():
            assert getattr(report, name).value == pytest.approx(value, abs=1e-4), name
        assert report.records.value == pytest.approx(len(rows))
        assert sum(report.counts) == pytest.approx(len(rows))
    errors = frame.y - frame.x
    cell = found.residuals("x").iloc[4]
    inside = errors[(frame.x >= 20) & (frame.x < 30)]
    assert cell.value == pytest.approx(inside.mean(), abs=1e-4)
    assert cell.records == pytest.approx(len(inside))


def test_opaque_models_get_hats_and_isolated_ones_cells() -> None:
    assert not layout(identity(), schema()).soft
    assert layout(opaque(), schema()).soft
    assert not layout(opaque(isolated=True), schema()).soft
    hats = released(draw(1), opaque(), schema(), noise=False)
    assert hats.soft and len(hats.overall.counts) == len(hats.edges)


def test_a_record_without_a_target_is_in_no_sum() -> None:
    frame = draw(2)
    gone = frame.assign(y=frame.y.where(np.arange(ROWS) % 4 > 0))
    found = released(gone, identity(), schema(gaps=True), noise=False)
    assert found.overall.records.value == pytest.approx(ROWS * 3 / 4)
    for name, value in exact(gone.dropna()).items():
        assert getattr(found.overall, name).value == pytest.approx(value, abs=1e-4)


def test_a_clip_shortens_errors_and_their_noise() -> None:
    whole, clipped = (layout(identity(), schema(), clip=clip) for clip in (None, 5.0))
    assert whole.length == pytest.approx(60.0) and clipped.length == 5.0
    found = released(draw(1), identity(), schema(), noise=False, clip=5.0)
    error = np.clip(draw(1).y - draw(1).x, -5.0, 5.0)
    assert found.overall.mae.value == pytest.approx(error.abs().mean(), abs=1e-4)


def test_a_group_of_nobody_is_an_answer() -> None:
    frame = draw(3).assign(ward="a")
    found = released(frame, identity(), schema(), by=("ward",))
    nobody = found.errors("b")
    assert nobody.records.low == 0.0
    assert nobody.mae.low == 0.0 and nobody.mae.high == pytest.approx(60.0)
    assert nobody.r2.high == 1.0 and nobody.r2.low < -1


def test_within_tells_what_cells_leave_open() -> None:
    frame = draw(1)
    found = released(frame, identity(), schema(), noise=False)
    edge = found.edges[len(found.edges) // 2 + 2]
    share = float(((frame.y - frame.x).abs() <= edge).mean())
    assert found.within(edge).value == pytest.approx(share, abs=1e-3)
    assert found.within(edge).binning == 0.0
    between = found.within(edge * 1.1)
    assert between.binning > 0
    assert between.low <= float(((frame.y - frame.x).abs() <= edge * 1.1).mean()) <= between.high


@pytest.mark.once_per()
@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 1.0},
        {"epsilon": 0.5, "relation": "add-remove"},
        {"epsilon": 3.0, "by": ("ward",), "residuals": ("x",)},
        {"epsilon": 1.0, "delta": 1e-6, "by": ("ward",)},
    ],
)
def test_intervals_hold_the_truth_of_the_population(asked: dict[str, Any]) -> None:
    """Of 100 draws a 95 % interval that holds misses more than 15 once in ten thousand times."""
    times, many = 100, draw(99, 400_000)
    truths = {None: exact(many), "b": exact(many[many.ward == "b"])}
    error, cell = many.y - many.x, (many.x >= 20) & (many.x < 30)
    held: Counter[Any] = Counter()
    for seed in range(times):
        found = released(draw(seed), identity(), schema(), seed=seed, **asked)
        for group in (None, "b") if found.groups else (None,):
            for name, truth in truths[group].items():
                figure = getattr(found.errors(group), name)
                held[group, name] += figure.low <= truth <= figure.high
        if found.overall.residuals:
            mean = found.overall.residuals[0].means[4]
            held["cell"] += mean.low <= float(error[cell].mean()) <= mean.high
        share = found.within(4.0)
        held["within"] += share.low <= float((error.abs() <= 4.0).mean()) <= share.high
    assert all(count >= times - 15 for count in held.values()), held


def test_intervals_are_not_wider_than_needed() -> None:
    found = released(draw(1, 20_000), identity(), schema(), epsilon=3.0)
    assert found.overall.mae.high - found.overall.mae.low < 0.2
    assert found.overall.r2.high - found.overall.r2.low < 0.05


def test_results_come_back_from_json_and_are_drawn() -> None:
    found = released(draw(1), identity(), schema(), by=("ward",), residuals=("x", "ward"))
    assert Result.read(json.loads(json.dumps(found.to_json()))) == found
    frame = found.to_frame()
    assert list(frame.ward.unique()) == ["(all)", "a", "b"]
    assert set(frame.figure) == {"records", "mae", "rmse", "r2", "bias"}
    assert found.plot().ax_.get_xlabel() == "y less the model's answer"
    assert len(found.plot_residuals("ward", group="a").ax_.get_xticks()) == 2
    assert [label.get_text() for label in found.plot_groups("rmse").ax_.get_yticklabels()] == [
        "all records",
        "a",
        "b",
    ]


def test_hats_are_drawn_as_a_line() -> None:
    assert len(released(draw(1), opaque(), schema()).plot().ax_.get_lines()) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda found: found.errors("c"), "group must be one of the groups .a, b., got 'c'."),
        (lambda found: found.residuals("y"), "feature must be one that residuals were asked by"),
        (lambda found: found.plot_groups("auc"), "figure must be one of mae, rmse, r2, bias"),
        (lambda found: found.within(-1.0), "length must be a finite number of at least zero"),
    ],
)
def test_what_is_not_there_is_said(call: Any, words: str) -> None:
    found = released(draw(1), identity(), schema(), by=("ward",), residuals=("x",))
    with pytest.raises(ArgumentError, match=words):
        call(found)


def test_targets_and_features_that_will_not_do_are_refused() -> None:
    table = dc.Schema(
        {"x": dc.Number(-20, 80, missing=False), "y": dc.Category("low", "mid", "high")}, target="y"
    )
    with pytest.raises(ArgumentError, match="target must be a number for a model that answers numbers"):
        prepare_regression(question(identity(), table))
    with pytest.raises(ArgumentError, match="residuals must name columns of the schema"):
        prepare_regression(question(identity(), schema(), residuals=("height",)))


def test_single_precision_is_paid_for_and_refused_where_that_is_most_of_the_noise() -> None:
    def single(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0].astype(np.float32)

    made = dc.Model(single, columns=["x"], bounds=(0.0, 60.0), name="single")
    stds = [
        prepare_regression(question(model, schema())).stages[0].noise.std for model in (opaque(), made)
    ]
    assert 1.05 < stds[1] / stds[0] < 2
    with pytest.raises(dc.errors.ModelError, match="isolated=True"):
        prepare_regression(question(made, schema(), clip=1.0))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_part_of_the_table_has_errors_of_its_own(relation: str) -> None:
    frame, table = draw(1), schema()
    plan = dc.evaluate(identity(), where=dc.col("ward") == "b", residuals=["x"], epsilon=1.0)
    rows = len(frame) if relation == "replace-one" else None
    releaser = SimulatedReleaser(PrivateTable(frame, table, relation), 0)
    releaser.source = NoNoise(0)
    found = plan.prepare(Setting(table, relation, rows)).finish(releaser)
    part = frame[frame.ward == "b"]
    assert found.overall.records.value == pytest.approx(len(part))
    for name, value in exact(part).items():
        assert getattr(found.overall, name).value == pytest.approx(value, abs=1e-4)
