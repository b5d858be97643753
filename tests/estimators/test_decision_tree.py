from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted
from discreet.estimators import PrivateDecisionTreeClassifier
from discreet.models import TreeEnsemble
from tests.trees.test_plan import FEATURES, SCHEMA, frame

SIMULATED = PrivateDecisionTreeClassifier(bounds="data", random_state=0)
GENEROUS = PrivateDecisionTreeClassifier(epsilon=20.0, bounds="data", random_state=0)


def expected_failures(estimator: PrivateDecisionTreeClassifier) -> dict[str, str]:
    """Return the checks of scikit-learn that a private estimator cannot pass, and why."""
    if estimator.epsilon >= 20:
        return {}
    return {
        "check_classifiers_train": "asks for accuracy .83 on 300 rows, which epsilon=1 does not give"
    }


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks([SIMULATED, GENEROUS], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def numbers(rows: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (rows, 3))
    return x, (x[:, 1] > 0.2).astype(int)


def test_it_learns_from_bounds_and_classes() -> None:
    x, y = numbers()
    model = PrivateDecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1, 2]).fit(x, y)
    assert model.score(*numbers(seed=1)) > 0.95
    assert model.guarantee_.certified and not model.guarantee_.simulation
    assert model.guarantee_.relation == "replace-one" and model.guarantee_.epsilon == 1.0
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.argmax(model.feature_importances_) == 1
    assert model.n_features_in_ == 3


def test_it_learns_from_a_schema_and_frames_of_any_order() -> None:
    polars = pytest.importorskip("polars")
    data = frame()
    turned = data[FEATURES[::-1]]
    model = PrivateDecisionTreeClassifier(2.0, schema=SCHEMA).fit(turned, data["class"])
    assert model.score(turned, data["class"]) > 0.9
    assert model.feature_names_in_.tolist() == FEATURES[::-1]
    assert model.released_.features == tuple(FEATURES[::-1])
    other = PrivateDecisionTreeClassifier(2.0, schema=SCHEMA)
    rows = polars.from_pandas(data[FEATURES])
    assert other.fit(rows, data["class"]).score(rows, data["class"]) > 0.9
    arrays = PrivateDecisionTreeClassifier(2.0, schema=SCHEMA)
    matrix = data[FEATURES].to_numpy(dtype=object)
    assert arrays.fit(matrix, data["class"]).score(matrix, data["class"]) > 0.9


def test_categories_by_place_and_bounds_by_name() -> None:
    data = frame()
    model = PrivateDecisionTreeClassifier(
        2.0,
        bounds={"age": (18, 90), 1: (0, 10_000), "same": (0, 1)},
        categories={2: ["rent", "own", "none"]},
        classes=["no", "yes"],
    )
    assert model.fit(data[FEATURES], data["class"]).score(data[FEATURES], data["class"]) > 0.9


def test_bounds_from_data_are_stamped() -> None:
    x, y = numbers()
    model = PrivateDecisionTreeClassifier(bounds="data", random_state=1).fit(x, y)
    assert not model.guarantee_.certified and model.guarantee_.simulation
    assert "read from the data" in model.guarantee_.assumptions[0]
    with pytest.raises(ArgumentError, match="random_state must be given with bounds='data'"):
        PrivateDecisionTreeClassifier(bounds="data").fit(x, y)


def test_bounds_from_data_find_categories_and_constants() -> None:
    data = frame(400).assign(target="t", gain=np.nan)
    rows = data[["age", "home", "gain", "target"]]
    model = PrivateDecisionTreeClassifier(20.0, bounds="data", random_state=1)
    assert model.fit(rows, data["class"]).score(rows, data["class"]) > 0.85
    assert model.released_.target == "target_"
    assert model.released_.schema["home"].values == ("none", "own", "rent")


def test_frames_need_rows_and_columns() -> None:
    model = PrivateDecisionTreeClassifier(schema=SCHEMA)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(frame(0)[FEATURES], frame(0)["class"])


def test_a_seed_is_a_simulation_and_repeats() -> None:
    x, y = numbers()
    model = PrivateDecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1], random_state=3)
    first = model.fit(x, y).released_
    assert model.guarantee_.simulation and not model.guarantee_.certified
    assert clone(model).fit(x, y).released_ == first
    generator = np.random.RandomState(3)
    assert model.set_params(random_state=generator).fit(x, y).guarantee_.simulation


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "schema must be given, or bounds and classes"),
        ({"bounds": (0, 1)}, "schema must be given, or bounds and classes"),
        ({"bounds": {0: (0, 1)}, "classes": [0, 1]}, "bounds must have a pair for every number"),
        ({"bounds": 3, "classes": [0, 1]}, "bounds must be a pair of lows and highs"),
        ({"bounds": {"a": (0, 1)}, "classes": [0, 1]}, "bounds and categories must name features"),
        ({"schema": dc.Schema({"x": dc.Number(0, 1, missing=False)})}, "schema must have a target"),
        ({"schema": SCHEMA}, "X must have the 4 features of the schema, got 3 columns"),
    ],
)
def test_public_facts_must_be_given(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        PrivateDecisionTreeClassifier(**arguments).fit(*numbers(20))


def test_columns_must_be_those_of_the_schema() -> None:
    data = frame(50)
    model = PrivateDecisionTreeClassifier(schema=SCHEMA)
    with pytest.raises(ArgumentError, match="got a difference in 'more'"):
        model.fit(data[FEATURES].assign(more=1.0), data["class"])
    with pytest.raises(ArgumentError, match="got a difference in 'home'"):
        model.fit(data[["age", "gain", "same"]], data["class"])


def test_no_error_depends_on_a_row() -> None:
    x, y = numbers(400)
    x[3, 0], x[4, 1] = np.nan, np.inf
    labels = np.where(np.arange(400) == 5, 0.5, y)
    model = PrivateDecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1]).fit(x, labels)
    assert np.isfinite(model.predict_proba(x)).all()


def bound_session(**terms: Any) -> dc.Session:
    settings = {"epsilon": 3.0, "relation": "add-remove", "progress": False, **terms}
    return dc.protect(frame(), SCHEMA, dataset="people", ledger=":memory:", **settings)


def test_a_session_pays_for_every_fit() -> None:
    session, data = bound_session(), frame()
    model = PrivateDecisionTreeClassifier(1.0, session=session)
    model.fit(data[FEATURES], data["class"])
    assert session.remaining.loss == pytest.approx(2.0)
    assert model.fit().score(data[FEATURES], data["class"]) > 0.8  # its own table
    assert session.remaining.loss == pytest.approx(1.0)
    assert model.guarantee_.relation == "add-remove"
    model.fit()
    with pytest.raises(BudgetExhausted):
        model.fit()


def test_a_search_over_a_session_is_warned_of_and_billed() -> None:
    session, data = bound_session(), frame()
    model = PrivateDecisionTreeClassifier(1.0, session=session, max_depth=2)
    with pytest.warns(UserWarning, match="every fit of every clone"):
        scores = cross_val_score(model, data[FEATURES], data["class"], cv=3, error_score="raise")
    assert len(scores) == 3 and session.remaining.loss == pytest.approx(0.0)


def test_pipelines_and_models_to_explain() -> None:
    data = frame()
    pipeline = make_pipeline(FunctionTransformer(), PrivateDecisionTreeClassifier(2.0, schema=SCHEMA))
    assert pipeline.fit(data[FEATURES], data["class"]).score(data[FEATURES], data["class"]) > 0.9
    bound = pipeline[-1].to_model("yes").bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble)


def test_the_picture_states_the_promise() -> None:
    import matplotlib.pyplot as plt

    x, y = numbers(500)
    model = PrivateDecisionTreeClassifier(bounds=(-1, 1), classes=[0, 1], max_depth=2).fit(x, y)
    assert "epsilon=1" in model.plot().ax_.get_title(loc="left")
    plt.close("all")


def test_no_row_is_kept_by_a_fitted_estimator() -> None:
    import pickle

    data = frame(200)
    data.loc[0, "gain"] = 4321.98765
    model = PrivateDecisionTreeClassifier(2.0, schema=SCHEMA).fit(data[FEATURES], data["class"])
    assert np.float64(4321.98765).tobytes() not in pickle.dumps(model)
    assert b"4321.98765" not in pickle.dumps(model)
    assert isinstance(pickle.loads(pickle.dumps(model)), PrivateDecisionTreeClassifier)
    assert isinstance(model.release_.value.to_frame(), pd.DataFrame)


def test_nan_is_a_value_of_its_own_and_rows_without_a_class_are_not_counted() -> None:
    draw = np.random.default_rng(0)
    x = draw.uniform(0, 1, (2000, 2))
    y = draw.integers(0, 2, 2000)
    x[y == 1, 0] = np.nan
    labels = y.astype(object)
    labels[:500] = "neither"
    model = PrivateDecisionTreeClassifier(
        20.0, bounds=(0, 1), classes=[0, 1], max_depth=2, random_state=1
    ).fit(x, labels)
    assert model.released_.split_text(0) == "x0 is missing"
    assert model.score(x, y) > 0.99
    assert np.sum(model.released_.counts[0]) == pytest.approx(1500, abs=20)
    text = pd.DataFrame({"a": ["f", "m", None, "d"] * 200})
    typed = PrivateDecisionTreeClassifier(
        20.0, bounds={}, categories={"a": ["f", "m"]}, classes=[0, 1], max_depth=3, random_state=1
    ).fit(text, np.array([0, 0, 1, 0] * 200))
    assert typed.predict(text[:4]).tolist() == [0, 0, 1, 0]
