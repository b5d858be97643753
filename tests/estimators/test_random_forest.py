"""The forest as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted
from discreet.estimators.classifiers import PrivateRandomForestClassifier
from tests.trees.test_forest import SCHEMA, frame

FEATURES = ["size", "kind", "still"]
# One of the checks asks for accuracy .83 on 300 rows, which epsilon=1 gives or does not, by its seed.
SIMULATED = PrivateRandomForestClassifier(epsilon=20.0, bounds="data", random_state=0)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks([SIMULATED])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def numbers(rows: int = 6000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (rows, 3))
    return x, (x[:, 1] > 0.2).astype(int)


def test_it_learns_from_bounds_and_classes() -> None:
    x, y = numbers()
    model = PrivateRandomForestClassifier(2.0, bounds=(-1, 1), classes=[0, 1, 2]).fit(x, y)
    assert model.score(*numbers(seed=1)) > 0.9
    assert model.guarantee_.certified and not model.guarantee_.simulation
    assert model.guarantee_.relation == "replace-one" and model.guarantee_.epsilon == 2.0
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.argmax(model.feature_importances_) == 1


def test_bounds_from_data_are_stamped() -> None:
    x, y = numbers(500)
    model = PrivateRandomForestClassifier(bounds="data", random_state=1).fit(x, y)
    assert not model.guarantee_.certified and model.guarantee_.simulation
    with pytest.raises(ArgumentError, match="schema must be given, or bounds and classes"):
        PrivateRandomForestClassifier().fit(x, y)


def test_a_seed_repeats() -> None:
    x, y = numbers(1000)
    model = PrivateRandomForestClassifier(bounds=(-1, 1), classes=[0, 1], random_state=3)
    assert clone(model).fit(x, y).released_ == model.fit(x, y).released_


def test_a_session_pays_for_every_fit() -> None:
    data = frame()
    session = dc.protect(
        data,
        SCHEMA,
        dataset="forest",
        ledger=":memory:",
        epsilon=2.0,
        relation="add-remove",
        progress=False,
    )
    model = PrivateRandomForestClassifier(1.0, session=session, n_estimators=2)
    assert model.fit().score(data[FEATURES], data["class"]) > 0.7
    model.fit(data[FEATURES], data["class"])
    assert session.remaining.loss == pytest.approx(0.0)
    with pytest.raises(BudgetExhausted):
        model.fit()


def test_pipelines_and_models_to_explain() -> None:
    data = frame()
    forest = PrivateRandomForestClassifier(3.0, schema=SCHEMA, n_estimators=3)
    pipeline = make_pipeline(FunctionTransformer(), forest)
    assert pipeline.fit(data[FEATURES], data["class"]).score(data[FEATURES], data["class"]) > 0.85
    assert pipeline[-1].to_model("yes").bind(SCHEMA).form is not None


def test_the_picture_states_the_promise() -> None:
    import matplotlib.pyplot as plt

    x, y = numbers(500)
    model = PrivateRandomForestClassifier(bounds=(-1, 1), classes=[0, 1]).fit(x, y)
    assert "epsilon=1 (pure)" in model.plot().ax_.get_title(loc="left")
    plt.close("all")
