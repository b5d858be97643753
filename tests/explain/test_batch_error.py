"""A model in single precision may lean with the rows beside it: every plan pays for all it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.explain.shap.engines import choose_engine
from discreet.plans import Setting

FEATURES = 8
NAMES = [f"x{place}" for place in range(FEATURES)]
SCHEMA = dc.Schema({name: dc.Number(0, 1, missing=False) for name in NAMES})
ROWS = 8_192


class LeaningModel:
    """Answers near a half that lean by 8.3e-7 with one record's company, by signs the test chooses."""

    def __init__(self) -> None:
        self.signs = np.ones(2**FEATURES, dtype=np.int64)
        self.marked = 7

    def __call__(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        patterns = (rows > 0.1) @ (1 << np.arange(FEATURES))
        lean = 1 if np.any(rows[:, self.marked] == 0.5001) else -1
        tilt = (lean * self.signs[patterns] * 7 * 2.0**-24).astype(np.float32)
        return np.float32(0.5) + tilt


@pytest.fixture(autouse=True)
def all_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call hold a whole block, so that a record has all the batch_rows that are paid for."""
    bind = dc.Model.bind

    def wide(model: dc.Model, schema: dc.Schema) -> Any:
        bound = bind(model, schema)
        shape = bound.calls.shape.with_places(2**18)
        return replace(bound, calls=replace(bound.calls, shape=shape))

    monkeypatch.setattr(dc.Model, "bind", wide)


def worst_case() -> tuple[Any, str, pd.DataFrame, pd.DataFrame]:
    """Return a model whose leaning adds up in the greatest row of the kernel engine's operator."""
    leaning = LeaningModel()
    model = dc.Model(leaning, bounds=(0, 1), name="leaning")
    engine = choose_engine(model.bind(SCHEMA), SCHEMA, coalitions=20)
    operator = engine.masks.operator
    feature = int(np.abs(operator).sum(axis=1).argmax())
    leaning.marked = 7 if feature != 7 else 6
    for coalition, weight in zip(engine.masks.coalitions, operator[feature], strict=True):
        leaning.signs[int(coalition @ (1 << np.arange(FEATURES)))] = int(np.sign(weight)) or 1
    first = pd.DataFrame(np.ones((ROWS, FEATURES)), columns=NAMES)
    second = first.copy()
    first.loc[0, NAMES[leaning.marked]] = 0.5001
    second.loc[0, NAMES[leaning.marked]] = 0.25
    return model, NAMES[feature], first, second


def moved_over_promised(stage: Any, first: pd.DataFrame, second: pd.DataFrame) -> float:
    sums = [
        add_up(PrivateTable(frame, SCHEMA), [Summand(stage.contribution, stage.noise.step)])[0]
        for frame in (first, second)
    ]
    return float(np.abs(sums[0] - sums[1]).sum() / stage.noise.sensitivity)


def dependence_stage() -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    model, feature, first, second = worst_case()
    plan = dc.shap_dependence(
        model,
        feature,
        background=pd.DataFrame(np.zeros((1, FEATURES)), columns=NAMES),
        bins=1,
        coalitions=20,
        clip=0.001,
        epsilon=1.0,
        mechanism="laplace",
    )
    return plan.prepare(Setting(SCHEMA, "replace-one", ROWS)).stages[0], first, second


@pytest.mark.proves("shap-dependence")
def test_shap_dependence_pays_for_the_operator_s_gain() -> None:
    stage, first, second = dependence_stage()
    assert moved_over_promised(stage, first, second) <= 1


@pytest.mark.refutes("shap-dependence")
def test_a_forgotten_gain_is_caught() -> None:
    from discreet.plans.stages import sum_stage

    stage, first, second = dependence_stage()
    forgotten = sum_stage(
        "planted",
        replace(stage.contribution, calls=replace(stage.contribution.calls, lipschitz=1.0)),
        Setting(SCHEMA, "replace-one", ROWS),
        statement="shap-dependence",
        epsilon=1.0,
        mechanism="laplace",
    )
    assert moved_over_promised(forgotten, first, second) > 1


LOSS = 0.016
START, STOP = (0.123456, 0.654321), (0.234567, 0.765432)
LEVEL = float(np.float32(0.5 - LOSS / 2))
TARGETS = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "m": dc.Number(0, 1, missing=False),
        "y": dc.Number(0, 1, missing=False),
    },
    target="y",
)


def split_model(rows: Any) -> Any:
    """Answers that lean against each other for a row and for the same row with a value replaced."""
    a, m = np.asarray(rows).T
    lean = 1.0 if np.any(a == START[0]) else -1.0
    out = 0.5 + np.where(a == m, -7, 7) * 2.0**-24 * lean
    for pair, both, one in ((START, LEVEL, 1.0), (STOP, 1.0, LEVEL)):
        first, second = a == pair[0], m == pair[1]
        out = np.where(first & second, both, np.where(first ^ second, one, out))
    return out.astype(np.float32)


def importance_stage() -> tuple[Any, list[pd.DataFrame]]:
    plan = dc.permutation_importance(
        dc.Model(split_model, bounds=(0, 1), name="split"),
        scoring="absolute_error",
        repeats=1,
        clip=LOSS,
        epsilon=1.0,
        mechanism="laplace",
    )
    stage = plan.prepare(Setting(TARGETS, "replace-one", ROWS)).stages[-1]
    base = np.arange(ROWS) / ROWS
    frames = []
    for pair in (START, STOP):
        frame = pd.DataFrame({"a": base, "m": base, "y": LEVEL})
        frame.loc[0, ["a", "m"]] = pair
        frames.append(frame)
    return stage, frames


def importance_moves(stage: Any, frames: list[pd.DataFrame]) -> float:
    sums = [
        add_up(PrivateTable(frame, TARGETS), [Summand(stage.contribution, stage.noise.step)])[0]
        for frame in frames
    ]
    return float(np.abs(sums[0] - sums[1]).sum() * stage.noise.step)


@pytest.mark.proves("pfi-rounding")
def test_a_difference_of_losses_pays_for_both_answers() -> None:
    stage, frames = importance_stage()
    assert stage.contribution.size == 2, "one coordinate per feature: differences"
    assert importance_moves(stage, frames) <= stage.noise.sensitivity * stage.noise.step


@pytest.mark.refutes("pfi-rounding")
def test_a_difference_that_pays_once_is_caught() -> None:
    stage, frames = importance_stage()
    answers = 8_192 * stage.contribution.batch_error("replace-one") * stage.contribution.size
    paid_once = stage.noise.sensitivity * stage.noise.step - answers / 2
    assert importance_moves(stage, frames) > paid_once
