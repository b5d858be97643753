"""Additive models as scikit-learn estimators: classes, numbers, sessions, and what comes for free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted
from discreet.estimators import PrivateAdditiveClassifier, PrivateAdditiveRegressor

OPTIONS: dict[str, Any] = {"bounds": "data", "random_state": 0}
CLASSIFIER = PrivateAdditiveClassifier(epsilon=25.0, delta=1e-6, **OPTIONS)
# A check wants half of the variance of 200 rows with ten features: hardly any noise, so no lattice's.
REGRESSOR = PrivateAdditiveRegressor(epsilon=1000.0, **OPTIONS)
PAIRED = (
    PrivateAdditiveClassifier(epsilon=25.0, delta=1e-6, interactions=1, **OPTIONS),
    PrivateAdditiveRegressor(epsilon=1000.0, interactions=1, **OPTIONS),
)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks([CLASSIFIER, REGRESSOR, *PAIRED])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def numbers(rows: int = 6000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (rows, 3))
    return x, x[:, 0] ** 2 + 0.5 * x[:, 1] + draw.normal(0, 0.1, rows)


def test_classes_are_learnt_from_bounds_and_classes() -> None:
    x, y = numbers()
    model = PrivateAdditiveClassifier(1.0, delta=1e-6, bounds=(-1, 1), classes=["low", "high"])
    model.fit(x, np.where(y > 0.33, "high", "low"))
    test, truth = numbers(seed=1)
    assert model.score(test, np.where(truth > 0.33, "high", "low")) > 0.8
    assert model.guarantee_.certified and model.guarantee_.delta == 1e-6
    assert model.classes_.tolist() == ["low", "high"] and is_classifier(model)
    assert model.decision_function(test).shape == (len(test),)
    assert np.argmin(model.feature_importances_) == 2
    shares = model.predict_proba(test)
    np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp(-model.decision_function(test))))


def test_several_classes_are_learnt() -> None:
    x, y = numbers()
    model = PrivateAdditiveClassifier(2.0, delta=1e-6, bounds=(-1, 1), classes=[0, 1, 2])
    model.fit(x, np.digitize(y, [0.1, 0.6]))
    assert model.score(x, np.digitize(y, [0.1, 0.6])) > 0.6
    assert model.predict_proba(x).shape == model.decision_function(x).shape == (len(x), 3)


def test_numbers_are_learnt_inside_their_bounds() -> None:
    x, y = numbers()
    model = PrivateAdditiveRegressor(1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 2)).fit(x, y)
    assert is_regressor(model) and model.score(*numbers(seed=1)) > 0.8
    found = model.predict(x)
    assert found.min() >= -1 and found.max() <= 2
    assert model.to_model().bounds.limits == (-1.0, 2.0)
    assert model.released_.shape("x0").quantity == "target"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (PrivateAdditiveRegressor(), "schema must be given, or bounds and target_bounds"),
        (PrivateAdditiveRegressor(bounds=(0, 1), target_bounds=3), "target_bounds must be a pair"),
        (PrivateAdditiveClassifier(bounds=(0, 1)), "schema must be given, or bounds and classes"),
        (PrivateAdditiveRegressor(bounds="data"), "random_state must be given with bounds='data'"),
    ],
)
def test_public_facts_must_be_given(made: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        made.fit([[0.1], [0.2]], [0, 1])


def test_a_seed_repeats_and_is_a_simulation() -> None:
    x, y = numbers(1000)
    model = PrivateAdditiveRegressor(
        1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 2), random_state=3
    )
    assert clone(model).fit(x, y).released_ == model.fit(x, y).released_
    assert model.guarantee_.simulation


def test_a_session_pays_for_every_fit_and_for_no_explanation() -> None:
    x, y = numbers(3000)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y)
    schema = dc.Schema(
        {n: dc.Number(-1, 1, missing=False) for n in "abc"} | {"y": dc.Number(-1, 2, missing=False)},
        target="y",
    )
    session = dc.protect(
        frame, schema, dataset="d", ledger=":memory:", epsilon=1.0, delta=1e-6, progress=False
    )
    model = PrivateAdditiveRegressor(1.0, delta=1e-6, session=session).fit()
    left = session.remaining
    released = model.released_
    released.shape("a").to_frame()
    released.shap_values(frame)
    released.monotone("b").predict(frame)
    model.plot()
    assert session.remaining == left and len(session.history()) == 3
    with pytest.raises(BudgetExhausted):
        model.fit()


def test_an_estimator_finds_what_two_features_do_together() -> None:
    x = np.random.default_rng(0).uniform(size=(4_000, 3))
    y = ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)).astype(int)
    made = PrivateAdditiveClassifier(
        epsilon=5.0, delta=1e-6, bounds=(0, 1), classes=[0, 1], interactions=1, random_state=0
    )
    assert [term.name for term in made.fit(x, y).released_.terms][3:] == ["x0 x x1"]
    assert made.score(x, y) > 0.9
