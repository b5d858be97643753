"""Engines over trees with splits on categories answer as calls of the model do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.calls import PROVEN, ThirdParty
from discreet.engines.table import engine_for
from discreet.models import Model, TreeEnsemble
from discreet.schema import FloatArray
from tests.models.readers.test_categories import SCHEMA, fitted

ROWS = np.asfortranarray(SCHEMA.draw(300)[:, : len(SCHEMA.features)])
NAMES = ["xgboost", "lightgbm", "histogram", "catboost"]


def pair(name: str) -> tuple[object, object]:
    """Return a model with its compiled trees, and as one that is called."""
    bound = Model(fitted(name)).bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble)
    called = replace(bound, form=None, third_party=ThirdParty.of(PROVEN, bound.calls.pulse))
    return bound, called


def near(first: FloatArray, second: FloatArray) -> None:
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("features", [("home type",), ("level", "age"), ("income",)])
def test_curves(name: str, features: tuple[str, ...]) -> None:
    places = [SCHEMA.features.index(feature) for feature in features]
    grids = [SCHEMA[feature].grid(5) for feature in features]
    answers = [engine_for("curve", model, places, grids).predict(ROWS) for model in pair(name)]  # type: ignore[call-overload]
    near(*answers)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_of_missing_and_unlisted_values(name: str) -> None:
    trees, called = pair(name)
    near(trees.predict(ROWS), called.predict(ROWS))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_steps(name: str) -> None:
    place = SCHEMA.features.index("home type")
    values = [np.full(len(ROWS), 1.0), np.full(len(ROWS), 3.0)]
    answers = [engine_for("steps", model, place).predict(ROWS, values) for model in pair(name)]  # type: ignore[call-overload]
    near(*answers)
