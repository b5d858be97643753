"""How far two models can be apart: attained by linear ones, less for trees that are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.explain.compare.apart import farthest_apart

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 4, missing=False),
        "b": dc.Number(-1, 1, missing=False),
        "y": dc.Number(0, 10, missing=False),
    },
    target="y",
)
DRAW = np.random.default_rng(3)
ROWS = np.column_stack([DRAW.uniform(0, 4, 300), DRAW.uniform(-1, 1, 300)])
TARGET = np.clip(2 * ROWS[:, 0] + ROWS[:, 1] + DRAW.normal(0, 0.3, 300), 0, 10)


def _bounded(model: Any) -> dc.Model:
    linear = isinstance(model, LinearRegression)
    return dc.Model(model, bounds=(-20, 20)) if linear else dc.Model(model)


def apart(first: Any, second: Any) -> tuple[float, float]:
    """Return the bound, and the farthest answers on corners and random rows."""
    models = [_bounded(model).bind(SCHEMA) for model in (first, second)]
    corners = np.array([[a, b] for a in (0.0, 4.0) for b in (-1.0, 1.0)])
    rows = np.vstack([corners, ROWS])
    answers = [model.predict(np.asfortranarray(rows)) for model in models]
    return farthest_apart(*models, SCHEMA), float(np.abs(answers[0] - answers[1]).max())


def test_linear_models_are_apart_as_far_as_corners_tell() -> None:
    first, second = LinearRegression().fit(ROWS, TARGET), LinearRegression().fit(ROWS[:20], TARGET[:20])
    bound, seen = apart(first, second)
    assert seen <= bound == pytest.approx(seen)


def test_logistic_answers_are_apart_by_a_quarter_of_their_scores_at_most() -> None:
    high = TARGET > 4
    first = LogisticRegression().fit(ROWS, high)
    second = LogisticRegression(C=0.9).fit(ROWS, high)
    bound, seen = apart(first, second)
    assert seen <= bound < 1.0


def test_shared_trees_do_not_count() -> None:
    short = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0).fit(ROWS, TARGET)
    longer = GradientBoostingRegressor(n_estimators=23, max_depth=2, random_state=0).fit(ROWS, TARGET)
    bound, seen = apart(short, longer)
    assert seen <= bound
    ranges = [dc.Model(model).bind(SCHEMA).bounds.width for model in (short, longer)]
    assert bound < 0.2 * min(ranges)


def test_of_other_pairs_the_ranges_are_known() -> None:
    high = TARGET > 4
    trees = RandomForestClassifier(3, max_depth=2, random_state=0).fit(ROWS, high)
    bound, seen = apart(trees, LogisticRegression().fit(ROWS, high))
    assert seen <= bound and bound >= 0.5
