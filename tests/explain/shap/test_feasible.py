"""Released attributions stay inside what is feasible, and their bands stay true."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.explain.shap.parts import Explained
from discreet.plans import Attribution, Setting
from tests.explain.shap.cases import TINY, TINY_ROWS, raw_steps, tiny_models

MODELS = tiny_models()
SCHEMA = dc.Schema({name: dc.Number(-2, 2, missing=False) for name in "abc"})
LEAST = 0.92
"""A band of 95 % falls below this in 400 draws with a probability of one in a hundred."""


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).uniform(-2, 2, (60, 3)), columns=list("abc"))


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression().fit(frame.to_numpy(), (frame @ [2.0, -1.0, 0.2] > 0).astype(int))


def draws(plan: dc.Plan, frame: pd.DataFrame, relation: str, count: int = 400) -> list[Attribution]:
    rows = len(frame) if relation == "replace-one" else None
    program = plan.prepare(Setting(SCHEMA, relation, rows))  # type: ignore[arg-type]
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), 4)  # type: ignore[arg-type]
    return [program.finish(releaser) for _ in range(count)]  # type: ignore[misc]


def exact_mean(explained: Explained, stage: Any, rows: list[tuple[float, float]]) -> np.ndarray:
    return raw_steps(stage, rows) * stage.noise.step / len(rows) + explained.centres.ravel()


def holds(found: list[Attribution], exact: np.ndarray) -> float:
    """Return how often all values are within the band of the exact ones."""
    errors = [np.abs(one.to_array() - exact).max() / one.half_width for one in found]
    return float(np.mean(np.array(errors) <= 1))


@pytest.mark.proves("feasible")
@pytest.mark.parametrize("clip", [None, 0.3, "auto"])
@pytest.mark.parametrize("name", list(MODELS))
def test_the_mean_of_any_records_is_within_its_limits(name: str, clip: Any) -> None:
    plan = dc.shap_values(MODELS[name], [[1.0, 1.0], [0.0, 1.0]], clip=clip, epsilon=1.0)
    for setting in (Setting(TINY, "replace-one", 2), Setting(TINY, "add-remove", None)):
        explained, stage = plan.measured.explain(setting), plan.prepare(setting).stages[0]
        low, high = explained.limits
        for rows in itertools.combinations_with_replacement(TINY_ROWS, 2):
            mean = exact_mean(explained, stage, list(rows))
            assert np.all(low - 1e-9 <= mean) and np.all(mean <= high + 1e-9)


@pytest.mark.proves("feasible")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{"clip": None}, {"clip": "auto"}, {"base_value": 0.5}])
def test_values_stay_feasible_and_bands_true(frame, model, relation: str, options: Any) -> None:
    plan = dc.shap_values(model, [1.0, -1.0, 1.0], epsilon=0.2, **options)
    found = draws(plan, frame, relation)
    # A model of range one: no attribution is further from zero.
    assert max(np.abs(one.to_array()).max() for one in found) <= 1 + 1e-9
    without = dc.shap_values(model, [1.0, -1.0, 1.0], clip=options.get("clip"), epsilon=1e6)
    exact = draws(without, frame, "replace-one", 1)[0].to_array()
    assert holds(found, exact) > LEAST
    if "base_value" in options:
        sums = [one.to_array().sum() for one in found]
        assert sums == pytest.approx([one.predictions[0] - 0.5 for one in found])


@pytest.mark.refutes("feasible")
def test_limits_that_are_too_narrow_are_caught(frame, model, monkeypatch) -> None:
    true_limits = Explained.limits.fget
    monkeypatch.setattr(
        Explained, "limits", property(lambda own: tuple(0.05 * end for end in true_limits(own)))
    )
    found = draws(
        dc.shap_values(model, [1.0, -1.0, 1.0], clip=None, epsilon=20.0), frame, "replace-one"
    )
    monkeypatch.undo()
    without = dc.shap_values(model, [1.0, -1.0, 1.0], clip=None, epsilon=1e6)
    assert holds(found, draws(without, frame, "replace-one", 1)[0].to_array()) < LEAST


def test_importances_and_magnitudes_are_feasible(frame, model) -> None:
    public = frame.iloc[:5]
    for one in draws(
        dc.shap_importance(model, background=public, epsilon=0.05), frame, "add-remove", 50
    ):
        assert one.to_array().min() >= 0 and one.to_array().max() <= 1
    plan = dc.shap_ranking(model, [1.0, -1.0, 1.0], k=2, magnitudes=True, epsilon=0.05)
    for ranking in draws(plan, frame, "add-remove", 50):
        assert np.abs(ranking.values).max() <= 1 + 1e-9
