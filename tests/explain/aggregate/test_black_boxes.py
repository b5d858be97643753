"""PyALE as a black box: its curves and a ranking by them become private, and it stays silent."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PyALE import ale
from sklearn.linear_model import LogisticRegression

import discreet as dc

FEATURES = ["u", "v", "w"]
SCHEMA = dc.Schema(
    {name: dc.Number(-2, 2, missing=False) for name in FEATURES}
    | {"label": dc.Category(0, 1, missing=False, other=False)},
    target="label",
)
SUBSETS = 15


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.uniform(-2, 2, (1500, 3)), columns=FEATURES)
    table["label"] = (2 * table["u"] - table["v"] + draw.normal(0, 1, 1500) > 0).astype(int)
    return table


@pytest.fixture(scope="module")
def accumulated(frame: pd.DataFrame) -> Any:
    model = LogisticRegression(C=10).fit(frame[FEATURES], frame["label"])
    chance = SimpleNamespace(predict=lambda rows: model.predict_proba(rows)[:, 1])

    def effect(table: pd.DataFrame, feature: str = "u") -> pd.Series:
        options = {"grid_size": 8, "include_CI": False, "plot": False}
        return ale(table[FEATURES], chance, [feature], **options)["eff"]

    return effect


def open_session(frame: pd.DataFrame, relation: str) -> dc.Session:
    terms: dict[str, Any] = {"dataset": "t", "ledger": ":memory:", "epsilon": 1e6, "seed": 0}
    return dc.protect(frame, SCHEMA, relation=relation, **terms)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_accumulated_effects_of_pyale(
    frame: pd.DataFrame, accumulated: Any, relation: str, caplog: pytest.LogCaptureFixture
) -> None:
    grid = SCHEMA["u"].grid(6)
    plan = dc.any_curve(
        accumulated, feature="u", resolution=6, bounds=(-1, 1), subsets=SUBSETS, epsilon=1e5
    )
    with caplog.at_level(logging.INFO):
        curve = open_session(frame, relation).release(plan).value
    assert caplog.text == ""  # PyALE itself says what kind of feature it found

    def on_the_grid(table: pd.DataFrame) -> Any:
        effect = accumulated(table)
        return np.interp(grid, effect.index, effect)

    exact = np.mean([on_the_grid(frame.iloc[place::SUBSETS]) for place in range(SUBSETS)], axis=0)
    tolerance = 1e-3 if relation == "replace-one" else 0.02  # other subsets, the same rows
    assert curve.y == pytest.approx(exact, abs=tolerance)
    assert curve.y == pytest.approx(on_the_grid(frame), abs=0.05)
    assert curve.x == tuple(grid) and np.all(np.diff(curve.y) > 0)


def test_a_ranking_by_the_spread_of_pyales_curves(frame: pd.DataFrame, accumulated: Any) -> None:
    def spread(table: pd.DataFrame) -> dict[str, float]:
        return {name: float(accumulated(table, name).std()) for name in FEATURES}

    plan = dc.any_ranking(spread, items=FEATURES, subsets=SUBSETS, epsilon=1e4)
    ranking = open_session(frame, "replace-one").release(plan).value
    assert ranking.names == ("u", "v", "w")
